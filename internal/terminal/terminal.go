// Package terminal says what a terminal is, and keeps text from controlling it.
package terminal

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
)

// file is a file, or stands for one.
type file interface{ Fd() uintptr }

// Is reports whether a reader or writer is a terminal.
func Is(w any) bool {
	f, ok := w.(file)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Width returns the number of characters in a line, or 0 for no limit.
func Width(w any) int {
	if f, ok := w.(file); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil {
			return width
		}
	}
	return 0
}

// Printable escapes text, because a file name, for example, could contain escape
// sequences that control the terminal. It escapes control characters except newlines,
// and bytes that are not UTF-8, as in Go.
func Printable(text string) string {
	var b strings.Builder
	for i, r := range text {
		_, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case r != '\n' && Controls(r):
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Controls reports whether a character controls a terminal, or the direction of text.
func Controls(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }

// Elided leaves out the middle of a text of more than width characters: its end tells overloads and templates apart.
func Elided(text string, width int) string {
	all := []rune(text)
	if len(all) <= width {
		return text
	}
	return string(all[:(width-1)/2]) + "…" + string(all[len(all)-width/2:])
}
