package families

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/table"
	"github.com/tpconvert/tpconvert/sort"
)

// message is a protobuf message under construction.
type message []byte

func (m message) tag(field int, t wire.Type) message {
	return binary.AppendUvarint(m, uint64(field)<<3|uint64(t))
}

func (m message) num(field int, v int64) message {
	return binary.AppendUvarint(m.tag(field, wire.Varint), uint64(v))
}

func (m message) text(field int, s string) message { return m.msg(field, message(s)) }

func (m message) msg(field int, sub message) message {
	return append(binary.AppendUvarint(m.tag(field, wire.Bytes), uint64(len(sub))), sub...)
}

func (m message) fixed64(field int, v uint64) message {
	return binary.LittleEndian.AppendUint64(m.tag(field, wire.Fixed64), v)
}

// packets returns a trace of packets.
func packets(all ...message) message {
	var t message
	for _, p := range all {
		t = t.msg(1, p)
	}
	return t
}

// packet returns a packet of sequence 1 at ts.
func packet(ts int64) message { return message{}.num(8, ts).num(10, 1) }

// result holds the data read from a trace.
type result struct {
	store  *model.Store
	tables map[string][]map[string]string
	stats  map[string]int64
	err    error
}

// Chunk keeps the rows of a sealed chunk as text, by column.
func (r *result) Chunk(c *table.Chunk) error {
	for row := range c.Rows {
		values := map[string]string{}
		for i, column := range c.Schema.Columns {
			v := c.Column(i)
			if v.Valid != nil && v.Valid[row>>3]&(1<<(row&7)) == 0 {
				continue
			}
			switch all := v.Values.(type) {
			case []int64:
				values[column.Name] = fmt.Sprint(all[row])
			case []int32:
				values[column.Name] = fmt.Sprint(all[row])
			case []float64:
				values[column.Name] = fmt.Sprint(all[row])
			case []bool:
				values[column.Name] = fmt.Sprint(all[row])
			case []table.StringID:
				if all[row] != 0 {
					values[column.Name] = c.Strings.Get(all[row])
				}
			}
		}
		r.tables[c.Schema.Name] = append(r.tables[c.Schema.Name], values)
	}
	return nil
}

// rows lists columns of a table, one string per row.
func (r *result) rows(table string, columns ...string) []string {
	var all []string
	for _, row := range r.tables[table] {
		var line []string
		for _, column := range columns {
			line = append(line, row[column])
		}
		all = append(all, strings.Join(line, " "))
	}
	return all
}

// args lists the args of a row.
func (r *result) args(row map[string]string) (all []string) {
	for _, a := range r.tables["args"] {
		if a["arg_set_id"] == row["arg_set_id"] {
			all = append(all, a["key"]+"="+a["int_value"]+a["real_value"]+a["string_value"])
		}
	}
	return all
}

func readAll(r io.Reader, change ...func(*format.Input)) *result {
	res := &result{tables: map[string][]map[string]string{}, stats: map[string]int64{}}
	res.store = model.NewStore(model.Options{Sink: res})
	file := res.store.NewFile("test", nil)
	sorter := sort.New(sort.Options{})
	defer sorter.Close()
	in := &format.Input{Reader: r, Context: file.Context(0), Sorter: sorter}
	var atEnd []func() error
	in.AtEnd = func(f func() error) { atEnd = append(atEnd, f) }
	in.Embedded = func(string, io.Reader) error { return format.ErrUnsupported }
	for _, f := range change {
		f(in)
	}
	res.err = Format.Read(in)
	res.err = errors.Join(res.err, sorter.Flush())
	for _, f := range atEnd {
		res.err = errors.Join(res.err, f())
	}
	file.Finish()
	res.err = errors.Join(res.err, res.store.Finish())
	for _, s := range res.store.Stats() {
		name := s.Stat.String()
		if s.Index != model.None {
			name += fmt.Sprintf("[%d]", s.Index)
		}
		res.stats[name] = s.Value
	}
	return res
}

