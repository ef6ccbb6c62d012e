package nettrace_test

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tpconvert/tpconvert/ingest/internal/ingesttest"
)

// The functions here write version 6 as NetTraceFormat.md of perfview describes it.

func varint(n uint64) []byte { return binary.AppendUvarint(nil, n) }

func utf8(text string) []byte { return append(varint(uint64(len(text))), text...) }

// short returns a text behind 16 bits with its length.
func short(text string) []byte { return append([]byte{byte(len(text)), byte(len(text) >> 8)}, text...) }

// sized returns bytes behind 16 bits with their number.
func sized(parts ...[]byte) []byte { return short(string(slices.Concat(parts...))) }

func (w *writer) block6(kind byte, parts ...[]byte) {
	content := slices.Concat(parts...)
	w.add(uint32(len(content))|uint32(kind)<<24, content)
}

func field6(name string, kind ...byte) []byte { return sized(utf8(name), kind) }

func fields6(fields ...[]byte) []byte {
	return append([]byte{byte(len(fields)), 0}, slices.Concat(fields...)...)
}

func metadata6(id uint64, provider string, event uint64, name string, fields []byte, facts ...byte) []byte {
	return sized(varint(id), utf8(provider), varint(event), utf8(name), fields, sized(facts), []byte{0xaa}) // and what a later version adds
}

// event6 returns an event with a whole compressed header.
func event6(metadata, sequence, thread, processor, stack, ticks, labels byte, payload []byte) []byte {
	return slices.Concat([]byte{1 | 2 | 4 | 8 | 16 | 128, metadata, sequence, thread, processor, thread, stack, ticks, labels}, varint(uint64(len(payload))), payload)
}

func trace6() []byte {
	w := new(writer).add([]byte("Nettrace"), int32(0), int32(6), int32(3))
	w.block6(1, new(writer).add([]int16{2020, 9, 0, 13, 12, 26, 40, 500}, int64(1000), int64(1_000_000), int32(8), int32(2)).Bytes(),
		utf8("HardwareThreadCount"), utf8("2"), utf8("ProcessId"), utf8("7"))
	counter := []byte{1, 0}
	const char, i4, u1, text16, array, varInt, varUint, fixed, char8, relative, absolute, bool8 = 4, 9, 6, 18, 19, 20, 21, 22, 23, 24, 25, 26
	w.block6(3, counter, []byte{0xff}, // a header of one byte
		metadata6(1, "Universal.System", 0, "ExistingProcess", fields6()), metadata6(2, "Universal.System", 3, "ProcessMapping", fields6()),
		metadata6(3, "Universal.System", 4, "ProcessSymbol", fields6()), metadata6(4, "Universal.System", 5, "ProcessMappingMetadata", fields6()),
		metadata6(5, "Universal.Events", 0, "cpu", fields6(field6("Value", varUint))),
		metadata6(6, "Universal.Events", 1, "cswitch", fields6(field6("Value", varUint))),
		metadata6(7, "Mine", 9, "All", fields6(field6("minus", varInt), field6("yes", bool8), field6("pair", fixed, i4, 2, 0), field6("word", array, char8),
			field6("text", text16), field6("near", relative, i4), field6("far", absolute, char), field6("time", 16)), 9, 3, 8, 5),
		metadata6(8, "Microsoft-Windows-DotNETRuntime", 1, "", fields6(), 9, 2))
	w.block6(6, sized(varint(300), []byte{1}, utf8("Worker"), []byte{2}, varint(70), []byte{3}, varint(71), []byte{4}, utf8("color"), utf8("red")),
		sized(varint(2), []byte{2}, varint(80)), sized(varint(3)))
	w.block6(5, new(writer).add(int32(1), int32(2), int32(16), uint64(0x401010), uint64(0x402000), int32(8), uint64(0x401010)).Bytes())
	w.block6(8, new(writer).add(int32(1), int32(2)).Bytes(), []byte{1}, bytes.Repeat([]byte{0x11}, 16), []byte{4, 1, 2, 3, 4, 5, 6, 7, 8, 5}, utf8("user"), utf8("me"),
		[]byte{6 | 0x80}, utf8("cost"), []byte{3}, []byte{9 | 0x80, 4})
	w.block6(99, []byte("later"))
	image := slices.Concat(varint(5), varint(0x401000), varint(0x403000), varint(0x1000), short("/bin/app"), varint(9))
	symbol := slices.Concat(varint(1), varint(5), varint(0x401000), varint(0x401100), short("main"))
	all := new(writer).add([]byte{1, 1}, int32(5), int32(-6), []byte{2, 0}, []byte("ok"), "hé", // minus, yes, pair, word, text
		int32(8<<16|20), int32(4<<16|54), []int16{2021, 2, 3, 3, 4, 5, 6, 7}, int32(1), int32(2), []byte("xy"), []uint16{'a', 'b'}).Bytes()
	thread300 := []byte{1 | 2 | 4 | 128, 2, 2, 0xac, 2, 1, 0xac, 2, 5} // of two bytes
	w.block6(2, header(compressed).Bytes(), event6(1, 0, 2, 0, 0, 100, 0, slices.Concat(varint(80), short("other"), short(""))),
		thread300, varint(uint64(len(image))), image,
		event6(3, 0, 2, 0, 0, 1, 0, symbol), event6(4, 0, 2, 0, 0, 1, 0, slices.Concat(varint(9), short(`{"type":"ELF","build_id":"abcd"}`), short(""))))
	w.block6(2, header(compressed).Bytes(), []byte{1 | 2 | 4 | 8 | 128, 5, 3, 0xac, 2, 1, 0xac, 2, 1, 200, 1, 1, 7}, // as event6, of thread 300: 7 samples on CPU 1
		event6(5, 3, 2, 0, 1, 10, 0, []byte{1}), event6(7, 0, 3, 0, 2, 5, 1, all), event6(6, 0, 2, 0, 2, 5, 2, []byte{9}))
	plain := new(writer).add(int32(8), int32(2), int64(3), int64(3), int32(0), int32(0), int64(300), int32(1), int32(26), int32(1), int32(2), int32(0), int32(0), int16(0), int64(4)).Bytes()
	w.block6(2, header(0).add(int32(len(plain)), plain).Bytes())
	w.block6(4, new(writer).add(int64(400), int32(3), int32(1)).Bytes(), varint(2), varint(8)) // threads and metadata are forgotten
	w.block6(2, header(compressed).Bytes(), event6(5, 0, 2, 0, 1, 10, 0, []byte{1}))
	w.block6(0)
	return w.add([]byte("nothing behind the end is read")).Bytes()
}

