package atrace

import (
	"fmt"
	"testing"

	"github.com/tpconvert/tpconvert/internal/fuzz"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"B|12|name|with bars\n":         "B 12 name|with bars  0",
		"B|12|":                         "B 12 [empty slice name]  0",
		"B||x":                          "bad",
		"E|12":                          "E 12   0",
		"E":                             "E 0   0",
		"S|1|a|9":                       "S 1 a  9",
		"F|1|a|":                        "bad",
		"C|3|n|-5|Blob":                 "C 3 n  -5",
		"C|3|n|x":                       "bad",
		"C|3||7":                        "C 3   7",
		"C|3||":                         "bad",
		"I|3|n":                         "I 3 n  0",
		"N|3|track|n":                   "N 3 n track 0",
		"G|3|track|n|4\x00":             "G 3 n track 4",
		"H|3|track|n|4":                 "H 3  track 4",
		"H|3|track|4":                   "H 3  track 4",
		"X|what":                        "bad",
		"hello":                         "other",
		"Entering the loop":             "other",
		"Begin|1|step":                  "other",
		"":                              "other",
		"|3|n":                          "other",
		"trace_event_clock_sync: a=1.0": "other",
	} {
		m, ok, isMark := Parse([]byte(text))
		got := fmt.Sprintf("%c %d %s %s %d", m.Phase, m.TGID, m.Name, m.Track, m.Value)
		switch {
		case !isMark:
			got = "other"
		case !ok:
			got = "bad"
		}
		if got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("G|3|track|n|4\x00"))
	fuzz.Run(f, func(t *testing.T, text []byte) {
		m, ok, _ := Parse(text)
		if ok && len(m.Name) > max(len(text), len(unnamedMark)) {
			t.Errorf("name %q of %q", m.Name, text)
		}
	})
}
