package jsonlex

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

// Numbers have the values that strconv gives them, to the last bit.
func TestNumber(t *testing.T) {
	texts := []string{"0", "-0", "-0.0", "0.000", "1e3", "-1.5E-7", "0.1", "9007199254740991.5", "900719925474099.1",
		"999999999999999999", "1000000000000000000", "-9223372036854775808", "9223372036854775807", "0.000000000000000001",
		"123456789012345678.9", "1.7976931348623157e308", "5e-324"}
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		texts = append(texts, fmt.Sprint(r.Int64N(1<<r.IntN(63))), fmt.Sprintf("%.*f", 1+r.IntN(9), r.NormFloat64()*math.Pow10(r.IntN(12))))
	}
	for _, text := range texts {
		l := Lexer{Buf: []byte(text + ",")}
		v, err := l.Number()
		if err != nil || l.Pos != len(text) || string(v.Raw) != text {
			t.Fatalf("%s: %+v, error %v, position %d", text, v, err, l.Pos)
		}
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			if v.Kind != Integer || v.Int != n {
				t.Errorf("%s: %+v", text, v)
			}
			continue
		}
		n, _ := strconv.ParseFloat(text, 64)
		if v.Kind != Double || math.Float64bits(v.Float) != math.Float64bits(n) {
			t.Errorf("%s: %+v, want %v", text, v, n)
		}
	}
}

// Digits has the value that Number has, or leaves the number to it.
func TestDigits(t *testing.T) {
	taken := map[string]bool{"0,": true, "7]": true, "120,": true, "999999999999999999,": true}
	for _, text := range []string{"0,", "7]", "120,", "999999999999999999,", "1000000000000000000,", "-1,", "01,", "00]", "1.5,", "1e3,", "12", "1 ,", "1}", ",", "]",
		"null,", "99999999999999999999999999,"} {
		d := Lexer{Buf: []byte(text)}
		n, ok := d.Digits()
		if ok != taken[text] || !ok && d.Pos != 0 {
			t.Errorf("%s: taken %t, position %d", text, ok, d.Pos)
		}
		l := Lexer{Buf: []byte(text)}
		if v, err := l.Number(); ok && (err != nil || v.Kind != Integer || v.Int != n || l.Pos != d.Pos) {
			t.Errorf("%s: %d up to %d, Number has %+v up to %d, error %v", text, n, d.Pos, v, l.Pos, err)
		}
	}
}

func TestNumberIsWhole(t *testing.T) {
	for text, want := range map[string]error{
		"12": ErrMore, "-": ErrMore, "1.": ErrMore, "1e": ErrMore, "1e+": ErrMore,
		"-,": ErrSyntax, "01,": ErrSyntax, "1.,": ErrSyntax, "1e,": ErrSyntax, "1e+,": ErrSyntax,
	} {
		l := Lexer{Buf: []byte(text)}
		if _, err := l.Number(); err != want || l.Pos != 0 {
			t.Errorf("%s: error %v, position %d", text, err, l.Pos)
		}
	}
	l := Lexer{Buf: []byte("1e999,")}
	if v, err := l.Number(); v.Kind != Double || !math.IsInf(v.Float, 1) || err != nil {
		t.Errorf("a number out of range: %+v, error %v", v, err)
	}
	for text, want := range map[string]float64{"9223372036854775808": 1 << 63, "18446744073709551615": 1 << 64, "-9223372036854775809": -1 << 63} {
		l = Lexer{Buf: []byte(text + ",")}
		if v, err := l.Number(); v.Kind != Double || v.Float != want || !v.Large || string(v.Raw) != text || err != nil {
			t.Errorf("%s: %+v, error %v", text, v, err)
		}
	}
}
