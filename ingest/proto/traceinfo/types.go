package traceinfo

import (
	"bytes"
	"io"

	"github.com/klauspost/compress/gzip"

	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
)

// maxDescriptorBytes limits the size of the descriptors in a trace.
const maxDescriptorBytes = 64 << 20

// types reads the message descriptors that a trace contains for its extensions.
func types(r *proto.Reader) *proto.Module {
	return &proto.Module{
		Fields: []uint32{pb.TracePacket_ExtensionDescriptor},
		Read: func(p *proto.Packet, f *wire.Field) bool {
			set, err := extensionSet(f.Bytes())
			if err == nil {
				err = r.Types().Add(set)
			}
			if err != nil {
				r.File.LogAt(model.StatCorruptPacket, p.Offset, nil)
			}
			return true
		},
	}
}

func extensionSet(data []byte) ([]byte, error) {
	if set, ok := wire.Find(data, pb.ExtensionDescriptor_ExtensionSet); ok {
		return set.Bytes(), nil
	}
	zipped, ok := wire.Find(data, pb.ExtensionDescriptor_ExtensionSetGzip)
	if !ok {
		return nil, nil
	}
	z, err := gzip.NewReader(bytes.NewReader(zipped.Bytes()))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(z, maxDescriptorBytes))
}
