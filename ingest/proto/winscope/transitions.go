package winscope

import (
	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/ingest/proto/message"
	"github.com/tpconvert/tpconvert/internal/perfetto/androidpb"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/table"
)

var shellTransition = kind{"com.android.internal.ShellTransition", model.StatWinscopeShellTransitionsParseErrors}

// transitions reads the animated changes of windows. Several packets describe one transition.
type transitions struct {
	dumper
	shapes *shapes
	byID   map[int32]*transition
	order  []*transition
}

// transition is what the packets so far say about a transition.
type transition struct {
	row  int64
	args model.ArgSet
	// Times in ns of CLOCK_BOOTTIME, 0 if unknown.
	sent, dispatched, finished, merged, aborted int64
}

func shellTransitions(r *proto.Reader) *proto.Module {
	t := &transitions{dumper: newDumper(r), shapes: shapesOf.Of(r), byID: map[int32]*transition{}}
	return &proto.Module{
		Fields: []uint32{androidpb.FrameworksBaseWinscopeTracePacket_ShellTransition, androidpb.FrameworksBaseWinscopeTracePacket_ShellHandlerMappings},
		Parse: func(e *proto.Event) {
			if e.Field == androidpb.FrameworksBaseWinscopeTracePacket_ShellHandlerMappings {
				t.handlers(e.Data)
				return
			}
			t.packet(e.State, e.Data)
		},
		End: t.end,
	}
}

// transition returns the transition with an id.
func (t *transitions) transition(id int32) *transition {
	if known := t.byID[id]; known != nil {
		return known
	}
	rows := &t.Store.WindowManagerShellTransitions
	added := &transition{row: rows.Append()}
	rows.TransitionID.Set(added.row, int64(id))
	t.byID[id] = added
	t.order = append(t.order, added)
	return added
}

// packet reads a ShellTransition.
func (t *transitions) packet(state *proto.State, data []byte) {
	id := message.Int32(data, androidpb.ShellTransition_ID)
	messages := &t.Store.WindowManagerShellTransitionProtos
	row := messages.Append()
	messages.TransitionID.Set(row, int64(id))
	messages.Base64ProtoID.Set(row, messageID(data))

	one := t.transition(id)
	t.add(&one.args, state, &shellTransition, data, nil)
	rows := &t.Store.WindowManagerShellTransitions
	for f := wire.Read(data); f.Next(); {
		switch f.Number {
		case androidpb.ShellTransition_Type:
			rows.TransitionType.Set(one.row, unsigned(f.Int32()))
		case androidpb.ShellTransition_CreateTimeNS:
			rows.CreateTimeNS.Set(one.row, f.Int64())
		case androidpb.ShellTransition_SendTimeNS:
			one.sent = f.Int64()
			rows.SendTimeNS.Set(one.row, one.sent)
		case androidpb.ShellTransition_DispatchTimeNS:
			one.dispatched = f.Int64()
			rows.DispatchTimeNS.Set(one.row, one.dispatched)
		case androidpb.ShellTransition_FinishTimeNS:
			one.finished = f.Int64()
			rows.FinishTimeNS.Set(one.row, one.finished)
		case androidpb.ShellTransition_ShellAbortTimeNS:
			one.aborted = max(one.aborted, f.Int64())
			rows.ShellAbortTimeNS.Set(one.row, f.Int64())
		case androidpb.ShellTransition_WmAbortTimeNS:
			one.aborted = max(one.aborted, f.Int64())
			rows.WMAbortTimeNS.Set(one.row, f.Int64())
		case androidpb.ShellTransition_MergeTimeNS:
			one.merged = f.Int64()
			rows.MergeTimeNS.Set(one.row, one.merged)
		case androidpb.ShellTransition_Handler:
			rows.Handler.Set(one.row, int64(f.Int32()))
		case androidpb.ShellTransition_Flags:
			rows.Flags.Set(one.row, unsigned(f.Int32()))
		case androidpb.ShellTransition_StartTransactionID:
			rows.StartTransactionID.Set(one.row, f.Int64())
		case androidpb.ShellTransition_FinishTransactionID:
			rows.FinishTransactionID.Set(one.row, f.Int64())
		case androidpb.ShellTransition_Changes:
			t.participant(id, f.Bytes())
		}
	}
}

// participant reads a Change, a window that takes part in a transition.
func (t *transitions) participant(transition int32, data []byte) {
	rows := &t.Store.WindowManagerShellTransitionParticipants
	row := rows.Append()
	rows.TransitionID.Set(row, int64(transition))
	numbers := map[uint32]*table.Int64{
		androidpb.ShellTransition_Change_LayerID: &rows.LayerID, androidpb.ShellTransition_Change_WindowID: &rows.WindowID,
		androidpb.ShellTransition_Change_Mode: &rows.Mode, androidpb.ShellTransition_Change_Flags: &rows.Flags,
	}
	places := map[uint32]*table.Int64{ // -1 if there is none
		androidpb.ShellTransition_Change_StartDisplayID: &rows.StartDisplayID, androidpb.ShellTransition_Change_EndDisplayID: &rows.EndDisplayID,
		androidpb.ShellTransition_Change_StartRotation: &rows.StartRotation, androidpb.ShellTransition_Change_EndRotation: &rows.EndRotation,
	}
	for f := wire.Read(data); f.Next(); {
		switch number, place := numbers[f.Number], places[f.Number]; {
		case number != nil:
			number.Set(row, unsigned(f.Int32()))
		case place != nil:
			place.Set(row, int64(f.Int32()))
		case f.Number == androidpb.ShellTransition_Change_StartAbsoluteBounds:
			rows.StartAbsBoundsRectID.Set(row, t.shapes.rect(readRect(f.Bytes())))
		case f.Number == androidpb.ShellTransition_Change_EndAbsoluteBounds:
			rows.EndAbsBoundsRectID.Set(row, t.shapes.rect(readRect(f.Bytes())))
		}
	}
}

// handlers reads ShellHandlerMappings, the names of handlers.
func (t *transitions) handlers(data []byte) {
	rows := &t.Store.WindowManagerShellTransitionHandlers
	for mapping := range message.Messages(data, androidpb.ShellHandlerMappings_Mapping) {
		row := rows.Append()
		rows.HandlerID.Set(row, int64(message.Int32(mapping, androidpb.ShellHandlerMapping_ID)))
		rows.HandlerName.Set(row, t.Store.Strings.InternBytes(message.Bytes(mapping, androidpb.ShellHandlerMapping_Name)))
		rows.Base64ProtoID.Set(row, messageID(data))
	}
}

// end stores what is known only when all packets have been read.
func (t *transitions) end() {
	rows := &t.Store.WindowManagerShellTransitions
	for _, one := range t.order {
		ts := one.sent
		if ts == 0 {
			ts = one.dispatched
		}
		rows.TS.Set(one.row, ts)
		switch {
		case one.merged > 0:
			rows.Status.Set(one.row, t.Store.Strings.Intern("merged"))
		case one.dispatched > 0 && one.finished > 0:
			rows.DurationNS.Set(one.row, one.finished-one.dispatched)
			rows.Status.Set(one.row, t.Store.Strings.Intern("played"))
		case one.aborted > 0 && one.dispatched <= 0:
			rows.Status.Set(one.row, t.Store.Strings.Intern("aborted"))
		}
		t.set, one.args = one.args, model.ArgSet{}
		t.store(one.row, &rows.ArgSetID)
	}
}
