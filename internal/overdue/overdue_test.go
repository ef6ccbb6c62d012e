package overdue_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tpconvert/tpconvert/internal/overdue"
)

func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var late atomic.Int32
		w := overdue.New(100 * time.Millisecond)
		for _, test := range []struct {
			takes time.Duration
			late  int32
		}{{90 * time.Millisecond, 0}, {time.Millisecond, 0}, {130 * time.Millisecond, 1}, {time.Hour, 2}, {90 * time.Millisecond, 2}, {125 * time.Millisecond, 3}} {
			w.Begin(func() { late.Add(1) })
			time.Sleep(test.takes)
			w.End()
			if got := late.Load(); got != test.late {
				t.Errorf("after %v it was late %d times, not %d", test.takes, got, test.late)
			}
		}
	})
}
