package rowformat

import (
	"bytes"
	"math/big"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/tpconvert/tpconvert/sqlfuncs/session"
)

// A column of real numbers has integers, too.
func TestMixedNumbers(t *testing.T) {
	var out bytes.Buffer
	w, err := New("arrow", &out, []session.Column{{Name: "x", Kind: session.Real}})
	if err != nil {
		t.Fatal(err)
	}
	write(t, w, []any{1.5}, []any{int64(2)}, []any{nil}, []any{big.NewInt(3)})
	r, err := ipc.NewFileReader(bytes.NewReader(out.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := r.RecordBatch(0)
	if err != nil {
		t.Fatal(err)
	}
	x := rows.Column(0).(*array.Float64)
	if x.Len() != 4 || x.Value(0) != 1.5 || x.Value(1) != 2 || !x.IsNull(2) || x.Value(3) != 3 {
		t.Errorf("%v", x)
	}
}
