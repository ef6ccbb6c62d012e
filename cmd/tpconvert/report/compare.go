package report

import (
	"fmt"
	"strings"

	"github.com/tpconvert/tpconvert/cmd/tpconvert/compare"
)

// Compare makes the report of a comparison.
func Compare(before, after []string, r *compare.Result, printable func(string) string) *Page {
	m := maker{Options: Options{Printable: printable}}
	p := &Page{
		Title:   m.text(strings.Join(before, ", ") + " → " + strings.Join(after, ", ")),
		Summary: strings.Join(r.Notes(), "; "),
	}
	kinds := map[string]*Table{}
	for i := range r.Rows {
		row := &r.Rows[i]
		t := kinds[row.Kind]
		if t == nil {
			t = &Table{}
			for _, name := range compare.Shown[1:] {
				t.Columns = append(t.Columns, Column{name, numeric[name]})
			}
			kinds[row.Kind] = t
		}
		if t.Total++; len(t.Rows) >= 200 {
			continue
		}
		var cells []Cell
		for j, text := range row.Texts()[1:] {
			c := Cell{Text: m.text(text)}
			if value, ok := map[string]float64{"before": row.Before, "after": row.After, "diff": row.Diff(), "change": row.After / row.Before, "p": row.P}[compare.Shown[1+j]]; ok {
				c.Sort = fmt.Sprint(value)
			}
			cells = append(cells, c)
		}
		t.Rows = append(t.Rows, Row{Cells: cells})
	}
	for _, kind := range compare.Kinds {
		if t := kinds[kind]; t != nil {
			t.dropEmpty()
			p.Sections = append(p.Sections, Section{kind, []Figure{{Table: t}}})
		}
	}
	return p
}

// numeric are the columns with numbers.
var numeric = map[string]bool{"before": true, "after": true, "diff": true, "change": true, "p": true}
