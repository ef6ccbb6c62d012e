package profiling

import (
	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/ingest/proto/javanames"
	"github.com/tpconvert/tpconvert/ingest/wire"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
)

// obfuscation reads the maps of names that obfuscators write. Symbols must be known when
// they are applied, as names depend on lines.
func obfuscation(r *proto.Reader) *proto.Module {
	return &proto.Module{
		Fields: []uint32{pb.TracePacket_DeobfuscationMapping},
		Read: func(_ *proto.Packet, f *wire.Field) bool {
			javanames.Of(r).Add(f.Bytes())
			return true
		},
		End: func() { javanames.Of(r).Apply() },
	}
}
