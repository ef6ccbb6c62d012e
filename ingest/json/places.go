package json

import (
	"slices"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/internal/attached"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/table"
)

// places are the pids and tids that are shown for texts. Trace Processor uses
// the text's offset in its string pool. Any numbers would do that no real process
// or thread has, but places reproduces the offsets of v58's pool, so that a query
// for such a tid finds the same rows.
type places struct {
	strings *table.StringPool
	at      []uint32 // by StringID, 0 for texts without a place
	next    uint32   // place of the next text
	large   uint32   // number of texts too large for a block
}

// Layout of the string pool of Trace Processor v58.2.
const (
	poolBlock = 1 << 22 // bytes of a block
	poolLarge = poolBlock / 4
	poolHead  = 5     // bytes of overhead per text
	poolFirst = 53992 // offset where the texts of a trace begin
	poolEmpty = 313   // offset of the empty text
)

// sharedPlaces are the places of all files of the input.
var sharedPlaces = attached.Value[*format.Input, places]{New: func(in *format.Input) *places {
	p := &places{strings: in.Store.Strings, next: poolFirst}
	for _, text := range slices.Concat(in.Parents, in.Beside) {
		p.next += uint32(len(text)) + poolHead
	}
	return p
}}

// intern returns the id of a text, and assigns it a place if it is new.
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

// of returns the place of an interned text.
func (p *places) of(id model.StringID) uint32 { return p.at[id] }
