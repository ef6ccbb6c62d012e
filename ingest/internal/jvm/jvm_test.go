package jvm

import "testing"

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"":                                     "",
		"java.lang.String":                     "java.lang.String",
		"caf\u00e9 \u20ac \ud7ff":              "caf\u00e9 \u20ac \ud7ff",
		"A\xc0\x80B":                           "A\x00B",
		"x\xed\xa0\xbd\xed\xb8\x80":            "x\U0001f600",
		"\xed\xaf\xbf\xed\xbf\xbfy":            "\U0010ffffy",
		"\xed\xa0\xbd":                         "\ufffd",           // the first half alone
		"a\xed\xb8\x80b":                       "a\ufffdb",         // the second half alone
		"\xed\xa0\xbd\xed\xa0\xbd\xed\xb8\x80": "\ufffd\U0001f600", // a half, and a whole
		"\xed\xb8\x80\xed\xa0\xbd":             "\ufffd\ufffd",     // in the wrong order
		"\U0001f600":                           "\U0001f600",       // as in UTF-8
		"\xc0":                                 "\xc0",             // damage stays for the pool of strings to count
		"\xed\xa0":                             "\xed\xa0",
		"\xff\xc0\x80":                         "\xff\x00",
	} {
		if got := string(Text([]byte(in))); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	same := []byte("unchanged")
	if got := Text(same); &got[0] != &same[0] {
		t.Error("a text in UTF-8 is copied")
	}
}
