package task

import (
	"testing"
	"time"
)

func TestDay(t *testing.T) {
	converted := time.Date(2026, 11, 23, 1, 0, 0, 0, time.FixedZone("", 3600*2)) // the 22nd in UTC
	at := func(text string) *int64 {
		when, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return new(when.UnixNano())
	}
	for _, test := range []struct {
		wall, trace *int64
		want        string
	}{
		{nil, nil, "2026-11-22"},
		{at("2026-11-20T23:59:59Z"), new(int64(5)), "2026-11-20"},
		{at("1970-01-02T00:00:00Z"), at("2026-11-19T00:00:00Z"), "2026-11-19"}, // a clock that was never set
		{at("2026-11-24T00:00:00Z"), nil, "2026-11-22"},                        // or is ahead
		{nil, new(int64(86400e9)), "2026-11-22"},
	} {
		if got := Day(converted, test.wall, test.trace); got != test.want {
			t.Errorf("%v, %v: %s, want %s", test.wall, test.trace, got, test.want)
		}
	}
}
