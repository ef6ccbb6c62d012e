package template

import (
	"strings"
	"testing"
)

// The bytes of messages are written by hand, from the rules of the encoding.
func TestTemplates(t *testing.T) {
	for _, test := range []struct {
		shape Shape
		want  string
	}{
		{Text("a$i of $n: $(2*(n-i)), 0x$(i+254:x), $(i:03d), $$"), "a1 of 3: 4, 0xff, 001, $"},
		{Text("$(i<n/2?B $i|E)$(i<1+1?|no)"), "E"},
		{Repeat(",", Text("$i")), "0,1,2"},
		{Repeat("", Join(Text("<"), Text("$i>"))), "<0><1><2>"},
		{Message("1:i 8:300"), "\x08\x01\x40\xac\x02"},
		{Message(`2:"n$i" 3:{1:n 4:{}}`), "\x12\x02n1\x1a\x04\x08\x03\x22\x00"},
		{Message("1=n-i"), "\x09\x02\x00\x00\x00\x00\x00\x00\x00"},
		{Message("4:<i [i]>"), "\x22\x04\x01\x00\x01\x02"},
		{Message("*2[1:i 2:n]"), "\x08\x00\x10\x01\x08\x01\x10\x01"},
		{Pick("seed", []Shape{Text("a"), Text("a")}), "a"},
		{Message("1:#i 2:##2"), "\x0a\x08\x00\x00\x00\x00\x00\x00\x00\x01\x12\x10\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02"},
		{Message("[1:i] (i<1)[2:5] (i<2)[2:6]"), "\x08\x00\x08\x01\x08\x02\x10\x06"},
		{Little("1:i 2:n 4:0x102|4 8:1<<40"), "\x01\x03\x00\x06\x01\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00"},
		{Big("1:i 2:n 4:0x102|4 8:1<<40"), "\x01\x00\x03\x00\x00\x01\x06\x00\x00\x01\x00\x00\x00\x00\x00"},
		{Little(`v:300 p:300 "n$i" u"a$i"`), "\xac\x02\xac\x82\x80\x00n1a\x001\x00\x00\x00"},
		{Big(`u"a" [1:i] (i<1)[1:5] (i<2)[1:6]`), "\x00a\x00\x00\x00\x01\x02\x06"},
		{Little(`2{"abc"} v{[2:i]} 2+8{1:5} 1{m{8:i}}`), "\x03\x00abc\x06\x00\x00\x01\x00\x02\x00\x09\x00\x05\x02\x40\x01"},
	} {
		if got := string(test.shape(nil, 1, 3)); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}

// Random numbers are the same in each run, and differ from each other.
func TestRandom(t *testing.T) {
	s, seen := Text("$r $r"), map[string]bool{}
	for i := range 100 {
		text := string(s(nil, i, 7))
		if again := string(s(nil, i, 7)); again != text {
			t.Errorf("%s, then %s", text, again)
		}
		for number := range strings.FieldsSeq(text) {
			if seen[number] {
				t.Errorf("%s is there twice", number)
			}
			seen[number] = true
		}
	}
	if len(seen) != 200 {
		t.Errorf("%d numbers", len(seen))
	}
}
