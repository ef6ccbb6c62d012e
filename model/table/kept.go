package table

import (
	"cmp"
	"sync"
)

// Kept is a Sink that keeps the chunks. The columns of those beyond a limit go to a temporary file. Any goroutine may use it.
type Kept struct {
	limit int64 // in bytes

	mu      sync.Mutex
	chunks  map[string][]*Chunk
	bytes   int64 // of the columns in memory
	parking parking
	pool    *pool
}

// Keep returns a Kept whose columns take up to limit bytes of memory.
func Keep(limit int64) *Kept {
	return &Kept{limit: limit, chunks: map[string][]*Chunk{}, pool: newPool()}
}

// Chunk implements Sink.
func (k *Kept) Chunk(c *Chunk) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	c.table = nil // it refers to chunks that are not kept
	k.chunks[c.Schema.Name] = append(k.chunks[c.Schema.Name], c)
	if c.parked != nil || k.bytes+c.size <= k.limit {
		k.bytes += c.Size()
		return nil
	}
	if err := k.parking.park(c, k.pool); err != nil {
		return err
	}
	c.parked.file.use()
	return nil
}

// Chunks returns the chunks of a table. Their columns must be read by Column.
func (k *Kept) Chunks(name string) []*Chunk {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.chunks[name]
}

// Rows returns the number of rows of a table.
func (k *Kept) Rows(name string) (n int64) {
	for _, c := range k.Chunks(name) {
		n += int64(c.Rows)
	}
	return n
}

// Bytes returns the memory of the columns, in bytes.
func (k *Kept) Bytes() int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.bytes
}

// Column returns column i of a chunk. It must not be changed.
func (k *Kept) Column(c *Chunk, i int) (Vector, error) {
	if c.parked == nil {
		return c.Column(i), nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	v := c.Column(i)
	if stored := c.Schema.Columns[i].stored; stored >= 0 {
		c.parked.columns[stored] = Vector{} // it is the caller's
	}
	return v, cmp.Or(c.Err(), c.Strings.Err())
}

// Close removes the temporary file. No chunk that it has may be used afterwards.
func (k *Kept) Close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, chunks := range k.chunks {
		for _, c := range chunks {
			if c.parked != nil {
				c.Release()
			}
		}
	}
	clear(k.chunks) // a reader that was interrupted may still add some
	k.parking.close()
}
