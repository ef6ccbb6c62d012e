// Package collapsed reads folded stacks, the input of flame graphs: one line per
// stack, with its frames, outermost first, and its number of samples.
//
//	main;parse;read 312
//
// Many tools write them, such as stackcollapse-perf.pl, inferno, simpleperf and
// async-profiler. Lines that begin with # are comments.
package collapsed

import (
	"bytes"
	"strconv"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/lines"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/profile"
)

// Format is the format of folded stacks.
var Format = &format.Format{Name: "collapsed_stack", Title: "folded stacks", Sniff: sniff, Read: read}

// sniffLines is how many lines are checked at the start.
const sniffLines = 3

// sniff accepts lines of frames and a count. A stack of one frame is like many other lines, so there must be one of several
// frames, too.
func sniff(head []byte) bool {
	cut := len(head) == format.HeadBytes // the last line may be incomplete
	deep := false
	for stacks := 0; len(head) > 0 && (stacks < sniffLines || !deep); {
		line, rest, whole := bytes.Cut(head, []byte("\n"))
		if head = rest; !whole && cut {
			break
		}
		if line = bytes.TrimSpace(line); len(line) == 0 || line[0] == '#' {
			continue
		}
		frames, _, ok := parse(line)
		if !ok {
			return false
		}
		stacks++
		deep = deep || bytes.IndexByte(frames, ';') >= 0
	}
	return deep
}

// parse splits a trimmed line into the frames and their count.
func parse(line []byte) (frames []byte, count int64, ok bool) {
	i := bytes.LastIndexByte(line, ' ')
	if i <= 0 || line[i+1] == '+' {
		return nil, 0, false
	}
	count, err := strconv.ParseInt(string(line[i+1:]), 10, 64)
	return line[:i], count, err == nil && count >= 0
}

func read(in *format.Input) error {
	strings := in.Store.Strings
	profiles := &in.Store.AggregateProfile
	row := profiles.Append()
	profiles.Scope.Set(row, strings.Intern("collapsed_stack_file"))
	profiles.Name.Set(row, strings.Intern("collapsed_stack samples"))
	profiles.SampleTypeType.Set(row, strings.Intern("samples"))
	profiles.SampleTypeUnit.Set(row, strings.Intern("count"))
	r := &reader{in, profile.AggregateID(row), in.Store.Stacks.DummyMapping("[collapsed_stack]")}

	return lines.EachToEnd(in, func(offset int64, line []byte) error {
		r.line(line, offset)
		return nil
	})
}

type reader struct {
	*format.Input
	profile profile.AggregateID
	mapping profile.MappingID
}

// line adds the stack of a line and its samples.
func (r *reader) line(line []byte, offset int64) {
	line = bytes.TrimSpace(line)
	if len(line) == 0 || line[0] == '#' {
		return
	}
	frames, count, ok := parse(line)
	if !ok {
		r.File.LogAt(model.StatCollapsedStackParseErrors, offset, nil)
		return
	}
	stacks := r.Store.Stacks
	callsite := profile.CallsiteID(model.None)
	for count > 0 && len(frames) > 0 {
		var name []byte
		if name, frames, _ = bytes.Cut(frames, []byte(";")); len(name) > 0 {
			callsite = stacks.Callsite(callsite, stacks.FunctionFrame(r.mapping, r.Store.Strings.InternBytes(name), 0, 0))
		}
	}
	if callsite == model.None {
		return
	}
	samples := &r.Store.AggregateSample
	row := samples.Append()
	samples.AggregateProfileID.Set(row, r.profile)
	samples.CallsiteID.Set(row, callsite)
	samples.Value.Set(row, float64(count))
}
