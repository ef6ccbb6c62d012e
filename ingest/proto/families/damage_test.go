package families

import (
	"bytes"
	"encoding/binary"
	"io"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/tpconvert/tpconvert/internal/wire"
)

// families returns a trace with packets for most modules.
func families() message {
	events := bundle(1, schedSwitch(20, 5, 1, 0), ftraceEvent(25, 5, 3, message{}.text(2, "B|5|slice")))
	compact := message{}.text(5, "idle").msg(1, packedNumbers(10, 5)).msg(2, packedNumbers(0, 0)).msg(3, packedNumbers(9, 0)).
		msg(4, packedNumbers(1, 2)).msg(6, packedNumbers(0, 0))
	process := message{}.num(1, 9).num(2, 1).text(3, "app")
	trace := packets(
		fresh(1), events, message{}.num(10, 1).msg(fieldFtraceEvents, message{}.num(1, 0).msg(4, compact)),
		packet(30).msg(fieldProcessTree, message{}.msg(1, process).msg(2, message{}.num(1, 10).num(3, 9).text(2, "t"))),
		packet(31).msg(fieldProcessStats, message{}.msg(1, message{}.num(1, 9).num(3, 4))),
		packet(32).msg(fieldSystemInfo, message{}.msg(1, message{}.text(1, "Linux"))),
		packet(33).msg(fieldSysStats, message{}.msg(1, message{}.num(1, 2).num(2, 3))),
		packet(34).msg(fieldAndroidLog, message{}.msg(1, message{}.num(2, 1).num(3, 2).num(5, 40).text(6, "tag").text(8, "line"))),
		packet(35).msg(fieldCPUPerUID, message{}.num(1, 1).msg(2, packedNumbers(1, 2)).msg(3, packedNumbers(3, 4))),
		packet(36).msg(fieldConcurrentSession, message{}.num(1, 2).text(2, "a").num(3, 1)),
		packet(37).msg(fieldVulkanMemory, message{}.num(1, 1).num(2, 1).num(4, 1).num(6, 5).num(8, 1)),
		packet(38).msg(fieldRenderStage, message{}.num(1, 1).num(2, 5).text(17, "stage").msg(18, packedNumbers(2))),
		packet(39).msg(fieldJournald, message{}.num(1, 1).text(7, "line")),
		packet(40).msg(fieldPowerRails, message{}.msg(1, message{}.num(1, 1).text(2, "rail")).msg(2, message{}.num(1, 1).num(2, 1).num(3, 5))),
	)
	return append(append(richTrace(), trace...), symbolTrace(message{}.num(1, 16).msg(2, message{}.text(1, "f")))...)
}

// packetsOf splits a trace into its packets.
func packetsOf(trace message) (all []message) {
	for r := wire.Read(trace); r.Next(); {
		all = append(all, r.Bytes())
	}
	return all
}

// readDamaged reads the trace with packet i replaced by damaged ones and a good packet
// added at the end, which must be read despite the damage. It checks how many packets
// were counted as corrupt.
func readDamaged(t *testing.T, all []message, i int, damaged []message) {
	t.Helper()
	corrupt := int64(0)
	for _, m := range damaged {
		r := wire.Read(m)
		for r.Next() {
		}
		if r.Bad() {
			corrupt++
		}
	}
	trace := append(packets(all[:i]...), packets(damaged...)...)
	trace = append(append(trace, packets(all[i+1:]...)...), packets(message{}.num(8, 900).msg(fieldTrigger, message{}.text(1, "the end")))...)
	res := readTrace(t, trace)
	if !slices.Contains(res.rows("slice", "name"), "the end") {
		t.Errorf("packet %d: the end is missing", i)
	}
	if n := res.stats["corrupt_packet"]; n < corrupt {
		t.Errorf("packet %d: %d of %d corrupt packets counted", i, n, corrupt)
	}
}

// TestMessagesTruncated cuts each packet's message at each byte but keeps the framing
// correct.
func TestMessagesTruncated(t *testing.T) {
	all := packetsOf(families())
	for i, m := range all {
		var cut []message
		for n := range m {
			cut = append(cut, m[:n])
		}
		readDamaged(t, all, i, cut)
	}
}

