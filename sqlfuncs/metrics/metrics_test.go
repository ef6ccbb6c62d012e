package metrics_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tpconvert/tpconvert/internal/datasettest"
	"github.com/tpconvert/tpconvert/sqlfuncs/metrics"
	"github.com/tpconvert/tpconvert/sqlfuncs/session"
)

const trace = `[{"ph":"X","pid":1,"tid":2,"ts":1,"dur":5,"name":"work"},{"ph":"X","pid":1,"tid":2,"ts":2,"dur":2,"name":"part"},
	{"ph":"X","pid":1,"tid":2,"ts":10,"dur":3,"name":"part"}]`

// total sums the durations of slices by name.
const total = `metric_spec { id: "total" dimensions: "name" value: "dur" query { table { table_name: "slice" }
	group_by { column_names: "name" aggregates { column_name: "dur" op: SUM result_column_name: "dur" } }
	order_by { ordering_specs { column_name: "name" } } } }`

func TestSummarize(t *testing.T) {
	db, err := session.New(t.Context(), session.Options{Perfetto: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.OpenDataset(t.Context(), datasettest.Convert(t, trace)); err != nil {
		t.Fatal(err)
	}
	var s metrics.Summarizer
	if err := s.Add([]byte(total)); err != nil {
		t.Fatal(err)
	}
	summary, err := s.Summarize(t.Context(), db, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	tables := summary.Tables()
	if len(tables) != 1 {
		t.Fatalf("%+v", tables)
	}
	got := tables[0]
	if rows := fmt.Sprint(got.Rows); got.ID != "total" || got.Dimensions != 1 || rows != "[[part 5000] [work 5000]]" {
		t.Errorf("%+v", got)
	}
	if _, err := s.Summarize(t.Context(), db, []string{"other"}, ""); err == nil || !strings.Contains(err.Error(), "other") {
		t.Errorf("a metric that is not there: %v", err)
	}
}

func TestWrongSpecs(t *testing.T) {
	for _, text := range []string{
		`metric_spec { id: "a" }`, // has no query
		`metric_spec { id: "a" value: "v" query { inner_query_id: "nothing" } }`,
		`metric_spec { id: "a" unknown: 1 }`,
		`query { id: "q" inner_query_id: "q" } metric_spec { id: "a" value: "v" query { inner_query_id: "q" } }`,
	} {
		var s metrics.Summarizer
		err := s.AddText([]byte(text))
		if err == nil {
			_, err = s.Queries()
		}
		if err == nil {
			t.Errorf("%s: no error", text)
		}
	}
}

// TestPlaceInSpec checks that errors in the text of a spec say where they are.
func TestPlaceInSpec(t *testing.T) {
	for text, want := range map[string]string{
		"metric_spec {\n  id: \"a\"\n  value: 5 x\n}\n":  "line 3, column 10: invalid value for string type: 5",
		"metric_spec {\n  id: \"a\"\n  valu: \"x\"\n}\n": "line 3, column 3: unknown field: valu",
		"metric_spec {\n  id: \"a\"\n":                   "line 2, column 10: unexpected EOF",
	} {
		var s metrics.Summarizer
		if err := s.AddText([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// Each spec that needs no file is one, and its metrics have an id that begins with its name.
func TestBuiltin(t *testing.T) {
	for _, name := range metrics.Builtin() {
		spec, ok := metrics.Spec(name)
		var s metrics.Summarizer
		if err := s.AddText(spec); !ok || err != nil {
			t.Errorf("%s: %t, %v", name, ok, err)
		}
		queries, err := s.Queries()
		if err != nil || len(queries) == 0 {
			t.Errorf("%s: %d queries, %v", name, len(queries), err)
		}
		for _, id := range s.IDs() {
			if !strings.HasPrefix(id, name) {
				t.Errorf("%s: the metric %s", name, id)
			}
		}
	}
	if _, ok := metrics.Spec("nothing"); ok {
		t.Error("a spec that is not there")
	}
}

func TestCompare(t *testing.T) {
	table := func(rows ...[]any) metrics.Table {
		return metrics.Table{ID: "m", Dimensions: 1, Main: 1, Rows: rows,
			Columns: []session.Column{{Name: "name", Kind: session.Text}, {Name: "dur", Kind: session.Integer}}}
	}
	base := table([]any{"same", int64(4)}, []any{"gone", int64(3)}, []any{"twice", int64(1)}, []any{"twice", int64(2)})
	now := table([]any{"same", int64(4)}, []any{"twice", int64(2)}, []any{"twice", int64(2)}, []any{"new", int64(9)}, []any{"none", nil})
	got := now.Compare(base)
	if want := "[[new <nil> 9 9] [gone 3 <nil> -3] [twice 1 2 1] [same 4 4 0] [twice 2 2 0] [none <nil> <nil> <nil>]]"; fmt.Sprint(got.Rows) != want {
		t.Errorf("%v, want %s", got.Rows, want)
	}
	var names []string
	for _, c := range got.Columns {
		names = append(names, c.Name)
	}
	if !slices.Equal(names, []string{"name", "dur_base", "dur", "dur_diff"}) || got.Main != 3 {
		t.Errorf("%q, main %d", names, got.Main)
	}
}
