package proto

import (
	"math"
	"testing"
)

func TestInternTable(t *testing.T) {
	var table internTable
	iids := []uint64{1, 2, 5000, 3, math.MaxUint64, 0, 1024, 2}
	for i, iid := range iids {
		table.add(iid, []byte{byte(i)})
	}
	for i, iid := range iids[:7] {
		if e := table.find(iid); e == nil || e[0] != byte(i) {
			t.Errorf("iid %d: %v", iid, e)
		}
	}
	if table.find(77) != nil {
		t.Error("an unknown iid was found")
	}
	for iid := uint64(1); iid < 1<<40; iid *= 2 {
		table.add(iid, []byte{1})
	}
	if len(table.dense) > 2*maxDenseIID {
		t.Errorf("the table has %d entries", len(table.dense))
	}
}
