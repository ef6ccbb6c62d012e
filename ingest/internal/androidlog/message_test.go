package androidlog

import (
	"testing"
	"time"
)

func TestDates(t *testing.T) {
	for line, want := range map[string]int64{
		"01-01 00:00:00.000000001 1 1 I a: b":      1,
		"2262-04-11 23:47:15.999999999 1 1 I a: b": 9223372035_999999999,
	} {
		if m, ok := parse([]byte(line), layout{date: true}, &dates{written: Date{Year: 1970}}); !ok || m.ts != want {
			t.Errorf("%q: %d, want %d", line, m.ts, want)
		}
	}
	for _, line := range []string{"2262-04-11 23:47:17.0 1 1 I a: b", "999999999-01-01 00:00:00.0 1 1 I a: b"} {
		if _, ok := parse([]byte(line), layout{date: true}, &dates{written: Date{Year: 1970}}); ok {
			t.Errorf("%q has more nanoseconds than 64 bits can count", line)
		}
	}
}

func TestYears(t *testing.T) {
	january := Date{2022, time.January}
	for line, want := range map[string]int{
		"01-02 00:00:00.0 1 1 I a: b": 2022, "12-31 23:59:59.0 1 1 I a: b": 2021, "11-30 00:00:00.0 1 1 I a: b": 2022,
		"2019-12-31 23:59:59.0 1 1 I a: b": 2019,
	} {
		if m, ok := parse([]byte(line), layout{date: true}, &dates{written: january}); !ok || time.Unix(0, m.ts).UTC().Year() != want {
			t.Errorf("%q in a log of January 2022: %v, want %d", line, time.Unix(0, m.ts).UTC(), want)
		}
	}
}
