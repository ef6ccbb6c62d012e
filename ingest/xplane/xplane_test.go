package xplane_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"testing"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/ingesttest"
	"github.com/tpconvert/tpconvert/internal/fuzz"
)

// declaration declares the messages of xplane.proto, for an independent reader: type 1 is double, 3 int64, 4 uint64, 9 string,
// 11 a message, 12 bytes; label 3 is repeated.
const declaration = `name: "x.proto" package: "x" syntax: "proto3"
message_type { name: "Space"
  field { name: "planes" number: 1 label: LABEL_REPEATED type: TYPE_MESSAGE type_name: ".x.Plane" }
  field { name: "errors" number: 2 label: LABEL_REPEATED type: TYPE_STRING }
  field { name: "hostnames" number: 4 label: LABEL_REPEATED type: TYPE_STRING } }
message_type { name: "Plane"
  field { name: "id" number: 1 label: LABEL_OPTIONAL type: TYPE_INT64 }
  field { name: "name" number: 2 label: LABEL_OPTIONAL type: TYPE_STRING }
  field { name: "lines" number: 3 label: LABEL_REPEATED type: TYPE_MESSAGE type_name: ".x.Line" }
  field { name: "events" number: 4 label: LABEL_REPEATED type: TYPE_MESSAGE type_name: ".x.EventEntry" }
  field { name: "stat_names" number: 5 label: LABEL_REPEATED type: TYPE_MESSAGE type_name: ".x.StatEntry" }
  field { name: "stats" number: 6 label: LABEL_REPEATED type: TYPE_MESSAGE type_name: ".x.Stat" } }
message_type { name: "EventEntry"
  field { name: "key" number: 1 label: LABEL_OPTIONAL type: TYPE_INT64 }
  field { name: "value" number: 2 label: LABEL_OPTIONAL type: TYPE_MESSAGE type_name: ".x.EventMetadata" } }
message_type { name: "StatEntry"
  field { name: "key" number: 1 label: LABEL_OPTIONAL type: TYPE_INT64 }
  field { name: "value" number: 2 label: LABEL_OPTIONAL type: TYPE_MESSAGE type_name: ".x.StatMetadata" } }
message_type { name: "Line"
  field { name: "id" number: 1 label: LABEL_OPTIONAL type: TYPE_INT64 }
  field { name: "name" number: 2 label: LABEL_OPTIONAL type: TYPE_STRING }
  field { name: "timestamp_ns" number: 3 label: LABEL_OPTIONAL type: TYPE_INT64 }
  field { name: "events" number: 4 label: LABEL_REPEATED type: TYPE_MESSAGE type_name: ".x.Event" }
  field { name: "display_name" number: 11 label: LABEL_OPTIONAL type: TYPE_STRING } }
message_type { name: "Event"
  field { name: "metadata_id" number: 1 label: LABEL_OPTIONAL type: TYPE_INT64 }
  field { name: "offset_ps" number: 2 label: LABEL_OPTIONAL type: TYPE_INT64 }
  field { name: "duration_ps" number: 3 label: LABEL_OPTIONAL type: TYPE_INT64 }
  field { name: "stats" number: 4 label: LABEL_REPEATED type: TYPE_MESSAGE type_name: ".x.Stat" }
  field { name: "num_occurrences" number: 5 label: LABEL_OPTIONAL type: TYPE_INT64 } }
message_type { name: "Stat"
  field { name: "metadata_id" number: 1 label: LABEL_OPTIONAL type: TYPE_INT64 }
  field { name: "double" number: 2 label: LABEL_OPTIONAL type: TYPE_DOUBLE }
  field { name: "uint" number: 3 label: LABEL_OPTIONAL type: TYPE_UINT64 }
  field { name: "int" number: 4 label: LABEL_OPTIONAL type: TYPE_INT64 }
  field { name: "text" number: 5 label: LABEL_OPTIONAL type: TYPE_STRING }
  field { name: "bytes" number: 6 label: LABEL_OPTIONAL type: TYPE_BYTES }
  field { name: "ref" number: 7 label: LABEL_OPTIONAL type: TYPE_UINT64 } }
message_type { name: "EventMetadata"
  field { name: "name" number: 2 label: LABEL_OPTIONAL type: TYPE_STRING }
  field { name: "metadata" number: 3 label: LABEL_OPTIONAL type: TYPE_BYTES }
  field { name: "display_name" number: 4 label: LABEL_OPTIONAL type: TYPE_STRING }
  field { name: "stats" number: 5 label: LABEL_REPEATED type: TYPE_MESSAGE type_name: ".x.Stat" }
  field { name: "child_id" number: 6 label: LABEL_REPEATED type: TYPE_INT64 } }
message_type { name: "StatMetadata"
  field { name: "name" number: 2 label: LABEL_OPTIONAL type: TYPE_STRING } }`

