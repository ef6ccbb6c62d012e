// Package rowformat prints the rows of queries as text, JSON, Parquet and Arrow.
package rowformat

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tpconvert/tpconvert/internal/terminal"
	"github.com/tpconvert/tpconvert/sqlfuncs/session"
)

// Writer prints the rows of a query.
type Writer interface {
	Row(values []any) error
	End() error
}

// Names are the names of formats.
var Names = []string{"table", "csv", "json", "ndjson", "parquet", "arrow", "markdown"}

// IsBinary reports whether a format is not text.
func IsBinary(format string) bool { return format == "parquet" || format == "arrow" }

// Check rejects a format that does not exist or does not suit the output.
func Check(format string, out io.Writer) error {
	if !slices.Contains(Names, format) {
		return fmt.Errorf("--format %q: want one of %s", format, strings.Join(Names, ", "))
	}
	if IsBinary(format) && terminal.Is(out) {
		return fmt.Errorf("--format %s is not for a terminal: redirect the output to a file", format)
	}
	return nil
}

// New returns the writer of a format. On a terminal, control characters in the rows are escaped, because they
// could control it. Files and pipes get the text as it is.
func New(format string, out io.Writer, columns []session.Column) (Writer, error) {
	if !terminal.Is(out) || IsBinary(format) || format == "table" { // a table is always escaped
		return newPlainWriter(format, out, columns)
	}
	if format == "json" || format == "ndjson" {
		return newPlainWriter(format, jsonEscaper{out}, columns)
	}
	shown := slices.Clone(columns)
	for i := range shown {
		shown[i].Name = oneLine(shown[i].Name)
	}
	w, err := newPlainWriter(format, out, shown)
	return escaper{w}, err
}

// escaper escapes control characters, and line ends, in text.
type escaper struct{ Writer }

func (w escaper) Row(values []any) error {
	shown := slices.Clone(values)
	for i, v := range shown {
		switch v.(type) {
		case nil, int64, float64, bool, []byte:
		default:
			shown[i] = oneLine(cellText(v))
		}
	}
	return w.Writer.Row(shown)
}

// jsonEscaper escapes control characters as JSON does. JSON has them only in text.
type jsonEscaper struct{ io.Writer }

func (w jsonEscaper) Write(b []byte) (int, error) {
	var shown []byte
	for _, r := range string(b) {
		if r != '\n' && terminal.Controls(r) {
			shown = fmt.Appendf(shown, `\u%04x`, r)
		} else {
			shown = utf8.AppendRune(shown, r)
		}
	}
	if _, err := w.Writer.Write(shown); err != nil {
		return 0, err
	}
	return len(b), nil
}

func newPlainWriter(format string, out io.Writer, columns []session.Column) (Writer, error) {
	switch format {
	case "csv":
		return newCSVWriter(out, columns)
	case "perfetto":
		return newPerfettoWriter(out, columns)
	case "json":
		return &jsonWriter{out: out, columns: columns, open: "[", between: ",\n ", close: "]\n", empty: "[]\n"}, nil
	case "ndjson":
		return &jsonWriter{out: out, columns: columns, between: "\n", close: "\n"}, nil
	case "parquet":
		return newChunkWriter(out, columns, newParquetFile)
	case "arrow":
		return newChunkWriter(out, columns, arrowFile)
	case "markdown":
		return newMarkdownWriter(out, columns)
	default:
		return newTableWriter(out, columns), nil
	}
}

// cellText returns a value as text, or "" for NULL.
func cellText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return formatReal(v)
	case []byte:
		return `\x` + hex.EncodeToString(v)
	case json.RawMessage:
		return string(v)
	default:
		return fmt.Sprint(v)
	}
}

// formatReal formats a real number so that it cannot be taken for an integer, without an exponent if it is short.
func formatReal(v float64) string {
	size := math.Abs(v)
	switch {
	case math.IsInf(v, 0) || math.IsNaN(v):
		return strings.ToLower(strings.TrimPrefix(strconv.FormatFloat(v, 'g', -1, 64), "+"))
	case size != 0 && (size < 1e-6 || size >= 1e17):
		return strconv.FormatFloat(v, 'g', -1, 64)
	case v == math.Trunc(v):
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// jsonWriter writes one object per row.
type jsonWriter struct {
	out                  io.Writer
	columns              []session.Column
	open, between, close string
	empty                string // instead of all three if there are no rows
	rows                 int
}

func (w *jsonWriter) Row(values []any) error {
	b := []byte(w.between)
	if w.rows == 0 {
		b = []byte(w.open)
	}
	w.rows++
	for i, c := range w.columns {
		b = append(b, "{,"[min(i, 1)])
		b = appendJSON(b, c.Name)
		b = append(b, ':')
		b = appendJSON(b, values[i])
	}
	_, err := w.out.Write(append(b, '}'))
	return err
}

func (w *jsonWriter) End() error {
	text := w.close
	if w.rows == 0 {
		text = w.empty
	}
	_, err := io.WriteString(w.out, text)
	return err
}

// appendJSON appends a value; values that JSON cannot express become text.
func appendJSON(b []byte, v any) []byte {
	switch x := v.(type) {
	case []byte:
		v = cellText(x)
	case float64:
		if math.IsInf(x, 0) || math.IsNaN(x) {
			v = cellText(x)
		}
	case *big.Int:
		return x.Append(b, 10)
	case json.RawMessage:
		return append(b, x...)
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(v) != nil {
		return append(b, "null"...)
	}
	return append(b, bytes.TrimSuffix(text.Bytes(), []byte("\n"))...)
}
