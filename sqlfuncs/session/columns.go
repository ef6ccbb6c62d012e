package session

import (
	"fmt"
	"strconv"
	"strings"
)

// Column is a column of a query's rows.
type Column struct {
	Name string
	Kind Kind
}

// Kind says which values a column has: NULL or
type Kind int

// The kinds of columns.
const (
	Integer Kind = iota // 64 bits
	Huge                // 128 bits
	Real                // 64 bits
	Bool
	Text
	Bytes
	Variant // any of integer, real, text or nested, each as JSON
	Nested  // JSON
)

// Number reports whether the values are numbers.
func (k Kind) Number() bool { return k <= Real }

// readable returns a query for the same rows with one type for each kind.
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