func newSpace(t testing.TB) *dynamicpb.Message {
	t.Helper()
	var file descriptorpb.FileDescriptorProto
	if err := prototext.Unmarshal([]byte(declaration), &file); err != nil {
		t.Fatal(err)
	}
	x, err := protodesc.NewFile(&file, nil)
	if err != nil {
		t.Fatal(err)
	}
	return dynamicpb.NewMessage(x.Messages().ByName("Space"))
}

const space = `hostnames: "box" errors: "lost a device"
planes { name: "/host:metadata" events { key: 1 value { name: "jit_step" stats { metadata_id: 1 bytes: "program" } } } }
planes { id: 1 name: "/device:GPU:1"
  lines { id: 14 name: "Stream #14(Kernel)" timestamp_ns: 1000
    events { metadata_id: 1 offset_ps: 200500 duration_ps: 1000999 stats { metadata_id: 1 uint: 7 } stats { metadata_id: 2 ref: 3 } }
    events { metadata_id: 2 offset_ps: 3000000 duration_ps: 500000 stats { metadata_id: 1 uint: 8 } stats { metadata_id: 4 text: "kind:H2D size:64" } }
    events { metadata_id: 1 num_occurrences: 5 duration_ps: 9 } }
  lines { id: 1 name: "XLA Ops" timestamp_ns: 1000 events { metadata_id: 3 offset_ps: 0 duration_ps: 5000000 } events { metadata_id: 9 offset_ps: 1000000 duration_ps: 1000000 } }
  events { key: 1 value { name: "gemm" } } events { key: 2 value { name: "MemcpyH2D" } }
  events { key: 3 value { name: "%fusion.1 = f32[]" metadata: "program" child_id: 1 display_name: "fusion.1" stats { metadata_id: 5 double: 2.5 } } }
  stat_names { key: 1 value { name: "correlation_id" } } stat_names { key: 2 value { name: "kernel_details" } }
  stat_names { key: 3 value { name: "regs:8 grid:2,1,1 block:64,1,1" } } stat_names { key: 4 value { name: "memcpy_details" } }
  stat_names { key: 5 value { name: "flops" } } stat_names { key: 6 value { name: "core_count" } }
  stats { metadata_id: 6 int: 304 } }
planes { id: 3 name: "/host:CPU"
  lines { id: -5 name: "python" timestamp_ns: 900
    events { metadata_id: 1 offset_ps: 0 duration_ps: 400000 stats { metadata_id: 1 int: 7 } }
    events { metadata_id: 2 offset_ps: 100000 duration_ps: 100000 stats { metadata_id: 2 int: 1 } stats { metadata_id: 3 uint: 44 } } }
  lines { id: 6 name: "worker" display_name: "worker/6" timestamp_ns: 2000
    events { metadata_id: 3 offset_ps: 0 duration_ps: 1000 stats { metadata_id: 4 int: 1 } stats { metadata_id: 5 uint: 44 } } }
  events { key: 1 value { name: "cuLaunchKernel" } } events { key: 2 value { name: "schedule" } } events { key: 3 value { name: "run" } }
  stat_names { key: 1 value { name: "correlation_id" } } stat_names { key: 2 value { name: "_pt" } } stat_names { key: 3 value { name: "_p" } }
  stat_names { key: 4 value { name: "_ct" } } stat_names { key: 5 value { name: "_c" } } }
planes { name: "Task Environment" stat_names { key: 1 value { name: "profile_start_time" } } stats { metadata_id: 1 uint: 1700000000000000000 } }`

