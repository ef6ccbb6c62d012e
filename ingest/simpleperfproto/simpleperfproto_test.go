package simpleperfproto_test

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/tpconvert/tpconvert/ingest"
	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/ingesttest"
	"github.com/tpconvert/tpconvert/internal/fuzz"
)

// message encodes fields of numbers, texts and messages. Each follows its field
// number.
func message(fields ...any) (b []byte) {
	for i := 0; i < len(fields); i += 2 {
		number := uint64(fields[i].(int)) << 3
		switch v := fields[i+1].(type) {
		case int:
			b = binary.AppendUvarint(binary.AppendUvarint(b, number), uint64(v))
		case string:
			b = binary.AppendUvarint(binary.AppendUvarint(b, number|2), uint64(len(v)))
			b = append(b, v...)
		case []byte:
			b = binary.AppendUvarint(binary.AppendUvarint(b, number|2), uint64(len(v)))
			b = append(b, v...)
		}
	}
	return b
}

func records(messages ...[]byte) []byte {
	b := []byte("SIMPLEPERF\x01\x00")
	for _, m := range append(messages, nil) {
		b = append(binary.LittleEndian.AppendUint32(b, uint32(len(m))), m...)
	}
	return b
}

func call(address, file, symbol int) []byte { return message(1, address, 2, file, 3, symbol) }

func example() []byte {
	return records(
		message(1, message(1, 200, 2, 8, 4, 250, 5, 1, 3, call(0x10, 1, 1), 3, call(0x20, 1, 0), 3, call(0x30, 2, -1))),
		message(1, message(1, 100, 2, 8, 4, 7, 3, call(0x20, 1, 0))),
		message(1, message(1, 210, 2, 8, 5, 9, 3, call(0x20, 1, 0))), // unknown event
		message(1, message(1, 150, 2, 9, 3, call(0x20, 5, 0))),       // unknown file
		message(1, message(1, 160, 2, 8)),                            // no stack
		message(2, message(1, 4, 2, 3)),                              // lost
		message(6, message(1, 1, 2, 170, 3, 8)),                      // context switch
		message(3, message(1, 1, 2, "/bin/a", 3, "main", 3, "f")),
		message(3, message(1, 2, 2, "/lib/b")),
		message(4, message(1, 8, 2, 7, 3, "worker")),
		message(5, message(1, "cpu-clock", 1, "sched:sched_switch")),
		[]byte{0xff},
	)
}

func TestSamples(t *testing.T) {
	tables := ingesttest.MustRead(t, "x", example())
	tables.Want(t, "stack_sample", "ts|source|utid|callsite_id", "100|simpleperf|1|0", "200|simpleperf|1|3", "210|simpleperf|1|0")
	tables.Want(t, "stack_sample_event", "stack_sample_id|event|period", "0|cpu-clock|7", "1|sched:sched_switch|250", "2|event type 9|NULL")
	tables.Want(t, "stack_profile_callsite", "depth|parent_id|frame_id", "0|NULL|0", "0|NULL|2", "1|1|0", "2|2|1")
	tables.Want(t, "stack_profile_frame", "name|mapping|rel_pc", "main|0|32", "f|0|16", "NULL|1|48")
	tables.Want(t, "stack_profile_mapping", "name", "/bin/a", "/lib/b")
	tables.Want(t, "thread", "tid|name|upid", "0|NULL|0", "8|worker|1", "9|NULL|NULL", "7|NULL|1")
	tables.Want(t, "stats", "name|idx|value|description", "perf_cpu_lost_records|-1|3|Samples and other records that the kernel lost because perf's buffer was full. A larger buffer or a lower frequency helps.",
		"perf_unknown_record_type|6|1|context_switch record is not read",
		"simpleperf_missing_file_mapping|NULL|1|Samples of simpleperf with frames in an unknown file, dropped.", "unread_event|1|1|sample without a stack", "corrupt_packet|NULL|1|Packets that could not be decoded.")
}

// TestDetails reads what report_sample writes only for some recordings: with --keep-failed-unwinding-result, --show-art-frames,
// --trace-offcpu, of an app, and with mangled symbols.
func TestDetails(t *testing.T) {
	tables := ingesttest.MustRead(t, "x", records(
		message(1, message(1, 100, 2, 8, 3, call(0x10, 1, 0), 6, message(1, 5, 2, 64, 3, 2))),
		message(1, message(1, 110, 2, 8, 3, call(0x10, 1, 0), 6, message(3, 0))),
		message(1, message(1, 120, 2, 8, 3, message(1, 0x10, 2, 1, 3, 0, 4, 1), 6, message(1, 30, 3, 77))),
		message(3, message(1, 1, 2, "/bin/a", 3, "main()", 4, "_Z4mainv")),
		message(2, message(1, 3)),
		message(5, message(1, "cpu-clock", 2, "com.example", 3, "debuggable", 4, "34", 5, "userdebug", 6, 1)),
	))
	tables.Want(t, "stack_sample", "ts|unwind_error", "100|not_enough_stack", "110|NULL", "120|unknown")
	tables.Want(t, "stats", "name|value|description", "unread_fact|1|mangled symbol is not read", "unread_fact|1|execution type of a frame")
	facts := tables.Rows("metadata", "name", "int_value", "str_value")
	for _, want := range []string{"simpleperf.app_package_name|NULL|com.example", "simpleperf.app_type|NULL|debuggable",
		"simpleperf.android_sdk_version|NULL|34", "simpleperf.android_build_type|NULL|userdebug", "simpleperf.trace_offcpu|1|NULL", "simpleperf.sample_count|3|NULL"} {
		if !slices.Contains(facts, want) {
			t.Errorf("no %s in %q", want, facts)
		}
	}
}

func TestCutFiles(t *testing.T) {
	data := example()
	for n := 10; n < len(data); n++ {
		tables, err := ingesttest.Read(t, ingesttest.File{Name: "x", Reader: bytes.NewReader(data[:n])})
		switch {
		case n < 12 && !format.BadInput(err), n >= 12 && err != nil:
			t.Errorf("%d bytes: %v", n, err)
		case n >= 12 && !slices.Contains(tables.Rows("stats", "name"), "truncated_input"):
			t.Errorf("%d bytes: the cut is not counted", n)
		}
	}
}

func TestBadFiles(t *testing.T) {
	for name, data := range map[string]string{
		"version": "SIMPLEPERF\x02\x00\x00\x00\x00\x00",
		"size":    "SIMPLEPERF\x01\x00\xff\xff\xff\xff",
	} {
		if _, err := ingesttest.Read(t, ingesttest.File{Name: "x", Reader: bytes.NewReader([]byte(data))}); !format.BadInput(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzSimpleperfProto(f *testing.F) {
	f.Add(example())
	fuzz.Run(f, func(t *testing.T, data []byte) {
		if detected := ingest.Detect(data); detected == nil || detected.Name != "simpleperf_proto" {
			return
		}
		_, err := ingesttest.Read(t, ingesttest.File{Name: "fuzz", Reader: bytes.NewReader(data)})
		if err != nil && !format.BadInput(err) {
			t.Fatal(err)
		}
	})
}
