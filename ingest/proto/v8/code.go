package v8

import (
	"github.com/tpconvert/tpconvert/ingest/internal/ranges"
	"github.com/tpconvert/tpconvert/ingest/proto/stacks"
	"github.com/tpconvert/tpconvert/model"
)

// memory is the code of a process: nil where there may be code, but none is known.
type memory struct {
	ranges.Map[*stacks.Code]
}

// span is a range of addresses, without its end.
type span struct{ start, end uint64 }

// memory returns the code of a process.
func (v *reader) memory(upid model.UPID) *memory {
	m := v.memories[upid]
	if m == nil {
		m = &memory{}
		v.memories[upid] = m
	}
	return m
}

// find finds the code at an address of a process.
func (v *reader) find(upid model.UPID, address uint64) (code *stacks.Code, may bool) {
	if m := v.memories[upid]; m != nil {
		return m.Find(address)
	}
	return nil, false
}

// reserve says that there may be code at addresses.
func (v *reader) reserve(m *memory, start, size uint64) {
	var gaps []span
	end := start + size
	m.Overlapping(start, end, func(from, to uint64, _ *stacks.Code) {
		gaps = append(gaps, span{start, from})
		start = to
	})
	for _, g := range append(gaps, span{start, end}) {
		if g.start < g.end {
			m.Set(g.start, g.end, nil)
			v.generated.Changes++
		}
	}
}

// load puts code at addresses.
func (v *reader) load(ts int64, m *memory, start, size uint64, code *stacks.Code) {
	v.reserve(m, start, size)
	v.end(ts, m, start, size)
	m.Set(start, start+size, code)
}

// end ends code that has some of the addresses. V8 does not say when code is gone, only what comes after it.
func (v *reader) end(ts int64, m *memory, start, size uint64) {
	var gone []span
	m.Overlapping(start, start+size, func(from, to uint64, code *stacks.Code) {
		if code != nil {
			v.Store.JITCode.EstimatedDeleteTS.Set(int64(code.ID), ts)
			gone = append(gone, span{from, to})
		}
	})
	for _, g := range gone {
		m.Set(g.start, g.end, nil)
	}
}

// move moves code. If it is not known, what its new place had ends all the same; bytecode, which moves in the same way, has no place here.
func (v *reader) move(ts int64, m *memory, from, to, size uint64) {
	code, may := m.Find(from)
	if !may {
		return
	}
	m.Overlapping(from, from+1, func(start, end uint64, _ *stacks.Code) {
		if start == from && code != nil {
			size = end - start
		} else {
			code = nil
		}
	})
	if code == nil {
		v.end(ts, m, to, size)
		return
	}
	m.Set(from, from+size, nil)
	v.load(ts, m, to, size, code)
}
