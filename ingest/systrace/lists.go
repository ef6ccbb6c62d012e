package systrace

import (
	"bytes"
	"math"

	"github.com/tpconvert/tpconvert/model"
)

// listed reads a line of what ps says of processes,
//
//	USER  PID PPID VSZ RSS WCHAN PC S NAME COMM
//
// or of threads,
//
//	USER  PID TID CMD
//
// where these headers begin a list.
func (r *reader) listed(text []byte) {
	var columns [10][]byte
	var command []byte // of a thread: what is left from its column on
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
		pid, ok := id(columns[1])
		parent, ok2 := id(columns[2])
		if !ok || !ok2 {
			r.File.LogAt(model.StatSystraceParseFailure, r.offset, nil)
			return
		}
		r.process(pid, parent, columns[8])
	case r.section == inThreads && n >= 4:
		pid, ok := id(columns[1])
		tid, ok2 := id(columns[2])
		if !ok || !ok2 {
			r.File.LogAt(model.StatSystraceParseFailure, r.offset, nil)
			return
		}
		utid := r.Machine.ThreadOf(tid, pid)
		r.Machine.SetThreadName(utid, r.Store.Strings.InternBytes(command), model.ThreadNameOther)
	}
}

func (r *reader) process(pid, parentPID int64, name []byte) {
	parent := r.Machine.Process(parentPID)
	upid := r.Machine.Process(pid)
	if !r.Machine.SetParent(upid, parent) {
		r.File.LogAt(model.StatProcessTrackerParentPIDChanged, r.offset, nil)
	}
	r.Machine.SetProcessName(upid, r.Store.Strings.InternBytes(name), model.ProcessNameSystem)
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

func id(text []byte) (int64, bool) {
	n, rest, ok := number(text)
	return int64(n), ok && len(rest) == 0 && n <= math.MaxUint32
}
