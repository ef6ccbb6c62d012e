// Package schema declares the tables of a dataset, one struct per table, in the
// form that package table reads.
package schema

//go:generate go test . -generate

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/tpconvert/tpconvert/model/table"
)

// All returns the declarations of all tables, parents before children. They must not be changed.
func All() []*table.Schema { return slices.Clone(all()) }

var all = sync.OnceValue(table.Schemas[Tables])

// WriteDocs writes the documentation of all tables as Markdown.
func WriteDocs(w io.Writer) error {
	b := bufio.NewWriter(w)
	b.WriteString(docsHead)
	columns := map[string]int{}
	for _, s := range All() {
		columns[s.Name] = len(s.Columns)
		writeTable(b, s, s.Columns[columns[s.Parent]:])
	}
	return b.Flush()
}

const docsHead = `# Tables

Generated from the declarations in ` + "`model/schema`" + ` by ` + "`make generate`" + `. [schema.md](schema.md) describes the versions.

A child table has the columns of its parent and its own; the parent has the rows of all its children, under the same id.
Times are in nanoseconds of the trace clock unless a column says otherwise. Text and bytes are NULL if they are missing;
other columns can be NULL only if they are marked. A core table is in every dataset; a planned table is not filled yet.
`

// writeTable writes the section of a table. columns are the table's own, without
// the parent's.
func writeTable(w *bufio.Writer, s *table.Schema, columns []table.Column) {
	fmt.Fprintf(w, "\n## %s\n\n%s", s.Name, s.Doc)
	if s.Abstract {
		w.WriteString(" It has no file: its rows are those of its children.")
	}
	switch {
	case s.Planned:
		w.WriteString(" Planned.")
	case s.Core:
		w.WriteString(" Core.")
	}
	w.WriteString("\n")
	if s.Parent != "" {
		fmt.Fprintf(w, "\nChild of [%s](#%[1]s).\n", s.Parent)
	}
	if len(columns) == 0 {
		return
	}
	w.WriteString("\n| column | type | meaning |\n| --- | --- | --- |\n")
	for _, c := range columns {
		fmt.Fprintf(w, "| %s | %s | %s |\n", c.Name, typeDoc(c), c.Doc)
	}
}

func typeDoc(c table.Column) string {
	parts := []string{c.Type.String()}
	if c.Nullable && !c.Type.Interned() {
		parts = append(parts, "or NULL")
	}
	if c.Ref != "" {
		parts = append(parts, fmt.Sprintf("→ [%s](#%[1]s)", c.Ref))
	}
	return strings.Join(parts, " ")
}
