package console

import (
	"testing"
	"time"
)

func TestProgressCountsWriting(t *testing.T) {
	const s = time.Second
	for want, p := range map[string]Progress{
		" 25%  500 B  50 B/s  0 rows  30s left":  {Read: 500, Total: 1000, Elapsed: 10 * s, Of: 1},
		" 50%  1000 B  50 B/s  0 rows  20s left": {Read: 1000, Total: 1000, Elapsed: 20 * s, Of: 1},
		" 75%  1000 B  33 B/s  7 rows  10s left": {Read: 1000, Total: 1000, Staged: 10, Delivered: 5, Rows: 7, Elapsed: 30 * s, Of: 1},
		" 50%  500 B  16 B/s  7 rows  30s left":  {Read: 500, Total: 1000, Staged: 10, Delivered: 10, Rows: 7, Elapsed: 30 * s, Of: 1},
		"100%  1000 B  33 B/s  7 rows  0s left":  {Read: 1000, Total: 1000, Staged: 10, Delivered: 10, Rows: 7, Elapsed: 30 * s, Of: 1},
		"500 B  50 B/s  0 rows":                  {Read: 500, Elapsed: 10 * s, Of: 1},
	} {
		if got := p.String(); got != want {
			t.Errorf("%+v: %q, want %q", p, got, want)
		}
	}
}

func TestProgressFits(t *testing.T) {
	p := Progress{Read: 999 << 30, Total: 9999 << 30, Rows: 12_345_678_901, Done: 123, Of: 1234, Elapsed: time.Hour}
	if line := p.String(); len(line) > 79 {
		t.Errorf("%d columns: %s", len(line), line)
	}
}
