package systrace

import (
	"bytes"
	"math"

	"github.com/tpconvert/tpconvert/ingest/internal/ftracetext"
	"github.com/tpconvert/tpconvert/model"
)

// listed reads a line of the output of ps for processes,
//
//	USER  PID PPID VSZ RSS WCHAN PC S NAME COMM
//
// or of threads,
//
//	USER  PID TID CMD
//
// where these headers start a list.
func (r *reader) listed(text []byte) {
	var columns [10][]byte
	var command []byte // of a thread: the rest of the line from its column on
	n := 0
	for rest := bytes.TrimLeft(text, " "); n < len(columns) && len(rest) > 0; n++ {
		if n == 3 {
			command = rest
		}
		end := bytes.IndexByte(rest, ' ')
		if end < 0 {
			end = len(rest)
		}
		columns[n], rest = rest[:end], bytes.TrimLeft(rest[end:], " ")
	}
	switch {
	case isHeader(columns[:n], "PID", "PPID", "VSZ"):
		r.section = inProcess
	case n == 4 && isHeader(columns[:n], "PID", "TID", "CMD"):
		r.section = inThreads
	case r.section == inProcess && n == len(columns):
		if pid, parent, ok := r.ids(columns[1], columns[2]); ok {
			r.process(pid, parent, columns[8])
		}
	case r.section == inThreads && n >= 4:
		if pid, tid, ok := r.ids(columns[1], columns[2]); ok {
			utid := r.Machine.ThreadOf(tid, pid)
			r.Machine.SetThreadName(utid, r.Store.Strings.InternBytes(command), model.ThreadNameOther)
			r.Machine.List(tid)
		}
	}
}

func (r *reader) process(pid, parentPID int64, name []byte) {
	parent := r.Machine.Process(parentPID)
	upid := r.Machine.Process(pid)
	if !r.Machine.SetParent(upid, parent) {
		r.File.LogAt(model.StatProcessTrackerParentPIDChanged, r.offset, nil)
	}
	r.Machine.SetProcessName(upid, r.Store.Strings.InternBytes(name), model.ProcessNameSystem)
	r.Machine.List(pid)
}

func isHeader(columns [][]byte, names ...string) bool {
	if len(columns) <= len(names) || string(columns[0]) != "USER" {
		return false
	}
	for i, name := range names {
		if string(columns[i+1]) != name {
			return false
		}
	}
	return true
}

// ids reads two pids or tids. If they are malformed, the line is logged.
func (r *reader) ids(a, b []byte) (int64, int64, bool) {
	first, rest, ok := ftracetext.Number(a)
	second, rest2, ok2 := ftracetext.Number(b)
	if !ok || !ok2 || len(rest) > 0 || len(rest2) > 0 || max(first, second) > math.MaxUint32 {
		r.File.LogAt(model.StatSystraceParseFailure, r.offset, nil)
		return 0, 0, false
	}
	r.events++
	return int64(first), int64(second), true
}
