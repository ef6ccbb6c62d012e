package many

import "testing"

// The bytes of messages are written by hand, from the rules of the encoding.
func TestTemplates(t *testing.T) {
	for _, test := range []struct {
		shape shape
		want  string
	}{
		{text("a$i of $n: $(2*(n-i)), 0x$(i+254:x), $(i:03d), $$"), "a1 of 3: 4, 0xff, 001, $"},
		{text("$(i<n/2?B $i|E)$(i<1+1?|no)"), "E"},
		{each(",", "$i"), "0,1,2"},
		{repeat("", join(text("<"), text("$i>"))), "<0><1><2>"},
		{message("1:i 8:300"), "\x08\x01\x40\xac\x02"},
		{message(`2:"n$i" 3:{1:n 4:{}}`), "\x12\x02n1\x1a\x04\x08\x03\x22\x00"},
		{message("1=n-i"), "\x09\x02\x00\x00\x00\x00\x00\x00\x00"},
		{message("4:<i [i]>"), "\x22\x04\x01\x00\x01\x02"},
		{message("1:#i 2:##2"), "\x0a\x08\x00\x00\x00\x00\x00\x00\x00\x01\x12\x10\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02"},
		{message("[1:i] (i<1)[2:5] (i<2)[2:6]"), "\x08\x00\x08\x01\x08\x02\x10\x06"},
	} {
		if got := string(test.shape(nil, 1, 3)); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}
