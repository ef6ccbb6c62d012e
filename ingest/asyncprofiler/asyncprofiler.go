// Package asyncprofiler reads the flame graphs that async-profiler writes as HTML.
//
// The page's script has the frames, one call of a function a line, each frame before those on top of it. Since version 3 their
// names are in a list, in order, each without what it shares with the one before.
package asyncprofiler

import (
	"bytes"
	"strconv"
	"unicode/utf16"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/aggregate"
	"github.com/tpconvert/tpconvert/ingest/internal/lines"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/profile"
)

// Format is the format of flame graphs of versions 2 to 4.
var Format = &format.Format{Name: "async_profiler_html", Title: "flame graph of async-profiler (HTML)", Sniff: sniff, Read: read}

var statParseErrors = model.NewStat(1046, model.StatInfo{
	Name: "async_profiler_parse_errors", Severity: model.DataLoss, Effect: model.Lost,
	Description: "Frames and names of async-profiler's flame graphs that cannot be read, or are wider than those below them.",
})

func sniff(head []byte) bool {
	return bytes.HasPrefix(head, []byte("<!DOCTYPE html>")) && bytes.Contains(head, []byte("<canvas id='canvas'")) && bytes.Contains(head, []byte("\tfunction f("))
}

const maxDepth = 1 << 14

// Stacks of a reversed graph share nothing, so a small page can have very many frames. Stacks have all of theirs up to so many in a
// page, and so many more for each box.
const minReversed, reversedByBox = 1 << 22, 256

// box is a frame of the flame graph, with all below it.
type box struct {
	frame       int32               // its number, of all but the root
	stack       profile.StackNumber // unless the graph is reversed
	left, width int64
	above       int64 // width of the boxes on top of it
}

type reader struct {
	*aggregate.Profile
	in      *format.Input
	measure int
	offset  int64
	names   []model.StringID // by the number of the frame
	numbers map[model.StringID]int32
	packed  []model.StringID // the list of names
	last    []uint16         // the name before in the list
	open    []box            // from the root to the last box
	level   int64            // of the last box
	left    int64            // what the next one counts from
	width   int64
	title   string
	units   string
	reverse bool // boxes call those below them
	budget  int  // of frames of reversed stacks
}

func read(in *format.Input) error {
	r := &reader{Profile: aggregate.New(in.Store), in: in, numbers: map[model.StringID]int32{}, title: "Flame Graph", units: "samples", budget: minReversed}
	inList, complete, ended := false, false, false
	l := lines.NewReader(in)
	for more := true; more && !ended; {
		var line []byte
		if more = l.Next(); more {
			line = bytes.TrimSuffix(l.Bytes(), []byte("\r"))
		} else if line = bytes.TrimSpace(l.Rest()); l.Err() != nil {
			return l.Err()
		}
		r.offset = l.Offset()
		switch {
		case bytes.HasSuffix(line, []byte("</html>")):
			ended, complete = true, true
		case inList && bytes.HasPrefix(line, []byte("'")):
			r.name(line)
		case inList && bytes.HasPrefix(line, []byte("]")):
			inList = false
		case bytes.Equal(line, []byte("const cpool = [")):
			inList = true
		case more && len(line) > 2 && line[1] == '(' && bytes.IndexByte([]byte("fun"), line[0]) >= 0:
			complete = false
			r.call(line)
		case bytes.HasPrefix(line, []byte("d=")):
			in.File.Unread(model.StatUnreadFact, model.None, "difference of a frame").AddAt(r.offset)
		case bytes.HasPrefix(line, []byte("<h1>")):
			r.title = string(bytes.TrimSuffix(line[len("<h1>"):], []byte("</h1>")))
		case bytes.HasPrefix(line, []byte("\tconst units = '")):
			r.units = string(bytes.TrimRight(line[len("\tconst units = '"):], "';"))
		case bytes.HasSuffix(line, []byte(" reverse = true;")): // before version 4
			r.reverse = true
		case bytes.HasSuffix(line, []byte(" inverted = true;")):
			in.File.Unread(model.StatUnreadFact, model.None, "layout").Say("layout is inverted: with the option reverse, stacks are reversed", "layouts are inverted").AddAt(r.offset)
		case more && len(r.open) > 0: // an empty line, or what draws them
			complete = true
		}
	}
	if r.open == nil {
		return format.Errorf(format.ErrNoEvents, -1, "a flame graph without frames")
	}
	// If the end is missing, so may be what is on top of the boxes that are open, and what those have themselves is unknown.
	if complete {
		r.close(0)
	}
	if !ended {
		in.File.LogAt(model.StatTruncatedInput, r.offset, nil)
	}
	mapping := in.Store.Stacks.DummyMapping("[async-profiler]")
	r.Store(func(number int32) profile.FrameID {
		return in.Store.Stacks.FunctionFrame(mapping, r.names[number], 0, 0)
	})
	return nil
}

func (r *reader) damaged() { r.in.File.LogAt(statParseErrors, r.offset, nil) }

