package artmethod_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tpconvert/tpconvert/ingest"
	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/ingesttest"
	"github.com/tpconvert/tpconvert/internal/fuzz"
)

// w encodes fields: numbers by their types, texts as they are.
func w(fields ...any) (b []byte) {
	for _, f := range fields {
		switch v := f.(type) {
		case uint8:
			b = append(b, v)
		case uint16:
			b = binary.LittleEndian.AppendUint16(b, v)
		case uint32:
			b = binary.LittleEndian.AppendUint32(b, v)
		case uint64:
			b = binary.LittleEndian.AppendUint64(b, v)
		case string:
			b = append(b, v...)
		case []byte:
			b = append(b, v...)
		}
	}
	return b
}

const (
	outer = "0x10\tcom/app/Main\trun\t()V\tMain.java\t12"
	inner = "0x14\tcom.app.Work\tdo\t(I)V\tWork.java"
)

func header(version uint16, size uint16) []byte {
	return w("SLOW", version, uint16(32), uint64(1_000_000), size, make([]byte, 14))
}

// record returns an action of thread 7, some µs after the start.
func record(version int, action, method, at uint32) []byte {
	tid := w(uint16(7))
	if version == 1 {
		tid = w(uint8(7))
	}
	b := w(tid, method|action)
	if version == 3 {
		b = w(b, at/2) // the thread's CPU time
	}
	return w(b, at)
}

func calls(version int) []byte {
	return w(record(version, 0, 0x10, 5), record(version, 0, 0x14, 6), record(version, 2, 0x14, 8), record(version, 1, 0x10, 9), record(version, 0, 0x20, 10))
}

func file(version int) []byte {
	clock := "wall"
	if version == 3 {
		clock = "dual"
	}
	text := fmt.Sprintf("*version\n%d\ndata-file-overflow=false\nclock=%s\nnum-method-calls=5\nvm=art\npid=7\n*threads\n7\tmain\n8\tother\n*methods\n%s\n%s\n*end\n",
		version, clock, outer, inner)
	return w(text, header(uint16(version), 14), calls(version))
}

func stream(version int) []byte {
	line := func(text string) []byte { return w(uint16(0), uint8(1), uint16(len(text)+1), text, "\n") }
	summary := "*version\n3\nclock=dual\nvm=art\npid=7\n*threads\n7\tmain\n*methods\n*end\n"
	records := calls(version)
	size := len(records) / 5
	return w(header(uint16(version)|0xf0, 14), line(outer), uint16(0), uint8(2), uint16(7), uint16(4), "main",
		records[:size], line(inner), records[size:], uint16(0), uint8(3), uint32(len(summary)), summary)
}

func TestFilesAndStreams(t *testing.T) {
	for name, data := range map[string][]byte{
		"file 1": file(1), "file 2": file(2), "file 3": file(3), "stream 2": stream(2), "stream 3": stream(3),
	} {
		t.Run(name, func(t *testing.T) {
			tables := ingesttest.MustRead(t, "x.trace", data)
			cpu := []string{"NULL|NULL", "NULL|NULL", "NULL|NULL"}
			if strings.HasSuffix(name, "3") {
				cpu = []string{"2000|2000", "3000|1000", "5000|NULL"}
			}
			tables.Want(t, "slice", "ts|dur|name|depth|thread_ts|thread_dur",
				"1000005000|4000|com/app/Main.run: ()V|0|"+cpu[0],
				"1000006000|2000|com.app.Work.do: (I)V|1|"+cpu[1],
				"1000010000|-1|NULL|0|"+cpu[2])
			args := tables.Rows("args", "flat_key", "int_value", "string_value")
			if want := []string{"utid|1|NULL", "description|NULL|Calls of methods in Android's runtime.",
				"pathname|NULL|Work.java", "pathname|NULL|com/app/Main.java", "line_number|12|NULL",
			}; !slices.Equal(args[:min(len(args), len(want))], want) {
				t.Errorf("args: %q", args)
			}
			tables.Want(t, "thread", "tid|name", "0|NULL", "7|main")
			tables.Want(t, "stats", "name|value|description")
			if got := tables.Rows("metadata", "name", "int_value", "str_value"); !slices.Contains(got, "pid|7|NULL") || !slices.Contains(got, "vm|NULL|art") {
				t.Errorf("metadata %v", got)
			}
		})
	}
}

// leb encodes signed numbers as LEB128.
func leb(numbers ...int64) (b []byte) {
	for _, n := range numbers {
		for {
			low := byte(n & 0x7f)
			n >>= 7
			if n == 0 && low&0x40 == 0 || n == -1 && low&0x40 != 0 {
				b = append(b, low)
				break
			}
			b = append(b, low|0x80)
		}
	}
	return b
}

func uleb(n uint64) []byte { return binary.AppendUvarint(nil, n) }