// damages yields versions of a message in which one field, at any depth, is damaged in
// one of several ways.
func damages(m message, yield func(message)) {
	for at := 0; at < len(m); {
		tag, n := wire.Uvarint(m[at:])
		number, kind := int(tag>>3), wire.Type(tag&7)
		value := at + n
		end := value
		var inner message
		switch kind {
		case wire.Varint:
			_, n := wire.Uvarint(m[value:])
			end += n
		case wire.Fixed64:
			end += 8
		case wire.Fixed32:
			end += 4
		case wire.Bytes:
			size, n := wire.Uvarint(m[value:])
			value += n
			end = value + int(size)
			inner = m[value:end]
		}
		with := func(field message) { yield(append(append(append(message(nil), m[:at]...), field...), m[end:]...)) }
		// Other wire types, a number that fills 64 bits, a varint of 11 bytes, and a
		// length past the end.
		if kind != wire.Varint {
			with(message{}.num(number, 1))
		}
		if kind != wire.Fixed64 {
			with(message{}.fixed64(number, 1<<63))
		}
		if kind != wire.Fixed32 {
			with(binary.LittleEndian.AppendUint32(message{}.tag(number, wire.Fixed32), 7))
		}
		if kind != wire.Bytes {
			with(message{}.text(number, "text"))
		}
		with(message{}.num(number, -1))
		with(append(message{}.tag(number, wire.Varint), bytes.Repeat([]byte{0x80}, 11)...))
		with(binary.AppendUvarint(message{}.tag(number, wire.Bytes), 1<<40))
		with(binary.AppendUvarint(message{}.tag(number, wire.Bytes), uint64(len(m)+1)))
		if isMessage(inner) {
			damages(inner, func(damaged message) { with(message{}.msg(number, damaged)) })
		}
		at = end
	}
}

// isMessage reports whether bytes may be a message that is not empty.
func isMessage(b []byte) bool {
	if len(b) < 2 {
		return false
	}
	r := wire.Read(b)
	for r.Next() {
		if r.Number == 0 || r.Number > 3000 {
			return false
		}
	}
	return !r.Bad()
}

func TestDamagedFields(t *testing.T) {
	all := packetsOf(families())
	for i, m := range all {
		var damaged []message
		damages(m, func(m message) { damaged = append(damaged, m) })
		readDamaged(t, all, i, damaged)
	}
}

// zeros is an endless reader of zero bytes.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

