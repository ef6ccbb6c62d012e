package families

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/internal/wire"
)

func analyze(trace message) *result {
	return readAll(bytes.NewReader(trace), func(in *format.Input) { in.Analyze = true })
}

// paths lists path, size, count and the args of the packets.
func (r *result) paths() (all []string) {
	paths := r.tables["experimental_proto_path"]
	for i, row := range r.tables["experimental_proto_content"] {
		root := i
		for paths[root]["parent_id"] != "" {
			fmt.Sscan(paths[root]["parent_id"], &root)
		}
		line := fmt.Sprint(row["path"], " ", row["size"], " ", row["count"])
		if paths[root]["arg_set_id"] != "" {
			line += " " + strings.Join(r.args(paths[root]), " ")
		}
		all = append(all, line)
	}
	return all
}

func TestContent(t *testing.T) {
	trace := packets(
		packet(1).msg(60, threadTrack(20, 0, 1, 2, "t")),
		packet(300).msg(11, event(begin, 20).text(23, "a").text(22, "c")),
		packet(400).msg(11, event(begin, 20).text(23, "a").text(22, "c")),
		packet(500).msg(11, event(end, 20)),
		packet(6).num(13, 2).msg(11, event(begin, 20)),           // needs what was lost
		packet(7).msg(6, message{}.msg(1, message{}.num(1, 6))),  // clocks are not counted
		message{}.num(8, 8).text(9999, "what").text(9998, "why"), // unknown
	)
	want(t, "not asked for", readTrace(t, trace).rows("experimental_proto_content", "path"))
	res := analyze(trace)
	want(t, "parents", res.rows("experimental_proto_path", "parent_id", "field_name", "field_type")[:8],
		"  TracePacket", "0 #timestamp uint64", "0 #trusted_packet_sequence_id uint32", "0 #track_descriptor TrackDescriptor",
		"3 #uuid uint64", "3 #parent_uuid uint64", "3 #thread ThreadDescriptor", "6 #pid int32")
	want(t, "paths", res.paths(),
		"TracePacket 14 2",
		"TracePacket.#timestamp.uint64 2 2",
		"TracePacket.#trusted_packet_sequence_id.uint32 1 1",
		"TracePacket.#track_descriptor.TrackDescriptor 4 1",
		"TracePacket.#track_descriptor.TrackDescriptor.#uuid.uint64 1 1",
		"TracePacket.#track_descriptor.TrackDescriptor.#parent_uuid.uint64 1 1",
		"TracePacket.#track_descriptor.TrackDescriptor.#thread.ThreadDescriptor 4 1",
		"TracePacket.#track_descriptor.TrackDescriptor.#thread.ThreadDescriptor.#pid.int32 1 1",
		"TracePacket.#track_descriptor.TrackDescriptor.#thread.ThreadDescriptor.#tid.int64 1 1",
		"TracePacket.#track_descriptor.TrackDescriptor.#thread.ThreadDescriptor.#thread_name.string 1 1",
		"TracePacket 5 1 skipped_packet=invalid_incremental_state",
		"TracePacket.#timestamp.uint64 1 1 skipped_packet=invalid_incremental_state",
		"TracePacket.#trusted_packet_sequence_id.uint32 1 1 skipped_packet=invalid_incremental_state",
		"TracePacket.#sequence_flags.uint32 1 1 skipped_packet=invalid_incremental_state",
		"TracePacket.#track_event.TrackEvent 2 1 skipped_packet=invalid_incremental_state",
		"TracePacket.#track_event.TrackEvent.#type.enum 1 1 skipped_packet=invalid_incremental_state",
		"TracePacket.#track_event.TrackEvent.#track_uuid.uint64 1 1 skipped_packet=invalid_incremental_state",
		"TracePacket.#unknown. 7 1",
		"TracePacket 8 2 event.category=c event.name=a",
		"TracePacket.#timestamp.uint64 4 2 event.category=c event.name=a",
		"TracePacket.#trusted_packet_sequence_id.uint32 2 2 event.category=c event.name=a",
		"TracePacket.#track_event.TrackEvent 16 2 event.category=c event.name=a",
		"TracePacket.#track_event.TrackEvent.#type.enum 2 2 event.category=c event.name=a",
		"TracePacket.#track_event.TrackEvent.#track_uuid.uint64 2 2 event.category=c event.name=a",
		"TracePacket.#track_event.TrackEvent.#name.string 2 2 event.category=c event.name=a",
		"TracePacket.#track_event.TrackEvent.#categories.string 2 2 event.category=c event.name=a",
		"TracePacket 4 1 event.category= event.name=",
		"TracePacket.#timestamp.uint64 2 1 event.category= event.name=",
		"TracePacket.#trusted_packet_sequence_id.uint32 1 1 event.category= event.name=",
		"TracePacket.#track_event.TrackEvent 2 1 event.category= event.name=",
		"TracePacket.#track_event.TrackEvent.#type.enum 1 1 event.category= event.name=",
		"TracePacket.#track_event.TrackEvent.#track_uuid.uint64 1 1 event.category= event.name=",
	)
}

// Every byte of a packet is counted once, also where it is damaged or nested deeper than paths are.
func TestContentIsWhole(t *testing.T) {
	nested := message{}.text(6, "x")
	for range 1000 {
		nested = message{}.text(10, "d").msg(11, nested)
	}
	for name, p := range map[string]message{
		"deep":          packet(1).msg(11, event(begin, 20).msg(4, nested)),
		"damaged":       packet(2).msg(60, append(message{}.num(1, 20), 0xff)),
		"wrong type":    packet(3).num(60, 300),
		"long varint":   append(packet(4).tag(13, wire.Varint), 0x81, 0x80, 0x00),
		"fixed numbers": packet(5).fixed64(9999, 1).fixed64(60, 2),
	} {
		res := analyze(packets(packet(0).msg(60, threadTrack(20, 0, 1, 2, "t")), p))
		total := int64(-len(packet(0).msg(60, threadTrack(20, 0, 1, 2, "t"))))
		for _, row := range res.tables["experimental_proto_content"] {
			var size int64
			fmt.Sscan(row["size"], &size)
			total += size
		}
		if total != int64(len(p)) {
			t.Errorf("%s: %d bytes of a packet of %d", name, total, len(p))
		}
		if n := len(res.tables["experimental_proto_path"]); n > 400 {
			t.Errorf("%s: %d paths", name, n)
		}
	}
}
