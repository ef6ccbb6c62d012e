package task

import (
	"path"
	"regexp"
	"strings"
)

// Kind returns what the errors of several traces have in common, as far as that can be told: the error without
// names, offsets and numbers, also in hexadecimal.
func Kind(url, text string) string {
	if at := offsetIn.FindStringIndex(text); at != nil {
		text = text[at[1]:]
	}
	text = strings.NewReplacer(url+": ", "", url, "URL", path.Base(url)+": ", "").Replace(text)
	text = quotedIn.ReplaceAllString(text, "NAME")
	text = wordsIn.ReplaceAllStringFunc(text, func(word string) string {
		word, end := strings.TrimRight(word, ".,:;)"), word[len(strings.TrimRight(word, ".,:;)")):]
		switch {
		case hexIn.MatchString(word) && strings.ContainsAny(word, "0123456789"):
			word = "N"
		case nameIn.MatchString(word) && word != "URL":
			word = "NAME"
		}
		return digitsIn.ReplaceAllString(word, "N") + end
	})
	return strings.ToValidUTF8(text[:min(len(text), 200)], "")
}

var (
	offsetIn = regexp.MustCompile(`^.* at byte [0-9]+: `)
	digitsIn = regexp.MustCompile(`[0-9]+`)
	quotedIn = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|\B'[^']*'\B|` + "`[^`]*`")
	wordsIn  = regexp.MustCompile(`\S+`)
	hexIn    = regexp.MustCompile(`^\(?(?:0[xX])?[0-9a-fA-F]+$`)
	nameIn   = regexp.MustCompile(`[^/]/[^/]|^/|[^.0-9]\.[A-Za-z][A-Za-z0-9]`) // a path, or with a suffix
)

// Kind returns the kind of the outcome's error, "" if it has none.
func (o *Outcome) Kind() string { return Kind(o.URL, o.Error) }