// packed returns a packed stream with a 500 MHz clock.
func packed(entries []byte, count uint32) []byte {
	method := func(id uint64, line string) []byte {
		text := line[strings.IndexByte(line, '\t')+1:]
		return w(uint8(1), id, uint16(len(text)+1), text, "\n")
	}
	return w("SLOW", uint16(0xf5), uint64(1_000_000), uint64(0), uint64(500_000_000), uint16(0),
		uint8(0), uint32(7), uint16(4), "main", method(1, outer), method(2, inner),
		uint8(2), uint32(7), []byte{byte(count), 0, 0}, uint32(len(entries)), entries,
		summary("dual"))
}

// summary returns the end of packed streams.
func summary(clock string) []byte {
	text := "*version\n5\ndata-file-overflow=false\nclock=" + clock + "\nnum-method-calls=5\n*end\n"
	return w(uint8(3), uint16(len(text)), text)
}

func TestPackedStreams(t *testing.T) {
	// Time and action, CPU time, method.
	entries := leb(100<<2, 1, 1, 50<<2, 1, 1, 50<<2|1, 1, 100<<2, 1)
	tables := ingesttest.MustRead(t, "x.trace", packed(entries, 4))
	tables.Want(t, "slice", "ts|dur|name|depth",
		"1000200|400|com/app/Main.run: ()V|0", "1000300|100|com.app.Work.do: (I)V|1")
	tables.Want(t, "thread", "tid|name", "0|NULL", "7|main")
	tables.Want(t, "stats", "name|value", "unread_fact|4")
	if got := tables.Rows("metadata", "name", "int_value", "str_value"); !slices.Contains(got, "num-method-calls|5|NULL") || !slices.Contains(got, "clock|NULL|dual") {
		t.Errorf("metadata %v", got)
	}
	// The block claims more records than it has bytes.
	tables = ingesttest.MustRead(t, "x.trace", packed(entries, 9))
	tables.Want(t, "stats", "name|value", "art_method_parse_errors|1", "unread_fact|4")
	if n := len(tables.Rows("slice", "ts")); n != 2 {
		t.Errorf("%d slices", n)
	}
}

// block returns a block of thread 7 with a number of records, which may be too low.
func block(count uint16, entries []byte) []byte {
	return w(uint8(2), uint32(7), count, uint8(0), uint32(len(entries)), entries)
}

// TestPackedNanoseconds reads what Android 16 writes: a header with only the start, method, time and CPU time in each record, all
// counts with 16 bits, and a buffer in two blocks, of which the second has the count of both.
func TestPackedNanoseconds(t *testing.T) {
	method := func(id uint64, line string) []byte {
		text := line[strings.IndexByte(line, '\t')+1:] + "\n"
		return w(uint8(1), id, uint16(len(text)), text)
	}
	start := func(version uint16) []byte {
		return w("SLOW", version, uint64(1_000_000), make([]byte, 18), uint8(0), uint32(7), uint16(4), "main", method(0x7000, outer), method(0x6ff0, inner))
	}
	dual := w(start(0xf5), block(2, w(leb(0x7000), uleb(1000), uleb(50), leb(0x6ff0-0x7000), uleb(100), uleb(40))),
		block(4, w(leb(2), uleb(200), uleb(70), leb(0x7001-0x6ff2), uleb(300), uleb(10))), summary("dual"))
	tables := ingesttest.MustRead(t, "x.trace", dual)
	tables.Want(t, "slice", "ts|dur|name|depth|thread_ts|thread_dur",
		"1001000|600|com/app/Main.run: ()V|0|50|120", "1001100|200|com.app.Work.do: (I)V|1|90|70")
	tables.Want(t, "stats", "name|value")

	wall := w(start(0x04), block(2, w(leb(0x7000), uleb(1000), leb(1), uleb(64))), summary("wall"))
	ingesttest.MustRead(t, "x.trace", wall).Want(t, "slice", "ts|dur|name|thread_ts", "1001000|64|com/app/Main.run: ()V|NULL")

	// 65538 records, of which the count has two.
	many := leb(0x7000, 5)
	for range 1 << 15 {
		many = append(many, w(leb(1), uleb(1), leb(-1), uleb(1))...)
	}
	many = append(many, w(leb(1), uleb(1))...)
	tables = ingesttest.MustRead(t, "x.trace", w(start(0xf4), block(2, many), summary("wall")))
	if n := len(tables.Rows("slice", "ts")); n != 1<<15+1 {
		t.Errorf("%d slices", n)
	}
	tables.Want(t, "stats", "name|value")

	_, err := ingesttest.Read(t, ingesttest.File{Name: "x", Reader: bytes.NewReader(w(start(0xf4), summary("thread-cpu")))})
	if !format.BadInput(err) {
		t.Errorf("thread-cpu: %v", err)
	}
}

