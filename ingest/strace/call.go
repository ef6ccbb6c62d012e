package strace

import (
	"bytes"
	"math"
	"strconv"
	"time"

	"github.com/tpconvert/tpconvert/ingest/internal/token"
	"github.com/tpconvert/tpconvert/model"
)

// call is a line with a system call. Its texts point into the line.
type call struct {
	ts       int64 // ns since 1970
	tid      uint32
	name     []byte
	args     []byte
	returned []byte // nil if the call has not returned
	resumed  bool   // the line continues a call that began earlier
	goesOn   bool   // the call is unfinished on this line
}

// fault is the reason why a line is not a call.
type fault uint8

const (
	noFault   fault = iota
	noCall          // unknown contents
	signal          // a signal
	exit            // the end of a thread
	timeOfDay       // times without a date, from strace -t and -tt
	noTID           // strace without -f
)

var (
	resumedPrefix = []byte("<... ")
	resumedSuffix = []byte(" resumed>")
	unfinished    = []byte("<unfinished ...>")
)

// maxTIDDigits is the maximum number of digits in a tid; seconds since 1970 have
// more.
const maxTIDDigits = 9

// parse reads a line.
func parse(line []byte) (c call, f fault) {
	rest := trim(line)
	first, more, _ := bytes.Cut(rest, []byte(" "))
	tid, err := strconv.ParseUint(string(first[:min(len(first), maxTIDDigits+1)]), 10, 32)
	hasTID := err == nil && len(first) <= maxTIDDigits
	if hasTID {
		c.tid, rest = uint32(tid), trim(more)
	}
	stamp, rest, ok := bytes.Cut(rest, []byte(" "))
	if !ok {
		return c, noCall
	}
	if c.ts, ok = parseTime(stamp); !ok {
		if bytes.IndexByte(stamp, ':') >= 0 && isDigit(stamp[0]) {
			return c, timeOfDay
		}
		return c, noCall
	}
	switch rest = trim(rest); {
	case bytes.HasPrefix(rest, []byte("--- ")):
		return c, signal
	case bytes.HasPrefix(rest, []byte("+++ ")):
		return c, exit
	case !c.parseCall(rest):
		return c, noCall
	}
	if !hasTID {
		return c, noTID
	}
	return c, noFault
}

// parseCall reads the part after the time.
func (c *call) parseCall(rest []byte) (ok bool) {
	if rest, c.resumed = bytes.CutPrefix(rest, resumedPrefix); c.resumed {
		c.name, rest, ok = bytes.Cut(rest, resumedSuffix)
	} else {
		c.name, rest, ok = bytes.Cut(rest, []byte("("))
	}
	if !ok {
		return false
	}
	if c.args, _, c.goesOn = bytes.Cut(rest, unfinished); c.goesOn {
		c.args = bytes.TrimRight(trim(c.args), ",")
		return true
	}
	// The parenthesis that ends the args is followed by the return value. Other
	// parentheses may occur in the args and in the name of an error.
	for i, char := range rest {
		if char != ')' {
			continue
		}
		if value, ok := bytes.CutPrefix(bytes.TrimLeft(rest[i+1:], spaces), []byte("=")); ok {
			c.args, c.returned = trim(rest[:i]), trim(value)
			return true
		}
	}
	_, value, ok := bytes.Cut(rest, []byte("="))
	c.returned = trim(value)
	return ok
}

// parseTime reads seconds since 1970 with up to six decimals. Like Trace
// Processor, it takes the decimals as a number of µs, however many digits there
// are.
func parseTime(text []byte) (int64, bool) {
	whole, decimals, fraction := bytes.Cut(text, []byte("."))
	if len(whole) == 0 || !isDigit(whole[0]) {
		return 0, false
	}
	seconds, err := strconv.ParseInt(string(whole), 10, 64)
	if err != nil || seconds >= math.MaxInt64/int64(time.Second) {
		return 0, false
	}
	ns := seconds * int64(time.Second)
	if !fraction || len(decimals) == 0 {
		return ns, true
	}
	us, err := strconv.ParseUint(string(decimals), 10, 64)
	return ns + int64(us)*int64(time.Microsecond), err == nil && us < 1e6
}

func isDigit(c byte) bool { return c-'0' < 10 }

const spaces = " \t\r\n"

func trim(text []byte) []byte { return bytes.Trim(text, spaces) }

// The flags of a call.
const (
	flagResumed = 1 << iota
	flagGoesOn
)

// write encodes the call: tid and flags, then name, args and return value, each if
// present.
func (c *call) write(w *token.Writer) {
	w.Reset()
	w.Uint(uint64(c.tid))
	var flags uint64
	if c.resumed {
		flags |= flagResumed
	}
	if c.goesOn {
		flags |= flagGoesOn
	}
	w.Uint(flags)
	for _, text := range [][]byte{c.name, c.args, c.returned} {
		if len(text) == 0 {
			text = nil
		}
		w.Text(text)
	}
}

// parser turns calls, in timestamp order, into slices.
type parser struct {
	*model.Context
	category, args, returned model.StringID
}

func newParser(c *model.Context) *parser {
	intern := c.Store.Strings.Intern
	return &parser{c, intern("strace"), intern("args"), intern("ret")}
}

// Event turns a call into a slice, or into the begin or end of one. The duration
// of a call is known only if the call was interrupted.
func (p *parser) Event(ts int64, event []byte) error {
	r := token.Reader(event)
	track, flags, name := p.Tracks.Thread(p.Machine.Thread(int64(r.Uint()))), r.Uint(), r.Text()
	passed, returned := r.Text(), r.Text()
	args := model.ArgFunc(func(set *model.ArgSet) {
		if passed != 0 {
			set.Add(p.args, model.StringArg(passed))
		}
		if returned != 0 {
			set.Add(p.returned, model.StringArg(returned))
		}
	})
	if flags == 0 {
		p.Slices.Scoped(ts, 0, track, p.category, name, args)
		return nil
	}
	if flags&flagResumed != 0 {
		p.Slices.End(ts, track, p.category, name, args)
	}
	if flags&flagGoesOn != 0 {
		p.Slices.Begin(ts, track, p.category, name, args)
	}
	return nil
}
