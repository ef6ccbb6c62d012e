package rowformat

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tpconvert/tpconvert/internal/human"
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
type markdownWriter struct{ out io.Writer }

var markdownEscapes = strings.NewReplacer("|", `\|`, "\n", "<br>", "\r", "")

func newMarkdownWriter(out io.Writer, columns []session.Column) (*markdownWriter, error) {
	w := &markdownWriter{out}
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

// tableWriter writes a table for people, which fits a width. The first rows determine the widths of the columns.
type tableWriter struct {
	out     io.Writer
	columns []session.Column
	width   int // 0 means no limit
	most    int // rows that are shown; 0 means no limit
	waiting [][]string
	widths  []int // nil until they are known
	shown   []int // columns, in the order in which they are shown
	cut     int   // place in shown where columns are left out, or 0
	rows    int
}

const (
	// measuredRows is the number of rows that determine the column widths.
	measuredRows = 1000
	// leastWidth is the width to which columns of text may be narrowed.
	leastWidth = 24
	// pipeWidth is the width of tables where there is no terminal.
	pipeWidth = 120
	// screenRows are the rows of a table that a terminal shows.
	screenRows = 40
)

func newTableWriter(out io.Writer, columns []session.Column) *tableWriter {
	w := &tableWriter{out: out, columns: columns, width: cmp.Or(terminal.Width(out), pipeWidth)}
	for i := range columns {
		w.shown = append(w.shown, i)
	}
	if terminal.Is(out) {
		w.most = screenRows
	}
	return w
}

// NewSummary returns the writer of one of several tables for people: at most so many rows, numbers first.
func NewSummary(out io.Writer, columns []session.Column, most int) Writer {
	w := newTableWriter(out, columns)
	w.most = most
	slices.SortStableFunc(w.shown, func(a, b int) int {
		switch number := columns[a].Kind.Number(); {
		case number == columns[b].Kind.Number():
			return 0
		case number:
			return -1
		}
		return 1
	})
	return w
}

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
	switch {
	case w.most > 0 && w.rows > w.most:
	case w.widths != nil:
		return w.line(cells)
	default:
		w.waiting = append(w.waiting, cells)
		if len(w.waiting) == measuredRows {
			return w.begin()
		}
	}
	return nil
}

func (w *tableWriter) End() error {
	if w.widths == nil {
		if err := w.begin(); err != nil {
			return err
		}
	}
	text := human.Count(w.rows) + " row"
	if w.rows != 1 {
		text += "s"
	}
	cut := w.most > 0 && w.rows > w.most
	if cut {
		text += fmt.Sprintf(", %d shown", w.most)
	}
	if w.cut > 0 {
		text += fmt.Sprintf("; %d columns, %d shown", len(w.columns), len(w.shown))
		cut = true
	}
	if cut {
		text += "; --format csv gives all"
	}
	_, err := fmt.Fprintf(w.out, "(%s)\n", text)
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
	if w.width > 0 {
		w.fit()
	}
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

// fit leaves out columns in the middle that have no room at all, and narrows the widest ones of text. Numbers are never cut.
func (w *tableWriter) fit() {
	total := func(width func(column int) int) (n int) {
		for _, i := range w.shown {
			n += width(i) + len(gap)
		}
		if w.cut > 0 {
			n += len(gap) + 1 // for …
		}
		return n - len(gap)
	}
	least := func(column int) int {
		if w.columns[column].Kind.Number() {
			return w.widths[column]
		}
		return min(w.widths[column], leastWidth)
	}
	for total(least) > w.width && len(w.shown) > 1 {
		w.cut = len(w.shown) / 2
		w.shown = slices.Delete(w.shown, w.cut, w.cut+1)
	}
	for more := total(func(column int) int { return w.widths[column] }) - w.width; more > 0; more-- {
		widest := slices.MaxFunc(w.shown, func(a, b int) int { return cmp.Compare(w.widths[a]-least(a), w.widths[b]-least(b)) })
		if w.widths[widest] == least(widest) {
			return
		}
		w.widths[widest]--
	}
}

// gap is between columns.
const gap = "  "

func (w *tableWriter) line(cells []string) error {
	var b strings.Builder
	for at, i := range w.shown {
		if at > 0 {
			b.WriteString(gap)
			if at == w.cut {
				b.WriteString("…" + gap)
			}
		}
		cell := cells[i]
		if !w.columns[i].Kind.Number() {
			cell = terminal.Elided(cell, w.widths[i])
		}
		pad := strings.Repeat(" ", max(0, w.widths[i]-utf8.RuneCountInString(cell)))
		switch {
		case w.columns[i].Kind.Number():
			b.WriteString(pad + cell)
		case at == len(w.shown)-1:
			b.WriteString(cell)
		default:
			b.WriteString(cell + pad)
		}
	}
	b.WriteByte('\n')
	_, err := io.WriteString(w.out, b.String())
	return err
}
