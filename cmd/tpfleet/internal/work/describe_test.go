package work

import "testing"

func TestBoundsOfText(t *testing.T) {
	for text, want := range map[string][2]string{
		"short":                        {"short", "short"},
		"exactly 16 bytes":             {"exactly 16 bytes", "exactly 16 bytes"},
		"seventeen bytes !":            {"seventeen bytes ", "seventeen bytes!"},
		"fifteen bytes..é is cut":      {"fifteen bytes..", "fifteen bytes./"},
		"fifteen.bytes.\U0010FFFF...":  {"fifteen.bytes.", "fifteen.bytes/"},
		"twelve bytes\U0010FFFF...":    {"twelve bytes\U0010FFFF", "twelve bytet"},
		"thirteen.byte\uD7FF and more": {"thirteen.byte\uD7FF", "thirteen.byte\uE000"},
	} {
		least, greatest := string(cut([]byte(text))), string(cutAbove([]byte(text)))
		if least != want[0] || greatest != want[1] || least > text || greatest < text {
			t.Errorf("%q: %q to %q, want %q to %q", text, least, greatest, want[0], want[1])
		}
	}
	if got := cutAbove([]byte("\U0010FFFF\U0010FFFF\U0010FFFF\U0010FFFF\U0010FFFF")); got != nil {
		t.Errorf("%q", got)
	}
}
