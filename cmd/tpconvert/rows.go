package main

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/big"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/tpconvert/tpconvert/sqlfuncs/session"
)

// rowWriter prints the rows of a query.
type rowWriter interface {
	row([]any) error
	end() error
}

var rowFormats = []string{"table", "csv", "json", "ndjson", "parquet", "arrow", "markdown"}

func isBinary(format string) bool { return format == "parquet" || format == "arrow" }

// checkRowFormat rejects a format that does not exist or does not suit the output.
func checkRowFormat(format string, out io.Writer) error {
	if !slices.Contains(rowFormats, format) {
		return usageError{fmt.Errorf("--format %q: want one of %s", format, strings.Join(rowFormats, ", "))}
	}
	if isBinary(format) && isTerminal(out) {
		return usageError{fmt.Errorf("--format %s is not for a terminal: redirect the output to a file", format)}
	}
	return nil
}

// newRowWriter returns the writer of a format. On a terminal, control characters in the rows are escaped, because they
// could control it. Files and pipes get the text as it is.
func newRowWriter(format string, out io.Writer, columns []session.Column) (rowWriter, error) {
	if !isTerminal(out) || isBinary(format) || format == "table" { // a table is always escaped
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
type escaper struct{ rowWriter }

func (w escaper) row(values []any) error {
	shown := slices.Clone(values)
	for i, v := range shown {
		switch v.(type) {
		case nil, int64, float64, bool, []byte:
		default:
			shown[i] = oneLine(cellText(v))
		}
	}
	return w.rowWriter.row(shown)
}

// jsonEscaper escapes control characters as JSON does. JSON has them only in text.
type jsonEscaper struct{ io.Writer }

func (w jsonEscaper) Write(b []byte) (int, error) {
	var shown []byte
	for _, r := range string(b) {
		if r != '\n' && controls(r) {
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

func newPlainWriter(format string, out io.Writer, columns []session.Column) (rowWriter, error) {
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
		return newArrowWriter(out, columns, parquetSink)
	case "arrow":
		return newArrowWriter(out, columns, arrowSink)
	case "markdown":
		return newMarkdownWriter(out, columns)
	default:
		return &tableWriter{out: out, columns: columns, width: terminalWidth(out)}, nil
	}
}

// terminalWidth returns the number of characters in a line, or 0 for no limit.
func terminalWidth(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil {
			return width
		}
	}
	return 0
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

func (w *jsonWriter) row(values []any) error {
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

func (w *jsonWriter) end() error {
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
