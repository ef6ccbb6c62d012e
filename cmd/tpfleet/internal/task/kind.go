package task

import (
	"path"
	"regexp"
	"strings"
)

// Kind returns what the errors of several traces have in common, as far as that can be told: the error without the
// object's name, offsets and numbers.
func Kind(url, text string) string {
	if at := offsetIn.FindStringIndex(text); at != nil {
		text = text[at[1]:]
	}
	text = strings.NewReplacer(url+": ", "", url, "URL", path.Base(url)+": ", "").Replace(text)
	text = digitsIn.ReplaceAllString(text, "N")
	return strings.ToValidUTF8(text[:min(len(text), 200)], "")
}

var (
	offsetIn = regexp.MustCompile(`^.* at byte [0-9]+: `)
	digitsIn = regexp.MustCompile(`[0-9]+`)
)

// Kind returns the kind of the outcome's error, "" if it has none.
func (o *Outcome) Kind() string { return Kind(o.URL, o.Error) }
