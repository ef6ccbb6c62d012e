package store

import (
	"fmt"
	"regexp"
	"strings"
)

// glob returns a function that matches a pattern of List.
func glob(pattern string) (func(string) bool, error) {
	var b strings.Builder
	for rest := pattern; rest != ""; {
		switch {
		case strings.HasPrefix(rest, "**/"):
			b.WriteString("(.*/)?")
			rest = rest[3:]
			continue
		case strings.HasPrefix(rest, "**"):
			b.WriteString(".*")
			rest = rest[2:]
			continue
		case rest[0] == '*':
			b.WriteString("[^/]*")
		case rest[0] == '?':
			b.WriteString("[^/]")
		case rest[0] == '[':
			end := strings.IndexByte(rest, ']')
			if end < 0 {
				return nil, fmt.Errorf("%s: a [ without a ]", pattern)
			}
			b.WriteString(strings.Replace(rest[:end+1], "[!", "[^", 1))
			rest = rest[end+1:]
			continue
		default:
			b.WriteString(regexp.QuoteMeta(rest[:1]))
		}
		rest = rest[1:]
	}
	matcher, err := regexp.Compile("^" + b.String() + "$")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", pattern, err)
	}
	return matcher.MatchString, nil
}
