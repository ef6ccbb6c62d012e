package model

import (
	"slices"
	"testing"
)

// ints returns the values of a column from all sealed rows of a table.
func (c collect) ints(table, column string) []int64 {
	var all []int64
	for _, chunk := range c[table] {
		all = append(all, chunk.Column(chunk.Schema.Column(column)).Values.([]int64)...)
	}
	return all
}

// texts is ints for text columns.
func (c collect) texts(s *Store, table, column string) []string {
	var all []string
	for _, chunk := range c[table] {
		values, _ := chunk.Column(chunk.Schema.Column(column)).Values.([]StringID)
		for i := range chunk.Rows {
			if values == nil {
				all = append(all, "")
			} else {
				all = append(all, s.Strings.Get(values[i]))
			}
		}
	}
	return all
}

func TestChildSlicesHaveWhatTheParentHas(t *testing.T) {
	sealed := collect{}
	s := NewStore(Options{ChunkRows: 2, Sink: sealed})
	c := s.NewFile("trace", nil).Context(0)
	track := c.Tracks.Thread(c.Machine.Thread(1))
	c.Slices.Scoped(1, 1, track, 0, s.Strings.Intern("other"), nil)
	id := c.Slices.Begin(10, track, 0, s.Strings.Intern("frame"), nil)
	row := c.Slices.Child(track, &s.ActualFrameTimelineSlice.Table)
	s.ActualFrameTimelineSlice.DisplayFrameToken.Set(row, 7)
	c.Slices.End(30, track, 0, 0, nil)
	c.File.Finish()
	if err := s.Finish(); err != nil {
		t.Fatal(err)
	}
	const table = "actual_frame_timeline_slice"
	for column, want := range map[string]int64{"id": int64(id), "ts": 10, "dur": 20, "track_id": int64(track), "display_frame_token": 7} {
		if got := sealed.ints(table, column); len(got) != 1 || got[0] != want {
			t.Errorf("%s: %v, want %d", column, got, want)
		}
	}
	if got := sealed.texts(s, "slice", "type"); !slices.Equal(got, []string{"slice", table}) {
		t.Errorf("types of slices: %v", got)
	}
}
