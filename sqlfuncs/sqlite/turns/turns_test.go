package turns

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// take takes a place in another goroutine, and returns a channel that is closed once it has one.
func take(turn *Turn, done <-chan struct{}) <-chan struct{} {
	has := make(chan struct{})
	go func() {
		turn.Take(done)
		close(has)
	}()
	for { // until it waits
		turn.of.mu.Lock()
		waits := turn.held
		for _, waiting := range turn.of.waiting[turn.level()] {
			waits = waits || waiting == turn
		}
		turn.of.mu.Unlock()
		if waits {
			return has
		}
		time.Sleep(time.Millisecond)
	}
}

// TestTurns lets a call that has computed for long, others that have not, and one that takes its turn share a place.
func TestTurns(t *testing.T) {
	turns := New(1)
	long, other, medium, short := turns.New(), turns.New(), turns.New(), turns.New()
	long.spend(1000)
	other.spend(1000)
	medium.spend(longSteps)
	long.Take(nil)
	others := []<-chan struct{}{take(short, nil), take(medium, nil), take(other, nil)}
	again := make(chan struct{})
	go func() { // it computes a little
		long.Take(nil)
		close(again)
	}()
	for i, turn := range []*Turn{short, medium, other} {
		<-others[i]
		select {
		case <-again:
			t.Fatalf("the long call goes on before call %d", i)
		default:
		}
		turn.Pause()
	}
	<-again
	long.Pause()
}

// TestTurnsLost checks that a call that is in a function that takes long, or whose client is gone, keeps no place.
func TestTurnsLost(t *testing.T) {
	turns := New(1)
	stuck, next, gone := turns.New(), turns.New(), turns.New()
	stuck.Take(nil)
	<-take(next, nil)
	done := make(chan struct{})
	ended := take(gone, done)
	close(done)
	<-ended
	next.Pause()
	stuck.Pause()
	gone.Pause()
	if turns.free != 1 || len(turns.holders) != 0 {
		t.Errorf("%d places are free, and %d calls have one", turns.free, len(turns.holders))
	}
}

// TestQuiet waits while short calls follow one another, which long ones do not prolong, and not for ever.
func TestQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := New(2)
		long := turns.New()
		long.Lengthen()
		ask := func(of *Turn, times int) {
			for range times {
				of.Take(nil)
				time.Sleep(time.Millisecond)
				of.Pause()
			}
		}
		for _, test := range []struct {
			short, long  int
			most, waited time.Duration
		}{
			{0, 0, time.Second, 0},
			{0, 20, time.Second, 0},
			{20, 0, time.Second, 24 * time.Millisecond},
			{20, 90, time.Second, 24 * time.Millisecond},
			{20, 0, 10 * time.Millisecond, 10 * time.Millisecond},
			{20, 0, -time.Millisecond, 0},
		} {
			time.Sleep(time.Minute)
			var calls sync.WaitGroup
			calls.Go(func() { ask(turns.New(), test.short) })
			calls.Go(func() { ask(long, test.long) })
			synctest.Wait()
			if got := turns.Quiet(5*time.Millisecond, test.most); got != test.waited {
				t.Errorf("%+v: waited %v", test, got)
			}
			calls.Wait()
		}
	})
}
