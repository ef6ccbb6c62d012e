package profiling

import (
	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/ingest/proto/javanames"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/internal/wire"
)

// obfuscation reads the name mappings that obfuscators write. They are applied after the
// symbols, because names depend on line numbers.
func obfuscation(r *proto.Reader) *proto.Module {
	names := javanames.Join(r)
	return &proto.Module{
		Fields: []uint32{pb.TracePacket_DeobfuscationMapping},
		Read: func(_ *proto.Packet, f *wire.Field) bool {
			names.Add(f.Bytes())
			return true
		},
		End: names.Leave,
	}
}
