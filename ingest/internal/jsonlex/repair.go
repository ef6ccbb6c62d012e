package jsonlex

import "slices"

// Repair appends the text of a damaged object as valid JSON, as far as that can be: quotes inside of texts and
// backslashes before other characters get a backslash, words of Python become those of JSON, and brackets that are
// not closed are closed if the text is complete.
func Repair(to, raw []byte, complete bool) []byte {
	var open []byte // the brackets that close the open objects and arrays
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; c {
		case '"':
			var closed bool
			if to, i, closed = repairText(to, raw, i, len(open) > 0 && open[len(open)-1] == '}'); !closed && !complete {
				return to
			}
		case '{', '[':
			open, to = append(open, c+2), append(to, c)
		case '}', ']':
			for len(open) > 0 && slices.Contains(open, c) {
				last := open[len(open)-1]
				if open, to = open[:len(open)-1], append(to, last); last == c {
					break
				}
			}
		case 'T', 'F', 'N':
			word, value := pythonWord(raw[i:])
			to = append(to, value...)
			i += len(word) - 1
		default:
			to = append(to, c)
		}
	}
	if complete {
		for i := len(open) - 1; i >= 0; i-- {
			to = append(to, open[i])
		}
	}
	return to
}

// pythonWord returns the word at the start of a text and the same in JSON.
func pythonWord(raw []byte) (word, value string) {
	for word, value := range map[string]string{"True": "true", "False": "false", "None": "null"} {
		if len(raw) >= len(word) && string(raw[:len(word)]) == word {
			return word, value
		}
	}
	return string(raw[:1]), string(raw[:1])
}

// repairText appends the text that starts with the quote at i, and returns the position of the quote that ends it. Inside an
// object, a member must follow a comma.
func repairText(to, raw []byte, i int, inObject bool) ([]byte, int, bool) {
	to = append(to, '"')
	for i++; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '\\' && i+1 < len(raw):
			next := raw[i+1]
			if next == '"' && ends(raw, i+2, inObject) {
				return append(to, '\\', '\\', '"'), i + 1, true // the path of a folder
			}
			if _, hex := hex4(raw[i+2:]); !(next == 'u' && hex) && !escapes(next) {
				to = append(to, '\\', '\\')
				continue
			}
			to = append(to, c, next)
			i++
		case c == '"' && ends(raw, i+1, inObject):
			return append(to, '"'), i, true
		case c == '"':
			to = append(to, '\\', '"')
		default:
			to = append(to, c)
		}
	}
	return append(to, '"'), len(raw), false
}

// escapes reports whether a backslash before c is an escape.
func escapes(c byte) bool {
	switch c {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return true
	}
	return false
}

// ends reports whether what follows a quote shows that it ends a text.
func ends(raw []byte, i int, inObject bool) bool {
	space := func() byte {
		for ; i < len(raw); i++ {
			if c := raw[i]; c != ' ' && c != '\n' && c != '\t' && c != '\r' {
				return c
			}
		}
		return '}'
	}
	switch c := space(); c {
	case ':', '}', ']':
		return true
	case ',':
		i++
		c = space()
		return c == '"' || c == '}' || !inObject
	}
	return false
}