func TestVersion6(t *testing.T) {
	tables := ingesttest.MustRead(t, "a.nettrace", trace6())
	tables.Want(t, "process", "pid|name", "0|NULL", "7|NULL", "80|other", "70|NULL")
	// Each process has a main thread. The threads of events without a thread's id have their number in the trace.
	tables.Want(t, "thread", "tid|name|upid", "0|NULL|0", "7|NULL|1", "80|NULL|2", "70|NULL|3", "71|Worker|3", "1|NULL|2", "2|NULL|1")
	// 200 ticks are 800 µs before the trace's time.
	tables.Want(t, "stack_sample", "ts|cpu|utid|upid|callsite_id|weight", "1600000000499200000|1|4|3|1|7", "1600000000499210000|0|5|2|3|NULL")
	// The image is in one of the processes.
	tables.Want(t, "stack_profile_callsite", "parent_id|frame_id", "NULL|0", "0|1", "NULL|2", "2|3", "NULL|3")
	tables.Want(t, "stack_profile_frame", "name|rel_pc|mapping", "NULL|8192|0", "main|4112|0", "NULL|4202496|1", "NULL|4198416|1")
	tables.Want(t, "stack_profile_mapping", "name|build_id|start|exact_offset", "/bin/app|abcd|4198400|4096", "||0|0")
	tables.Want(t, "slice", "ts|dur|category|name", "1600000000499215000|0|Mine|All", "1600000000499220000|0|Universal.Events|cswitch",
		"1600000000499300000|-1|Microsoft-Windows-DotNETRuntime|GC")
	tables.Want(t, "track_event_callstacks", "slice_id|callsite_id", "0|4", "1|4")
	args := tables.Rows("args", "key", "int_value", "string_value")
	for _, want := range []string{"minus|-1|NULL", "yes|1|NULL", "pair[0]|5|NULL", "pair[1]|-6|NULL", "word|NULL|ok", "text|NULL|hé", "near[0]|1|NULL", "near[1]|2|NULL",
		"far|NULL|ab", "time|NULL|2021-02-03T04:05:06.007Z", "ActivityId|NULL|11111111-1111-1111-1111-111111111111", "SpanId|NULL|0102030405060708", "user|NULL|me",
		"cost|-2|NULL", "Level|4|NULL", "color|NULL|red", "ClientSequenceNumber|4|NULL"} {
		if !slices.Contains(args, want) {
			t.Errorf("no %s in\n%s", want, strings.Join(args, "\n"))
		}
	}
	// Of the threads 2, 3 and 300, 5, 8 and 3 events are missing. The last event has no description since the sequence point.
	tables.Want(t, "stats", "name|value|description", "unread_event|1|block of kind 99 is not read",
		"nettrace_parse_errors|1|Blocks, events and fields of .NET's traces that cannot be read, or refer to missing parts.",
		"nettrace_events_lost|16|Events that .NET's runtime dropped, by the numbers missing from those of each thread.")
}

