package android

import (
	"slices"

	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/ingest/proto/message"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
)

// wakelock is a lock that keeps the device awake, as a sequence names it.
type wakelock struct {
	name, kind model.StringID
}

// sequenceWakelocks are a sequence's wakelocks. The first value of a wakelock is the time since boot; later values are
// deltas.
type sequenceWakelocks struct {
	byID map[uint32]wakelock
	kind map[model.StringID]model.StringID // by name
	held tallies[model.StringID]           // by name, ms
}

var wakelocksOfSequence = proto.NewLocal[sequenceWakelocks](proto.UntilAnew)

var wakelockTracks = &model.Blueprint{Classification: "android_kernel_wakelock", Event: model.CounterTrack, Unit: "ns",
	Dims: []string{"wakelock_name", "wakelock_type"}}

// wakelockKinds are the names of KernelWakelockData.Wakelock.Type.
var wakelockKinds = []string{"unknown", "kernel", "native"}

// wakelockErrors are the stats for the bits of KernelWakelockData.error_flags.
var wakelockErrors = [...]model.Stat{
	model.StatKernelWakelockZeroValueReported,
	model.StatKernelWakelockNonMonotonicValueReported,
	model.StatKernelWakelockImplausiblyLargeValueReported,
}

// wakelocks reads how long each of the kernel's wakelocks was held.
func wakelocks(r *proto.Reader) *proto.Module {
	counters := sparse.Of(r)
	return &proto.Module{
		Fields: []uint32{pb.TracePacket_KernelWakelockData},
		Tokenize: func(p *proto.Packet, f *wire.Field) bool {
			s := wakelocksOfSequence.Of(p.State)
			s.name(r, p, f.Bytes())
			s.add(r, p, f.Bytes())
			for bit, stat := range wakelockErrors {
				if message.Uint64(f.Bytes(), pb.KernelWakelockData_ErrorFlags)>>bit&1 != 0 {
					r.File.LogAt(stat, p.Offset, nil)
				}
			}
			for _, name := range s.held.keys {
				track := r.Tracks.Intern(wakelockTracks, &model.TrackOptions{Name: name}, model.StringDim(name), model.StringDim(s.kind[name]))
				counters.push(p, track, 1e6*float64(s.held.sums[name]))
			}
			return true
		},
	}
}

// name adds the wakelocks that a packet names.
func (s *sequenceWakelocks) name(r *proto.Reader, p *proto.Packet, data []byte) {
	if s.byID == nil {
		s.byID, s.kind = map[uint32]wakelock{}, map[model.StringID]model.StringID{}
	}
	for lock := range message.Messages(data, pb.KernelWakelockData_Wakelock) {
		id := message.Uint32(lock, pb.KernelWakelockData_Wakelock_WakelockID)
		if _, known := s.byID[id]; known {
			r.File.LogAt(model.StatKernelWakelockReusedID, p.Offset, nil)
			continue
		}
		s.byID[id] = wakelock{
			name: r.Store.Strings.InternBytes(message.Bytes(lock, pb.KernelWakelockData_Wakelock_WakelockName)),
			kind: r.NameOf(wakelockKinds, int64(message.Int32(lock, pb.KernelWakelockData_Wakelock_WakelockType))),
		}
	}
}

// add adds the times that a packet reports.
func (s *sequenceWakelocks) add(r *proto.Reader, p *proto.Packet, data []byte) {
	ids := slices.Collect(message.Numbers(data, pb.KernelWakelockData_WakelockID))
	for ms := range message.Numbers(data, pb.KernelWakelockData_TimeHeldMillis) {
		if len(ids) == 0 {
			return
		}
		lock, known := s.byID[uint32(ids[0])]
		ids = ids[1:]
		if !known {
			r.File.LogAt(model.StatKernelWakelockUnknownID, p.Offset, nil)
			continue
		}
		s.held.add(lock.name, ms)
		s.kind[lock.name] = lock.kind
	}
}
