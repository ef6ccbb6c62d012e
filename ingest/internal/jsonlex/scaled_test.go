package jsonlex

import "testing"

func TestScaled(t *testing.T) {
	for text, want := range map[string]struct {
		power int
		n     int64
		ok    bool
	}{
		"0":                       {9, 0, true},
		"12":                      {3, 12000, true},
		"-12.5":                   {0, -13, true},
		"1700000000.123456789":    {9, 1700000000123456789, true},
		"1700000000.1234567894":   {9, 1700000000123456789, true},
		"1700000000.1234567895":   {9, 1700000000123456790, true},
		"1534000000000.1234":      {6, 1534000000000123400, true},
		"1.5e3":                   {3, 1500000, true},
		"15E-4":                   {3, 2, true},
		"4e-4":                    {3, 0, true},
		"5e-7":                    {3, 0, true},
		"0.0000000005":            {9, 1, true},
		"1e400":                   {0, 0, false},
		"1e-400":                  {0, 0, true},
		"1e999999999999999999999": {0, 0, false},
		"9223372036854775807":     {1, 0, false},
		"9223372036854.775":       {6, 9223372036854775000, true},
		"NaN":                     {0, 0, false},
		"true":                    {0, 0, false},
		`"1"`:                     {0, 0, false},
	} {
		l := Lexer{Buf: []byte(text + " ")}
		v, err := l.Value()
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if n, ok := v.Scaled(want.power); n != want.n && ok || ok != want.ok {
			t.Errorf("%s: %d, %v, want %d, %v", text, n, ok, want.n, want.ok)
		}
	}
}
