package linux

import "testing"

func TestTaskStateName(t *testing.T) {
	kernel := func(major, minor int) func(int, int) bool {
		return func(a, b int) bool { return major > a || major == a && minor >= b }
	}
	for _, c := range []struct {
		raw          uint16
		major, minor int
		want         string
	}{
		{0, 5, 10, "R"}, {1, 5, 10, "S"}, {0x100, 5, 10, "R+"}, {0x80, 5, 10, "I"}, {0x40, 5, 10, "P"}, {0x200, 5, 10, ""},
		{0x102, 5, 10, "D"}, {0x800, 0, 0, "R+"}, {0x1000, 4, 9, "R+"}, {0x1000, 4, 14, "R+"}, {0x1000, 4, 15, ""}, {0x1001, 4, 14, ""}, {0x402, 0, 0, "I"}, {0x42, 0, 0, "Dx"},
		{0x80 | 2, 4, 9, "DK"}, {0x3f, 0, 0, "SDT"},
		{0xffff, 0, 0, ""},
	} {
		if got := TaskState(c.raw, kernel(c.major, c.minor)); got != c.want {
			t.Errorf("%#x on Linux %d.%d: %q, want %q", c.raw, c.major, c.minor, got, c.want)
		}
	}
}

func TestParseTaskState(t *testing.T) {
	old := func(int, int) bool { return false }
	for text, want := range map[string]string{
		"R": "R", "R+": "R+", "S": "S", "D": "D", "D|K": "DK", "DK": "DK", "x": "x", "X": "X", "I": "I", "D|N": "I",
		"t|P": "tP", "S+": "S", "0": "R", "1": "S", "130": "DK", "2048": "R+",
		"": "", "?": "", "Sq": "", "70000": "", "-1": "",
	} {
		if got := TaskState(uint16(ParseTaskState([]byte(text))), old); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
