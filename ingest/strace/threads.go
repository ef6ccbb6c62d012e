package strace

import "bytes"

// threads finds out which thread a line without a thread is of. strace leaves it out while it traces only one.
type threads struct {
	prefix    prefix
	first     int64 // the thread that strace started with, 0 until it is known
	alive     map[int64]bool
	announced map[int64]bool // those that a message or the result of a call named
	messages  bool           // there are messages about new threads; -q leaves them out
}

// maxThreads bounds the memory for threads.
const maxThreads = 1 << 22

func newThreads() threads {
	return threads{alive: map[int64]bool{}, announced: map[int64]bool{}}
}

// of returns the thread of a line, 0 for the first one while its id is unknown. waiting is the call of that one that has
// not returned yet, or nil. ok is false if the line lacks a thread that the log's other lines have.
func (t *threads) of(l *leader, body []byte, waiting *begun) (tid int64, ok bool) {
	if l.prefix != noPrefix && t.prefix == noPrefix {
		t.prefix = l.prefix
	}
	switch {
	case l.prefix == plain:
		return l.tid, true
	case t.prefix == plain:
		return 0, false
	case l.prefix == noPrefix:
		if len(t.alive) == 1 {
			for tid = range t.alive {
				return tid, true
			}
		}
		t.alive[t.first] = true
		return t.first, true
	}
	if !t.alive[l.tid] {
		if t.alive[0] && t.isFirst(l.tid, body, waiting) {
			t.setFirst(l.tid)
		}
		t.add(l.tid)
	}
	return l.tid, true
}

// isFirst reports whether a thread is the one whose lines had no id so far, not a new one.
func (t *threads) isFirst(tid int64, body []byte, waiting *begun) bool {
	if t.announced[tid] {
		return false
	}
	if t.messages || waiting == nil {
		return true
	}
	// It continues the call of the first thread: a new one would have to begin one.
	rest, ok := bytes.CutPrefix(body, resumedPrefix)
	return ok && bytes.HasPrefix(rest, waiting.name) && bytes.HasPrefix(rest[len(waiting.name):], resumedSuffix)
}

func (t *threads) add(tid int64) {
	if len(t.alive) < maxThreads {
		t.alive[tid] = true
	}
	delete(t.announced, tid)
}

// setFirst sets the id of the first thread.
func (t *threads) setFirst(tid int64) {
	t.first = tid
	if t.alive[0] {
		delete(t.alive, 0)
		t.alive[tid] = true
	}
}

// announce notes that a call made a new thread.
func (t *threads) announce(tid int64) {
	if !t.alive[tid] && len(t.announced) < maxThreads {
		t.announced[tid] = true
	}
}

// news is a message that strace begins or ceases to trace a thread. Old versions also say that a thread waits for its child or
// goes on: strace traces it.
type news struct {
	tid      int64
	attached bool
}

// note takes in a message.
func (t *threads) note(n news) {
	if n.attached {
		t.messages = true
		t.add(n.tid)
	} else {
		delete(t.alive, n.tid)
	}
}

// newsEnds are the last letters of such messages.
var newsEnds = []byte("dst")

// parseNews reads such a message, and returns the text before it: strace writes it to the terminal even within a line.
// before is nil if the line has none.
func parseNews(line []byte) (before []byte, n news) {
	if len(line) == 0 || bytes.IndexByte(newsEnds, line[len(line)-1]) < 0 {
		return nil, n
	}
	const process = "Process "
	at := bytes.LastIndex(line, []byte(process))
	if at < 0 {
		return nil, n
	}
	text := line[at+len(process):]
	length := digits(text)
	tid, ok := number(text[:length])
	what := text[length:]
	switch string(what) {
	case " attached", " attached - interrupt to quit", " suspended", " resumed":
		n = news{tid, true}
	default:
		n = news{tid, bytes.HasPrefix(what, []byte(" attached with "))}
	}
	if !ok || !n.attached && !bytes.Equal(what, []byte(" detached")) {
		return nil, n
	}
	return bytes.TrimSuffix(line[:at], []byte("strace: ")), n
}

// exit notes that a line says that its thread ended, or that another one ended as it loaded a program.
func (t *threads) exit(tid int64, body []byte) (ended int64) {
	if after, ok := bytes.CutPrefix(body, []byte("+++ superseded by execve in pid ")); ok {
		tid, _ = number(after[:digits(after)])
	}
	delete(t.alive, tid)
	delete(t.announced, tid)
	return tid
}
