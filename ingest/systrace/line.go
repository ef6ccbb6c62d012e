package systrace

import (
	"bytes"
	"math"

	"github.com/tpconvert/tpconvert/ingest/internal/ftracetext"
	"github.com/tpconvert/tpconvert/model"
)

// line is a parsed line of a trace. Its texts point into the line.
type line struct {
	task   []byte // name of the thread that ran
	pid    uint32 // its tid
	tgid   uint32
	inTGID bool // tgid is known
	cpu    uint16
	ts     int64 // ns
	event  []byte
	args   []byte
}

// parse reads a line. A thread name can contain anything, even "-1 [", so it ends
// at the first dash after which the rest of the line parses.
func (l *line) parse(text []byte) bool {
	for at := 0; ; {
		i := bytes.IndexByte(text[at:], '-')
		if i < 0 {
			return false
		}
		at += i + 1
		if l.parseFrom(text[at:]) {
			l.task = bytes.TrimSpace(text[:at-1])
			return true
		}
	}
}

// parseFrom reads a line, starting at the tid.
func (l *line) parseFrom(b []byte) bool {
	pid, b, ok := ftracetext.Number(b)
	if !ok || pid > math.MaxUint32 || len(b) == 0 || !ftracetext.IsSpace(b[0]) {
		return false
	}
	l.pid = uint32(pid)
	b = skipSpace(b)
	bracket, ok := l.parseTGID(b)
	cpu, rest, hasCPU := ftracetext.Number(bracket)
	switch {
	case !ok:
		// Without brackets, as trace-cmd report -l writes it: 3d..2. 1.000000: name: fields
		if cpu, rest, hasCPU = ftracetext.Number(b); !hasCPU || len(rest) == 0 || bytes.IndexByte(latencyFlags, rest[0]) < 0 {
			return false
		}
		l.inTGID = false
	case !hasCPU || len(rest) == 0 || rest[0] != ']':
		return false
	default:
		rest = rest[1:]
	}
	if cpu >= model.MaxCPUs {
		return false
	}
	l.cpu = uint16(cpu)
	if l.ts, b, ok = timestamp(skipFlags(skipSpace(rest))); !ok || len(b) == 0 || !ftracetext.IsSpace(b[0]) {
		return false
	}
	b = skipSpace(b)
	if bytes.HasPrefix(b, sinceLast) {
		b = skipSpace(b[ftracetext.WordLen(b):])
	}
	return l.parseEvent(b)
}

// sinceLast begins the time since the line before, as trace-cmd report --ts-diff adds it: (+25).
var sinceLast = []byte("(+")

// latencyFlags are the letters of the first flag: whether interrupts or bottom halves are off.
var latencyFlags = []byte(".dDbX")

// parseEvent reads what follows the time: an event and its fields, a system call, the head of a stack, or a function and its caller.
func (l *line) parseEvent(b []byte) bool {
	name := b[:ftracetext.WordLen(b)]
	end := bytes.LastIndexByte(name, ':')
	switch {
	case isSyscall(b):
		l.event, l.args = syscallEvent, nil
	case end > 0:
		l.event, l.args = b[:end], bytes.TrimSpace(b[end+1:])
	case bytes.HasPrefix(b, kernelStack), bytes.HasPrefix(b, userStack):
		l.event, l.args = stackEvent, nil
	case bytes.HasPrefix(b, rawMark) && bytes.Contains(b, rawBytes):
		l.event, l.args = rawEvent, nil
	default:
		return len(name) > 0 && l.parseFunction(name, b[len(name):])
	}
	return true
}

// parseFunction reads a function and its caller, or the function that called trace_printk and what it wrote. rest is after the function's name.
func (l *line) parseFunction(name, rest []byte) bool {
	n := placeLen(rest)
	switch {
	case n > 0 && rest[n-1] == ':':
		l.event, l.args = name, bytes.TrimSpace(rest[n:])
	case bytes.HasPrefix(rest[n:], caller), bytes.Contains(rest[n:], callerAfterArgs):
		l.event, l.args = functionEvent, nil
	default:
		return false
	}
	return true
}

