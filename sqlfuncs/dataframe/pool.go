package dataframe

import (
	"sync"

	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
)

// Pool gives each text a number, so that columns compare numbers. Frames of one pool can share rows; each frame knows its
// own. Any goroutine may use a pool.
type Pool struct {
	texts sqlite.Texts // by number

	mu  sync.RWMutex      // of what follows, and held to add
	ids map[string]uint32 // its keys are in texts
	db  *sqlite.DB        // whose memory the pool's is, or nil
}

// textBytes is about the memory of a text besides its bytes.
const textBytes = 48

// NewPool returns an empty pool.
func NewPool() *Pool { return &Pool{ids: map[string]uint32{}} }

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
	id := p.texts.Add(s)
	p.ids[p.Text(id)] = id
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
func (p *Pool) at(id uint32) sqlite.Text { return p.texts.At(id) }

// Text returns a text by its number. It is valid until Free.
func (p *Pool) Text(id uint32) string { return p.at(id).String() }

// Bytes is about the memory that the pool takes.
func (p *Pool) Bytes() int64 {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.texts.Bytes() + int64(p.texts.Len())*textBytes
}

// Free releases the texts. No frame of the pool may be used afterwards.
func (p *Pool) Free() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.texts.Free()
	p.ids = map[string]uint32{}
}
