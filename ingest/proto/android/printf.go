package android

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// spec is a conversion of printf.
type spec struct {
	flags, width, precision, length string // the precision with its point
	letter                          byte
}

// only returns the flags that are in a set.
func (s *spec) only(set string) string {
	return strings.Map(func(flag rune) rune {
		if strings.ContainsRune(set, flag) {
			return flag
		}
		return -1
	}, s.flags)
}

// append appends a value as printf in C writes it: an int64 for a signed number or a letter, a uint64 for an unsigned one or an address, a
// float64 or a string.
func (s *spec) append(text []byte, value any) []byte {
	flags, width, verb := "", s.width, s.letter
	switch s.letter {
	case 's':
		return s.word(text, value.(string), s.precision)
	case 'c':
		return s.word(text, string([]byte{byte(value.(int64))}), "")
	case 'p':
		address := "(nil)"
		if value != uint64(0) {
			address = fmt.Sprintf("%#x", value)
		}
		return s.word(text, address, "")
	case 'd', 'i':
		flags, verb = s.only("-+ 0"), 'd'
	case 'u':
		flags, verb = s.only("-0"), 'd'
	case 'o', 'x', 'X':
		flags = s.only("-#0")
		if value == uint64(0) {
			flags = s.only("-0")
		} else if s.letter != 'o' && s.precision == "" && s.only("#") != "" && s.only("0") != "" && s.only("-") == "" {
			n, _ := strconv.Atoi(width)
			width = strconv.Itoa(max(n-len("0x"), 0)) // Go fills the width with zeros without counting 0x
		}
	default:
		return s.appendReal(text, value.(float64))
	}
	if zero := value == int64(0) || value == uint64(0); zero && s.precision != "" && strings.Trim(s.precision, ".0") == "" {
		return s.word(text, s.nothing(), "")
	}
	return fmt.Appendf(text, "%"+flags+width+s.precision+string(verb), value)
}

// word appends a word to the left or right of its width.
func (s *spec) word(text []byte, word, precision string) []byte {
	return fmt.Appendf(text, "%"+s.only("-")+s.width+precision+"s", word)
}

// nothing returns what is written of 0 without digits.
func (s *spec) nothing() string {
	switch signed := s.letter == 'd' || s.letter == 'i'; {
	case signed && s.only("+") != "":
		return "+"
	case signed && s.only(" ") != "":
		return " "
	case s.letter == 'o' && s.only("#") != "":
		return "0"
	}
	return ""
}

func (s *spec) appendReal(text []byte, value float64) []byte {
	precision := s.precision
	switch verb := s.letter; {
	case math.IsInf(value, 0) || math.IsNaN(value):
		name := fmt.Sprintf("%"+s.only("+ ")+"f", value)
		if s.only("+") == "" {
			name = strings.TrimPrefix(name, "+")
		}
		if s.letter < 'a' {
			return s.word(text, strings.ToUpper(name), "")
		}
		return s.word(text, strings.ToLower(name), "")
	case verb == 'a' || verb == 'A': // x and X here, with two digits of the exponent
		hex := fmt.Sprintf("%"+precision+string(verb+'x'-'a'), value)
		return s.word(text, strings.NewReplacer("p+0", "p+", "p-0", "p-", "P+0", "P+", "P-0", "P-").Replace(hex), "")
	case precision == "" && (verb == 'g' || verb == 'G'):
		precision = ".6"
	}
	return fmt.Appendf(text, "%"+s.flags+s.width+precision+string(s.letter), value)
}
