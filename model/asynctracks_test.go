package model

import "testing"

// The first name seen with an id stays, even an empty one, regardless of neighboring ids.
func TestFirstNames(t *testing.T) {
	type key struct{ process, id uint64 }
	var names firstNames
	want := map[key]StringID{}
	for i := range uint64(5000) {
		k := key{i % 3, i * 7 % 1000}
		if i%5 == 0 {
			k.id = -k.id // pointers and hashes are large
		}
		name := StringID(i % 11)
		if _, ok := want[k]; !ok {
			want[k] = name
		}
		if got := names.of(k.process, k.id, name); got != want[k] {
			t.Fatalf("id %d of process %d: name %d, want %d", k.id, k.process, got, want[k])
		}
	}
	if len(want) < 1000 {
		t.Errorf("%d ids", len(want))
	}
}
