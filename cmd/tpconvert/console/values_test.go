package console

import (
	"testing"
)

func TestByteSize(t *testing.T) {
	for text, want := range map[string]int64{
		"1": 1, "300000": 300000, "64k": 64 << 10, "64K": 64 << 10, "2MiB": 2 << 20, "2 MiB": 2 << 20,
		"1.5GB": 1_500_000_000, "1G": 1 << 30, "7B": 7,
	} {
		var s ByteSize
		if err := s.Set(text); err != nil || int64(s) != want {
			t.Errorf("%s: %d, %v, want %d", text, s, err, want)
		}
	}
	for _, text := range []string{"", "0", "-1", "K", "1X", "nan", "inf", "1e300G"} {
		if err := new(ByteSize).Set(text); err == nil {
			t.Errorf("%q is taken for a size", text)
		}
	}
}
