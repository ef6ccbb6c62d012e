package model

import (
	"testing"

	"github.com/tpconvert/tpconvert/model/table"
)

// collect keeps the sealed chunks, by table.
type collect map[string][]*table.Chunk

func (c collect) Chunk(chunk *table.Chunk) error {
	c[chunk.Schema.Name] = append(c[chunk.Schema.Name], chunk)
	return nil
}

func TestSlicesNestAndDeriveTracks(t *testing.T) {
	sealed := collect{}
	s := NewStore(Options{ChunkRows: 2, Sink: sealed})
	c := s.NewFile("a.json", nil).Context(0)
	utid := c.Machine.ThreadOf(2, 1)
	track := c.Tracks.Thread(utid)
	a, b := s.Strings.Intern("a"), s.Strings.Intern("b")
	outer := c.Slices.Begin(10, track, 0, a, nil)
	for ts := int64(11); ts < 16; ts++ {
		if c.Slices.Scoped(ts, 1, track, 0, b, nil) == None {
			t.Fatalf("slice at %d was dropped", ts)
		}
	}
	if len(sealed["slice"]) != 0 {
		t.Errorf("%d chunks sealed before the slice in the first ended", len(sealed["slice"]))
	}
	if got := c.Slices.End(20, track, 0, a, nil); got != outer {
		t.Errorf("End = %d, want %d", got, outer)
	}
	if len(sealed["slice"]) != 3-1 && len(sealed["slice"]) != 3 {
		t.Errorf("%d chunks sealed after it ended", len(sealed["slice"]))
	}
	c.File.Finish()
	if err := s.Finish(); err != nil {
		t.Fatal(err)
	}
	var durs, parents []int64
	for _, chunk := range sealed["slice"] {
		durs = append(durs, chunk.Column(chunk.Schema.Column("dur")).Values.([]int64)...)
		parents = append(parents, chunk.Column(chunk.Schema.Column("parent_id")).Values.([]int64)...)
	}
	if len(durs) != 6 || durs[0] != 10 || durs[1] != 1 || parents[5] != int64(outer) {
		t.Errorf("durs %v, parents %v", durs, parents)
	}
	bounds := sealed["trace_bounds"][0]
	if start, end := bounds.Column(1).Values.([]int64)[0], bounds.Column(2).Values.([]int64)[0]; start != 10 || end != 20 {
		t.Errorf("bounds %d to %d", start, end)
	}
	if n := len(sealed["thread_track"]); n != 1 || sealed["thread_track"][0].Rows != 1 {
		t.Errorf("%d chunks of thread_track", n)
	}
	if sealed["process_track"] != nil {
		t.Error("the thread's track is in process_track")
	}
}
