package winscope

import (
	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/internal/perfetto/androidpb"
)

// surfaceFlinger reads what Android's compositor does: the layers, and the transactions that change them.
func surfaceFlinger(r *proto.Reader) *proto.Module {
	l, t := newLayers(r), newTransactions(r)
	return &proto.Module{
		Fields: []uint32{androidpb.FrameworksNativeWinscopeTracePacket_SurfaceflingerLayersSnapshot,
			androidpb.FrameworksNativeWinscopeTracePacket_SurfaceflingerTransactions},
		Parse: func(e *proto.Event) {
			if e.Field == androidpb.FrameworksNativeWinscopeTracePacket_SurfaceflingerTransactions {
				t.commit(e.TS, e.State, e.Data)
				return
			}
			l.snapshot(e.TS, e.State, e.Data)
		},
	}
}
