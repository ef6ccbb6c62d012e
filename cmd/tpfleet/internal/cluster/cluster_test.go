package cluster

import "testing"

// The place of an id is its hash as a fraction.
func TestPlace(t *testing.T) {
	for id, want := range map[string]float64{
		"t_0000000000000000": 0, "t_8000000000000000": 0.5, "t_4000000000000000": 0.25, "t_ffffffffffffffff": 1 - 1.0/(1<<32),
	} {
		if at, known := place(id); !known || at != want {
			t.Errorf("%s is at %v, %v, want %v", id, at, known, want)
		}
	}
	for _, id := range []string{"", "t_", "t_0000", "t_00zz000000000000", "0000000000000000"} {
		if at, known := place(id); known {
			t.Errorf("%q is at %v", id, at)
		}
	}
}
