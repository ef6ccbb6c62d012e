package session

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
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

// eachRow calls row with the values of each row. They are only valid during the call.
func eachRow(rows *sql.Rows, columns []Column, row func([]any) error) error {
	values, targets := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		targets[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			return err
		}
		for i, c := range columns {
			values[i] = goValue(c.Kind, values[i])
		}
		if err := row(values); err != nil {
			return err
		}
	}
	return rows.Err()
}

// goValue converts a value of database/sql to int64 for an integer, *big.Int for a huge one, float64, bool, string,
// []byte or, for a nested value, json.RawMessage.
func goValue(kind Kind, v any) any {
	switch v := v.(type) {
	case int8:
		return int64(v)
	case int16:
		return int64(v)
	case int32:
		return int64(v)
	case uint8:
		return int64(v)
	case uint16:
		return int64(v)
	case uint32:
		return int64(v)
	case string:
		if kind == Nested || kind == Variant {
			return FromJSON(v)
		}
	}
	return v
}

// Float returns a value of a row as a number, NaN if it is none.
func Float(v any) float64 {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case float64:
		return v
	}
	return math.NaN()
}
