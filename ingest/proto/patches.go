package proto

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/tpconvert/tpconvert/ingest/proto/message"
	"github.com/tpconvert/tpconvert/ingest/proto/protovm"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
)

// patches has the virtual machines of the trace. The packets of some sequences only say what changed in a machine's
// state, which is a packet that the recorder overwrote. In their place, the packet after each change is read.
type patches struct {
	sequences map[int64][]uint32 // by producer
	machines  map[uint32][]*protovm.VM
	packet    []byte // the last packet made
}

func (r *Reader) patchModule() *Module {
	r.patches.sequences, r.patches.machines = map[int64][]uint32{}, map[uint32][]*protovm.VM{}
	return &Module{
		Fields: []uint32{pb.TracePacket_TraceProvenance, pb.TracePacket_Protovms},
		Read: func(p *Packet, f *wire.Field) bool {
			if f.Number == pb.TracePacket_TraceProvenance {
				r.patches.addSequences(f.Bytes())
			} else {
				r.addMachines(p, f.Bytes())
			}
			return true
		},
	}
}

func (x *patches) addSequences(data []byte) {
	for buffer := range message.Messages(data, pb.TraceProvenance_Buffers) {
		for sequence := range message.Messages(buffer, pb.TraceProvenance_Buffer_Sequences) {
			producer := message.Int64(sequence, pb.TraceProvenance_Sequence_ProducerID)
			x.sequences[producer] = append(x.sequences[producer], message.Uint32(sequence, pb.TraceProvenance_Sequence_ID))
		}
	}
}

func (r *Reader) addMachines(p *Packet, data []byte) {
	x := &r.patches
	for instance := range message.Messages(data, pb.TracePacket_ProtoVms_Instance) {
		vm := protovm.New(message.Bytes(instance, pb.TracePacket_ProtoVms_Instance_Program),
			message.Bytes(instance, pb.TracePacket_ProtoVms_Instance_State),
			1024*int64(message.Uint32(instance, pb.TracePacket_ProtoVms_Instance_MemoryLimitKB)))
		for producer := range message.Numbers(instance, pb.TracePacket_ProtoVms_Instance_ProducerID) {
			sequences := x.sequences[int64(producer)]
			if sequences == nil {
				r.File.LogAt(model.StatProtovmRegistrationError, p.Offset, nil)
			}
			for _, id := range sequences {
				x.machines[id] = append(x.machines[id], vm)
			}
		}
	}
}

// patch replaces a patch by the packet that it makes. Other packets stay as they are.
func (r *Reader) patch(p *Packet) {
	for _, vm := range r.patches.machines[p.Sequence] {
		switch vm.Apply(p.data) {
		case nil:
			r.patches.packet = appendHead(vm.AppendState(r.patches.packet[:0]), p)
			if !p.read(r.patches.packet, p.Offset) {
				p.fields = nil
				r.File.LogAt(model.StatCorruptPacket, p.Offset, nil)
			}
			return
		case protovm.ErrAborted:
			r.File.LogAt(model.StatProtovmAbort, p.Offset, nil)
		}
	}
}

// appendHead appends what a packet says about who wrote it.
func appendHead(b []byte, p *Packet) []byte {
	number := func(field protowire.Number, v uint64) {
		b = protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), v)
	}
	number(pb.TracePacket_TrustedUID, uint64(p.TrustedUID))
	number(pb.TracePacket_TrustedPID, uint64(p.TrustedPID))
	number(pb.TracePacket_TrustedPacketSequenceID, uint64(p.Sequence))
	if p.machine != 0 {
		number(pb.TracePacket_MachineID, uint64(p.machine))
	}
	return b
}
