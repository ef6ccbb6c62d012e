package perfettosql_test

import (
	"reflect"
	"testing"

	"github.com/tpconvert/tpconvert/sqlfuncs/operators"
	"github.com/tpconvert/tpconvert/sqlfuncs/perfettosql"
)

func TestRepeatedField(t *testing.T) {
	s, err := perfettosql.New(empty(t), perfettosql.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	// A materialized subquery keeps a BLOB, but no pointer.
	const sql = `WITH v(x) AS (VALUES (1), (-2.5), ('text'), (x'0801'), (NULL)), r AS MATERIALIZED (SELECT RepeatedField(x) AS list FROM v)
SELECT a.list, (SELECT RepeatedField(x) FROM v WHERE x = 7), x'0801' FROM r AS a, r AS b ORDER BY b.list`
	err = s.Run(t.Context(), sql, func(rows *perfettosql.Rows) error {
		if more, err := rows.Next(); err != nil || !more {
			t.Fatal(more, err)
		}
		got, err := operators.RepeatedValues(rows.Blob(0))
		if want := []any{int64(1), -2.5, "text", []byte{8, 1}, nil}; err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %v, %v, want %v", got, err, want)
		}
		if v := rows.Any(1); v != nil {
			t.Errorf("no values: %v", v)
		}
		if got, err := operators.RepeatedValues(rows.Blob(2)); got != nil || err != nil {
			t.Errorf("a message: %v, %v", got, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	for _, damaged := range []string{"\x00i\x01", "\x00s\x05a", "\x00s", "\x00?", "\x00b\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"} {
		if got, err := operators.RepeatedValues([]byte(damaged)); err == nil {
			t.Errorf("%q: %v", damaged, got)
		}
	}
}
