package mcp

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tpconvert/tpconvert/sqlfuncs/session"
)

const (
	maxAnswer   = 8000 // bytes
	maxTokens   = 3700 // as tokens estimates them
	maxCell     = 300  // characters
	defaultRows = 50
	maxRows     = 500
)

// answer is the text that a tool gives. It is never longer than maxAnswer and maxTokens, and says what was left out.
type answer struct {
	strings.Builder
	tokens int
	full   bool
}

// The room for the last lines, in bytes and tokens.
const (
	roomForNote = 300
	notesTokens = 150
)

// line adds a line, or reports that there is no room for it.
func (a *answer) line(format string, args ...any) bool {
	text := format
	if len(args) > 0 {
		text = fmt.Sprintf(format, args...)
	}
	text = strings.ToValidUTF8(text, "\ufffd")
	text += "\n"
	more := tokens(text)
	if a.full || a.Len()+len(text) > maxAnswer-roomForNote || a.tokens+more > maxTokens-notesTokens {
		a.full = true
		return false
	}
	a.WriteString(text)
	a.tokens += more
	return true
}

// note adds a line for which there is always room.
func (a *answer) note(format string, args ...any) {
	text, _ := shortened(fmt.Sprintf(format, args...), roomForNote-2)
	if more := tokens(text) + 1; a.Len()+len(text) < maxAnswer && a.tokens+more <= maxTokens {
		a.WriteString(text + "\n")
		a.tokens += more
	}
}

// tokens estimates how many tokens a text is to a language model. Digits are tokens of three, words are split into some of four
// letters, and a mark is one. Dense numbers are twice as many tokens as names of the same length.
func tokens(text string) int {
	const (
		other = iota
		small
		capital
		digit
	)
	halves, kind, run := 0, other, 0
	add := func(to, most int) {
		if kind != to || run == most {
			halves, kind, run = halves+2, to, 0
		}
		run++
	}
	for _, r := range text {
		switch {
		case r >= 'a' && r <= 'z':
			if kind == capital { // which begins a word
				kind = small
			}
			add(small, 4)
		case r >= 'A' && r <= 'Z':
			add(capital, 2)
		case r >= '0' && r <= '9':
			add(digit, 3)
		case r == ' ':
			kind = other
		case r < utf8.RuneSelf:
			kind, halves = other, halves+2
		default:
			kind, halves = other, halves+[]int{2: 2, 3: 3, 4: 6}[utf8.RuneLen(r)]
		}
	}
	return (halves + 1) / 2
}

// rows adds a header and rows as tab-separated values, of which there may be limit.
type rows struct {
	*answer
	limit, written, left int
	cells                int // that were shortened
}

func (a *answer) table(limit int, columns ...string) *rows {
	cells := make([]any, len(columns))
	for i, c := range columns {
		cells[i] = c
	}
	r := &rows{answer: a, limit: limit}
	r.line("%s", r.cellsOf(cells))
	return r
}

// row adds a row, and reports whether there may be room for another.
func (r *rows) row(values ...any) bool {
	if r.written == r.limit || r.left > 0 || !r.line("%s", r.cellsOf(values)) {
		r.left++
		return false
	}
	r.written++
	return true
}

func (r *rows) cellsOf(values []any) string {
	cells := make([]string, len(values))
	for i, v := range values {
		text, cut := shortened(cell(v), maxCell)
		if cut {
			r.cells++
		}
		cells[i] = text
	}
	return strings.Join(cells, "\t")
}

// end says what was left out. More rows may exist than were counted.
func (r *rows) end(counted bool, advice string) {
	switch {
	case r.left > 0 && counted:
		r.note("(%d rows of %d; %s)", r.written, r.written+r.left, advice)
	case r.left > 0:
		r.note("(the first %d rows; there are more: %s)", r.written, advice)
	case r.written == 0:
		r.note("(no rows)")
	}
	if r.cells > 0 {
		r.note("(%d long values end with …; substr() shows other parts)", r.cells)
	}
}

var escaped = strings.NewReplacer("\t", `\t`, "\n", `\n`, "\r", `\r`)

// cell formats a value. NULL is empty, as opposed to ” for an empty text.
func cell(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		if v == "" {
			return "''"
		}
		return escaped.Replace(v)
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return strconv.FormatFloat(v, 'f', -1, 64)
		}
		return strconv.FormatFloat(v, 'g', -1, 64)
	case []byte:
		return fmt.Sprintf("(%d bytes)", len(v))
	}
	return fmt.Sprint(v)
}

// shortened returns the beginning of a text, and whether there is more.
func shortened(text string, most int) (string, bool) {
	if len(text) <= most {
		return text, false
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + "…", true
}

// errEnough ends a query whose further rows nobody sees.
var errEnough = errors.New("enough rows")

// query adds the rows that SQL gives.
func (a *answer) query(ctx context.Context, s *session.Session, sql string, limit int) error {
	found := false
	err := s.Each(ctx, sql, func(q *session.Query) error {
		if found {
			a.line("")
		}
		found = true
		var names []string
		for _, c := range q.Columns {
			names = append(names, c.Name)
		}
		r := a.table(limit, names...)
		err := q.Each(ctx, func(values []any) error {
			if !r.row(values...) {
				return errEnough
			}
			return nil
		})
		r.end(false, "aggregate in SQL, or use ORDER BY with LIMIT and OFFSET")
		if err == errEnough && !q.Last {
			err = nil
		}
		return err
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	if err == nil && !found {
		a.line("(done; no statement gave rows)")
	}
	return err
}
