package tsdl

import (
	"fmt"
	"slices"
	"testing"
)

func TestLexer(t *testing.T) {
	var got []string
	l := NewLexer("/* CTF 1.8 */ typealias integer { size = 0x20; } := uint_32; // end\n'a\\x41\\\"' ... \"b")
	defer func() {
		err, ok := recover().(*Error)
		if !ok || !err.Cut || err.At != 82 {
			t.Errorf("an open quote is %+v", err)
		}
		want := []string{"1 typealias", "1 integer", "4 {", "1 size", "4 =", "2 0x20", "4 ;", "4 }", "4 :=", "1 uint_32", "4 ;", `3 aA"`, "4 ..."}
		if !slices.Equal(got, want) {
			t.Errorf("got %q", got)
		}
	}()
	for l.Next(); l.Kind != End; l.Next() {
		got = append(got, fmt.Sprint(l.Kind, " ", l.Word))
	}
}

func TestErrors(t *testing.T) {
	for text, want := range map[string]Error{
		"event ;": {At: 6, Err: `";" where "{" was expected`},
		"event":   {At: 5, Cut: true, Err: `the text ends where "{" was expected`},
	} {
		l := NewLexer(text)
		func() {
			defer func() {
				if err, ok := recover().(*Error); !ok || *err != want {
					t.Errorf("%s: %+v", text, err)
				}
			}()
			l.Next()
			if !l.Accept("event") {
				t.Errorf("%s does not begin with event", text)
			}
			l.Expect("{")
		}()
	}
}
