package stackprof_test

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/ingesttest"
)

// long writes an integer of up to 31 bits as Marshal does.
func long(n int) string {
	switch {
	case n == 0:
		return "\x00"
	case 0 < n && n < 123:
		return string([]byte{byte(n + 5)})
	case -124 < n && n < 0:
		return string([]byte{byte(n - 5)})
	}
	b := binary.LittleEndian.AppendUint32(nil, uint32(n))
	if n < 0 {
		return "\xfc" + string(b)
	}
	return "\x04" + string(b)
}

func text(s string) string { return `I"` + long(len(s)) + s + long(1) + ":" + long(1) + "ET" }

func symbol(s string) string { return ":" + long(len(s)) + s }

func number(n int) string { return "i" + long(n) }

// id is that of a frame, of 64 bits.
func id(n uint64) string {
	return "l+" + long(4) + string(binary.LittleEndian.AppendUint64(nil, n))
}

func array(elements ...string) string {
	return "[" + long(len(elements)) + strings.Join(elements, "")
}

func hash(pairs ...string) string {
	return "{" + long(len(pairs)/2) + strings.Join(pairs, "")
}

// dump is the profile of file. The text a.rb is object 6, after three hashes, a real number, an id and a text.
func dump() string {
	main, f := id(140000000000000001), id(18446744073709551615)
	frame := func(name, file, line string, samples int) string {
		return hash(symbol("name"), name, symbol("file"), file, symbol("line"), line, symbol("samples"), number(samples), symbol("lines"), hash(number(-7), array(number(1), number(-300))))
	}
	return "\x04\x08" + hash(symbol("version"), "f"+long(3)+"1.2", symbol("mode"), symbol("wall"), symbol("interval"), number(1000),
		symbol("samples"), number(5), symbol("gc_samples"), number(1), symbol("missed_samples"), number(0),
		symbol("frames"), hash(main, frame(text("main"), text("a.rb"), number(1), 1), f, frame(text("f"), "@"+long(6), number(5), 3),
			number(3), frame("0", text(""), "0", 1)),
		symbol("raw"), array(number(2), main, f, number(3), number(1), main, number(1), number(1), number(3), number(1)),
		symbol("raw_timestamp_deltas"), array(number(1000), number(1001), number(999), number(1002), number(1)))
}

// TestDump compares a dump with its JSON.
func TestDump(t *testing.T) {
	want, got := ingesttest.MustRead(t, "a", []byte(file)), ingesttest.MustRead(t, "a", []byte(dump()))
	for table, columns := range map[string][]string{"aggregate_profile": {"scope", "name", "sample_type_unit"}, "stack_profile_symbol": {"name", "source_file", "line_number"},
		"stack_profile_callsite": {"parent_id", "frame_id"}, "aggregate_sample": {"aggregate_profile_id", "callsite_id", "value"}, "stats": {"name"}} {
		if got, want := got.Rows(table, columns...), want.Rows(table, columns...); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", table, got, want)
		}
	}
	if facts := got.Rows("metadata", "name", "str_value", "int_value"); !slices.Contains(facts, "stackprof_mode|wall|NULL") || !slices.Contains(facts, "stackprof_interval|NULL|1000") {
		t.Errorf("%q", facts)
	}
}

func TestDamagedDump(t *testing.T) {
	whole := dump()
	last := 0
	for i := strings.Index(whole, "frames") + len("frames"); i < len(whole); i++ {
		tables, err := ingesttest.Read(t, ingesttest.File{Name: "x", Reader: strings.NewReader(whole[:i])})
		if err != nil && !format.BadInput(err) {
			t.Fatal(err)
		}
		n := len(tables.Rows("stack_profile_frame", "id"))
		if n < last || err == nil && !slices.Contains(tables.Rows("stats", "name"), "truncated_input") {
			t.Errorf("cut at %d: %d frames after %d, %v", i, n, last, err)
		}
		last = n
	}
	for from, to := range map[string]string{
		`"` + long(0): "o" + long(0), "@" + long(6): "@" + long(3), symbol("raw"): ";" + long(99), symbol("raw_timestamp_deltas"): "[" + long(0) + "0",
	} {
		tables := ingesttest.MustRead(t, "x", []byte(strings.Replace(whole, from, to, 1)))
		if stats := tables.Rows("stats", "name"); !slices.Contains(stats, "stackprof_parse_errors") || slices.Contains(stats, "truncated_input") {
			t.Errorf("%q: %q", to, stats)
		}
	}
	deep := strings.Replace(whole, symbol("frames"), symbol("deep")+strings.Repeat("["+long(1), 1000), 1)
	if _, err := ingesttest.Read(t, ingesttest.File{Name: "x", Reader: strings.NewReader(deep)}); !errors.Is(err, format.ErrCorrupt) {
		t.Error(err)
	}
}
