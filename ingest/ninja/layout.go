package ninja

import (
	"container/heap"

	"github.com/tpconvert/tpconvert/ingest/internal/token"
	"github.com/tpconvert/tpconvert/model"
)

// pid is the pid of the process that stands for the build.
const pid = 1

// layout assigns the jobs to worker threads, as many as ran in parallel. The log
// does not say which worker ran a job. layout takes the worker that became free
// last, because the job probably waited for that worker's output.
type layout struct {
	context *model.Context
	busy    workers // the worker that finishes first comes first
	free    workers // the worker that finished last comes first
	count   int64
}

type worker struct {
	tid   int64
	track model.TrackID
	until int64 // end of its last job, ns
}

func newLayout(c *model.Context) *layout {
	return &layout{context: c, busy: workers{before: endsSooner}, free: workers{before: endedLater}}
}

// Event receives the jobs in order of start time.
func (l *layout) Event(start int64, event []byte) error {
	r := token.Reader(event)
	end, outputs := r.Int(), r.Text()
	for l.busy.Len() > 0 && l.busy.list[0].until <= start {
		heap.Push(&l.free, heap.Pop(&l.busy))
	}
	var w worker
	if l.free.Len() > 0 {
		w = heap.Pop(&l.free).(worker)
	} else {
		w = l.newWorker()
	}
	w.until = end
	heap.Push(&l.busy, w)
	l.context.Slices.Scoped(start, end-start, w.track, 0, outputs, nil)
	return nil
}

func (l *layout) newWorker() worker {
	l.count++
	m, strings := l.context.Machine, l.context.Store.Strings
	m.SetProcessName(m.Process(pid), strings.Intern("Build"), model.ProcessNameOther)
	utid := m.ThreadOf(l.count, pid)
	m.SetThreadName(utid, strings.Intern("Worker"), model.ThreadNameOther)
	return worker{tid: l.count, track: l.context.Tracks.Thread(utid)}
}

// workers is a heap of workers.
type workers struct {
	list   []worker
	before func(a, b worker) bool
}

func endsSooner(a, b worker) bool { return a.until < b.until }

func endedLater(a, b worker) bool {
	return a.until > b.until || a.until == b.until && a.tid < b.tid
}

func (w *workers) Len() int           { return len(w.list) }
func (w *workers) Less(i, j int) bool { return w.before(w.list[i], w.list[j]) }
func (w *workers) Swap(i, j int)      { w.list[i], w.list[j] = w.list[j], w.list[i] }
func (w *workers) Push(x any)         { w.list = append(w.list, x.(worker)) }

func (w *workers) Pop() any {
	last := w.list[len(w.list)-1]
	w.list = w.list[:len(w.list)-1]
	return last
}
