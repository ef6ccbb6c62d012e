package json

import (
	"slices"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/table"
)

// places numbers the pids and tids that a trace gives as text. Trace Processor
// uses the place of the text in its string pool. A number is as good as another
// as long as equal texts have the same, so this one keeps the books of v58's
// pool: queries by such a tid then find what they find there.
type places struct {
	strings *table.StringPool
	at      []uint32 // by StringID, 0 for texts that are not noted
	names   map[uint32]model.StringID
	next    uint32 // place of the next text
	large   uint32 // how many texts were too large for a block
}

// The layout of the pool of Trace Processor v58.2.
const (
	poolBlock = 1 << 22 // bytes of a block
	poolLarge = poolBlock / 4
	poolHead  = 5     // bytes of a text beside its own
	poolFirst = 53992 // where the texts of a trace begin
	poolEmpty = 313   // where the empty text is
)

// newPlaces returns the places of all files of the input.
func newPlaces(in *format.Input) *places {
	type key struct{}
	if p, ok := in.Shared[key{}].(*places); ok {
		return p
	}
	p := &places{strings: in.Store.Strings, names: map[uint32]model.StringID{}, next: poolFirst}
	in.Shared[key{}] = p
	for _, text := range slices.Concat(in.Parents, in.Beside) {
		p.next += uint32(len(text)) + poolHead
	}
	return p
}

// intern returns the id of a text, and notes its place if it is new.
func (p *places) intern(text []byte) model.StringID {
	id := p.strings.InternBytes(text)
	if int(id) >= len(p.at) {
		p.at = append(p.at, make([]uint32, int(id)+1-len(p.at)+len(p.at)/2)...)
	}
	if p.at[id] == 0 {
		p.at[id] = p.place(len(text))
	}
	return id
}

// place returns the place of a new text of size bytes.
func (p *places) place(size int) uint32 {
	switch {
	case size == 0:
		return poolEmpty
	case size >= poolLarge:
		p.large++
		return 1<<31 | (p.large - 1)
	}
	if p.next%poolBlock+uint32(size)+poolHead > poolBlock {
		p.next = (p.next/poolBlock + 1) * poolBlock
	}
	at := p.next
	p.next += uint32(size) + poolHead
	return at
}

// number interns a text and returns the number that stands for it.
func (p *places) number(text []byte) uint32 {
	id := p.intern(text)
	p.names[p.at[id]] = id
	return p.at[id]
}
