package metrics

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/tpconvert/tpconvert/sqlfuncs/session"
)

// Ranks relates the communication of the ranks of a job, each of which has a trace of its own.
type Ranks struct {
	collectives map[collective][]arrival
	ranks       map[int64]bool
	unrelated   bool // a trace says no rank, or that of another: they are not of one job
}

// collective is what makes communication the same on all ranks. Texts that are not known are nil.
type collective struct{ name, group, groupRanks, number any }

// arrival is a collective on a rank.
type arrival struct {
	rank, dur int64
	end       int64 // of the collective, on the clock of the rank's trace
	step      any   // text or nil
}

// Ranks returns what relates the traces of a job, or nil if the metrics, those with ids or all if ids is nil, have no collectives.
func (s *Summarizer) Ranks(ids []string) *Ranks {
	if !slices.ContainsFunc(s.metrics, func(m node) bool {
		return m.text("bundle_id") == "gpu_collectives" && (ids == nil || slices.Contains(ids, m.text("id")))
	}) {
		return nil
	}
	return &Ranks{collectives: map[collective][]arrival{}, ranks: map[int64]bool{}}
}

// Add adds the communication of a trace. The session runs PerfettoSQL.
func (r *Ranks) Add(ctx context.Context, db *session.Session) error {
	if err := db.Each(ctx, "INCLUDE PERFETTO MODULE tpconvert.gpu", func(*session.Query) error { return nil }); err != nil {
		return err
	}
	wanted := []column{{name: "name"}, {name: "process_group"}, {name: "group_ranks"}, {name: "number"}, {name: "rank"}, {name: "dur"}, {name: "step"}, {name: "ts"}}
	first := true
	return rows(ctx, db, "SELECT * FROM gpu_arrival", wanted, func(row []any) error {
		rank, known := row[4].(int64)
		if first {
			r.unrelated = r.unrelated || !known || r.ranks[rank]
			r.ranks[rank], first = true, false
		}
		c := collective{row[0], row[1], row[2], row[3]}
		r.collectives[c] = append(r.collectives[c], arrival{rank, row[5].(int64), row[7].(int64) + row[5].(int64), row[6]})
		return nil
	})
}

// FirstEnds returns, by rank, when the first collective ended that all ranks have, on the clocks of their traces. It is nil if there is none.
func (r *Ranks) FirstEnds() map[int64]int64 {
	var first []arrival
	for _, arrivals := range r.collectives {
		if len(arrivals) == len(r.ranks) && !r.unrelated && (first == nil || arrivals[0].end < first[0].end) {
			first = arrivals
		}
	}
	if first == nil {
		return nil
	}
	ends := map[int64]int64{}
	for _, a := range first {
		ends[a.rank] = a.end
	}
	return ends
}

// Tables returns gpu_skew, how long collectives waited for the rank that came last, and gpu_stragglers, how often each rank did and how
// long it waited for others. All ranks end a collective together, so the one that came last took the least time.
func (r *Ranks) Tables() []Table {
	type key struct{ step, name, group, groupRanks any }
	type skew struct{ count, total, most, straggler int64 }
	type straggler struct{ count, last, skew, waited int64 }
	skews, stragglers := map[key]*skew{}, map[int64]*straggler{}
	for c, arrivals := range r.collectives {
		if len(arrivals) < 2 || r.unrelated {
			continue
		}
		last := slices.MinFunc(arrivals, func(a, b arrival) int { return cmp.Or(cmp.Compare(a.dur, b.dur), cmp.Compare(a.rank, b.rank)) })
		most := int64(0)
		for _, a := range arrivals {
			s := in(stragglers, a.rank)
			s.count++
			s.waited += a.dur - last.dur
			most = max(most, a.dur-last.dur)
		}
		if most > 0 {
			s := in(stragglers, last.rank)
			s.last++
			s.skew += most
		}
		s := in(skews, key{last.step, c.name, c.group, c.groupRanks})
		if most > s.most || most == s.most && last.rank < s.straggler {
			s.most, s.straggler = most, last.rank
		}
		s.count++
		s.total += most
	}
	collectives := Table{ID: "gpu_skew", Dimensions: 4, Columns: columnsOf(session.Text, "step", "name", "process_group", "group_ranks")}
	collectives.Columns = append(collectives.Columns, columnsOf(session.Integer, "count", "total_skew", "max_skew", "straggler")...)
	for k, s := range skews {
		row := []any{k.step, k.name, k.group, k.groupRanks, s.count, s.total, s.most, nil}
		if s.most > 0 {
			row[7] = s.straggler
		}
		collectives.Rows = append(collectives.Rows, row)
	}
	slices.SortFunc(collectives.Rows, func(a, b []any) int {
		return cmp.Or(cmp.Compare(b[5].(int64), a[5].(int64)), cmp.Compare(fmt.Sprint(a[:4]), fmt.Sprint(b[:4])))
	})
	ranks := Table{ID: "gpu_stragglers", Dimensions: 1, Columns: columnsOf(session.Integer, "rank", "count", "last", "last_skew", "waited")}
	for rank, s := range stragglers {
		ranks.Rows = append(ranks.Rows, []any{rank, s.count, s.last, s.skew, s.waited})
	}
	slices.SortFunc(ranks.Rows, func(a, b []any) int { return cmp.Compare(a[0].(int64), b[0].(int64)) })
	return []Table{collectives, ranks}
}

// OfRank returns a table of the trace of a rank. It has the column rank, if it had none.
func (t Table) OfRank(rank int64) Table {
	const column = "rank"
	if t.Columns[0].Name == column {
		return t
	}
	return t.Labelled(column, session.Integer, rank)
}

// in returns the value of a key, which it adds if it is not there.
func in[K comparable, V any](m map[K]*V, key K) *V {
	if m[key] == nil {
		m[key] = new(V)
	}
	return m[key]
}

func columnsOf(kind session.Kind, names ...string) (columns []session.Column) {
	for _, name := range names {
		columns = append(columns, session.Column{Name: name, Kind: kind})
	}
	return columns
}
