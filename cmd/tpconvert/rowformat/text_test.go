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
	w := &tableWriter{out: &out, columns: columns, width: 30}
	if err := w.Row([]any{int64(1234567890123456789), strings.Repeat("n", 100), int64(-9223372036854775808)}); err != nil {
		t.Fatal(err)
	}
	if err := w.End(); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); !strings.Contains(text, "1234567890123456789") || !strings.Contains(text, "-9223372036854775808") || !strings.Contains(text, "nnnnn…") {
		t.Errorf("%s", text)
	}
}

func TestTableFitsTheTerminal(t *testing.T) {
	var out bytes.Buffer
	w := tableWriter{out: &out, width: 30, columns: []session.Column{{Name: "number", Kind: session.Integer}, {Name: "name", Kind: session.Text}, {Name: "more", Kind: session.Text}}}
	rows := [][]any{{int64(1), strings.Repeat("ä", 40), "x\ny"}, {nil, "b", "c"}}
	for _, row := range rows {
		if err := w.Row(row); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.End(); err != nil {
		t.Fatal(err)
	}
	want := `number  name              more
------  ----------------  ----
     1  äääääääääääääää…  x\ny
  NULL  b                 c
(2 rows)
`
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}
