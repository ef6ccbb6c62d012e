package scheduler

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// compute takes a place and computes in steps of a millisecond, as SQLite does.
func compute(of *Task, times int) {
	for range times {
		of.Take(nil)
		time.Sleep(time.Millisecond)
	}
	of.Pause()
}

// TestShortGoesFirst runs statements that take long and a short one, which comes last, in one place.
func TestShortGoesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, ended := New(1), make(chan string, 3)
		for _, of := range []struct {
			name  string
			times int
		}{{"long", 40}, {"longer", 60}, {"short", 2}} {
			go func() {
				compute(s.New(), of.times)
				ended <- of.name
			}()
			synctest.Wait()
			time.Sleep(15 * time.Millisecond)
		}
		for _, want := range []string{"short", "long", "longer"} {
			if got := <-ended; got != want {
				t.Errorf("%s has ended, want %s", got, want)
			}
		}
	})
}

// TestLongGoesOn checks that short statements without end do not keep a long one out, whether they come before it or after.
func TestLongGoesOn(t *testing.T) {
	for _, wait := range []time.Duration{0, 10 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) { longGoesOn(t, wait) })
	}
}

func longGoesOn(t *testing.T, wait time.Duration) {
	s, end, begun := New(1), make(chan struct{}), time.Now()
	var others sync.WaitGroup
	for range 3 {
		others.Go(func() {
			for {
				select {
				case <-end:
					return
				default:
					compute(s.New(), 4)
				}
			}
		})
	}
	time.Sleep(wait)
	compute(s.New(), 50)
	if took := time.Since(begun); took > 2*time.Second {
		t.Errorf("it took %v", took)
	}
	close(end)
	others.Wait()
}

// TestLostPlaces checks that a statement in a function that takes long, or whose client is gone, keeps no place.
func TestLostPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(1)
		stuck, next, gone := s.New(), s.New(), s.New()
		stuck.Take(nil)
		next.Take(nil)
		done := make(chan struct{})
		close(done)
		gone.Take(done)
		next.Pause()
		stuck.Pause()
		gone.Pause()
		if s.free != 1 || len(s.holders)+len(s.interactive)+len(s.batch) != 0 {
			t.Errorf("%+v", s)
		}
	})
}
