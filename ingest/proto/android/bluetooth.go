package android

import (
	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/internal/perfetto/androidpb"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
)

var (
	bluetoothEvents = &model.Blueprint{Classification: "bluetooth_trace_event", Name: "BluetoothTraceEvent"}
	// bluetoothArgs are the arg names for the fields of BluetoothTraceEvent.
	bluetoothArgs = [...]string{2: "Count", 3: "Length", 5: "Op Code", 6: "Event Code", 7: "Subevent Code", 8: "Handle"}
)

// bluetooth reads the numbers and kinds of packets that Android's Bluetooth stack saw.
func bluetooth(r *proto.Reader) *proto.Module {
	return &proto.Module{
		Fields: []uint32{androidpb.BluetoothTracePacket_BluetoothTraceEvent},
		Parse: func(e *proto.Event) {
			var args model.ArgSet
			var dur int64
			for f := wire.Read(e.Data); f.Next(); {
				switch {
				case f.Number == androidpb.BluetoothTraceEvent_PacketType:
					kind := r.EnumName("bluetooth.tracing.BluetoothTracePacketType", f.Int32())
					args.Add(r.Store.Strings.Intern("TracePacketType"), model.StringArg(kind))
				case f.Number == androidpb.BluetoothTraceEvent_Duration:
					dur = int64(f.Uint32())
				case f.Number < uint32(len(bluetoothArgs)):
					args.Add(r.Store.Strings.Intern(bluetoothArgs[f.Number]), model.UintArg(uint64(f.Uint32())))
				}
			}
			name := r.Store.Strings.Intern("BluetoothTraceEvent")
			r.Slices.Scoped(e.TS, dur, r.Tracks.Intern(bluetoothEvents, nil), 0, name, &args)
		},
	}
}
