package json

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tpconvert/tpconvert/internal/paged"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/table"
)

// argSets keeps the arg_set_id of all slices, None for NULL.
type argSets []model.ArgSetID

func (a *argSets) Chunk(c *table.Chunk) error {
	if c.Schema.Name != "slice" {
		return nil
	}
	column := c.Column(c.Schema.Column("arg_set_id"))
	values, _ := column.Values.([]int64)
	for i := range c.Rows {
		id := model.ArgSetID(model.None)
		if values != nil && column.Valid[i>>3]>>(i&7)&1 != 0 {
			id = model.ArgSetID(values[i])
		}
		*a = append(*a, id)
	}
	return nil
}

// TestKnownArgs has texts that come again at once, later, and after the cache has forgotten them, texts without args, and texts that
// are not cached. Each slice gets the set of its text.
func TestKnownArgs(t *testing.T) {
	var got, want argSets
	store := model.NewStore(model.Options{Sink: &got, ChunkRows: 5000})
	defer store.Close()
	c := store.NewFile("a.json", nil).Context(0)
	track := c.Tracks.Thread(c.Machine.ThreadOf(2, 1))
	key := store.Strings.Intern("args.number")
	known := newKnownArgs(store)
	ids := map[int]model.ArgSetID{}
	next := store.NextArgs()
	random := rand.New(rand.NewPCG(1, 2))
	reused, text := 0, 0
	for i := range 60_000 {
		if i%3 > 0 {
			text = random.IntN(10 + i/2)
		}
		slice := c.Slices.Scoped(int64(2*i), 1, track, 0, 0, nil)
		id, stored := ids[text]
		if text%10 == 7 {
			id = model.None
		} else if !stored {
			id, next = next, next+1
			ids[text] = id
		}
		want = append(want, id)
		of := paged.Mix(uint64(text), 5) | 1
		if known.reuse(of, slice) {
			reused++
			continue
		}
		var set model.ArgSet
		if text%10 != 7 {
			set.Add(key, model.IntArg(text))
		}
		if text%10 == 3 {
			of = 0
		}
		known.add(of, slice, &set)
	}
	c.File.Finish()
	if err := store.Finish(); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%d slices have other sets than expected, or are not %d", len(got), len(want))
	}
	if reused < 20_000 || len(known.sets) != maxKnownArgs {
		t.Errorf("%d sets were reused, by a cache of %d", reused, len(known.sets))
	}
}
