package proto

import (
	"bytes"
	"compress/zlib"
	"runtime"
	"strconv"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
)

// Many small compressed packets take as much memory as what is in them, and stay valid while others are cut.
func TestSmallCompressedPackets(t *testing.T) {
	const n = 5000
	field := func(b []byte, number protowire.Number, v []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(b, number, protowire.BytesType), v)
	}
	text := func(i int) string { return "packet " + strconv.Itoa(i) }
	var trace []byte
	var z bytes.Buffer
	w := zlib.NewWriter(&z)
	for i := range n {
		z.Reset()
		w.Reset(&z)
		w.Write(field(nil, 1, field(nil, pb.TracePacket_ForTesting, []byte(text(i)))))
		w.Close()
		trace = field(trace, 1, field(nil, pb.TracePacket_CompressedPackets, z.Bytes()))
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got := 0
	err := cutHere(bytes.NewReader(trace), nil, func(p *Packet) bool {
		if len(p.fields) != 1 || string(p.fields[0].Bytes()) != text(got) {
			t.Fatalf("packet %d: %q", got, p.data)
		}
		got++
		return true
	})
	runtime.ReadMemStats(&after)
	if took := (after.TotalAlloc - before.TotalAlloc) >> 20; err != nil || got != n || took > 32 {
		t.Errorf("%d packets, %d MiB, error %v", got, took, err)
	}
}
