package main

import (
	"encoding/binary"
	"math/bits"
	"testing"
)

func TestFuchsia(t *testing.T) {
	const size = 1_000_000
	trace := generate(t, "fuchsia", size)
	if magic := binary.LittleEndian.Uint64(trace); magic != 0x0016547846040010 {
		t.Errorf("the trace begins with %#x", magic)
	}
	var records, events uint // bits by type
	for rest := trace; len(rest) > 0; {
		header := binary.LittleEndian.Uint64(rest)
		n := int(header >> 4 & 0xfff * 8)
		if n == 0 || n > len(rest) {
			t.Fatalf("record of %d bytes at byte %d", n, len(trace)-len(rest))
		}
		records |= 1 << (header & 15)
		if header&15 == 4 {
			events |= 1 << (header >> 16 & 15)
		}
		rest = rest[n:]
	}
	if bits.OnesCount(records) != 7 {
		t.Errorf("types of records %b, want 7", records)
	}
	if bits.OnesCount(events) != 10 {
		t.Errorf("types of events %b, want 10", events)
	}
}
