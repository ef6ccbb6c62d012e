//go:build cgo

package main

import "testing"

// TestHeapArrays has the rows of Trace Processor v58.
func TestHeapArrays(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	dump := recorded(t, "arrays.hprof")
	tpconvert(t, dir, "-q", dump, "out").expect(t, exitDone, "")
	for _, c := range []struct{ sql, want string }{
		{`SELECT array_element_type AS t, array_data_hash AS h, hex(__intrinsic_heap_graph_array(array_data_id)) AS x,
__intrinsic_heap_graph_array_json(array_data_id) AS j FROM heap_graph_object_data ORDER BY id`, `"t","h","x","j"
"boolean",-9166066558910903874,"010001","[true,false,true]"
"char",-1260785027637022337,"E9007800","[233,120]"
"float",7940911832383204659,"CDCCCC3D0000C07FEC78ADE000000080000080FF","[0.1000000014901161,"NaN",-1.000000020040877e+20,-0,"-Infinity"]"
"double",-2767065244343480928,"9A9999999999B93F7DC39425AD49B254000000000000F07F","[0.1,1e+100,"Infinity"]"
"byte",183912497131434107,"FF0001","[-1,0,1]"
"short",-8402055668657807933,"FEFF0100","[-2,1]"
"int",-6401561061807012043,"0000008007000000","[-2147483648,7]"
"long",8562325043340759081,"0000000000000080","["-9223372036854775808"]"
`},
		{`SELECT typeof(__intrinsic_heap_graph_array(0)) AS t, __intrinsic_heap_graph_array(NULL) AS n, __intrinsic_heap_graph_array_json(NULL) AS m,
__intrinsic_heap_graph_array(8) AS o, __intrinsic_heap_graph_array_json(-1) AS p`, "\"t\",\"n\",\"m\",\"o\",\"p\"\n\"blob\",\"[NULL]\",\"[NULL]\",\"[NULL]\",\"[NULL]\"\n"},
	} {
		if got := rowsOf(t, dir, "out", c.sql, "--perfetto"); got != c.want {
			t.Errorf("%s:\n%swant\n%s", c.sql, got, c.want)
		}
	}
	tpconvert(t, dir, "query", "--perfetto", "out", "SELECT __intrinsic_heap_graph_array_json('0')").expect(t, exitFailure, "array_data_id must be an integer")
	// Datasets of earlier versions lack the arrays, too.
	tpconvert(t, dir, "-q", "--tables", "heap_graph_object_data", dump, "less").expect(t, exitDone, "")
	tpconvert(t, dir, "query", "--perfetto", "less", "SELECT __intrinsic_heap_graph_array(0)").expect(t, exitFailure, "has no table heap_graph_array: convert the trace again")
}
