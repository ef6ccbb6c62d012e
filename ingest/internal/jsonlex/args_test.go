package jsonlex

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/table"
)

// flattened returns the flat keys and keys of the args in the text, and how often keys occur.
func flattened(t *testing.T, w *ArgWriter, texts ...string) (flat, keys []string) {
	t.Helper()
	var set model.ArgSet
	for _, text := range texts {
		if !w.Add(&set, "args", []byte(text)) {
			t.Fatalf("%.100s: a syntax error", text)
		}
	}
	for _, a := range set.Args() {
		flat, keys = append(flat, w.strings.Get(a.FlatKey)), append(keys, w.strings.Get(a.Key))
	}
	return flat, keys
}

func newWriter() *ArgWriter { return NewArgWriter(table.NewStringPool()) }

// The keys do not depend on the args that the writer saw before.
func TestKeysOfArgs(t *testing.T) {
	w := newWriter()
	for range 2 {
		for _, c := range []struct{ text, flat, keys string }{
			{`{"a":1,"b":2,"c":3}`, "args.a args.b args.c", "args.a args.b args.c"},
			{`{"c":1,"a":2,"d":3}`, "args.c args.a args.d", "args.c args.a args.d"},
			{`{"a":{"b":[1,[2,{"c":3}],null,4]}}`, "args.a.b args.a.b args.a.b.c args.a.b", "args.a.b[0] args.a.b[1][0] args.a.b[1][1].c args.a.b[2]"},
			{`{"a":[1],"b":0,"a":[2]}`, "args.a args.b args.a", "args.a[0] args.b args.a[1]"},
			{`{"\u0061":1,"":2}`, "args.a args.", "args.a args."},
		} {
			flat, keys := flattened(t, w, c.text)
			if got := strings.Join(flat, " "); got != c.flat {
				t.Errorf("%s: flat keys %s", c.text, got)
			}
			if got := strings.Join(keys, " "); got != c.keys {
				t.Errorf("%s: keys %s", c.text, got)
			}
		}
	}
}

// More arrays than a set counts in a list, and more elements than a writer remembers, from two sources of args.
func TestManyElements(t *testing.T) {
	w := newWriter()
	var arrays []string
	for i := range 100 {
		arrays = append(arrays, fmt.Sprintf(`"a%d":[%s0]`, i, strings.Repeat("0,", maxElements+i)))
	}
	text := "{" + strings.Join(arrays, ",") + "}"
	_, keys := flattened(t, w, text, text)
	i := 0
	for source := range 2 {
		for a := range 100 {
			n := maxElements + a + 1
			for e := range n {
				if want := fmt.Sprintf("args.a%d[%d]", a, source*n+e); keys[i] != want {
					t.Fatalf("arg %d is %s, want %s", i, keys[i], want)
				}
				i++
			}
		}
	}
	if i != len(keys) {
		t.Errorf("%d args, want %d", len(keys), i)
	}
}

// Args that all have other keys do not fill the memory.
func TestMemoryOfKeys(t *testing.T) {
	w := newWriter()
	for event := range 300 {
		var want, members []string
		for i := range 100 {
			name := fmt.Sprintf("%s-%d-%d", strings.Repeat("x", 200), event, i)
			want, members = append(want, "args."+name), append(members, fmt.Sprintf("%q:1", name))
		}
		if _, keys := flattened(t, w, "{"+strings.Join(members, ",")+"}"); !slices.Equal(keys, want) {
			t.Fatalf("event %d has wrong keys", event)
		}
		nodes := 0
		for _, root := range w.roots {
			nodes += len(root.members)
		}
		if nodes > maxNodeBytes/400 {
			t.Fatalf("%d nodes after event %d", nodes, event)
		}
	}
}
