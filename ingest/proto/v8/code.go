package v8

import (
	"github.com/tpconvert/tpconvert/ingest/internal/ranges"
	"github.com/tpconvert/tpconvert/ingest/proto/stacks"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/profile"
)

// codeRange is where isolates have their code: a range of addresses, without what the builtins take of it, and the builtins. Code is in
// one part.
type codeRange struct {
	parts [][2]uint64              // begin and end of each
	code  ranges.Map[*stacks.Code] // nil where code was
}

func newCodeRange(start, size, blob, blobSize uint64) *codeRange {
	end, blobEnd := start+size, blob+blobSize
	r := &codeRange{}
	add := func(start, end uint64) {
		if start < end {
			r.parts = append(r.parts, [2]uint64{start, end})
		}
	}
	if blob >= blobEnd {
		add(start, end)
		return r
	}
	add(start, min(end, blob))
	add(max(start, blobEnd), end)
	add(blob, blobEnd)
	return r
}

func (r *codeRange) contains(start, size uint64) bool {
	for _, part := range r.parts {
		if part[0] <= start && start+size <= part[1] && start+size > start {
			return true
		}
	}
	return false
}

// inRange reports whether an isolate may have code at an address, and counts it if not.
func (v *reader) inRange(in *isolate, start, size uint64) bool {
	switch {
	case size == 0:
		v.File.Count(model.StatV8CodeLoadMissingCodeRange)
	case !in.code.contains(start, size):
		v.File.Count(model.StatV8NoCodeRange)
	default:
		return true
	}
	return false
}

// load adds code. V8 does not say when it is gone: code at its addresses ends. Frames of stacks in it have the symbols.
func (v *reader) load(ts int64, in *isolate, utid model.UTID, start, size uint64, name model.StringID, machine []byte, symbols ...profile.Symbol) (id codeID, ok bool) {
	if !v.inRange(in, start, size) {
		return 0, false
	}
	t := &v.Store.JITCode
	row := t.Append()
	t.CreateTS.Set(row, ts)
	t.UTID.Set(row, utid)
	t.StartAddress.Set(row, int64(start))
	t.Size.Set(row, int64(size))
	t.FunctionName.Set(row, name)
	t.NativeCodeBase64.Set(row, v.base64(machine))
	in.code.put(ts, v.Store, start, size, &stacks.Code{ID: codeID(row), Name: name, Symbols: symbols})
	return codeID(row), true
}

// put puts code at an address, where other code ends.
func (r *codeRange) put(ts int64, store *model.Store, start, size uint64, code *stacks.Code) {
	var gone [][2]uint64
	r.code.Overlapping(start, start+size, func(start, end uint64, old *stacks.Code) {
		if old != nil {
			store.JITCode.EstimatedDeleteTS.Set(int64(old.ID), ts)
			gone = append(gone, [2]uint64{start, end})
		}
	})
	for _, g := range gone {
		r.code.Set(g[0], g[1], nil)
	}
	r.code.Set(start, start+size, code)
}

// move moves code that contains an address to another one.
func (r *codeRange) move(ts int64, store *model.Store, from, to uint64) {
	var start, end uint64
	var code *stacks.Code
	r.code.Overlapping(from, from+1, func(s, e uint64, c *stacks.Code) { start, end, code = s, e, c })
	if code != nil {
		r.code.Set(start, end, nil)
		r.put(ts, store, to, end-start, code)
	}
}

// find finds the code at an address of a process.
func (v *reader) find(upid model.UPID, address uint64) (code *stacks.Code, inRange bool) {
	for _, r := range v.ranges[upid] {
		if r.contains(address, 1) {
			code, _ := r.code.Find(address)
			return code, true
		}
	}
	return nil, false
}
