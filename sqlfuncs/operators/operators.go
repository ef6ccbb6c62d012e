// Package operators has the operators of PerfettoSQL on spans, intervals, graphs and trees. Modules of the standard library
// wrap most of them in macros: aggregates build values such as a graph of a query's rows, and hand them on as pointers;
// functions make tables of those, also pointers, whose rows the module __intrinsic_table_ptr gives.
package operators

import (
	"errors"

	"github.com/tpconvert/tpconvert/sqlfuncs/dataframe"
	"github.com/tpconvert/tpconvert/sqlfuncs/operators/spans"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
)

// The kinds of pointers. Each has a Go type.
const (
	tablePointer      = "TABLE"                    // *dataframe.Frame
	graphPointer      = "GRAPH"                    // graph
	integersPointer   = "ARRAY<LONG>"              // []int64
	realsPointer      = "ARRAY<DOUBLE>"            // []float64
	textsPointer      = "ARRAY<STRING>"            // []string
	structPointer     = "STRUCT"                   // []field
	rowsPointer       = "ROW_DATAFRAME"            // *dataframe.Frame
	intervalsPointer  = "INTERVAL_TREE_PARTITIONS" // *partitions
	countersPointer   = "COUNTER_TRACK_PARTITIONS" // *counters
	timestampsPointer = "SORTED_TIMESTAMPS"        // []int64
	wakeupsPointer    = "WAKEUP_GRAPH"             // *wakeups
	treePointer       = "TREE"                     // *tree
)

// operators are what the functions of one database share.
type operators struct {
	db     *sqlite.DB
	pool   *dataframe.Pool
	expand func(query string) (string, error)
}

// Define defines all operators in a database. Scans of graphs get queries as texts, in which macros may be called; expand
// makes them SQLite's.
func Define(db *sqlite.DB, tables dataframe.Source, expand func(query string) (string, error)) error {
	o := &operators{db, tables.Pool(), expand}
	errs := []error{db.Aggregate("repeatedfield", 1, 0, func() sqlite.Aggregate { return &repeatedField{} })}
	for name, m := range map[string]sqlite.Module{
		"__intrinsic_table_ptr":      tablePointerModule(),
		"span_join":                  spans.Join(db, spans.Inner),
		"span_left_join":             spans.Join(db, spans.Left),
		"span_outer_join":            spans.Join(db, spans.Outer),
		"__intrinsic_slice_mipmap":   o.sliceMipmap(),
		"__intrinsic_counter_mipmap": o.counterMipmap(),
		"__intrinsic_window":         spans.Window(),
	} {
		errs = append(errs, db.Module(name, m))
	}
	for _, f := range []struct {
		name string
		args int
		call sqlite.Scalar
	}{
		{bindFunction, -1, func(sqlite.Context, []sqlite.Value) error {
			return errors.New(bindFunction + ": its first argument has to be a column of __intrinsic_table_ptr")
		}},
		{"__intrinsic_struct", -1, makeStruct},
		{"__intrinsic_interval_intersect", -1, o.intervalIntersect},
		{"__intrinsic_interval_create", 2, o.intervalCreate},
		{"__intrinsic_counter_intervals", 3, o.counterIntervals},
		{"__intrinsic_dfs", 2, o.depthFirst},
		{"__intrinsic_bfs", 2, o.breadthFirst},
		{"__intrinsic_graph_scan", 4, o.graphScan},
		{"__intrinsic_graph_aggregating_scan", 4, o.graphAggregatingScan},
		{"__intrinsic_tree_to_table", 1, o.treeToTable},
		{"__intrinsic_tree_dominator_summary", 1, o.dominatorSummary},
		{"__intrinsic_critical_path_walk", 2, o.criticalPathWalk},
	} {
		errs = append(errs, db.Function(f.name, f.args, sqlite.Deterministic, f.call))
	}
	for _, a := range []struct {
		name  string
		args  int
		begin func() sqlite.Aggregate
	}{
		{"__intrinsic_array_agg", 1, func() sqlite.Aggregate { return &arrayAggregate{} }},
		{"__intrinsic_row_dataframe_agg", -1, func() sqlite.Aggregate { return &rowsAggregate{operators: o} }},
		{"__intrinsic_interval_tree_intervals_agg", -1, func() sqlite.Aggregate { return &intervalsAggregate{} }},
		{"__intrinsic_timestamp_set_agg", 1, func() sqlite.Aggregate { return &timestampsAggregate{} }},
		{"__intrinsic_counter_per_track_agg", 4, func() sqlite.Aggregate { return &countersAggregate{} }},
		{"__intrinsic_graph_agg", 2, func() sqlite.Aggregate { return &graphAggregate{} }},
		{"__intrinsic_dominator_tree", 3, func() sqlite.Aggregate { return &dominatorsAggregate{operators: o} }},
		{"__intrinsic_structural_tree_partition", 3, func() sqlite.Aggregate { return &partitionAggregate{operators: o} }},
		{"__intrinsic_tree_from_table", -1, func() sqlite.Aggregate { return &treeAggregate{operators: o} }},
		{"__intrinsic_wakeup_graph_agg", 7, func() sqlite.Aggregate { return &wakeupsAggregate{} }},
	} {
		errs = append(errs, db.Aggregate(a.name, a.args, sqlite.Deterministic|sqlite.Gathered, a.begin))
	}
	errs = append(errs, o.dfsWeightBounded().Define(db))
	return errors.Join(errs...)
}

// errInterrupted ends an operator whose statement was interrupted.
var errInterrupted = errors.New("interrupted")

// poll is how many rows pass before an operator asks whether its statement was interrupted.
const poll = 1 << 14

// interrupted returns an error now and then, by the number of rows, if the statement was interrupted.
func (o *operators) interrupted(rows int) error {
	if rows%poll == poll-1 && o.db.Interrupted() {
		return errInterrupted
	}
	return nil
}

// integers returns specs of columns of integers.
func integers(names ...string) []dataframe.Spec {
	var specs []dataframe.Spec
	for _, n := range names {
		specs = append(specs, dataframe.Spec{Name: n, Kind: dataframe.Integer})
	}
	return specs
}

// table makes a frame the result of a function.
func table(c sqlite.Context, f *dataframe.Frame) { c.Pointer(f, tablePointer) }

// numberedTable makes a frame the result of a function, and numbers its rows.
func numberedTable(c sqlite.Context, f *dataframe.Frame) {
	f.Number("_auto_id")
	table(c, f)
}