// TestLongTraces reads times whose 32 bits of microseconds are used up, after 71 minutes.
func TestLongTraces(t *testing.T) {
	const hour = 3_600_000_000
	record := func(tid uint8, action, at uint32) []byte { return w(tid, 0x10|action, at) }
	data := bytes.Replace(file(1), calls(1), w(record(7, 0, 1000), record(8, 0, 3000), record(7, 1, 1500),
		record(7, 0, hour), record(7, 1, uint32(hour*3/2&0xffffffff)), record(8, 1, 5000),
		record(9, 0, hour), record(9, 1, 7), record(9, 0, 1<<32-3)), 1) // the last one comes too late
	tables := ingesttest.MustRead(t, "x.trace", bytes.Replace(data, []byte("overflow=false"), []byte("overflow=true"), 1))
	tables.Want(t, "slice", "ts|dur", "1001000000|500000", "1003000000|2000000", "3601000000000|1800000000000",
		"3601000000000|-1", "4295967293000|10000")
	tables.Want(t, "stats", "name|value", "art_method_buffer_full|1")
}

// TestDalvik reads what the first virtual machine of Android wrote, whose start is a time of the wall clock.
func TestDalvik(t *testing.T) {
	data := bytes.Replace(bytes.Replace(file(1), []byte("vm=art"), []byte("vm=dalvik"), 1), []byte("clock=wall"), []byte("clock=global"), 1)
	tables := ingesttest.MustRead(t, "x.trace", data)
	tables.Want(t, "slice", "ts|dur", "1000005000|4000", "1000006000|2000", "1000010000|-1")
	if got := tables.Rows("metadata", "name", "int_value"); !slices.Contains(got, "trace_time_clock_id|1") {
		t.Errorf("metadata %v", got)
	}
}

// TestDataOffset reads headers that say how long they are. The emulator's DmTrace wrote one of 16 bytes.
func TestDataOffset(t *testing.T) {
	for _, offset := range []uint16{16, 40} {
		h := w("SLOW", uint16(2), offset, uint64(1_000_000), make([]byte, offset-16))
		data := bytes.Replace(file(2), header(2, 14), h, 1)
		ingesttest.MustRead(t, "x.trace", data).Want(t, "slice", "ts|dur", "1000005000|4000", "1000006000|2000", "1000010000|-1")
	}
}

func TestCutTraces(t *testing.T) {
	for name, data := range map[string][]byte{"file": file(3), "stream": stream(3), "packed": packed(leb(4, 1, 1), 1)} {
		for n := 10; n < len(data); n += 7 {
			tables, err := ingesttest.Read(t, ingesttest.File{Name: "cut", Reader: bytes.NewReader(data[:n])})
			if err != nil && !format.BadInput(err) {
				t.Fatalf("%s of %d bytes: %v", name, n, err)
			}
			whole := name != "file" && bytes.Contains(data[:n], []byte("*end"))
			if err == nil && !whole && !slices.Contains(tables.Rows("stats", "name"), "truncated_input") {
				t.Errorf("%s of %d bytes: the cut is not counted", name, n)
			}
		}
	}
}

func TestBadTraces(t *testing.T) {
	good := string(file(2))
	for name, text := range map[string]string{
		"clock":         strings.Replace(good, "=wall", "=thread-cpu", 1),
		"section":       strings.Replace(good, "*threads", "*what", 1),
		"version":       strings.Replace(good, "SLOW\x02", "SLOW\x09", 1),
		"no records":    good[:strings.Index(good, "SLOW")],
		"kind":          string(header(0xf3, 14)) + "\x00\x00\x09",
		"small records": string(header(0xf3, 13)),
		"start":         "SLOW\xf3\x00\x00\x00" + strings.Repeat("\xff", 24),
	} {
		_, err := ingesttest.Read(t, ingesttest.File{Name: "x", Reader: strings.NewReader(text)})
		if !format.BadInput(err) || !strings.Contains(err.Error(), "x (ART method trace) at byte ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	bad := strings.Replace(good, "\t()V", "", 1) // neither one field nor three are enough
	bad = strings.Replace(bad, "\tMain.java\t12", "", 1)
	bad = strings.Replace(bad, "8\tother", "x\tother", 1)
	tables := ingesttest.MustRead(t, "x", []byte(bad))
	tables.Want(t, "stats", "name|value", "art_method_parse_errors|2")
	tables.Want(t, "slice", "name", "NULL", "com.app.Work.do: (I)V", "NULL")
}

func FuzzARTMethod(f *testing.F) {
	for version := 1; version <= 3; version++ {
		f.Add(file(version))
	}
	f.Add(stream(3))
	f.Add(packed(leb(4, 1, 1, 5, 1), 2))
	fuzz.Run(f, func(t *testing.T, data []byte) {
		if detected := ingest.Detect(data); detected == nil || !strings.HasPrefix(detected.Name, "art_method") {
			return
		}
		_, err := ingesttest.Read(t, ingesttest.File{Name: "fuzz", Reader: bytes.NewReader(data)})
		if err != nil && !format.BadInput(err) {
			t.Fatal(err)
		}
	})
}