// TestUniversal reads what one_collect's record-trace writes: texts that are described as a character, processes without a name, and labels
// of samples.
func TestUniversal(t *testing.T) {
	w := new(writer).add([]byte("Nettrace"), int32(0), int32(6), int32(0))
	w.block6(1, new(writer).add([]int16{2020, 9, 0, 13, 12, 26, 40, 500}, int64(1000), int64(1_000_000), int32(8), int32(0)).Bytes())
	const varUint, char8 = 21, 23
	names := fields6(field6("NamespaceId", varUint), field6("Name", char8), field6("NamespaceName", char8))
	w.block6(3, []byte{0, 0}, metadata6(1, "Universal.System", 0, "ExistingProcess", names), metadata6(2, "Universal.System", 1, "ProcessCreate", names),
		metadata6(3, "Universal.Events", 1, "cpu", fields6(field6("Value", varUint))))
	w.block6(6, sized(varint(1), []byte{2}, varint(70), []byte{3}, varint(0)), sized(varint(2), []byte{2}, varint(80), []byte{3}, varint(0)),
		sized(varint(3), []byte{2}, varint(80), []byte{3}, varint(81)))
	w.block6(8, new(writer).add(int32(1), int32(1)).Bytes(), []byte{5 | 0x80}, utf8("user"), utf8("me"))
	w.block6(2, header(compressed).Bytes(), event6(1, 0, 1, 0, 0, 100, 0, slices.Concat(varint(0), short(""), short("Unknown"))),
		event6(2, 0, 2, 0, 0, 1, 0, slices.Concat(varint(80), short("sh"), short("Unknown"))), event6(3, 0, 3, 0, 0, 1, 1, varint(1)))
	w.block6(0)
	tables := ingesttest.MustRead(t, "a.nettrace", w.Bytes())
	tables.Want(t, "process", "pid|name", "0|NULL", "70|NULL", "80|sh")
	tables.Want(t, "thread", "tid|upid", "0|0", "70|1", "80|2", "81|2")
	tables.Want(t, "slice", "name", "ProcessCreate")
	tables.Want(t, "stack_sample", "cpu|utid", "0|3")
	tables.Want(t, "args", "key|int_value|string_value", "utid|2|NULL", "NamespaceId|80|NULL", "Name|NULL|sh", "NamespaceName|NULL|Unknown", "user|NULL|me")
	tables.Want(t, "stack_sample_event", "stack_sample_id|event|period|arg_set_id", "0|cpu|NULL|4")
	tables.Want(t, "stats", "name|value", "nettrace_events_lost|3") // the threads' numbers follow each other
}

func TestDamage6(t *testing.T) {
	data := trace6()
	ingesttest.Cuts(t, data[:bytes.Index(data, []byte("nothing"))], "stack_sample")
	random := rand.New(rand.NewPCG(6, 0))
	for range 2000 {
		damaged := bytes.Clone(data)
		for range 1 + random.IntN(4) {
			damaged[random.IntN(len(damaged))] = byte(random.Uint32())
		}
		ingesttest.MayFail(t, damaged)
	}
	// A second trace block does not change the size of pointers.
	const head, pointer = 20, 36
	second := bytes.Clone(data[head : head+4+int(data[head])])
	second[pointer] = 0
	again := slices.Concat(data[:head+len(second)], second, data[head+len(second):])
	if stats := ingesttest.MustRead(t, "a", again).Rows("stats", "name", "value"); !slices.Contains(stats, "nettrace_parse_errors|2") {
		t.Error(stats)
	}
	if _, err := ingesttest.Read(t, ingesttest.File{Name: "a", Reader: strings.NewReader(string(data[:40]))}); err == nil || !strings.Contains(err.Error(), "the trace block is damaged") {
		t.Error(err)
	}
}
