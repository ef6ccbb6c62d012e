// Package collapsed reads folded stacks, the input of flame graphs: one line per
// stack, with its frames, outermost first, and its number of samples.
//
//	main;parse;read 312
//
// Many tools write them, such as stackcollapse-perf.pl, inferno, simpleperf and
// async-profiler. Lines that begin with # are comments; those of Austin say what
// its numbers are. Lines of difffolded.pl have two numbers: of the samples before
// and after a change.
package collapsed

import (
	"bytes"
	"io"
	"slices"
	"strconv"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/lines"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/profile"
)

// Format is the format of folded stacks.
var Format = &format.Format{Name: "collapsed_stack", Title: "folded stacks", Sniff: sniff, Read: read}

var statParseErrors = model.NewStat(1013, model.StatInfo{
	Name: "collapsed_stack_parse_errors", Severity: model.DataLoss, Effect: model.Lost,
	Description: "Lines that are not folded stacks.",
})

// sniffLines is how many lines are checked at the start.
const sniffLines = 3

// sniff accepts lines of frames and a count. A stack of one frame is like many other lines, so there must be one of several
// frames, too.
func sniff(head []byte) bool {
	all, cut := head, len(head) == format.HeadBytes // the last line may be incomplete
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
		if !ok && bytes.HasPrefix(all, austin) {
			frames, _, ok = parseFull(line)
		}
		if !ok {
			return false
		}
		stacks++
		deep = deep || bytes.IndexByte(frames, ';') >= 0
	}
	return deep
}

// parse splits a trimmed line into the frames and their count.
func parse(line []byte) (frames []byte, count float64, ok bool) {
	i := bytes.LastIndexByte(line, ' ')
	if i <= 0 || len(bytes.Trim(line[i+1:], "0123456789.")) > 0 {
		return nil, 0, false
	}
	count, err := strconv.ParseFloat(string(line[i+1:]), 64)
	return line[:i], count, err == nil && count <= maxCount
}

// austin begins the files of Austin, a sampler of Python, up to version 3. A comment there says what it measured: time in µs, or memory in
// bytes. See "Memory and Full Metrics" in its README.
var austin = []byte("# austin: ")

// measure is what a number of a line measures.
type measure struct{ name, unit string }

var wall, cpu, memory = measure{"wall", "microseconds"}, measure{"cpu", "microseconds"}, measure{"memory", "bytes"}

// modes has the measures of Austin's modes, the one to show first.
var modes = map[string][]measure{"wall": {wall}, "cpu": {cpu}, "memory": {memory}, "full": {wall, cpu, memory}}

// modeOf returns Austin's mode, or "" if another tool wrote the file.
func modeOf(head []byte) string {
	if !bytes.HasPrefix(head, austin) {
		return ""
	}
	for line := range bytes.Lines(head) {
		if line[0] != '#' {
			break
		}
		if mode, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("# mode: ")); ok {
			return string(mode)
		}
	}
	return ""
}

// parseFull splits a line of Austin's full mode into the frames and its time, its time on a CPU, and the growth of memory. The last field has
// the time, whether the thread was idle, and the memory.
func parseFull(line []byte) (frames []byte, counts [3]float64, ok bool) {
	i := bytes.LastIndexByte(line, ' ')
	fields := bytes.Split(line[i+1:], []byte(","))
	if i <= 0 || len(fields) != len(counts) {
		return nil, counts, false
	}
	for k, field := range fields {
		n, err := strconv.ParseInt(string(field), 10, 64)
		if err != nil {
			return nil, counts, false
		}
		counts[k] = float64(n)
	}
	idle := counts[1]
	counts[1] = counts[0] * (1 - idle)
	return line[:i], counts, idle == 0 || idle == 1
}

// maxCount is above the largest number of samples.
const maxCount = 1 << 63

// differential reports whether all lines at the beginning have two counts: before and after, as difffolded.pl writes them.
func differential(head []byte) bool {
	found := false
	for len(head) > 0 {
		line, rest, whole := bytes.Cut(head, []byte("\n"))
		if head = rest; !whole && found {
			break
		}
		if line = bytes.TrimSpace(line); len(line) == 0 || line[0] == '#' {
			continue
		}
		frames, _, ok := parse(line)
		if ok {
			_, _, ok = parse(frames)
		}
		if !ok {
			return false
		}
		found = true
	}
	return found
}

func read(in *format.Input) error {
	head := make([]byte, format.HeadBytes)
	n, err := io.ReadFull(in, head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return err
	}
	in.Reader = io.MultiReader(bytes.NewReader(head[:n]), in.Reader)
	r := &reader{Input: in, mapping: in.Store.Stacks.DummyMapping("[collapsed_stack]")}
	mode := modeOf(head[:n])
	measures, shown := modes[mode], 0
	r.full = mode == "full"
	switch {
	case measures != nil:
	case differential(head[:n]):
		measures, shown = []measure{{"before", "count"}, {"after", "count"}}, 1
	default:
		measures = []measure{{"samples", "count"}}
	}
	for i, m := range measures {
		r.profiles = append(r.profiles, r.measure(m, i == shown))
	}
	return lines.EachToEnd(in, func(offset int64, line []byte) error {
		r.line(line, offset)
		return nil
	})
}

type reader struct {
	*format.Input
	profiles []profile.AggregateID // of the counts of a line
	full     bool                  // the counts are those of parseFull
	mapping  profile.MappingID
}

// measure adds a measure.
func (r *reader) measure(m measure, shown bool) profile.AggregateID {
	strings, t := r.Store.Strings, &r.Store.AggregateProfile
	row := t.Append()
	t.Scope.Set(row, strings.Intern("collapsed_stack_file"))
	t.Name.Set(row, strings.Intern("collapsed_stack "+m.name))
	t.SampleTypeType.Set(row, strings.Intern(m.name))
	t.SampleTypeUnit.Set(row, strings.Intern(m.unit))
	t.IsDefault.Set(row, shown)
	return profile.AggregateID(row)
}

// line adds the stack of a line and its samples.
func (r *reader) line(line []byte, offset int64) {
	line = bytes.TrimSpace(line)
	if len(line) == 0 || line[0] == '#' {
		return
	}
	frames, counts, ok := line, [3]float64{}, true
	if r.full {
		frames, counts, ok = parseFull(line)
	} else {
		for i := range slices.Backward(r.profiles) { // the last one stands last
			if ok {
				frames, counts[i], ok = parse(frames)
			}
		}
	}
	if !ok {
		r.File.LogAt(statParseErrors, offset, nil)
		return
	}
	any := counts != [3]float64{}
	stacks := r.Store.Stacks
	callsite := profile.CallsiteID(model.None)
	for any && len(frames) > 0 {
		var name []byte
		if name, frames, _ = bytes.Cut(frames, []byte(";")); len(name) > 0 {
			callsite = stacks.Callsite(callsite, stacks.FunctionFrame(r.mapping, r.Store.Strings.InternBytes(name), 0, 0))
		}
	}
	if callsite == model.None {
		return
	}
	samples := &r.Store.AggregateSample
	for i, id := range r.profiles {
		if len(r.profiles) > 1 && counts[i] == 0 {
			continue
		}
		row := samples.Append()
		samples.AggregateProfileID.Set(row, id)
		samples.CallsiteID.Set(row, callsite)
		samples.Value.Set(row, counts[i])
	}
}