// placeLen returns the length of the module and the address that the options sym-offset and sym-addr add to a function, and of a
// colon: path_put+0x4/0x20 [fs] <801341d8>:
func placeLen(b []byte) (n int) {
	if bytes.HasPrefix(b, module) {
		n += 1 + ftracetext.WordLen(b[1:])
	}
	if bytes.HasPrefix(b[n:], address) && !bytes.HasPrefix(b[n:], caller) && !bytes.HasSuffix(b[:n], colon) {
		n += 1 + ftracetext.WordLen(b[n+1:])
	}
	return n
}

// isSyscall reports whether b is the start of a system call, such as sys_read(fd: 3), or its end, such as sys_read -> 0x10.
func isSyscall(b []byte) bool {
	if !bytes.HasPrefix(b, syscall) {
		return false
	}
	name := b[:ftracetext.WordLen(b)]
	return bytes.IndexByte(name, '(') > 0 || bytes.HasPrefix(b[len(name):], returns)
}

// What the kernel writes for stacks of events, by its function tracer and for system calls, and names for them.
var (
	kernelStack, userStack, caller          = []byte("<stack trace>"), []byte("<user stack trace>"), []byte(" <-")
	module, address, colon                  = []byte(" ["), []byte(" <"), []byte(":")
	callerAfterArgs                         = []byte(") <-")                // func-args: path_put(path=0x1, n=2) <-path_walk
	rawMark, rawBytes                       = []byte("# "), []byte(" buf:") // what was written to trace_marker_raw: # 2a buf: 01 02
	syscall, returns                        = []byte("sys_"), []byte(" -> 0x")
	stackEvent, functionEvent, syscallEvent = []byte("stack trace"), []byte("function"), []byte("system call")
	rawEvent                                = []byte("trace_marker_raw")
)

// parseTGID reads the process, up to the bracket before the CPU. An unknown
// process is written as dashes.
func (l *line) parseTGID(b []byte) ([]byte, bool) {
	l.inTGID = false
	if len(b) > 0 && b[0] == '(' {
		b = skipSpace(b[1:])
	}
	if tgid, rest, ok := ftracetext.Number(b); ok {
		l.tgid, l.inTGID = uint32(tgid), tgid <= math.MaxUint32
		b = rest
	} else {
		b = bytes.TrimLeft(b, "-")
	}
	if len(b) > 0 && b[0] == ')' {
		b = b[1:]
	}
	b = skipSpace(b)
	if len(b) == 0 || b[0] != '[' {
		return nil, false
	}
	return b[1:], true
}

// skipFlags skips the column of flags, such as d..2, if there is one. Some writers
// leave no space after it.
func skipFlags(b []byte) []byte {
	if len(b) == 0 || ftracetext.IsDigit(b[0]) {
		return b
	}
	n := ftracetext.WordLen(b)
	if n == 0 || b[n-1] != ':' {
		return skipSpace(b[n:])
	}
	for len(b) > 0 && !ftracetext.IsDigit(b[0]) {
		b = b[1:]
	}
	return b
}

const nsPerSecond = 1_000_000_000

// timestamp reads seconds and a colon. The result is in ns. Digits beyond those are rounded.
func timestamp(b []byte) (int64, []byte, bool) {
	seconds, rest, ok := ftracetext.Number(b)
	if !ok || seconds >= math.MaxInt64/nsPerSecond || len(rest) == 0 || rest[0] != '.' {
		return 0, nil, false
	}
	ns := int64(seconds) * nsPerSecond
	decimals := 0
	rest = rest[1:]
	for unit := int64(nsPerSecond); decimals < len(rest) && ftracetext.IsDigit(rest[decimals]); decimals++ {
		if unit /= 10; unit > 0 {
			ns += unit * int64(rest[decimals]-'0')
		} else if decimals == 9 && rest[decimals] >= '5' {
			ns++
		}
	}
	if decimals == 0 || decimals == len(rest) || rest[decimals] != ':' {
		return 0, nil, false
	}
	return ns, rest[decimals+1:], true
}

func skipSpace(b []byte) []byte {
	for len(b) > 0 && ftracetext.IsSpace(b[0]) {
		b = b[1:]
	}
	return b
}
