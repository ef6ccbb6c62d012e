// Package winscope reads what Android records for Winscope, the tool that shows the state of
// windows over time: layers, transactions, transitions, windows, views, input and ProtoLog.
package winscope

import (
	"fmt"

	"github.com/zeebo/xxh3"

	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/ingest/proto/args"
	"github.com/tpconvert/tpconvert/internal/perfetto/androidpb"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/schema"
	"github.com/tpconvert/tpconvert/model/table"
)

// Modules read the packets of the family.
var Modules = proto.Family{extensions, surfaceFlinger, shellTransitions, protoLog}

// The ids of rows.
type (
	rectID        = table.ID[schema.WinscopeRect]
	transformID   = table.ID[schema.WinscopeTransform]
	areaID        = table.ID[schema.WinscopeTraceRect]
	layersID      = table.ID[schema.SurfaceflingerLayersSnapshot]
	commitID      = table.ID[schema.SurfaceflingerTransactions]
	windowsID     = table.ID[schema.Windowmanager]
	viewCaptureID = table.ID[schema.Viewcapture]
)

// dumper writes messages as args of the rows that describe them.
type dumper struct {
	*proto.Reader
	writer *args.Writer
	set    model.ArgSet // of the row being written
}

func newDumper(r *proto.Reader) dumper { return dumper{Reader: r, writer: args.NewWriter(r)} }

// kind is a kind of message.
type kind struct {
	name string     // full name of the type
	stat model.Stat // counts messages that cannot be read whole
}

// add adds a message's fields to a set, or only those that keep accepts. References to interned
// data are looked up in state.
func (d *dumper) add(set *model.ArgSet, state *proto.State, k *kind, data []byte, keep func(field uint32) bool) {
	d.writer.To(set, state)
	if err := d.writer.Message(d.Types().Message(k.name), data, keep); err != nil {
		d.File.Count(k.stat)
	}
}

// describe stores a message in full as args of a row.
func (d *dumper) describe(row int64, argSetID *table.SetRef[schema.Args], state *proto.State, k *kind, data []byte) {
	d.add(&d.set, state, k, data, nil)
	d.store(row, argSetID)
}

// store stores the set as args of a row, and empties it.
func (d *dumper) store(row int64, argSetID *table.SetRef[schema.Args]) {
	d.Store.SetArgs(argSetID, row, &d.set)
	d.set.Reset()
}

// except accepts all fields but one.
func except(field uint32) func(uint32) bool {
	return func(f uint32) bool { return f != field }
}

// messageID returns the number of a message, which is the same for equal messages.
func messageID(data []byte) int64 { return int64(xxh3.Hash(data) >> 1) }

// unsigned converts a number for a column that is unsigned in Trace Processor.
func unsigned(v int32) int64 { return int64(uint32(v)) }

// extensions reads packets with an extension of WinscopeExtensions, which says what they are about.
func extensions(r *proto.Reader) *proto.Module {
	d := newDumper(r)
	parsers := map[uint32]func(ts int64, state *proto.State, data []byte){
		androidpb.FrameworksBaseWinscopeExtensions_InputmethodClients:        d.inputMethodClients,
		androidpb.FrameworksBaseWinscopeExtensions_InputmethodManagerService: d.inputMethodManager,
		androidpb.FrameworksBaseWinscopeExtensions_InputmethodService:        d.inputMethodService,
		androidpb.FrameworksNativeWinscopeExtensions_AndroidInputEvent:       d.inputEvent,
		androidpb.FrameworksBaseWinscopeExtensions_Viewcapture:               newViewCapture(r).snapshot,
		androidpb.FrameworksBaseWinscopeExtensions_Windowmanager:             newWindowManager(r).snapshot,
	}
	return &proto.Module{
		Fields: []uint32{androidpb.FrameworksNativeWinscopeTracePacket_WinscopeExtensions},
		Parse: func(e *proto.Event) {
			noun := "empty winscope_extensions packet"
			for f := wire.Read(e.Data); f.Next(); {
				if parse := parsers[f.Number]; parse != nil {
					parse(e.TS, e.State, f.Bytes())
					return
				}
				noun = fmt.Sprintf("unknown winscope_extensions packet (field %d)", f.Number)
				if known := r.Types().Message("com.android.internal.WinscopeExtensions").Field(f.Number); known != nil {
					noun = known.Name + " packet"
				}
			}
			r.File.Unread(model.StatUnreadFact, model.None, noun).Add(model.LogEntry{TS: e.TS, HasTS: true})
		},
	}
}
