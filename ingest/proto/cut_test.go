package proto

import (
	"maps"
	"slices"
	"testing"

	"github.com/tpconvert/tpconvert/ingest/internal/ftrace"
	"github.com/tpconvert/tpconvert/model"
)

// threads sends tracepoints to a parser, each sequence on a thread of its own.
type threads struct {
	*ftrace.Parser
	store   *model.Store
	ts, tid int64
}

func newThreads(release string) *threads {
	store := model.NewStore(model.Options{})
	context := store.NewFile("trace", nil).Context(0)
	context.Machine.UseIdleProcess()
	context.Machine.SetSystem("Linux", "", release, "aarch64")
	return &threads{Parser: ftrace.NewParser(context), store: store, tid: 1000}
}

// send sends an event whose numbers all are value, and whose texts are marks that begin.
func (t *threads) send(tp *ftrace.Tracepoint, value uint64) {
	t.ts++
	e := ftrace.Event{TS: t.ts, CPU: 1, TID: t.tid}
	e.Reset(tp)
	for i := range tp.Fields {
		switch f := &tp.Fields[i]; {
		case f.Name == "":
		case f.Type == ftrace.Text:
			e.AddText(f, []byte("B|7|x"))
		default:
			e.AddInt(f, value)
		}
	}
	t.Handle(&e)
}

// open returns the innermost slice of the thread if it has no end yet, or None.
func (t *threads) open() model.SliceID {
	id := t.Slices.Top(t.Tracks.Thread(t.Machine.Thread(t.tid)))
	if id == model.None || t.ended(id) {
		return model.None
	}
	return id
}

func (t *threads) ended(id model.SliceID) bool {
	dur, _ := t.store.Slice.Dur.Get(int64(id))
	return dur >= 0
}

// after reports whether a tracepoint begins a slice on a thread that others came to before, and whether it ends one.
func (t *threads) after(value uint64, tp *ftrace.Tracepoint, others ...*ftrace.Tracepoint) (begins, ends bool) {
	t.tid++
	for _, other := range others {
		t.send(other, value)
	}
	before := t.open()
	t.send(tp, value)
	now := t.open()
	return now != model.None && now != before, before != model.None && t.ended(before)
}

// each calls do with all tracepoints and values that the handlers tell apart: kinds of probes, system calls.
func (t *threads) each(do func(number uint32, tp *ftrace.Tracepoint, value uint64)) {
	for number := uint64(1); t.Tracepoint(number) != nil; number++ {
		for _, value := range []uint64{0, 1, 2, 5, 63, 64} {
			if tp := t.Tracepoint(number); tp.Name != "" {
				do(uint32(number), tp, value)
			}
		}
	}
}

// find adds the numbers of the tracepoints that begin or end slices of threads, on a release of Linux: at first, after one that
// begins a slice, or after one that ended its slice by another.
func find(all map[uint32]string, release string) {
	t := newThreads(release)
	sequences := [][]*ftrace.Tracepoint{nil}
	for len(sequences) > 0 {
		var longer [][]*ftrace.Tracepoint
		t.each(func(number uint32, tp *ftrace.Tracepoint, value uint64) {
			for _, others := range sequences {
				begins, ends := t.after(value, tp, others...)
				if !begins && !ends {
					continue
				}
				all[number] = tp.Name
				if sequence := append(slices.Clip(others), tp); begins && len(sequence) < 3 && (ends || len(others) == 0) &&
					!slices.ContainsFunc(longer, func(s []*ftrace.Tracepoint) bool { return slices.Equal(s, sequence) }) {
					longer = append(longer, sequence)
				}
			}
		})
		sequences = longer
	}
}

// staying begin or end slices of threads too, but a cut keeps them all: marks of drivers, which are few, and I2C's messages. A print
// goes by rules of its own.
var staying = []string{"print", "tracing_mark_write", "sde_tracing_mark_write", "samsung_tracing_mark_write", "g2d_tracing_mark_write",
	"mali_tracing_mark_write", "lwis_tracing_mark_write", "panel_write_generic", "i2c_read", "i2c_write"}

// TestEventsOnThreads compares the list of events on threads with what the parser does with each.
func TestEventsOnThreads(t *testing.T) {
	found := map[uint32]string{}
	find(found, "5.10.0")
	find(found, "6.1.0")
	for _, number := range slices.Sorted(maps.Keys(found)) {
		if stays := slices.Contains(staying, found[number]); onThreads[number] == stays {
			t.Errorf("%s (%d) begins or ends slices of threads, and stays: %t", found[number], number, stays)
		}
	}
	for number := range onThreads {
		if found[number] == "" {
			t.Errorf("event %d neither begins nor ends slices of threads", number)
		}
	}
}
