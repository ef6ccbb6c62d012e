package functions

import (
	"testing"
	"testing/fstest"

	"github.com/tpconvert/tpconvert/sqlfuncs/dataframe"
	"github.com/tpconvert/tpconvert/sqlfuncs/functions/functionstest"
)

func TestTableInfo(t *testing.T) {
	s := functionstest.NewTables()
	s.Add(t, "x", "seq, setid, asc1, dsc, txt text, r real, neg, big, u, n, nn, dup",
		[]any{0, 0, 5, 5, "b", 1.5, -1, 1 << 40, 1 << 31, nil, 3, 0}, []any{1, 0, 7, 4, "a", 2.5, 2, 2, 2, nil, nil, 0},
		[]any{2, 2, 9, 3, "c", 3.5, 2, 2, 2, nil, 3, 1})
	functionstest.Check(t, s.Open(t, Data{Named: func(name string) *dataframe.Frame { f, _ := s.Table(name); return f }}.define), []functionstest.Test{
		{`SELECT id, table_name, name, col_type, nullable, sorted FROM perfetto_table_info('x')`, `
0 'x' 'seq' 'id' 0 0
1 'x' 'setid' 'uint32' 0 1
2 'x' 'asc1' 'uint32' 0 2
3 'x' 'dsc' 'uint32' 0 3
4 'x' 'txt' 'string' 0 3
5 'x' 'r' 'double' 0 2
6 'x' 'neg' 'int32' 0 2
7 'x' 'big' 'int64' 0 3
8 'x' 'u' 'uint32' 0 3
9 'x' 'n' 'uint32' 1 3
10 'x' 'nn' 'uint32' 1 3
11 'x' 'dup' 'uint32' 0 2`},
		{`SELECT * FROM perfetto_table_info('y')`, `error: perfetto_table_info: there is no Perfetto table y`},
		{`SELECT * FROM perfetto_table_info(1)`, `error: perfetto_table_info: the argument is no name`},
		{`SELECT count(query) FROM sqlstats`, `0`},
		{`SELECT * FROM __intrinsic_modules`, `0 'winscope'`},
	})
}

func TestHierarchy(t *testing.T) {
	s := functionstest.NewTables()
	s.Add(t, "surfaceflinger_layer", "snapshot_id, layer_id, parent",
		[]any{0, 3, 2}, []any{0, 2, 1}, []any{0, 1, nil}, []any{0, nil, 1}, []any{0, 5, 6}, []any{0, 6, 5}, []any{1, 3, 2}, []any{1, 4, 4})
	functionstest.Check(t, s.Open(t, Data{}.define), []functionstest.Test{
		{`SELECT snapshot_id, layer_id, group_concat(ancestor_id) FROM __intrinsic_winscope_surfaceflinger_hierarchy_path
			WHERE layer_id NOT IN (5, 6) GROUP BY 1, 2 ORDER BY min(id)`, `
0 3 '1,2,3'
0 2 '1,2'
0 1 '1'
1 3 '3'
1 4 '4'`},
		// A cycle of parents ends.
		{`SELECT count(*) FROM __intrinsic_winscope_surfaceflinger_hierarchy_path WHERE layer_id IN (5, 6)`, `12`},
	})
}

func TestCurves(t *testing.T) {
	folder := fstest.MapFS{
		CurvesFolder + "/B/gpu.csv":    {Data: []byte("device,freq_khz,active,idle1,idle2\nB,100,1.5,2,3e-2\n")},
		CurvesFolder + "/A/gpu.csv":    {Data: []byte("device,freq_khz,active,idle1,idle2\nA,200,1,2,3\n")},
		CurvesFolder + "/A/cpu_1d.csv": {Data: []byte("device,policy\nA,1\n")},
		CurvesFolder + "/A/tpu.csv":    {Data: []byte("device,cluster,requests,freq,active\nA,1,x,1,1\n")},
	}
	functionstest.Check(t, functionstest.NewTables().Open(t, Data{Modules: folder}.define), []functionstest.Test{
		{`SELECT * FROM __intrinsic_wattson_curves_gpu`, `
'A' 200 1.0 2.0 3.0
'B' 100 1.5 2.0 0.03`},
		{`SELECT * FROM __intrinsic_wattson_curves_cpu_1d`, `error: A/cpu_1d.csv: the columns are not`},
		{`SELECT * FROM __intrinsic_wattson_curves_tpu`, `error: A/tpu.csv: strconv.ParseInt`},
	})
	functionstest.Check(t, functionstest.NewTables().Open(t, Data{}.define), []functionstest.Test{{`SELECT * FROM __intrinsic_wattson_curves_gpu`, `error: the modules have no curves`}})
	functionstest.Check(t, functionstest.NewTables().Open(t, Data{Modules: fstest.MapFS{}}.define), []functionstest.Test{{`SELECT * FROM __intrinsic_wattson_curves_gpu`, `error: the modules have no curves`}})
}
