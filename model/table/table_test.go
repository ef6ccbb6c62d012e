package table

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// These are the declarations used by the tests.
type event struct {
	Table `tp:"event" doc:"An event."`
	TS    Int64   `tp:"2,ts,asc" doc:"Time."`
	Depth Int32   `tp:"3,depth,null" doc:"Depth."`
	Value Float64 `tp:"4,value,null" doc:"Value."`
	Flag  Bool    `tp:"5,flag,null" doc:"Flag."`
	Name  String  `tp:"6,name" doc:"Name."`
	Self  RowID   `tp:"7,self" doc:"The id again."`
}

type sub struct {
	event `tp:"sub" doc:"A child."`
	Own   Int64 `tp:"101,own" doc:"Its own column."`
}

type held struct {
	Table `tp:"held,held" doc:"Rows that change until the end."`
	Kind  String `tp:"2,kind" doc:"Kind."`
	CPU   Int32  `tp:"3,cpu,null" doc:"CPU."`
	Type  String `tp:"4,type" doc:"Table."`
}

type selection struct {
	held `tp:"selection,derived" where:"kind=a|b,cpu" doc:"Some of held."`
	Core Int32 `tp:"101,core,from=cpu" doc:"The CPU under another name."`
}

type base struct {
	Table `tp:"base,abstract" doc:"No rows of its own."`
	TS    Int64 `tp:"2,ts" doc:"Time."`
}

type leaf struct {
	base `tp:"leaf" doc:"A child of a table without rows."`
}

type tables struct {
	Event     event
	Sub       sub
	Held      held
	Selection selection
	Base      base
	Leaf      leaf
}

// rows collects sealed rows as text, by table.
type rows struct {
	all     map[string][]string
	strings *StringPool
	err     error
}

func (r *rows) Chunk(c *Chunk) error {
	for i := range c.Rows {
		row := ""
		for n, column := range c.Schema.Columns {
			if column.Row {
				row += fmt.Sprint(c.Base+int64(i), " ")
				continue
			}
			v := c.Column(n)
			text := "-"
			if v.Values != nil && (v.Valid == nil || v.Valid[i>>3]&(1<<(i&7)) != 0) {
				switch values := v.Values.(type) {
				case []int64:
					text = fmt.Sprint(values[i])
				case []int32:
					text = fmt.Sprint(values[i])
				case []float64:
					text = fmt.Sprint(values[i])
				case []bool:
					text = fmt.Sprint(values[i])
				case []StringID:
					if values[i] != 0 {
						text = c.Strings.Get(values[i])
					}
				}
			}
			row += text + " "
		}
		r.all[c.Schema.Name] = append(r.all[c.Schema.Name], row)
	}
	c.Release()
	return r.err
}

func newTables(t *testing.T, chunkRows int, park Parking) (*tables, *Set, *rows) {
	sealed := &rows{all: map[string][]string{}, strings: NewStringPool()}
	ts := &tables{}
	set := NewSet(ts, sealed.strings, chunkRows, sealed, park)
	t.Cleanup(set.Close)
	return ts, set, sealed
}

func TestRowsThatChangeWhileTheyWait(t *testing.T) {
	// With a limit of 1 byte nearly all waiting chunks are parked, with the
	// default none.
	for _, waiting := range []int64{1, 4000, DefaultWaiting} {
		ts, set, sealed := newTables(t, 100, Parking{Bytes: waiting, Dir: t.TempDir()})
		rng := rand.New(rand.NewPCG(1, 2))
		const n = 5000
		want := make([]string, n)
		open := map[int64]bool{}
		for row := range int64(n) {
			if got := ts.Event.Append(); got != row {
				t.Fatalf("Append() = %d, want %d", got, row)
			}
			ts.Event.TS.Set(row, row*10)
			ts.Event.Pin(row)
			want[row] = fmt.Sprint(row, " ", row*10, " - - - - ", row, " ")
			open[row] = true
			for old := range open {
				if rng.IntN(3) > 0 || old == 7 {
					continue
				}
				ts.Event.Depth.Set(old, int32(old))
				ts.Event.Value.Set(old, float64(old)/2)
				ts.Event.Flag.Set(old, old%2 == 0)
				ts.Event.Name.Set(old, sealed.strings.Intern(fmt.Sprint("n", old%5)))
				want[old] = fmt.Sprint(old, " ", old*10, " ", old, " ", float64(old)/2, " ", old%2 == 0, " n", old%5, " ", old, " ")
				ts.Event.Unpin(old)
				delete(open, old)
				break
			}
		}
		if len(sealed.all["event"]) != 0 {
			t.Errorf("%d rows sealed while row 7 is pinned", len(sealed.all["event"]))
		}
		ts.Event.Depth.Set(7, 77)
		want[7] = "7 70 77 - - - 7 "
		for old := range open {
			ts.Event.Unpin(old)
		}
		set.Finish()
		if err := set.Err(); err != nil {
			t.Fatal(err)
		}
		if got := sealed.all["event"]; !slices.Equal(got, want) {
			t.Errorf("waiting %d bytes: %d rows", waiting, len(got))
			for i := range min(len(got), n) {
				if got[i] != want[i] {
					t.Fatalf("row %q, want %q", got[i], want[i])
				}
			}
		}
	}
}

