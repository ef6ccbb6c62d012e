package session

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/tpconvert/tpconvert/sqlfuncs/sqltext"
)

// sqlError is an error in SQL and its position in the text, or -1 if unknown.
type sqlError struct {
	message string
	text    string
	pos     int
}

// Error shows the line with the error, and a caret under its position.
func (e *sqlError) Error() string {
	if e.pos < 0 || e.pos > len(e.text) {
		return e.message
	}
	from := strings.LastIndexByte(e.text[:e.pos], '\n') + 1
	line, _, _ := strings.Cut(e.text[from:], "\n")
	// A tab or another control character would otherwise shift the caret.
	spaces := func(text string) string {
		return strings.Map(func(r rune) rune {
			if unicode.IsControl(r) {
				return ' '
			}
			return r
		}, text)
	}
	head := fmt.Sprintf("line %d: ", 1+strings.Count(e.text[:from], "\n"))
	caret := len(head)
	for _, r := range spaces(e.text[from:e.pos]) {
		caret += columns(r)
	}
	return fmt.Sprintf("%s\n%s%s\n%s^", e.message, head, spaces(strings.TrimRight(line, "\r")), strings.Repeat(" ", caret))
}

// ErrorLine returns the line of an error in the text that Each ran, from 1 on, and the message without its place. The
// line is 0 if it is unknown.
func ErrorLine(err error) (line int, message string) {
	var failed *sqlError
	if !errors.As(err, &failed) || failed.pos < 0 || failed.pos > len(failed.text) {
		return 0, err.Error()
	}
	return 1 + strings.Count(failed.text[:failed.pos], "\n"), failed.message
}

// errorPosition is the position of an error in PerfettoSQL, or -1 if err has none.
func errorPosition(err error) int {
	var bad *sqltext.Error
	if errors.As(err, &bad) {
		return bad.Pos
	}
	return -1
}

// placed adds the position in a text to the error of its statement at pos.
func placed(err error, statement, text string, pos int) error {
	var failed *sqlError
	if at := errorPosition(err); at >= 0 {
		return &sqlError{err.Error(), text, at + pos}
	}
	if errors.As(err, &failed) {
		return err
	}
	if strings.HasSuffix(err.Error(), "at end of input") {
		return &sqlError{explained(err.Error(), statement), text, pos + len(statement)}
	}
	if message, ok := strings.CutPrefix(err.Error(), functionError); ok {
		return &sqlError{message, text, -1}
	}
	if !duckDBPlace().MatchString(err.Error()) {
		if message := explained(err.Error(), statement); message != err.Error() {
			return &sqlError{message, text, -1}
		}
		return err
	}
	message, at := duckDBError(err, statement)
	if at >= 0 {
		at += pos
	}
	return &sqlError{explained(message, statement), text, at}
}

// functionError begins the errors of our own functions.
const functionError = "Invalid Input Error: database/sql/driver: API error: "

// lazyRegexp returns a regular expression that is compiled by its first use, so that commands without it start sooner.
func lazyRegexp(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

// duckDBPlace matches the part of an error with which DuckDB shows its position: a part of the
// line, and a caret under it.
var duckDBPlace = lazyRegexp(`(?s)\n+(LINE (\d+): )([^\n]*)\n( *)\^.*$`)

// duckDBError returns the message of a DuckDB error and its byte offset in the statement, or -1 if it has none.
func duckDBError(err error, statement string) (message string, pos int) {
	m := duckDBPlace().FindStringSubmatch(err.Error())
	if m == nil {
		return err.Error(), -1
	}
	message = strings.TrimSuffix(err.Error(), m[0])
	number, _ := strconv.Atoi(m[2])
	lines := strings.SplitAfter(statement, "\n")
	if number < 1 || number > len(lines) {
		return message, -1
	}
	for _, line := range lines[:number-1] {
		pos += len(line)
	}
	// The caret's position is in terminal columns, and dots replace parts of a long line.
	shown, caret := m[3], max(0, len(m[4])-len(m[1]))
	part := strings.TrimSuffix(strings.TrimPrefix(shown, "..."), "...")
	at := strings.Index(lines[number-1], part)
	if at < 0 {
		return message, -1
	}
	caret = max(0, caret-strings.Index(shown, part))
	for i, r := range part {
		if caret <= 0 && columns(r) > 0 {
			return message, pos + at + i
		}
		caret -= columns(r)
	}
	return message, pos + at + len(part)
}

// columns is the number of terminal columns that a character takes.
func columns(r rune) int {
	switch {
	case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Mn, unicode.Me):
		return 0
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, wide):
		return 2
	}
	return 1
}

// wide are the symbols and emoji that take two columns.
var wide = &unicode.RangeTable{
	R16: []unicode.Range16{{Lo: 0x3000, Hi: 0x303e, Stride: 1}, {Lo: 0xff01, Hi: 0xff60, Stride: 1}},
	R32: []unicode.Range32{{Lo: 0x1f300, Hi: 0x1faff, Stride: 1}},
}
