package pprof

import (
	"github.com/tpconvert/tpconvert/ingest/internal/token"
	"github.com/tpconvert/tpconvert/internal/perfetto/pprofpb"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/sort"
)

// label is a sample's label: a text, or a number if the text is absent.
type label struct {
	key, text, unit textIndex
	number          int64
}

// readLabel returns a label, and whether its message is intact.
func readLabel(message []byte) (l label, whole bool) {
	l = label{absent, absent, absent, 0}
	r := wire.Read(message)
	for r.Next() {
		switch r.Number {
		case pprofpb.Label_Key:
			l.key = textIndex(r.Int64())
		case pprofpb.Label_Str:
			if i := textIndex(r.Int64()); i != 0 { // 0 also means none
				l.text = i
			}
		case pprofpb.Label_Num:
			l.number = r.Int64()
		case pprofpb.Label_NumUnit:
			if i := textIndex(r.Int64()); i != 0 {
				l.unit = i
			}
		}
	}
	return l, !r.Bad()
}

// labeled keeps labeled samples until texts and call stacks are known. Labels such as
// request ids make every sample unique, so their number is unbounded. They go through a
// sorter, which spills them to disk; all have the same time, so it keeps their order.
type labeled struct {
	sorter *sort.Sorter
	stream *sort.Stream
	event  *token.Writer
	visit  func(stack int64, values []uint64, labels []label)

	// Of the sample being visited.
	values []uint64
	labels []label
}

// labeledMemory is how many bytes of samples are held before they spill.
const labeledMemory = 16 << 20

func newLabeled(store *model.Store) *labeled {
	l := &labeled{sorter: sort.New(sort.Options{Memory: labeledMemory}), event: token.NewWriter(store)}
	l.stream = l.sorter.NewStream(l)
	return l
}

func (l *labeled) close() { _ = l.sorter.Close() } // only temporary files that nobody needs are left

// add adds a sample. If that fails, each returns the error.
func (l *labeled) add(stack int64, values []uint64, labels []label) {
	l.event.Reset()
	l.event.Int(stack)
	l.event.Uint(uint64(len(values)))
	for _, v := range values {
		l.event.Uint(v)
	}
	for _, label := range labels {
		l.event.Int(int64(label.key))
		l.event.Int(int64(label.text))
		l.event.Int(int64(label.unit))
		l.event.Int(label.number)
	}
	_ = l.stream.Push(0, l.event.Bytes())
}

// each visits the samples in input order.
func (l *labeled) each(visit func(stack int64, values []uint64, labels []label)) error {
	l.visit = visit
	return l.sorter.Flush()
}

// Event receives a sample back from the sorter.
func (l *labeled) Event(_ int64, event []byte) error {
	r := token.Reader(event)
	stack := r.Int()
	l.values, l.labels = l.values[:0], l.labels[:0]
	for range r.Uint() {
		l.values = append(l.values, r.Uint())
	}
	for len(r) > 0 {
		l.labels = append(l.labels, label{
			key: textIndex(r.Int()), text: textIndex(r.Int()), unit: textIndex(r.Int()), number: r.Int(),
		})
	}
	l.visit(stack, l.values, l.labels)
	return nil
}