func TestChunksSealAsTheyFill(t *testing.T) {
	ts, set, sealed := newTables(t, 100, Parking{})
	for range 250 {
		ts.Event.Append()
	}
	if got := len(sealed.all["event"]); got != 200 {
		t.Errorf("%d rows sealed of 250", got)
	}
	set.Finish()
	if got := len(sealed.all["event"]); got != 250 {
		t.Errorf("%d rows after Finish", got)
	}
}

func TestHierarchies(t *testing.T) {
	ts, set, sealed := newTables(t, 2, Parking{})
	id := ts.Event.Append()
	ts.Event.TS.Set(id, 5)
	parent := ts.Event.Append()
	row := ts.Sub.Append()
	ts.Sub.SetID(row, parent)
	ts.Sub.TS.Set(row, 6)
	ts.Sub.Own.Set(row, 9)
	for i, kind := range []string{"a", "b", "c", "a"} {
		row := ts.Held.Append()
		ts.Held.Kind.Set(row, sealed.strings.Intern(kind))
		if i < 3 {
			ts.Held.CPU.Set(row, int32(i))
		}
	}
	for i := range int64(2) {
		id := ts.Base.Append()
		row := ts.Leaf.Append()
		ts.Leaf.SetID(row, id)
		ts.Leaf.TS.Set(row, i)
	}
	set.Finish()
	for name, want := range map[string][]string{
		"sub":       {"1 6 - - - - 0 9 "},
		"held":      {"0 a 0 selection ", "1 b 1 selection ", "2 c 2 held ", "3 a - held "},
		"selection": {"0 a 0 selection 0 ", "1 b 1 selection 1 "},
		"leaf":      {"0 0 ", "1 1 "},
		"base":      nil,
	} {
		if got := sealed.all[name]; !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestErrorsOfTheSinkStay(t *testing.T) {
	ts, set, sealed := newTables(t, 1, Parking{})
	sealed.err = fmt.Errorf("disk full")
	for range 10 {
		ts.Event.Append()
	}
	set.Finish()
	if set.Err() == nil || len(sealed.all["event"]) != 1 {
		t.Errorf("error %v after %d rows", set.Err(), len(sealed.all["event"]))
	}
}

func TestNoPlaceToPark(t *testing.T) {
	ts, set, _ := newTables(t, 10, Parking{Bytes: 1, Dir: "/nowhere"})
	ts.Event.Pin(ts.Event.Append())
	for range 100 {
		ts.Event.Append()
	}
	if set.Err() == nil {
		t.Error("no error")
	}
}

func TestStringPool(t *testing.T) {
	p := NewStringPool()
	ids := map[string]StringID{}
	for i := range 20_000 {
		s := fmt.Sprint("string ", i%15_000)
		id := p.Intern(s)
		if had, ok := ids[s]; ok && had != id {
			t.Fatalf("%q is %d and %d", s, had, id)
		}
		ids[s] = id
	}
	view := p.View()
	long := p.InternBytes(make([]byte, 1<<20))
	for s, id := range ids {
		if view.Get(id) != s || p.Get(id) != s {
			t.Fatalf("%d is %q, want %q", id, view.Get(id), s)
		}
	}
	if len(p.Get(long)) != 1<<20 || p.Get(0) != "" {
		t.Error("the long string or the absent one is wrong")
	}
	if p.Intern("") == 0 {
		t.Error("the empty string is absent")
	}
	a, b := p.Intern("x\xffy"), p.Intern("x\uFFFDy")
	if a != b || p.Invalid() != 1 {
		t.Errorf("repaired to %q, %d times", p.Get(a), p.Invalid())
	}
}

// Large texts are kept on disk, and chunks with many of them end early.
func TestLargeTexts(t *testing.T) {
	ts, set, sealed := newTables(t, 0, Parking{})
	text := func(i int) string { return fmt.Sprint(i, strings.Repeat("x", 1<<20)) }
	var want []string
	for i := range 40 {
		if i == 20 && len(sealed.all["event"]) == 0 {
			t.Error("20 MiB of text are in one chunk")
		}
		row := ts.Event.Append()
		ts.Event.Name.Set(row, sealed.strings.Intern(text(i%30)))
		want = append(want, fmt.Sprint(row, " 0 - - - ", text(i%30), " ", row, " "))
	}
	view := sealed.strings.View()
	if view.Len() != 31 {
		t.Errorf("%d texts, want 30", view.Len()-1)
	}
	if memory := len(view.blocks) << 20; memory > keptText+1<<20 {
		t.Errorf("%d bytes of text are in memory", memory)
	}
	if got := view.Prefix(30, 4); got != "29xx" {
		t.Errorf("Prefix = %q", got)
	}
	if got := view.Append([]byte("<"), 30); string(got) != "<"+text(29) {
		t.Errorf("Append: %d bytes", len(got))
	}
	set.Finish()
	if !slices.Equal(sealed.all["event"], want) || set.Err() != nil {
		t.Errorf("%d rows, not those that were added, or %v", len(sealed.all["event"]), set.Err())
	}
	view.file.file.Close()
	if view.Get(30); set.Err() == nil {
		t.Error("a text that cannot be read back is no error")
	}
}

// Cold texts are kept on disk, and found there while more come.
func TestColdTexts(t *testing.T) {
	const n = 100_000
	p := NewStringPool()
	text := func(i int) string { return fmt.Sprintf("%032x", i*7919) }
	check := func(view StringView) error {
		for id := 1; id < view.Len(); id += 97 {
			if got := view.Get(StringID(id)); got != text(id) {
				return fmt.Errorf("text %d is %q", id, got)
			}
		}
		return view.Err()
	}
	read := make(chan error, 1)
	for i := range n {
		if id := p.InternCold([]byte(text(i + 1))); int(id) != i+1 {
			t.Fatalf("text %d has the id %d", i+1, id)
		}
		if i == n/2 {
			go func(view StringView) { read <- check(view) }(p.View())
		}
	}
	view := p.View()
	if err := errors.Join(<-read, check(view)); err != nil {
		t.Error(err)
	}
	if memory := len(view.blocks) * stringBlockBytes; memory > 2*keptCold {
		t.Errorf("%d bytes of text are in memory", memory)
	}
	for _, i := range []int{1, n / 2, n} {
		if id := p.Intern(text(i)); int(id) != i {
			t.Errorf("text %d has the ids %d and %d", i, i, id)
		}
	}
	if got := view.Prefix(n, 3); got != "000" {
		t.Errorf("Prefix = %q", got)
	}
	if got := view.Append([]byte("<"), n/2); string(got) != "<"+text(n/2) {
		t.Errorf("Append = %q", got)
	}
	view.file.file.Close()
	if view.Get(2 * n / 5); p.Err() == nil {
		t.Error("a text that cannot be read back is no error")
	}
}

func BenchmarkAppend(b *testing.B) {
	ts := &tables{}
	set := NewSet(ts, NewStringPool(), 0, nil, Parking{})
	for i := int64(0); b.Loop(); i++ {
		row := ts.Event.Append()
		ts.Event.TS.Set(row, i)
		ts.Event.Depth.Set(row, int32(i&7))
		ts.Event.Value.Set(row, float64(i))
		ts.Event.Name.Set(row, StringID(i&1023))
	}
	set.Finish()
}

// The empty string may be the first one of a pool.
func TestStringPoolBeginsEmpty(t *testing.T) {
	p := NewStringPool()
	id := p.Intern("")
	view := p.View()
	if again, got := p.Intern(""), view.Get(id); again != id || got != "" {
		t.Errorf("ids %d and %d, text %q", id, again, got)
	}
}
