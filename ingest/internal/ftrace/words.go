package ftrace

import (
	"unsafe"

	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/table"
)

// words interns the texts of handlers. Most texts are constants, so words
// recognises them by their memory address.
type words struct {
	pool   *table.StringPool
	recent [256]word
}

type word struct {
	text string // kept alive, so that nothing else can have its address
	id   model.StringID
}

func (w *words) intern(s string) model.StringID {
	at := uintptr(unsafe.Pointer(unsafe.StringData(s)))
	known := &w.recent[(at^at>>8)%uintptr(len(w.recent))]
	if len(known.text) != len(s) || unsafe.StringData(known.text) != unsafe.StringData(s) || s == "" {
		*known = word{s, w.pool.Intern(s)}
	}
	return known.id
}
