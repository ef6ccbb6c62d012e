package rowformat

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tpconvert/tpconvert/internal/count"
	"github.com/tpconvert/tpconvert/internal/terminal"
	"github.com/tpconvert/tpconvert/sqlfuncs/session"
)

// csvWriter writes CSV as in RFC 4180, with NULL as an empty field.
type csvWriter struct {
	csv    *csv.Writer
	fields []string
}

func newCSVWriter(out io.Writer, columns []session.Column) (*csvWriter, error) {
	w := &csvWriter{csv.NewWriter(out), make([]string, len(columns))}
	for i, c := range columns {
		w.fields[i] = c.Name
	}
	return w, w.csv.Write(w.fields)
}

func (w *csvWriter) Row(values []any) error {
	for i, v := range values {
		w.fields[i] = cellText(v)
	}
	return w.csv.Write(w.fields)
}

func (w *csvWriter) End() error {
	w.csv.Flush()
	return w.csv.Error()
}

// perfettoWriter writes CSV like Trace Processor's shell: text is quoted, but quotes in it are not escaped.
type perfettoWriter struct{ out io.Writer }

func newPerfettoWriter(out io.Writer, columns []session.Column) (*perfettoWriter, error) {
	w := &perfettoWriter{out}
	var head []any
	for _, c := range columns {
		head = append(head, c.Name)
	}
	return w, w.Row(head)
}

func (w *perfettoWriter) Row(values []any) error {
	var b strings.Builder
	for i, v := range values {
		if i > 0 {
			b.WriteByte(',')
		}
		switch v := v.(type) {
		case nil:
			b.WriteString(`"[NULL]"`)
		case int64:
			b.WriteString(strconv.FormatInt(v, 10))
		case float64:
			b.WriteString(strings.ToLower(strings.TrimPrefix(strconv.FormatFloat(v, 'f', 6, 64), "+")))
		case []byte:
			b.WriteString(`"<raw bytes>"`)
		default:
			b.WriteString(`"` + cellText(v) + `"`)
		}
	}
	b.WriteByte('\n')
	_, err := io.WriteString(w.out, b.String())
	return err
}

func (w *perfettoWriter) End() error { return nil }

// markdownWriter writes a table in GitHub's Markdown.
type markdownWriter struct {
	out     io.Writer
	columns []session.Column
}

var markdownEscapes = strings.NewReplacer("|", `\|`, "\n", "<br>", "\r", "")

func newMarkdownWriter(out io.Writer, columns []session.Column) (*markdownWriter, error) {
	w := &markdownWriter{out, columns}
	var head, rule []any
	for _, c := range columns {
		head = append(head, c.Name)
		if c.Kind.Number() {
			rule = append(rule, "---:")
		} else {
			rule = append(rule, "---")
		}
	}
	if err := w.Row(head); err != nil {
		return nil, err
	}
	return w, w.Row(rule)
}

func (w *markdownWriter) Row(values []any) error {
	var b strings.Builder
	for _, v := range values {
		b.WriteString("| ")
		if v == nil {
			v = "NULL"
		}
		b.WriteString(markdownEscapes.Replace(cellText(v)))
		b.WriteByte(' ')
	}
	b.WriteString("|\n")
	_, err := io.WriteString(w.out, b.String())
	return err
}

func (w *markdownWriter) End() error { return nil }

// tableWriter writes a table for people. The first rows determine the widths of the columns.
type tableWriter struct {
	out     io.Writer
	columns []session.Column
	width   int // of the terminal; 0 means no limit
	waiting [][]string
	widths  []int // nil until they are known
	rows    int
}

// measuredRows is the number of rows that determine the column widths.
const measuredRows = 1000

// leastWidth is the width to which columns may be narrowed.
const leastWidth = 6

// oneLine returns text as one line for a table's cell.
func oneLine(text string) string { return strings.ReplaceAll(terminal.Printable(text), "\n", `\n`) }

func (w *tableWriter) Row(values []any) error {
	cells := make([]string, len(values))
	for i, v := range values {
		if v == nil {
			v = "NULL"
		}
		cells[i] = oneLine(cellText(v))
	}
	w.rows++
	if w.widths != nil {
		return w.line(cells)
	}
	w.waiting = append(w.waiting, cells)
	if len(w.waiting) == measuredRows {
		return w.begin()
	}
	return nil
}

func (w *tableWriter) End() error {
	if w.widths == nil {
		if err := w.begin(); err != nil {
			return err
		}
	}
	s := "s"
	if w.rows == 1 {
		s = ""
	}
	_, err := fmt.Fprintf(w.out, "(%s row%s)\n", count.String(w.rows), s)
	return err
}

// begin writes the header and the waiting rows.
func (w *tableWriter) begin() error {
	head, rule := make([]string, len(w.columns)), make([]string, len(w.columns))
	w.widths = make([]int, len(w.columns))
	for i, c := range w.columns {
		head[i] = oneLine(c.Name)
		for _, cells := range append(w.waiting, head) {
			w.widths[i] = max(w.widths[i], utf8.RuneCountInString(cells[i]))
		}
	}
	w.fit()
	for i, width := range w.widths {
		rule[i] = strings.Repeat("-", width)
	}
	for _, cells := range append([][]string{head, rule}, w.waiting...) {
		if err := w.line(cells); err != nil {
			return err
		}
	}
	w.waiting = nil
	return nil
}

// fit narrows the widest columns of text until the line fits the terminal. Numbers are never cut.
func (w *tableWriter) fit() {
	total := 2 * (len(w.widths) - 1)
	for _, width := range w.widths {
		total += width
	}
	for w.width > 0 && total > w.width {
		widest, most := 0, leastWidth
		for i, width := range w.widths {
			if width > most && !w.columns[i].Kind.Number() {
				widest, most = i, width
			}
		}
		if most == leastWidth {
			return
		}
		w.widths[widest]--
		total--
	}
}

func (w *tableWriter) line(cells []string) error {
	var b strings.Builder
	for i, cell := range cells {
		if i > 0 {
			b.WriteString("  ")
		}
		n := utf8.RuneCountInString(cell)
		if n > w.widths[i] && !w.columns[i].Kind.Number() {
			cell, n = string([]rune(cell)[:w.widths[i]-1])+"…", w.widths[i]
		}
		pad := strings.Repeat(" ", max(0, w.widths[i]-n))
		switch {
		case w.columns[i].Kind.Number():
			b.WriteString(pad + cell)
		case i == len(cells)-1:
			b.WriteString(cell)
		default:
			b.WriteString(cell + pad)
		}
	}
	b.WriteByte('\n')
	_, err := io.WriteString(w.out, b.String())
	return err
}
