package texts

import (
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/tpconvert/tpconvert/sqlfuncs/functions/define"
	"github.com/tpconvert/tpconvert/sqlfuncs/pattern"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
)

// These functions are SQLite's, but for the time that they take with long arguments. SQLite's take the product of the lengths,
// and cannot be interrupted.

// errInterrupted is what a function fails with when its statement was interrupted.
var errInterrupted = errors.New("interrupted")

// maxPattern is the longest pattern of LIKE in bytes.
const maxPattern = 50_000

func defineMatch(d *define.Definer) {
	var globs, likes lastPattern
	d.Scalar("glob", 2, func(c sqlite.Context, args []sqlite.Value) error {
		if args[0].IsNull() || args[1].IsNull() {
			return nil
		}
		return match(d, c, globs.of(args[0].View(), 0, func(p string, _ rune) pattern.Matcher { return pattern.Glob(p) }), args[1].View())
	})
	like := func(c sqlite.Context, args []sqlite.Value) error {
		if args[0].Type() == sqlite.Blob || args[1].Type() == sqlite.Blob {
			c.Bool(false)
			return nil
		}
		wanted := args[0].View()
		if len(wanted) > maxPattern {
			return errors.New("LIKE or GLOB pattern too complex")
		}
		escape := rune(0)
		if len(args) == 3 {
			if args[2].IsNull() {
				return nil
			}
			text := args[2].View()
			var n int
			if escape, n = utf8.DecodeRuneInString(text); n == 0 || n != len(text) {
				return errors.New("ESCAPE expression must be a single character")
			}
		}
		if args[0].IsNull() || args[1].IsNull() {
			return nil
		}
		return match(d, c, likes.of(wanted, escape, pattern.Like), args[1].View())
	}
	d.Scalar("like", 2, like)
	d.Scalar("like", 3, like)
	d.Scalar("instr", 2, instr)
	d.Scalar("replace", 3, replace)
	for name, cut := range map[string]func(s, set string) string{"trim": strings.Trim, "ltrim": strings.TrimLeft, "rtrim": strings.TrimRight} {
		d.Scalar(name, 1, func(c sqlite.Context, args []sqlite.Value) error { return trim(c, args[0], " ", cut) })
		d.Scalar(name, 2, func(c sqlite.Context, args []sqlite.Value) error {
			if args[1].IsNull() {
				return nil
			}
			return trim(c, args[0], args[1].View(), cut)
		})
	}
}

// match gives the result of a test.
func match(d *define.Definer, c sqlite.Context, matches pattern.Matcher, text string) error {
	stopped := false
	ok := matches(text, func() bool {
		stopped = d.DB.Interrupted()
		return stopped
	})
	if stopped {
		return errInterrupted
	}
	c.Bool(ok)
	return nil
}

// lastPattern keeps the last pattern, which most calls share.
type lastPattern struct {
	text    string
	escape  rune
	matches pattern.Matcher
}

func (l *lastPattern) of(text string, escape rune, compile func(string, rune) pattern.Matcher) pattern.Matcher {
	if l.matches == nil || l.text != text || l.escape != escape {
		l.text, l.escape = strings.Clone(text), escape
		l.matches = compile(l.text, escape)
	}
	return l.matches
}

// instr is the place of one text in another in characters, or of a BLOB in another in bytes.
func instr(c sqlite.Context, args []sqlite.Value) error {
	if args[0].IsNull() || args[1].IsNull() {
		return nil
	}
	bytes := args[0].Type() == sqlite.Blob && args[1].Type() == sqlite.Blob
	s := args[0].View()
	at := strings.Index(s, args[1].View())
	switch {
	case at < 0:
		c.Int(0)
	case bytes:
		c.Int(int64(at) + 1)
	default:
		c.Int(int64(utf8.RuneCountInString(s[:at])) + 1)
	}
	return nil
}

func replace(c sqlite.Context, args []sqlite.Value) error {
	for _, a := range args {
		if a.IsNull() {
			return nil
		}
	}
	s, old, by := args[0].View(), args[1].View(), args[2].View()
	if old == "" || old[0] == 0 {
		c.Text(s)
		return nil
	}
	n := strings.Count(s, old)
	if int64(len(s))+int64(n)*int64(len(by)-len(old)) > define.MaxResult {
		return errors.New("string or blob too big")
	}
	c.Text(strings.ReplaceAll(s, old, by))
	return nil
}

func trim(c sqlite.Context, text sqlite.Value, set string, cut func(s, set string) string) error {
	if text.IsNull() {
		return nil
	}
	c.Text(cut(text.View(), set))
	return nil
}
