// Package scheduler lets statements that compute for long share the processors with short ones.
package scheduler

import (
	"context"
	"slices"
	"sync"
	"time"
)

const (
	// slice is for how long a statement computes before others go first. Once it has, it computes only while no new one waits.
	slice = 5 * time.Millisecond
	// longestShare: each place of this number goes to the statement that waits longest.
	longestShare = 4
	// lost is how long a statement may be in a function that does not ask before another one computes in its place.
	lost = 20 * time.Millisecond
)

// Scheduler lets as many statements compute at a time as there are places. Those that have not computed for a slice yet go first.
type Scheduler struct {
	mu          sync.Mutex
	free        int
	holders     []*Task
	interactive []*Task // wait with a part of their first slice left, the one that waits longest first
	batch       []*Task // wait for another slice, the one that waits longest first
	given       int     // how many places were given
	watched     bool    // a timer calls watch
}

// New returns a scheduler of as many statements at a time.
func New(places int) *Scheduler { return &Scheduler{free: places} }

// Task is a statement, or several that follow one another. One goroutine uses it.
type Task struct {
	Long func() // is called once the task has used up a slice or has to Wait, unless it is nil

	scheduler *Scheduler
	given     chan struct{} // tells one that waits that it has a place

	// Guarded by scheduler.mu.
	held        bool
	spent       time.Duration // in places that it had before
	since, seen time.Time     // when it was given its place, and when it was last seen to compute there
	asked       time.Time     // since when it waits
}

// New returns a task, which has to be paused at the end.
func (s *Scheduler) New() *Task { return &Task{scheduler: s, given: make(chan struct{}, 1)} }

// taskKey is the key of a Task in a context.
type taskKey struct{}

// Context returns a context in which statements belong to the task.
func (t *Task) Context(ctx context.Context) context.Context {
	return context.WithValue(ctx, taskKey{}, t)
}

// From returns the task of a context, or nil.
func From(ctx context.Context) *Task {
	t, _ := ctx.Value(taskKey{}).(*Task)
	return t
}

// Pause lets others compute, until Take.
func (t *Task) Pause() {
	t.scheduler.mu.Lock()
	defer t.scheduler.mu.Unlock()
	t.scheduler.release(t)
}

// Wait lets others compute while the task waits for something else, such as a client.
func (t *Task) Wait() {
	t.Pause()
	t.lengthen()
}

func (t *Task) lengthen() {
	if long := t.Long; long != nil {
		t.Long = nil
		long()
	}
}

// Take waits for a place, unless the task has one and may keep it. It gives up when done is closed.
func (t *Task) Take(done <-chan struct{}) {
	t.scheduler.mu.Lock()
	if t.held {
		t.seen = time.Now()
		used := t.seen.Sub(t.since)
		long := t.spent+used > slice
		if used <= slice && !(long && len(t.scheduler.interactive) > 0) {
			t.scheduler.mu.Unlock()
			return
		}
		t.scheduler.release(t)
		t.scheduler.mu.Unlock()
		t.lengthen()
		t.scheduler.mu.Lock()
	}
	if t.scheduler.free > 0 { // nobody waits
		t.scheduler.hold(t)
		t.scheduler.mu.Unlock()
		return
	}
	t.asked = time.Now()
	if t.spent < slice {
		t.scheduler.interactive = append(t.scheduler.interactive, t)
	} else {
		t.scheduler.batch = append(t.scheduler.batch, t)
	}
	t.scheduler.watch()
	t.scheduler.mu.Unlock()
	select {
	case <-t.given:
	case <-done:
		t.scheduler.mu.Lock()
		defer t.scheduler.mu.Unlock()
		if t.held {
			<-t.given
		}
		isTask := func(other *Task) bool { return other == t }
		t.scheduler.interactive, t.scheduler.batch = slices.DeleteFunc(t.scheduler.interactive, isTask), slices.DeleteFunc(t.scheduler.batch, isTask)
	}
}

// hold gives a task a place that is free. s.mu is locked.
func (s *Scheduler) hold(task *Task) {
	s.free--
	task.held, task.since = true, time.Now()
	task.seen = task.since
	s.holders = append(s.holders, task)
}

// release takes the place of a task that has one, and gives it to another. s.mu is locked.
func (s *Scheduler) release(task *Task) {
	if !task.held {
		return
	}
	task.held = false
	task.spent += time.Since(task.since)
	s.holders = slices.DeleteFunc(s.holders, func(other *Task) bool { return other == task })
	s.free++
	if next := s.next(); next != nil {
		s.hold(next)
		next.given <- struct{}{}
	}
}

// next removes the task that gets the next place: the newest of those that have computed least, for it may be the only one whose client still
// waits, or every so often the one that waits longest. s.mu is locked.
func (s *Scheduler) next() (task *Task) {
	s.given++
	longest := s.given%longestShare == 0
	switch n, more := len(s.interactive), len(s.batch) > 0; {
	case longest && n > 0 && !(more && s.batch[0].asked.Before(s.interactive[0].asked)):
		task, s.interactive = s.interactive[0], s.interactive[1:]
	case more && (longest || n == 0):
		task, s.batch = s.batch[0], s.batch[1:]
	case n > 0:
		task, s.interactive = s.interactive[n-1], s.interactive[:n-1]
	}
	return task
}

// watch takes the places of tasks that are lost while others wait. s.mu is locked.
func (s *Scheduler) watch() {
	if s.watched {
		return
	}
	s.watched = true
	time.AfterFunc(lost, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.watched = false
		for _, task := range slices.Clone(s.holders) {
			if time.Since(task.seen) > lost {
				s.release(task)
			}
		}
		if len(s.interactive)+len(s.batch) > 0 {
			s.watch()
		}
	})
}
