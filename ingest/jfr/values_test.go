package jfr

import "testing"

func TestClassNames(t *testing.T) {
	for name, want := range map[string]string{"java/lang/String": "java.lang.String", "[[B": "byte[][]", "[Ljava/lang/Object;": "java.lang.Object[]",
		"[": "[", "[[": "[[]", "[X": "X[]", "B": "B", "La;": "La;"} {
		if got := string(appendClassName([]byte("in "), []byte(name))); got != "in "+want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestCommonEnd(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "abc", 0}, {"xbc", "abc", 2}, {"abc", "abc", 3}, {"c", "abc", 1}, {"abd", "abc", 0}} {
		if got := commonEnd([]byte(c.a), []byte(c.b)); got != c.want {
			t.Errorf("%q and %q: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
