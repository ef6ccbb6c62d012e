package functions

import (
	"testing"

	"github.com/tpconvert/tpconvert/sqlfuncs/functions/functionstest"
)

// sliceTables are two tracks with nested slices, an instant at the end of its parent, and flows.
func sliceTables(t *testing.T) *functionstest.Tables {
	s := functionstest.NewTables()
	s.Add(t, "slice", `id, ts, dur, track_id, category text, name text, depth, parent_id, arg_set_id, thread_ts,
		thread_dur, thread_instruction_count, thread_instruction_delta`,
		[]any{0, 10, 90, 1, "c", "root", 0, nil, nil, nil, nil, nil, nil},
		[]any{1, 10, 20, 1, nil, "child", 1, 0, 5, nil, nil, nil, nil},
		[]any{2, 12, 5, 2, nil, "other", 0, nil, nil, nil, nil, nil, nil},
		[]any{3, 15, 5, 1, nil, "grandchild", 2, 1, nil, nil, nil, nil, nil},
		[]any{4, 30, 0, 1, nil, "instant of child", 2, 1, nil, nil, nil, nil, nil},
		[]any{5, 30, 10, 1, nil, "child 2", 1, 0, nil, nil, nil, nil, nil},
		[]any{6, 30, 4, 1, nil, "grandchild 2", 2, 5, nil, nil, nil, nil, nil},
		[]any{7, 120, -1, 1, nil, "open", 0, nil, nil, nil, nil, nil, nil},
		[]any{8, 125, 3, 1, nil, "in open", 1, 7, nil, nil, nil, nil, nil})
	s.Add(t, "flow", "id, slice_out, slice_in, trace_id, arg_set_id",
		[]any{0, 3, 2, nil, nil}, []any{1, 2, 6, 9, nil}, []any{2, 2, 7, nil, 4}, []any{3, 8, 3, nil, nil})
	return s
}

func TestRelatives(t *testing.T) {
	functionstest.Check(t, sliceTables(t).Open(t, Data{}.define), []functionstest.Test{
		{`SELECT * FROM ancestor_slice(3)`, `
0 10 90 1 'c' 'root' 0 NULL NULL NULL NULL NULL NULL
1 10 20 1 NULL 'child' 1 0 5 NULL NULL NULL NULL`},
		{`SELECT group_concat(name) FROM ancestor_slice(0)`, `NULL`},
		{`SELECT group_concat(name) FROM ancestor_slice(NULL)`, `NULL`},
		{`SELECT group_concat(id) FROM descendant_slice(0)`, `'1,3,4,5,6'`},
		{`SELECT group_concat(id) FROM descendant_slice(1)`, `'3,4'`},
		{`SELECT group_concat(id) FROM descendant_slice(5)`, `'6'`},
		{`SELECT group_concat(id) FROM descendant_slice(7)`, `'8'`},
		{`SELECT s.column1, group_concat(a.name || a._auto_id) FROM (VALUES (3), (6), (0)) AS s LEFT JOIN ancestor_slice(s.column1) AS a GROUP BY 1`, `
0 NULL
3 'root0,child1'
6 'root0,child 21'`},
		{`SELECT * FROM ancestor_slice(9)`, `error: ancestor_slice: there is no slice 9`},
		{`SELECT * FROM descendant_slice('a')`, `error: descendant_slice: the argument is not the id of a slice`},
		{`SELECT * FROM descendant_slice`, `error: descendant_slice has 1 arguments`},
	})
}

func TestFlows(t *testing.T) {
	functionstest.Check(t, sliceTables(t).Open(t, Data{}.define), []functionstest.Test{
		{`SELECT * FROM directly_connected_flow(2)`, `
0 3 2 NULL NULL
1 2 6 9 NULL
2 2 7 NULL 4
3 8 3 NULL NULL`},
		{`SELECT slice_out, slice_in FROM following_flow(3)`, `
3 2
2 6
2 7
8 3`},
		{`SELECT slice_out, slice_in FROM preceding_flow(7)`, `
2 7
3 2
8 3`},
		{`SELECT * FROM preceding_flow(NULL)`, ``},
		{`SELECT * FROM preceding_flow(99)`, `error: preceding_flow: there is no slice 99`},
	})
}

func TestSliceLayout(t *testing.T) {
	functionstest.Check(t, sliceTables(t).Open(t, Data{}.define), []functionstest.Test{
		{`SELECT * FROM experimental_slice_layout('1, 2,x')`, `
0 0
1 1
2 3
3 2
4 2
5 1
6 2
7 0
8 1`},
		{`SELECT * FROM experimental_slice_layout('2') UNION ALL SELECT * FROM experimental_slice_layout('')`, `2 0`},
		{`SELECT * FROM experimental_slice_layout(1)`, `error: experimental_slice_layout: the argument is no list`},
	})
}

func TestFlatSlice(t *testing.T) {
	functionstest.Check(t, sliceTables(t).Open(t, Data{}.define), []functionstest.Test{
		{`SELECT ts, dur, track_id, name, source_id FROM experimental_flat_slice(5, 130) ORDER BY track_id, ts, dur`, `
5 5 1 NULL NULL
10 0 1 'root' 0
10 5 1 'child' 1
15 5 1 'grandchild' 3
20 10 1 'child' 1
30 0 1 'root' 0
30 0 1 'child 2' 5
30 4 1 'grandchild 2' 6
34 6 1 'child 2' 5
40 60 1 'root' 0
100 20 1 NULL NULL
120 5 1 'open' 7
125 3 1 'in open' 8
128 2 1 'open' 7
5 7 2 NULL NULL
12 5 2 'other' 2
17 113 2 NULL NULL`},
		{`SELECT * FROM experimental_flat_slice(NULL, 1)`, ``},
		{`SELECT * FROM experimental_flat_slice(1, 'a')`, `error: experimental_flat_slice: the arguments are no timestamps`},
	})
}

func TestFunctionColumns(t *testing.T) {
	functionstest.Check(t, sliceTables(t).Open(t, Data{}.define), []functionstest.Test{
		{`SELECT name, type, hidden FROM pragma_table_xinfo('experimental_slice_layout')`, `
'id' 'INTEGER' 0
'layout_depth' 'INTEGER' 0
'_fn_arg0' '' 1
'_auto_id' 'INTEGER' 1`},
		{`SELECT id FROM ancestor_slice WHERE _fn_arg0 = 3 AND _fn_arg0 = 3`, "0\n1"},
		{`SELECT a.id FROM ancestor_slice(3) AS a JOIN descendant_slice(0) AS d USING (id)`, `1`},
	})
}
