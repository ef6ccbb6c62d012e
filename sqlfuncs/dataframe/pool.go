package dataframe

import "github.com/tpconvert/tpconvert/sqlfuncs/sqlite"

// Pool gives each text a number, so that columns compare numbers. All frames of a session share one.
type Pool struct {
	arena sqlite.Arena
	texts []sqlite.Text
	ids   map[string]uint32 // its keys are in the arena
}

// NewPool returns an empty pool.
func NewPool() *Pool { return &Pool{ids: map[string]uint32{}} }

// Add returns the number of a text.
func (p *Pool) Add(s string) uint32 {
	if id, ok := p.ids[s]; ok {
		return id
	}
	t := p.arena.Add(s)
	id := uint32(len(p.texts))
	p.texts = append(p.texts, t)
	p.ids[t.String()] = id
	return id
}

// Find returns the number of a text that the pool has.
func (p *Pool) Find(s string) (uint32, bool) {
	id, ok := p.ids[s]
	return id, ok
}

// Text returns a text by its number. It is valid until Free.
func (p *Pool) Text(id uint32) string { return p.texts[id].String() }

// Bytes is about the memory that the pool takes.
func (p *Pool) Bytes() int64 { return p.arena.Bytes() + int64(len(p.texts))*48 }

// Free releases the texts. No frame of the pool may be used afterwards.
func (p *Pool) Free() {
	p.arena.Free()
	*p = *NewPool()
}