func encoded(t testing.TB) []byte {
	t.Helper()
	m := newSpace(t)
	if err := prototext.Unmarshal([]byte(space), m); err != nil {
		t.Fatal(err)
	}
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestSpace(t *testing.T) {
	tables := ingesttest.MustRead(t, "x.xplane.pb", encoded(t))
	tables.Want(t, "slice", "ts|dur|category|name|depth",
		"900|400|NULL|cuLaunchKernel|0",
		"1000|100|NULL|schedule|1",
		"1000|5000|XLA Ops|fusion.1|0",
		"1200|1001|kernel|gemm|0",
		"2000|1000|XLA Ops|NULL|1",
		"2000|1|NULL|run|0",
		"4000|500|gpu_memcpy|MemcpyH2D|0")
	tables.Want(t, "track", "name|ugpu|classification",
		"NULL|NULL|thread_execution", "XLA Ops|0|gpu_stream", "Stream #14(Kernel)|0|gpu_stream", "NULL|NULL|thread_execution")
	tables.Want(t, "gpu_slice", "name|hw_queue_id|submission_id", "fusion.1|1|NULL", "gemm|14|7", "NULL|1|NULL", "MemcpyH2D|14|8")
	tables.Want(t, "flow", "slice_out|slice_in", "0|3", "1|5")
	tables.Want(t, "gpu", "gpu|name", "1|/device:GPU:1")
	for _, arg := range []string{"correlation_id|7|NULL|NULL", "_p|44|NULL|NULL", "flops|NULL|NULL|2.5", "long_name|NULL|%fusion.1 = f32[]|NULL", "core_count|304|NULL|NULL",
		"kernel_details|NULL|regs:8 grid:2,1,1 block:64,1,1|NULL", "memcpy_details|NULL|kind:H2D size:64|NULL", "duration_ps|1000999|NULL|NULL"} {
		if !slices.Contains(tables.Rows("args", "key", "int_value", "string_value", "real_value"), arg) {
			t.Errorf("no arg %s", arg)
		}
	}
	tables.Want(t, "stats", "name|value|description", "clock_sync_cache_miss|1|Conversions of times that needed a search for the clock snapshot.",
		"unread_event|1|aggregated event is not read", "corrupt_packet|1|Packets that could not be decoded.", "unread_fact|1|binary stat is not read",
		"unread_fact|1|binary metadata of an event is not read", "unread_fact|1|child of an event is not read")
	for _, fact := range []string{"xplane.error|lost a device|NULL", "xplane.hostname|box|NULL", "xplane.profile_start_time|NULL|1700000000000000000"} {
		if !slices.Contains(tables.Rows("metadata", "name", "str_value", "int_value"), fact) {
			t.Errorf("no fact %s", fact)
		}
	}
}

// TestBeforeZero reads the time of a line and of an event in it, which may be negative.
func TestBeforeZero(t *testing.T) {
	m := newSpace(t)
	text := `planes { name: "/host:CPU" lines { id: 5 name: "main" timestamp_ns: -2000 events { metadata_id: 1 offset_ps: -1001 duration_ps: 2000001 } }
		events { key: 1 value { name: "early" } } }`
	if err := prototext.Unmarshal([]byte(text), m); err != nil {
		t.Fatal(err)
	}
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	tables := ingesttest.MustRead(t, "x.xplane.pb", data)
	tables.Want(t, "slice", "ts|dur|name", "-2002|2001|early")
}

// event is what an independent reader finds: where an event begins and how long it takes, in ns.
type event struct{ ts, dur int64 }

// TestSamples compares the files in the folder xplane of FORMAT_SAMPLES with what the protobuf library reads in them.
func TestSamples(t *testing.T) {
	ingesttest.Samples(t, "xplane/*.pb", func(path string, data []byte) {
		tables, failed := ingesttest.Read(t, ingesttest.File{Name: path, Reader: bytes.NewReader(data)})
		m := newSpace(t)
		if err := proto.Unmarshal(data, m); err != nil {
			if !errors.Is(failed, format.ErrCorrupt) {
				t.Errorf("%v, but the library says %v", failed, err)
			}
			return
		}
		if failed != nil {
			t.Fatal(failed)
		}
		var want []event
		each(m, "planes", func(plane protoreflect.Message) {
			each(plane, "lines", func(line protoreflect.Message) {
				each(line, "events", func(e protoreflect.Message) {
					offset, dur := number(e, "offset_ps"), number(e, "duration_ps")
					start := offset / 1000
					want = append(want, event{number(line, "timestamp_ns") + start, (offset+dur)/1000 - start})
				})
			})
		})
		var got []event
		for _, row := range tables.Rows("slice", "ts", "dur") {
			var e event
			fmt.Sscanf(row, "%d|%d", &e.ts, &e.dur)
			got = append(got, e)
		}
		for _, all := range [][]event{got, want} {
			slices.SortFunc(all, func(a, b event) int { return cmp.Or(cmp.Compare(a.ts, b.ts), cmp.Compare(a.dur, b.dur)) })
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d slices, want %d", len(got), len(want))
		}
		t.Logf("%d events", len(want))
	})
}

func each(m protoreflect.Message, field protoreflect.Name, f func(protoreflect.Message)) {
	list := m.Get(m.Descriptor().Fields().ByName(field)).List()
	for i := range list.Len() {
		f(list.Get(i).Message())
	}
}

func number(m protoreflect.Message, field protoreflect.Name) int64 {
	return m.Get(m.Descriptor().Fields().ByName(field)).Int()
}

func TestCut(t *testing.T) {
	data := encoded(t)
	for n := range data {
		ingesttest.MayFail(t, data[:n])
	}
}

func FuzzRead(f *testing.F) {
	f.Add(encoded(f))
	fuzz.Run(f, func(t *testing.T, data []byte) {
		ingesttest.MayFail(t, data)
	})
}
