package session

import (
	"math"
	"reflect"
	"testing"
)

func TestPack(t *testing.T) {
	// The second overlaps the first, the instant takes no room, and the last waits for nothing.
	if got := pack([]int64{0, 5, 6, 6, 20}, []int64{10, 100, 0, 3, -1}); !reflect.DeepEqual(got, []int64{0, 1, 2, 2, 0}) {
		t.Error(got)
	}
}

func TestGraph(t *testing.T) {
	// 1 leads to 2 and 3, which meet in 4; 4 leads to 5. Nothing leads to 6.
	sources, dests := []int64{1, 1, 2, 3, 4, 6}, []int64{2, 3, 4, 4, 5, 5}
	g, err := newGraph(sources, dests, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := g.depths([]int64{1}); err != nil || !reflect.DeepEqual(got, []int64{-1, 3, 2, 2, 1, 0, -1}) {
		t.Error(got, err)
	}
	got, err := g.dominators(1)
	if want := [][]int64{{1, 2, 4, 5, 3}, {-1, 1, 1, 4, 1}}; err != nil || !reflect.DeepEqual(got, want) {
		t.Error(got, err)
	}
	// From 1, the edges of weight 1 reach 2 and 4 before their sum passes 2, and 5 passes it.
	weights := []int64{1, 1, 1, 1, 1, 1}
	if got := g.bounded(weights, []int64{1}, []int64{2}, false); !reflect.DeepEqual(got[1], []int64{1, 2, 4}) {
		t.Error(got)
	}
	if got := g.bounded(weights, []int64{1}, []int64{2}, true); !reflect.DeepEqual(got, [][]int64{{1, 1, 1, 1}, {1, 2, 4, 5}, {-1, 1, 2, 4}}) {
		t.Error(got)
	}
	if _, err := newGraph([]int64{math.MaxInt64}, []int64{1}, nil); err == nil {
		t.Error("a node of 2^63 makes a graph")
	}
	cycle, _ := newGraph([]int64{1, 2}, []int64{2, 1}, nil)
	if _, err := cycle.depths([]int64{1}); err == nil {
		t.Error("a cycle has depths")
	}
}

func TestPartition(t *testing.T) {
	// 2 is below 1, 3 below 2, and 4 below 3; 1 and 3 are of one group.
	if got := partition([]int64{1, 2, 3, 4}, []int64{-1, 1, 2, 3}, []int64{7, 8, 7, 8}); !reflect.DeepEqual(got, []int64{-1, -1, 1, 2}) {
		t.Error(got)
	}
}

func TestBlockers(t *testing.T) {
	// 2 sleeps from 10 to 20, until 1 wakes it, which runs from 5 to 20.
	wakeups := map[int64]wakeup{1: {100, 5, 15, -1, -1, -1}, 2: {200, 20, 5, 10, 1, -1}}
	want := [][]int64{{2, 2}, {0, 1}, {20, 10}, {5, 10}, {2, 1}, {200, 100}, {2, 2}} // root, depth, ts, dur, blocker, utid, parent
	if got := blockers(wakeups, []int64{2}); !reflect.DeepEqual(got, want) {
		t.Error(got)
	}
}

func TestArgsJSON(t *testing.T) {
	got, err := argsJSON([]string{"a.b[1]", "a.c", "d", "e", "a.b[0].x"}, []string{"int", "string", "bool", "pointer", "null"},
		[]string{"5", "say \"hi\"", "true", "0x1f", ""})
	if want := `{"a":{"b":[{"x":null},5],"c":"say \"hi\""},"d":true,"e":"0x1f"}`; got != want || err != nil {
		t.Error(got, err)
	}
	for _, keys := range [][]string{{"a", "a.b"}, {"a.b", "a[0]"}, {"a[x]"}, {"a[9999999999]"}} {
		if got, err := argsJSON(keys, []string{"int", "int"}, []string{"1", "1"}); err == nil {
			t.Error(keys, got)
		}
	}
}
