package spans

import (
	"github.com/tpconvert/tpconvert/internal/paged"
	"github.com/tpconvert/tpconvert/internal/spill"
	"github.com/tpconvert/tpconvert/model"
)

// index finds the slices of spans by their keys. Those that came lately are found at once, which most are that others
// refer to; all are in a list, most of which is in a temporary file.
type index struct {
	recent, older *paged.Map[model.SliceID]
	all           *spill.List[known]
	space         *spill.Space
}

type known struct {
	key   uint64
	slice model.SliceID
}

const (
	// maxLate is how many spans one generation of an index has.
	maxLate = 1 << 20
	// listMemory is how much of the list is in memory, in bytes.
	listMemory = 8 << 20
)

func newIndex(dir string) index {
	space := spill.NewSpace(listMemory, dir)
	return index{recent: &paged.Map[model.SliceID]{}, older: &paged.Map[model.SliceID]{}, all: spill.NewList[known](space), space: space}
}

func (x *index) find(key uint64) (model.SliceID, bool) {
	slice := x.recent.Get(key)
	if slice == nil {
		slice = x.older.Get(key)
	}
	if slice == nil {
		return model.None, false
	}
	return *slice, true
}

// add adds the slice of a span, unless the span is known: exporters may send one twice.
func (x *index) add(key uint64, slice model.SliceID) {
	if _, ok := x.find(key); ok {
		return
	}
	if x.recent.Len() == maxLate {
		x.recent, x.older = &paged.Map[model.SliceID]{}, x.recent
	}
	x.recent.Add(key, slice)
	x.all.Append(known{key, slice})
}

// fill sets the values of the keys in wanted.
func (x *index) fill(wanted *paged.Map[model.SliceID]) {
	if wanted.Len() == 0 {
		return
	}
	for i := range x.all.Len() {
		k := x.all.Get(i)
		if slice := wanted.Get(k.key); slice != nil && *slice == model.None {
			*slice = k.slice
		}
	}
}
