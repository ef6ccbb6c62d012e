package proto

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"
	"unsafe"
)

func TestInternTable(t *testing.T) {
	var table internTable
	iids := []uint64{1, 2, 5000, 3, math.MaxUint64, 0, 1024}
	for i, iid := range iids {
		table.add(iid, place(i+1))
	}
	for i, iid := range iids {
		if at := table.find(iid); at != place(i+1) {
			t.Errorf("iid %d: %v", iid, at)
		}
	}
	if table.find(77) != 0 {
		t.Error("an unknown iid was found")
	}
	for iid := uint64(1 << 12); iid < 1<<40; iid *= 2 {
		table.add(iid, 1)
	}
	if len(table.dense) > 2*maxDenseIID {
		t.Errorf("the table has %d entries", len(table.dense))
	}
}

func TestSequencesAreSmall(t *testing.T) {
	size := unsafe.Sizeof(sequence{}) + unsafe.Sizeof(State{}) + unsafe.Sizeof(interval{})
	if size > 120 {
		t.Errorf("a sequence has %d bytes", size)
	}
}

// internedText is a field of InternedData that holds a message with an iid and a text.
func internedText(field, iid uint64, text string) []byte {
	m := binary.AppendUvarint([]byte{1 << 3}, iid)
	m = append(binary.AppendUvarint(append(m, 2<<3|2), uint64(len(text))), text...)
	return append(binary.AppendUvarint(binary.AppendUvarint(nil, field<<3|2), uint64(len(m))), m...)
}

// TestInterned looks up interned data while it is still encoded, and again once it is
// in tables, because it grew or was looked up often.
func TestInterned(t *testing.T) {
	for _, more := range []int{0, 100} {
		s := State{interval: new(interval)}
		s.intern(internedText(2, 1, "first"))
		s.intern(append(internedText(2, 1, "not the first"), internedText(90, 7, "other field")...))
		for i := range more {
			s.intern(internedText(3, uint64(i+1), fmt.Sprint("name ", i)))
		}
		for range 2 * maxFewLookups {
			first, ok := s.Interned(2, 1)
			if !ok || string(first) != string(internedText(2, 1, "first")[2:]) {
				t.Fatalf("%d more: %q", more, first)
			}
			other, ok := s.Interned(90, 7)
			if !ok || string(other) != string(internedText(90, 7, "other field")[3:]) {
				t.Fatalf("%d more: %q", more, other)
			}
		}
		if s.tables == nil || s.few != nil {
			t.Errorf("%d more: what is often looked up is not in tables", more)
		}
	}
}
