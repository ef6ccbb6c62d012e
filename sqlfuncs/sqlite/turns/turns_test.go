package turns

import (
	"testing"
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
