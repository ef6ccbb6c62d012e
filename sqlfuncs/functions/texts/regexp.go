package texts

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/tpconvert/tpconvert/sqlfuncs/functions/define"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
)

// patterns are the regular expressions that statements use, compiled.
type patterns struct {
	last     string
	lastOf   *regexp.Regexp
	compiled map[string]*regexp.Regexp
}

// maxPatterns bounds how many regular expressions are kept: they may come from a column.
const maxPatterns = 1000

func (p *patterns) compile(pattern string) (*regexp.Regexp, error) {
	if p.lastOf != nil && p.last == pattern {
		return p.lastOf, nil
	}
	r := p.compiled[pattern]
	if r == nil {
		pattern = strings.Clone(pattern)
		var err error
		if r, err = regexp.Compile(pattern); err != nil {
			return nil, err
		}
		if p.compiled == nil || len(p.compiled) >= maxPatterns {
			p.compiled = map[string]*regexp.Regexp{}
		}
		p.compiled[pattern] = r
	}
	p.last, p.lastOf = strings.Clone(pattern), r
	return r, nil
}

func defineRegexp(d *define.Definer) {
	// define defines a function of texts. NULL in any of them gives NULL.
	define := func(prelude, name string, n, pattern int, f func(c sqlite.Context, r *regexp.Regexp, args []sqlite.Value) error) {
		var known patterns
		call := func(c sqlite.Context, args []sqlite.Value) error {
			for _, a := range args {
				if a.IsNull() {
					return nil
				}
			}
			text := args[pattern].View()
			if n == 3 && pattern == 0 {
				insensitive, err := flags(args[2].View())
				if err != nil {
					return fmt.Errorf("%s: %w", prelude, err)
				}
				if insensitive {
					text = "(?i)" + text
				}
			}
			r, err := known.compile(text)
			if err == nil {
				err = f(c, r, args)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", prelude, err)
			}
			return nil
		}
		d.Scalar(prelude, n, call)
		d.Scalar(name, n, call)
	}
	match := func(c sqlite.Context, r *regexp.Regexp, args []sqlite.Value) error {
		c.Bool(r.MatchString(args[1].View()))
		return nil
	}
	define("regexp", "__intrinsic_regexp", 2, 0, match)
	define("regexp", "__intrinsic_regexp_with_flags", 3, 0, match)
	define("regexp_extract", "__intrinsic_regexp_extract", 2, 1, func(c sqlite.Context, r *regexp.Regexp, args []sqlite.Value) error {
		s := args[0].View()
		found := r.FindStringSubmatchIndex(s)
		if found == nil {
			return nil
		}
		if len(found) > 4 {
			return errors.New("the pattern has more than one group")
		}
		if len(found) == 4 && found[3] > found[2] {
			found = found[2:]
		}
		c.Text(s[found[0]:found[1]])
		return nil
	})
	define("regexp_replace_simple", "__intrinsic_regexp_replace_simple", 3, 1, func(c sqlite.Context, r *regexp.Regexp, args []sqlite.Value) error {
		s, err := replaceAll(r, args[0].View(), args[2].View())
		if err == nil {
			c.Text(s)
		}
		return err
	})
}

// flags reads the flags of a match: i for any case, c for the same case. The last one counts.
func flags(s string) (insensitive bool, err error) {
	for _, c := range s {
		switch c {
		case 'i':
			insensitive = true
		case 'c':
			insensitive = false
		default:
			return false, fmt.Errorf("there is no flag %q", c)
		}
	}
	return insensitive, nil
}

// replaceAll replaces all matches, as RE2 does: \1 is a group, \\ a backslash. Another backslash ends the replacement. If
// there is no such group, nothing is replaced.
func replaceAll(r *regexp.Regexp, s, replacement string) (string, error) {
	type piece struct {
		text  string
		group int // -1 for a text
	}
	var pieces []piece
	for i := 0; i+1 < len(replacement); i++ {
		if replacement[i] != '\\' {
			continue
		}
		if i++; replacement[i] >= '0' && replacement[i] <= '9' && int(replacement[i]-'0') > r.NumSubexp() {
			return s, nil
		}
	}
	for rest := replacement; rest != ""; {
		text, after, escaped := strings.Cut(rest, `\`)
		pieces = append(pieces, piece{text, -1})
		switch {
		case !escaped:
		case strings.HasPrefix(after, `\`):
			pieces, after = append(pieces, piece{`\`, -1}), after[1:]
		case after != "" && after[0] >= '0' && after[0] <= '9':
			pieces, after = append(pieces, piece{"", int(after[0] - '0')}), after[1:]
		default:
			after = ""
		}
		rest = after
	}
	var b strings.Builder
	from := 0
	for _, found := range r.FindAllStringSubmatchIndex(s, -1) {
		b.WriteString(s[from:found[0]])
		from = found[1]
		for _, p := range pieces {
			switch {
			case p.group < 0:
				b.WriteString(p.text)
			case found[2*p.group] >= 0:
				b.WriteString(s[found[2*p.group]:found[2*p.group+1]])
			}
		}
		if b.Len() > define.MaxResult {
			return "", errors.New("the result is too long")
		}
	}
	b.WriteString(s[from:])
	return b.String(), nil
}
