package model

import (
	"runtime"
	"testing"

	"github.com/tpconvert/tpconvert/model/table"
)

// The memory kept per item, in addition to its rows, is bounded. About 70 bytes of it are a
// fixed cost spread over all items.
func TestStateOfMany(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds, and more under the race detector")
	}
	for name, one := range map[string]struct {
		bytes uint64
		add   func(c *Context, name StringID, i int64)
	}{
		"processes with a thread": {90, func(c *Context, name StringID, i int64) { c.Machine.ThreadOf(i, i) }},
		"threads with a slice that ended": {200, func(c *Context, name StringID, i int64) {
			c.Slices.Scoped(i, 1, c.Tracks.Thread(c.Machine.ThreadOf(i+2, 1)), 0, name, nil)
		}},
		"threads with an open slice": {200, func(c *Context, name StringID, i int64) {
			c.Slices.Begin(i, c.Tracks.Thread(c.Machine.ThreadOf(i+2, 1)), 0, name, nil)
		}},
		"open async ids": {250, func(c *Context, name StringID, i int64) {
			c.Slices.Begin(i, c.Async.Legacy(name, 1, i, true, 0, AsyncBegin), 0, name, nil)
		}},
		"names": {45, func(c *Context, _ StringID, i int64) { c.Store.Strings.Intern(string(rune(i+1)) + " is a name") }},
	} {
		t.Run(name, func(t *testing.T) {
			s := NewStore(Options{ChunkRows: 4096, Parking: table.Parking{Bytes: 1 << 20, Dir: t.TempDir()}})
			defer s.Close()
			c, n := s.NewFile("a", nil).Context(0), int64(10*fewTracks)
			word := s.Strings.Intern("name")
			before := live()
			for i := range n {
				one.add(c, word, i)
			}
			if each := (live() - before) / uint64(n); each > one.bytes {
				t.Errorf("%d bytes each, want at most %d", each, one.bytes)
			}
			if err := s.Err(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// live returns the memory in use, in bytes.
func live() uint64 {
	runtime.GC()
	runtime.GC() // what one finds in use may be unused since it began
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
