package task

import (
	"testing"
	"time"
)

// Kinds have no names, numbers or digests of a single trace.
func TestKind(t *testing.T) {
	const url = "s3://b/day/one.json"
	for _, pair := range [][2]string{
		{url + " at byte 17: line 3 is bad", "s3://b/day/one.json at byte 99: line 12 is bad"},
		{"member a/b.json: version 0x1f2e of \"slice one\"", "member other.pftrace: version 0xdeadbeef00 of \"x\""},
		{"another trace, with the SHA-256 00ff3a, has the same trace_id", "another trace, with the SHA-256 e3b0c44298fc1c14, has the same trace_id"},
	} {
		if a, b := Kind(url, pair[0]), Kind(url, pair[1]); a != b || a == "" {
			t.Errorf("%q and %q have the kinds %q and %q", pair[0], pair[1], a, b)
		}
	}
	for _, text := range []string{"the input is empty", "it is no trace: a face, added", "unexpected end of gzip data, e.g. by a cut upload"} {
		if got := Kind(url, text); got != text {
			t.Errorf("%q has the kind %q", text, got)
		}
	}
}

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
