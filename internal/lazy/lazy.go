// Package lazy compiles regular expressions when they are first used, so that commands that do not use them start sooner.
package lazy

import (
	"regexp"
	"sync"
)

// Regexp returns a regular expression that is compiled by its first use.
func Regexp(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