func TestEndlessCompressedPacket(t *testing.T) {
	var bomb bytes.Buffer
	w, err := zstd.NewWriter(&bomb, zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	w.Write(packets(trigger(20, "inside")))
	w.Write(binary.AppendUvarint(message{}.tag(2, wire.Bytes), 1<<40))
	io.CopyN(w, zeros{}, 1<<28) // more than a message may hold
	w.Close()
	if bomb.Len() > 1<<20 {
		t.Fatalf("it has %d bytes", bomb.Len())
	}
	res := readTrace(t, packets(trigger(10, "before"), message{}.msg(fieldZstdCompressed, bomb.Bytes()), trigger(30, "after")))
	want(t, "slices", res.rows("slice", "name"), "before", "inside", "after")
	if n := res.stats["corrupt_packet"]; n != 1 {
		t.Errorf("stats %v", res.stats)
	}
}

func TestCompressedInCompressed(t *testing.T) {
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	inner := message{}.msg(fieldZstdCompressed, enc.EncodeAll(packets(trigger(10, "inner")), nil))
	res := readTrace(t, packets(message{}.msg(fieldZstdCompressed, enc.EncodeAll(packets(inner, trigger(20, "outer")), nil))))
	want(t, "slices", res.rows("slice", "name"), "outer")
	if n := res.stats["corrupt_packet"]; n != 1 {
		t.Errorf("stats %v", res.stats)
	}
}

func TestMissingInterned(t *testing.T) {
	named := func(ts int64, fields message) message {
		return packet(ts).num(13, 2).msg(11, append(event(instant, 20), fields...))
	}
	res := readTrace(t, packets(
		fresh(1).msg(60, threadTrack(20, 0, 1, 2, "t")),
		named(10, message{}.num(10, 5)),                                          // name
		named(20, message{}.text(23, "a").num(3, 6)),                             // category
		named(30, message{}.text(23, "b").msg(4, message{}.num(1, 7).num(4, 1))), // annotation
		named(40, message{}.text(23, "c").num(34, 8)),                            // source location
		named(50, message{}.text(23, "d").num(56, 9)),                            // call stack
		named(60, message{}.text(23, "e").msg(21, message{}.num(2, 10))),         // log message
		named(70, message{}.text(23, "f").num(54, 11)),                           // correlation id
	))
	want(t, "slices", res.rows("slice", "ts", "name", "category"), "10  ", "20 a unknown(6)", "30 b ", "40 c ", "50 d ", "60 e ", "70 f ")
	if n := res.stats["interned_data_tokenizer_errors"]; n != 7 {
		t.Errorf("%d of 7 missing messages counted", n)
	}
	if n := res.stats["stackprofile_invalid_callstack_id"]; n != 1 {
		t.Errorf("%d call stacks", n)
	}
}

func TestTimestamps(t *testing.T) {
	at := func(ts int64, name string) message { return packet(ts).msg(11, event(instant, 20).text(23, name)) }
	res := readTrace(t, packets(
		fresh(1).msg(60, threadTrack(20, 0, 1, 2, "t")),
		at(50, "later"), at(40, "earlier"), at(-1, "negative"), at(1<<62, "far"), trigger(-1, "negative too"),
	))
	want(t, "slices", res.rows("slice", "ts", "name"), "40 earlier", "50 later", "4611686018427387904 far")
	if event, other := res.stats["track_event_invalid_timestamp"], res.stats["trace_sorter_negative_timestamp_dropped"]; event != 1 || other != 1 {
		t.Errorf("stats %v", res.stats)
	}
	// Deltas that overflow stop at the largest possible time.
	delta := func(us int64, name string) message {
		return message{}.num(10, 1).num(13, 2).msg(11, message{}.num(1, us).text(23, name).num(9, instant))
	}
	res = readTrace(t, packets(
		fresh(1).msg(44, message{}.num(1, 1).num(2, 2).num(6, 100)),
		delta(1<<62, "over"), delta(1<<62, "over again"), delta(-1, "back"),
	))
	want(t, "slices", res.rows("slice", "ts", "name"), "9223372036854774807 back", "9223372036854775807 over", "9223372036854775807 over again")
}

// TestNested nests messages that are read recursively 10,000 deep.
func TestNested(t *testing.T) {
	nest := func(m message, with func(message) message) message {
		for range 10_000 {
			m = with(m)
		}
		return m
	}
	for name, annotation := range map[string]message{
		"array items":   nest(message{}.num(4, 1), func(m message) message { return message{}.msg(annotationItems, m) }).text(10, "d"),
		"nested values": message{}.text(10, "d").msg(annotationNested, nest(nil, func(m message) message { return message{}.num(1, nestedArray).msg(4, m) })),
	} {
		res := readTrace(t, packets(packet(2).msg(60, threadTrack(20, 0, 1, 2, "t")), packet(3).msg(11, event(instant, 20).msg(4, annotation))))
		if n := res.stats["track_event_parser_errors"]; n != 1 || len(res.tables["slice"]) != 1 {
			t.Errorf("%s: %d errors, %d slices", name, n, len(res.tables["slice"]))
		}
	}
	tracks := packets(fresh(1))
	for i := range int64(10_000) {
		tracks = append(tracks, packets(packet(1).msg(60, message{}.num(1, i+1).num(5, i).text(2, "track")))...)
	}
	res := readTrace(t, append(tracks, packets(packet(2).msg(11, event(instant, 50)), packet(3).msg(11, event(instant, 10_000)))...))
	want(t, "slices of nested tracks", res.rows("slice", "ts"), "2")
	if n := res.stats["track_event_track_hierarchy_too_deep"]; n == 0 {
		t.Errorf("stats %v", res.stats)
	}
}