func readTrace(t *testing.T, trace message) *result {
	t.Helper()
	res := readAll(bytes.NewReader(trace))
	if res.err != nil {
		t.Fatal(res.err)
	}
	return res
}

func want(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		t.Errorf("%s:\n got %q\nwant %q", what, got, want)
	}
}

// trigger returns a packet that makes a slice.
func trigger(ts int64, name string) message {
	return packet(ts).msg(fieldTrigger, message{}.text(1, name))
}

func TestFrames(t *testing.T) {
	a, b := trigger(10, "a"), trigger(20, "b")
	garbage := message{}.num(7, 1<<40).text(2, "skipped").fixed64(3, 1).tag(4, wire.Fixed32)
	garbage = append(garbage, 1, 2, 3, 4)
	trace := packets(b)
	trace = append(append(trace, garbage...), packets(message{}, a)...)
	for name, r := range map[string]io.Reader{
		"at once":      bytes.NewReader(trace),
		"byte by byte": iotest.OneByteReader(bytes.NewReader(trace)),
		"halves":       iotest.HalfReader(bytes.NewReader(trace)),
		"with the end": iotest.DataErrReader(bytes.NewReader(trace)),
	} {
		res := readAll(r)
		if res.err != nil {
			t.Errorf("%s: %v", name, res.err)
		}
		want(t, name, res.rows("slice", "ts", "name"), "10 a", "20 b")
	}
}

func TestCompressedPackets(t *testing.T) {
	inner := packets(trigger(10, "a"), trigger(20, "b"))
	var deflated bytes.Buffer
	w := zlib.NewWriter(&deflated)
	w.Write(inner)
	w.Close()
	enc, _ := zstd.NewWriter(nil)
	trace := packets(
		message{}.msg(fieldCompressed, deflated.Bytes()),
		message{}.msg(fieldZstdCompressed, enc.EncodeAll(packets(trigger(30, "c")), nil)),
		message{}.msg(fieldZstdCompressed, enc.EncodeAll(packets(trigger(40, "d")), nil)),
		message{}.msg(fieldCompressed, message("neither")),
	)
	res := readTrace(t, trace)
	want(t, "slices", res.rows("slice", "ts", "name"), "10 a", "20 b", "30 c", "40 d")
	if res.stats["corrupt_packet"] != 1 {
		t.Errorf("stats %v", res.stats)
	}
}

func TestTruncatedAndCorrupt(t *testing.T) {
	trace := packets(trigger(10, "a"), trigger(20, "b"))
	whole := len(packets(trigger(10, "a")))
	for n := range trace {
		res := readTrace(t, trace[:n])
		if slices := len(res.rows("slice", "ts")); slices != n/whole {
			t.Errorf("%d slices of %d bytes", slices, n)
		}
		if cut := res.stats["truncated_input"]; (cut != 0) != (n%whole != 0) {
			t.Errorf("%d truncations in %d bytes", cut, n)
		}
	}
	bad := packets(trigger(10, "a"), message{0xff}, trigger(20, "b"))
	res := readTrace(t, bad)
	want(t, "slices around a bad packet", res.rows("slice", "ts", "name"), "10 a", "20 b")
	if res.stats["corrupt_packet"] != 1 {
		t.Errorf("stats %v", res.stats)
	}
	other := message{}.msg(2, []byte("x")).num(3, 4)
	res = readTrace(t, slices.Concat(packets(trigger(10, "a")), other, packets(trigger(20, "b")), other[:3]))
	want(t, "slices around fields that are no packets", res.rows("slice", "ts", "name"), "10 a", "20 b")
	if res.stats["corrupt_packet"] != 2 {
		t.Errorf("stats %v", res.stats)
	}
	res = readAll(bytes.NewReader(append(packets(trigger(10, "a")), 0x0b)))
	if !format.BadInput(res.err) || len(res.rows("slice", "ts")) != 1 {
		t.Errorf("a trace that ends in a group: %v", res.err)
	}
}
