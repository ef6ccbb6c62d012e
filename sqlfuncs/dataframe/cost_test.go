package dataframe

import (
	"fmt"
	"math"
	"testing"

	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
)

// thousand returns the rows of
//
//	WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 999)
//	SELECT i * 3 AS a, i / 10 AS b, i % 7 AS c, iif(i % 4, 'x' || (i % 5), NULL) AS s, i * 0.5 AS d FROM n
//
// with an index of c.
func thousand(t *testing.T) *Frame {
	t.Helper()
	b := NewBuilder(NewPool(), Spec{Name: "a"}, Spec{Name: "b"}, Spec{Name: "c"}, Spec{Name: "s", Kind: Text}, Spec{Name: "d", Kind: Real})
	for i := range int64(1000) {
		b.Int(0, i*3)
		b.Int(1, i/10)
		b.Int(2, i%7)
		if i%4 != 0 {
			b.Text(3, fmt.Sprint("x", i%5))
		} else {
			b.Null(3)
		}
		b.Float(4, float64(i)/2)
	}
	f := b.Frame()
	if err := f.AddIndex(&Index{Name: "t_c", Columns: []int{2}}); err != nil {
		t.Fatal(err)
	}
	return f
}

// The costs and numbers of rows are those that Trace Processor v58.2 has in the plans of EXPLAIN QUERY PLAN.
func TestCost(t *testing.T) {
	const a, b, c, s, d = 0, 1, 2, 3, 4
	for _, test := range []struct {
		query   string
		filters []filterBy
		orders  []orderBy
		used    uint64
		cost    float64
		rows    uint32
		max     uint32
	}{
		{"SELECT a", nil, nil, 1, 10030, 1000, 1000},
		{"SELECT a WHERE a = 9", []filterBy{{a, sqlite.EQ}}, nil, 1, 55, 1, 1},
		{"SELECT a WHERE b = 9", []filterBy{{b, sqlite.EQ}}, nil, 1, 234.65784284662087, 10, 1000},
		{"SELECT a WHERE b > 9", []filterBy{{b, sqlite.GT}}, nil, 1, 5134.657842846621, 500, 1000},
		{"SELECT a WHERE c = 3", []filterBy{{c, sqlite.EQ}}, nil, 1, 844.6578428466208, 142, 1000},
		{"SELECT a WHERE c IN (SELECT 3)", []filterBy{{c, sqlite.In}}, nil, 1, 6129.657842846621, 1000, 1000},
		{"SELECT a WHERE c > 3", []filterBy{{c, sqlite.GT}}, nil, 1, 15035, 500, 1000},
		{"SELECT a WHERE s = 'x1'", []filterBy{{s, sqlite.EQ}}, nil, 1, 40095, 100, 1000},
		{"SELECT a WHERE s IS NULL", []filterBy{{s, sqlite.IsNull}}, nil, 1, 37560, 500, 1000},
		{"SELECT a, s ORDER BY s", nil, []orderBy{{s, false}}, 1 | 1<<s, 199596.76426993133, 500, 1000},
		{"SELECT a WHERE d < 10 AND c = 1", []filterBy{{d, sqlite.LT}, {c, sqlite.EQ}}, nil, 1, 584.3156856932417, 71, 1000},
		{"SELECT a ORDER BY a DESC", nil, []orderBy{{a, true}}, 1, 12030, 1000, 1000},
		{"SELECT a WHERE s GLOB 'x*' AND b = 3", []filterBy{{b, sqlite.EQ}, {s, sqlite.Glob}}, nil, 1, 624.6578428466208, 2, 1000},
	} {
		t.Run(test.query, func(t *testing.T) {
			f := thousand(t)
			var uses []*use
			used := test.used
			for _, by := range test.filters {
				of, err := f.traits(by.column)
				if err != nil {
					t.Fatal(err)
				}
				used |= 1 << by.column
				uses = append(uses, &use{filterBy: by, traits: of})
			}
			table := &frameTable{f}
			e, err := table.estimate(uses, test.orders, -1, -1, used, false)
			if err != nil {
				t.Fatal(err)
			}
			if math.Abs(e.cost-test.cost) > 1e-6 || e.rows != test.rows || e.max != test.max {
				t.Errorf("cost %v, %d rows, at most %d; want %v, %d, %d", e.cost, e.rows, e.max, test.cost, test.rows, test.max)
			}
		})
	}
}