// unquote returns the text of a string literal of JavaScript at the start of a line, and what follows it.
func unquote(line []byte) (text, rest []byte, ok bool) {
	if len(line) == 0 || line[0] != '\'' {
		return nil, line, false
	}
	for i := 1; i < len(line); i++ {
		switch line[i] {
		case '\'':
			return text, line[i+1:], true
		case '\\':
			if i++; i == len(line) {
				return nil, nil, false
			}
		}
		text = append(text, line[i])
	}
	return nil, nil, false
}

// name adds a name to the list. Its first character is how many UTF-16 units it shares with the one before, plus 32.
func (r *reader) name(line []byte) {
	text, _, ok := unquote(line)
	units := utf16.Encode([]rune(string(text)))
	if ok && len(r.packed) > 0 {
		if ok = len(units) > 0 && units[0] >= ' ' && int(units[0]-' ') <= len(r.last); ok {
			units = append(r.last[:units[0]-' ':units[0]-' '], units[1:]...)
		}
	}
	if !ok {
		r.damaged()
		units = nil
	}
	r.last = units
	r.packed = append(r.packed, r.in.Store.Strings.Intern(string(utf16.Decode(units))))
}

// call adds the frame of a call:
//
//	f(key, level, left, width)           version 3: left counts from the box before, width is that of the box before if it is missing
//	u(key, width), n(key, width)         on top of the box before, or beside it
//	f(level, left, width, type, 'name')  version 2: left counts from the edge
func (r *reader) call(line []byte) {
	var numbers []int64
	rest := line[2:]
	var name []byte
	named := false
	for len(rest) > 0 && rest[0] != ')' {
		if rest[0] == '\'' {
			if name, rest, named = unquote(rest); !named {
				break
			}
		} else {
			end := bytes.IndexAny(rest, ",)")
			if end < 0 {
				break
			}
			n, err := strconv.ParseInt(string(rest[:end]), 10, 64)
			if err != nil {
				break
			}
			numbers = append(numbers, n)
			rest = rest[end:]
		}
		rest = bytes.TrimPrefix(rest, []byte(","))
	}
	level, left, width, key := r.level, r.left, r.width, int64(-1)
	at := func(i int, otherwise int64) int64 {
		if i < len(numbers) {
			return numbers[i]
		}
		return otherwise
	}
	ok := len(rest) > 0 && rest[0] == ')' && len(numbers) > 0
	switch {
	case named:
		level, left, width = at(0, -1), at(1, -1), at(2, -1)
	case line[0] == 'f':
		key, level, left, width = at(0, -1), at(1, -1), left+at(2, 0), at(3, width)
	case line[0] == 'u':
		key, level, width = at(0, -1), level+1, at(1, width)
	default:
		key, left, width = at(0, -1), left+width, at(1, width)
	}
	id := r.in.Store.Strings.InternBytes(name)
	if !named {
		if ok = ok && key >= 0 && key>>3 < int64(len(r.packed)); ok {
			id = r.packed[key>>3]
		}
	}
	if !ok || level < 0 || level == 0 && r.open != nil || level > int64(len(r.open)) || level > maxDepth || width < 0 || left < 0 {
		r.damaged()
		return
	}
	r.level, r.left, r.width = level, left, width
	r.add(int(level), left, width, id)
}

// add opens a box, and closes those that it is beside.
func (r *reader) add(level int, left, width int64, name model.StringID) {
	r.close(level)
	number, stack := int32(model.None), profile.EmptyStack
	if level == 0 {
		unit := r.units
		if unit == "samples" {
			unit = "count"
		}
		r.measure = r.Measure(r.in.Name, "async-profiler "+r.title, r.units, unit)
	} else {
		below := &r.open[level-1]
		if left < below.left+below.above || left+width > below.left+below.width {
			r.damaged()
		}
		below.above += width
		var ok bool
		if number, ok = r.numbers[name]; !ok {
			number = int32(len(r.names))
			r.names, r.numbers[name] = append(r.names, name), number
		}
		if !r.reverse {
			stack = r.Push(below.stack, number)
		}
	}
	r.open = append(r.open, box{number, stack, left, width, 0})
}

// close closes the boxes from a level on, whose own values are what is not below others.
func (r *reader) close(level int) {
	for i := min(level, len(r.open)); i < len(r.open); i++ {
		b := &r.open[i]
		if b.above > b.width {
			r.damaged()
			continue
		}
		own, stack := b.width-b.above, b.stack
		if r.reverse && own > 0 {
			stack = r.reversed(i)
		}
		r.Add(r.measure, stack, float64(own))
	}
	r.open = r.open[:min(level, len(r.open))]
}

// reversed returns the stack of an open box in a reversed graph, or only its innermost frame if the budget is spent.
func (r *reader) reversed(box int) profile.StackNumber {
	outermost := box
	if r.budget += reversedByBox; r.budget < box {
		outermost = min(box, 1)
		r.in.File.Unread(model.StatUnreadFact, model.None, "frames of a stack").Say("stack is not read as a whole", "stacks are not read as a whole").AddAt(r.offset)
	}
	r.budget -= outermost
	stack := profile.EmptyStack
	for at := outermost; at > 0; at-- {
		stack = r.Push(stack, r.open[at].frame)
	}
	return stack
}
