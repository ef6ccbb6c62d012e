package args

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tpconvert/tpconvert/model/schema"
	"github.com/tpconvert/tpconvert/model/table"
)

// ids keeps the arg_set_id of all rows of a table, -1 for NULL, in sealed chunks.
type ids map[string][]int64

func (s ids) Chunk(c *table.Chunk) error {
	column := c.Column(c.Schema.Column("arg_set_id"))
	values, _ := column.Values.([]int64)
	for i := range c.Rows {
		id := int64(-1)
		if values != nil && (column.Valid == nil || column.Valid[i>>3]>>(i&7)&1 != 0) {
			id = values[i]
		}
		s[c.Schema.Name] = append(s[c.Schema.Name], id)
	}
	return nil
}

// TestSets gives rows sets of which some are new, some not, and some large, in all ways and in tables that are sealed meanwhile.
// All get the ids that they would get one after the other.
func TestSets(t *testing.T) {
	var tables struct {
		schema.Args
		schema.Counter
		schema.State
	}
	pool, sealed := table.NewStringPool(), ids{}
	all := table.NewSet(&tables, pool, 1000, sealed, table.Parking{})
	sets := NewSets(&tables.Args, pool, all.Detach)
	all.BeforeSealing(sets.Settle)
	defer sets.Stop()
	counters, states := &tables.Counter, &tables.State

	known := map[string]int64{}
	var next int64
	var wantCounters, wantStates []int64
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 60_000 {
		var set Set
		number, kind := random.IntN(1+i/3), random.IntN(2)
		set.Add(pool.Intern("number"), Int(int64(number)))
		if kind == 1 {
			set.AddText(pool.Intern("kind"), pool.Intern("kind"), []byte("a text"))
		}
		if number == 7 {
			set.AddText(pool.Intern("large"), pool.Intern("large"), []byte(strings.Repeat("x", 300_000)))
		}
		key := fmt.Sprint(number, kind)
		id, stored := known[key]
		if single := i%997 == 0; single || !stored {
			id = next
			next += int64(set.Len())
			if single {
				if got := sets.Next(); int64(got) != id {
					t.Fatalf("set %d: the next id is %d, not %d", i, got, id)
				}
				sets.Append(&set)
				continue
			}
			known[key] = id
		}
		switch {
		case i%5003 == 0:
			if got := sets.Intern(&set); int64(got) != id {
				t.Fatalf("set %d: id %d, not %d", i, got, id)
			}
		case i%2 == 0:
			sets.Assign(&counters.ArgSetID, counters.Append(), &set)
			wantCounters = append(wantCounters, id)
		default:
			sets.AssignOf(&states.ArgSetID, states.Append(), &set, new(Set))
			wantStates = append(wantStates, id)
		}
		if i%100 == 0 { // has none
			sets.Assign(&counters.ArgSetID, counters.Append(), new(Set))
			sets.AssignOf(&counters.ArgSetID, counters.Append(), nil, new(Set))
			wantCounters = append(wantCounters, -1, -1)
		}
	}
	sets.Settle()
	all.Finish()
	if got := sealed[counters.Schema().Name]; !slices.Equal(got, wantCounters) {
		t.Errorf("counters have other sets: %d, %d", len(got), len(wantCounters))
	}
	if got := sealed[states.Schema().Name]; !slices.Equal(got, wantStates) {
		t.Errorf("states have other sets: %d, %d", len(got), len(wantStates))
	}
	if got := int64(len(sealed["args"])); got != next {
		t.Errorf("%d args, not %d", got, next)
	}
}
