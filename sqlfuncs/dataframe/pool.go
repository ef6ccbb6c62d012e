package dataframe

import (
	"sync"
	"sync/atomic"

	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
)

// Pool gives each text a number, so that columns compare numbers. Frames of one pool can share rows; each frame knows its
// own. Any goroutine may use a pool.
type Pool struct {
	chunks atomic.Pointer[[]*chunk] // the texts by number; those that have a number never move

	mu    sync.RWMutex // of what follows
	n     int
	ids   map[string]uint32 // its keys are in the arena
	arena sqlite.Arena
	db    *sqlite.DB // whose memory the pool's is, or nil
}

// chunk are texts of a pool.
type chunk [chunkTexts]sqlite.Text

const (
	chunkBits  = 8
	chunkTexts = 1 << chunkBits
)

// textBytes is about the memory of a text besides its bytes.
const textBytes = 48

// NewPool returns an empty pool.
func NewPool() *Pool {
	p := &Pool{ids: map[string]uint32{}}
	p.chunks.Store(new([]*chunk))
	return p
}

// PoolOf returns an empty pool of a database, whose memory its texts and the frames that are built with it take. Only the
// goroutine of the database may add to it.
func PoolOf(db *sqlite.DB) *Pool {
	p := NewPool()
	p.db = db
	return p
}

// Add returns the number of a text.
func (p *Pool) Add(s string) uint32 {
	if id, ok := p.Find(s); ok {
		return id
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if id, ok := p.ids[s]; ok {
		return id
	}
	chunks := *p.chunks.Load()
	if p.n%chunkTexts == 0 {
		chunks = append(chunks, new(chunk))
		p.chunks.Store(&chunks)
	}
	t := p.arena.Add(s)
	id := uint32(p.n)
	chunks[id>>chunkBits][id%chunkTexts] = t
	p.ids[t.String()] = id
	p.n++
	p.keep(int64(len(s)) + textBytes)
	return id
}

// keep counts memory that stays until Free. Beyond the limit it ends the statement.
func (p *Pool) keep(bytes int64) {
	if p.db != nil {
		_ = p.db.Reserve(bytes)
	}
}

// use counts memory that a statement takes.
func (p *Pool) use(bytes int64) {
	if p.db != nil {
		p.db.Use(bytes)
	}
}

// Find returns the number of a text that the pool has.
func (p *Pool) Find(s string) (uint32, bool) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	id, ok := p.ids[s]
	return id, ok
}

// at returns a text by its number.
func (p *Pool) at(id uint32) sqlite.Text { return (*p.chunks.Load())[id>>chunkBits][id%chunkTexts] }

// Text returns a text by its number. It is valid until Free.
func (p *Pool) Text(id uint32) string { return p.at(id).String() }

// Bytes is about the memory that the pool takes.
func (p *Pool) Bytes() int64 {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.arena.Bytes() + int64(p.n)*textBytes
}

// Free releases the texts. No frame of the pool may be used afterwards.
func (p *Pool) Free() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.arena.Free()
	p.n, p.ids = 0, map[string]uint32{}
	p.chunks.Store(new([]*chunk))
}
