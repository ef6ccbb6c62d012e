package session

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Column is a column of a query's rows.
type Column struct {
	Name string
	Kind Kind
}

// Kind is the type of a column's values, which may also be NULL.
type Kind int

// The kinds of columns.
const (
	Integer Kind = iota // 64 bits
	Huge                // 128 bits
	Real                // 64 bits
	Bool
	Text
	Bytes
	Variant // any of integer, real, text or nested, as JSON
	Nested  // JSON
)

// Number reports whether the values are numbers.
func (k Kind) Number() bool { return k <= Real }

// readable returns a query for the same rows, with one SQL type for each kind.
func readable(text string, columns []Column) string {
	var names, values []string
	for i, c := range columns {
		name := "c" + strconv.Itoa(i)
		names = append(names, name)
		switch c.Kind {
		case Real:
			name += "::DOUBLE"
		case Text:
			name += "::VARCHAR"
		case Variant, Nested:
			name += "::JSON::VARCHAR"
		case Huge:
			name += "::HUGEINT"
		case Integer:
			name += "::BIGINT"
		}
		values = append(values, name)
	}
	return fmt.Sprintf("SELECT %s FROM (%s\n) AS _rows(%s)", strings.Join(values, ", "), text, strings.Join(names, ", "))
}

// FromJSON returns the value of JSON text: nil, an int64, float64, bool or string, or the text itself if it is nested.
func FromJSON(text string) any {
	var s string
	switch {
	case text == "null":
		return nil
	case text == "true" || text == "false":
		return text == "true"
	case strings.HasPrefix(text, `"`) && json.Unmarshal([]byte(text), &s) == nil:
		return s
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil {
		return f
	}
	return json.RawMessage(text)
}
