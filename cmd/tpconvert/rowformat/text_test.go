package rowformat

import (
	"bytes"
	"strings"
	"testing"

	"github.com/tpconvert/tpconvert/sqlfuncs/session"
)

// Numbers keep all their digits on a narrow terminal; text is cut.
func TestNumbersAreNotCut(t *testing.T) {
	columns := []session.Column{{Name: "ts", Kind: session.Integer}, {Name: "name", Kind: session.Text}, {Name: "dur", Kind: session.Integer}}
	var out strings.Builder
	w := newTableWriter(&out, columns)
	w.width = 80
	write(t, w, []any{int64(1234567890123456789), strings.Repeat("n", 100), int64(-9223372036854775808)})
	if text := out.String(); !strings.Contains(text, "1234567890123456789") || !strings.Contains(text, "-9223372036854775808") || !strings.Contains(text, "nnnnn…nnnnn") {
		t.Errorf("%s", text)
	}
}

func TestTableFitsTheTerminal(t *testing.T) {
	columns := []session.Column{{Name: "number", Kind: session.Integer}, {Name: "name", Kind: session.Text}, {Name: "more", Kind: session.Text}, {Name: "last", Kind: session.Integer}}
	for _, of := range []struct {
		width, most int
		want        string
	}{
		{0, 0, `number  name                                      more  last
------  ----------------------------------------  ----  ----
     1  äääääääääääääääääääääääääääääääääääääääe  x\ny  NULL
  NULL  b                                         c      -22
(2 rows)
`},
		{44, 1, `number  name                      more  last
------  ------------------------  ----  ----
     1  äääääääääää…äääääääääääe  x\ny  NULL
(2 rows, 1 shown; --format csv gives all)
`},
		{24, 0, `number  …  last
------  …  ----
     1  …  NULL
  NULL  …   -22
(2 rows; 4 columns, 2 shown; --format csv gives all)
`},
		{7, 0, `number
------
     1
  NULL
(2 rows; 4 columns, 1 shown; --format csv gives all)
`},
	} {
		var out bytes.Buffer
		w := newTableWriter(&out, columns)
		w.width, w.most = of.width, of.most
		write(t, w, []any{int64(1), strings.Repeat("ä", 39) + "e", "x\ny", nil}, []any{nil, "b", "c", int64(-22)})
		if out.String() != of.want {
			t.Errorf("%d wide: got\n%swant\n%s", of.width, out.String(), of.want)
		}
	}
}

// People see the numbers of a summary first.
func TestSummary(t *testing.T) {
	var out bytes.Buffer
	columns := []session.Column{{Name: "name", Kind: session.Text}, {Name: "count", Kind: session.Integer}, {Name: "share", Kind: session.Real}}
	write(t, NewSummary(&out, columns, 2), []any{"a", int64(3), 0.5}, []any{"b", int64(20), 0.25}, []any{"c", int64(1), 0.25})
	const want = `count  share  name
-----  -----  ----
    3    0.5  a
   20   0.25  b
(3 rows, 2 shown; --format csv gives all)
`
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}

func write(t *testing.T, w Writer, rows ...[]any) {
	t.Helper()
	for _, row := range rows {
		if err := w.Row(row); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.End(); err != nil {
		t.Fatal(err)
	}
}
