package winscope

import (
	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/ingest/proto/message"
	"github.com/tpconvert/tpconvert/internal/perfetto/androidpb"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
)

var (
	keyEvent    = kind{"com.android.internal.AndroidKeyEvent", model.StatAndroidInputEventParseErrors}
	motionEvent = kind{"com.android.internal.AndroidMotionEvent", model.StatAndroidInputEventParseErrors}
	dispatch    = kind{"com.android.internal.AndroidWindowInputDispatchEvent", model.StatAndroidInputEventParseErrors}
)

// inputEvent reads an AndroidInputEvent, which holds one of three events, whole or redacted.
func (d *dumper) inputEvent(ts int64, state *proto.State, data []byte) {
	for _, event := range []struct {
		fields [2]uint32
		read   func(ts int64, state *proto.State, data []byte)
	}{
		{[2]uint32{androidpb.AndroidInputEvent_DispatcherMotionEvent, androidpb.AndroidInputEvent_DispatcherMotionEventRedacted}, d.motion},
		{[2]uint32{androidpb.AndroidInputEvent_DispatcherKeyEvent, androidpb.AndroidInputEvent_DispatcherKeyEventRedacted}, d.key},
		{[2]uint32{androidpb.AndroidInputEvent_DispatcherWindowDispatchEvent,
			androidpb.AndroidInputEvent_DispatcherWindowDispatchEventRedacted}, d.dispatch},
	} {
		for _, field := range event.fields {
			if f, ok := wire.Find(data, field); ok {
				event.read(ts, state, f.Bytes())
				return
			}
		}
	}
}

func (d *dumper) motion(ts int64, state *proto.State, data []byte) {
	t := &d.Store.AndroidMotionEvents
	row := t.Append()
	t.TS.Set(row, ts)
	t.EventID.Set(row, int64(message.Uint32(data, androidpb.AndroidMotionEvent_EventID)))
	t.Source.Set(row, int64(message.Uint32(data, androidpb.AndroidMotionEvent_Source)))
	t.Action.Set(row, int64(message.Int32(data, androidpb.AndroidMotionEvent_Action)))
	t.DeviceID.Set(row, int64(message.Int32(data, androidpb.AndroidMotionEvent_DeviceID)))
	t.DisplayID.Set(row, wire.ZigZag(message.Uint64(data, androidpb.AndroidMotionEvent_DisplayID)))
	t.Base64ProtoID.Set(row, messageID(data))
	d.add(&d.set, state, &motionEvent, data, nil)
	d.addTimes(message.Int64(data, androidpb.AndroidMotionEvent_EventTimeNanos), message.Int64(data, androidpb.AndroidMotionEvent_DownTimeNanos))
	d.store(row, &t.ArgSetID)
}

func (d *dumper) key(ts int64, state *proto.State, data []byte) {
	t := &d.Store.AndroidKeyEvents
	row := t.Append()
	t.TS.Set(row, ts)
	t.EventID.Set(row, int64(message.Uint32(data, androidpb.AndroidKeyEvent_EventID)))
	t.Source.Set(row, int64(message.Uint32(data, androidpb.AndroidKeyEvent_Source)))
	t.Action.Set(row, int64(message.Int32(data, androidpb.AndroidKeyEvent_Action)))
	t.DeviceID.Set(row, int64(message.Int32(data, androidpb.AndroidKeyEvent_DeviceID)))
	t.DisplayID.Set(row, wire.ZigZag(message.Uint64(data, androidpb.AndroidKeyEvent_DisplayID)))
	t.KeyCode.Set(row, int64(message.Int32(data, androidpb.AndroidKeyEvent_KeyCode)))
	t.Base64ProtoID.Set(row, messageID(data))
	d.add(&d.set, state, &keyEvent, data, nil)
	d.addTimes(message.Int64(data, androidpb.AndroidKeyEvent_EventTimeNanos), message.Int64(data, androidpb.AndroidKeyEvent_DownTimeNanos))
	d.store(row, &t.ArgSetID)
}

// addTimes adds the times of an event, ns of CLOCK_MONOTONIC, on the trace clock: when the kernel
// reported it, and when the key or finger went down.
func (d *dumper) addTimes(event, down int64) {
	d.addTime("kernel_time", event)
	d.addTime("down_time", down)
}

func (d *dumper) addTime(key string, monotonic int64) {
	ts, err := d.Clocks.ToTrace(model.Clock{ID: model.ClockMonotonic}, monotonic)
	if err != nil {
		d.File.Count(err.Stat)
		return
	}
	d.set.Add(d.Store.Strings.Intern(key), model.IntArg(ts))
}

func (d *dumper) dispatch(_ int64, state *proto.State, data []byte) {
	t := &d.Store.AndroidInputEventDispatch
	row := t.Append()
	t.EventID.Set(row, int64(message.Uint32(data, androidpb.AndroidWindowInputDispatchEvent_EventID)))
	t.VsyncID.Set(row, message.Int64(data, androidpb.AndroidWindowInputDispatchEvent_VsyncID))
	t.WindowID.Set(row, int64(message.Int32(data, androidpb.AndroidWindowInputDispatchEvent_WindowID)))
	t.Base64ProtoID.Set(row, messageID(data))
	d.describe(row, &t.ArgSetID, state, &dispatch, data)
}
