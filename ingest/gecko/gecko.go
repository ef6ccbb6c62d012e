// Package gecko reads profiles of the Firefox Profiler, which samply, simpleperf and other tools write
// too.
//
// A profile has threads. Each thread has samples and markers, and the stacks, frames and names that they
// refer to by index; newer profiles share these in the block "shared". Firefox itself writes tables by
// rows, with a schema, and nests the profiles of its child processes. The profiler saves tables with a
// member for each column.
package gecko

import (
	"bytes"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/jsonlex"
	"github.com/tpconvert/tpconvert/ingest/internal/token"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/profile"
	"github.com/tpconvert/tpconvert/sort"
)

// Format is the format of Firefox profiles.
var Format = &format.Format{Name: "gecko", Title: "Firefox profile", Sniff: sniff, Read: read}

var statParseErrors = model.NewStat(1015, model.StatInfo{
	Name: "gecko_parse_errors", Severity: model.DataLoss, Effect: model.Lost,
	Description: "Threads, stacks, samples and markers of Firefox profiles that cannot be read.",
})

// sniff accepts an object that begins like a profile, unless it has trace events.
func sniff(head []byte) bool {
	start := bytes.TrimSpace(head)
	if len(start) == 0 || start[0] != '{' {
		return false
	}
	l := jsonlex.Lexer{Buf: start, Pos: 1}
	for first := true; ; first = false {
		key, err := l.Key()
		switch {
		case err != nil:
			return !first
		case first && string(key) != "meta" && string(key) != "libs":
			return false
		case string(key) == "traceEvents":
			return false
		}
		if _, err = l.Value(); err != nil {
			return true
		}
		if more, err := l.Next('}'); !more || err != nil {
			return true
		}
	}
}

// maxNesting is how deep profiles of child processes may be nested.
const maxNesting = 8

// reader reads a file. It pushes samples and markers to the sorter with their raw indices, because the
// tables may come later.
type reader struct {
	jsonlex.Reader
	in      *format.Input
	events  *sort.Stream
	event   *token.Writer
	threads []*thread
	root    *process // the outermost one
	waiting []int    // numbers of threads whose shift is not known yet
	found   bool     // there was a list of threads

	saysMain bool // threads say whether they are main threads

	mappings map[mappingKey]profile.MappingID

	textFields map[string]map[string]model.StringID // args that have the indices of texts, by the type of markers and the field
}

// process is the profile of one process.
type process struct {
	start      int64 // ns since 1970, 0 if unknown
	hasMeta    bool  // start is final
	categories []model.StringID
	shared     *thread
	threads    []*thread
}

func read(in *format.Input) error {
	in.UseClock(model.ClockTraceFile)
	r := &reader{Reader: jsonlex.NewReader(in), in: in, event: token.NewWriter(in.Store),
		mappings: map[mappingKey]profile.MappingID{}, textFields: map[string]map[string]model.StringID{}}
	r.events = in.Sorter.NewStream(newParser(r))
	_, err := r.Peek()
	if err == nil {
		err = r.profile(0)
	}
	switch err {
	case nil:
		return r.trailing()
	case jsonlex.ErrSyntax:
		return format.Errorf(format.ErrCorrupt, r.Offset(), "%s, got %s", r.Why, r.Glimpse())
	case jsonlex.ErrTooLarge:
		return format.Errorf(format.ErrUnsupported, r.Offset(), "a value %v", err)
	case jsonlex.ErrTruncated:
		if !r.found {
			return format.Errorf(format.ErrCorrupt, r.Offset(), "cut off before its threads")
		}
		in.File.LogAt(model.StatTruncatedInput, r.Base+int64(len(r.Buf)), nil)
		return nil
	}
	return err
}

// trailing skips and logs anything after the profile.
func (r *reader) trailing() error {
	if !r.found {
		return format.Errorf(format.ErrNoEvents, -1, "a profile without threads")
	}
	_, err := r.Peek()
	if err == nil {
		r.in.File.LogAt(model.StatJSONTrailingData, r.Offset(), nil)
	}
	for err == nil {
		r.Pos = len(r.Buf)
		err = r.More()
	}
	if err == jsonlex.ErrTruncated {
		return nil
	}
	return err
}

// unread skips the value of a member that makes no rows, and counts it unless it is empty, 0 or false.
func (r *reader) unread(key []byte) error {
	noun, start := string(key)+" member", r.Offset()
	var empty bool
	var err error
	if c := r.Buf[r.Pos]; c == '[' || c == '{' {
		err = r.Skip()
		empty = r.Offset()-start <= int64(len("[]"))
	} else {
		var v jsonlex.Value
		v, err = r.ReadValue()
		empty = v.Int == 0 && v.Float == 0 && (v.Kind != jsonlex.Text || len(v.Raw) == 0)
	}
	if !empty {
		r.in.File.Unread(model.StatUnreadFact, model.None, noun).AddAt(start)
	}
	return err
}

// damaged counts a damaged part that begins at the offset.
func (r *reader) damaged(offset int64) { r.in.File.LogAt(statParseErrors, offset, nil) }

// at reports whether the value at the position begins with the bracket. If not, it skips the value.
func (r *reader) at(bracket byte) (bool, error) {
	if r.Buf[r.Pos] == bracket {
		return true, nil
	}
	return false, r.Skip()
}

// profile reads the profile at the position and stores its stacks, even if its end is missing.
func (r *reader) profile(depth int) error {
	p := &process{}
	if depth == 0 {
		r.root = p
	}
	err := r.EachMember(func(key []byte) error {
		switch string(key) {
		case "meta":
			return r.meta(p, depth)
		case "shared":
			if ok, err := r.at('{'); !ok {
				return err
			}
			p.shared = &thread{offset: r.Offset()}
			return r.members(p.shared)
		case "threads":
			if ok, err := r.at('['); !ok {
				return err
			}
			r.found = true
			return r.EachElement(func() error {
				if r.Buf[r.Pos] == '{' {
					return r.thread(p)
				}
				return r.child(depth)
			})
		case "processes":
			if ok, err := r.at('['); !ok {
				return err
			}
			return r.EachElement(func() error { return r.child(depth) })
		}
		return r.unread(key)
	})
	for _, t := range p.threads {
		t.resolve(r, p)
	}
	p.hasMeta = true // or it never comes
	if pushed := r.pushWaiting(); pushed != nil {
		return pushed
	}
	return err
}

// child reads the profile of a child process at the position. Up to version 3 it is the text of
// one.
func (r *reader) child(depth int) error {
	start := r.Offset()
	if c := r.Buf[r.Pos]; c != '{' && c != '"' {
		r.damaged(start)
		return r.Skip()
	}
	if depth == maxNesting {
		return format.Errorf(format.ErrUnsupported, start, "profiles nested %d deep", depth)
	}
	if r.Buf[r.Pos] == '{' {
		return r.profile(depth + 1)
	}
	v, err := r.ReadValue()
	if err != nil {
		return err
	}
	outer := r.Reader
	r.Reader = jsonlex.NewReader(bytes.NewReader(v.Raw))
	r.Base = start
	c, err := r.Peek()
	if err == nil && c == '{' {
		err = r.profile(depth + 1)
	} else if err == nil {
		err = jsonlex.ErrSyntax
	}
	r.Reader = outer
	if err == jsonlex.ErrSyntax || err == jsonlex.ErrTruncated {
		r.damaged(start)
		return nil
	}
	return err
}

// meta reads the category names and the start time of the profile. Facts about the outermost one
// become metadata.
func (r *reader) meta(p *process, depth int) error {
	if ok, err := r.at('{'); !ok {
		return err
	}
	err := r.EachMember(func(key []byte) error {
		switch string(key) {
		case "categories":
			if ok, err := r.at('['); !ok {
				return err
			}
			return r.EachElement(func() error {
				v, err := r.ReadValue()
				p.categories = append(p.categories, r.categoryName(v))
				return err
			})
		case "markerSchema":
			if ok, err := r.at('['); !ok {
				return err
			}
			return r.EachElement(func() error {
				v, err := r.ReadValue()
				r.markerType(v)
				return err
			})
		case "sampleUnits":
			v, err := r.ReadValue()
			if member(v, "time") == "bytes" {
				return format.Errorf(format.ErrUnsupported, r.Offset(), "a profile of the size of a file, whose times are bytes")
			}
			return err
		}
		if c := r.Buf[r.Pos]; c == '{' || c == '[' {
			return r.unread(key)
		}
		name := string(key)
		v, err := r.ReadValue()
		if start, ok := v.Scaled(6); ok && name == "startTime" {
			p.start = start
		}
		if fact, ok := v.Fact(r.in.Store.Strings); ok && depth == 0 {
			r.in.File.SetMetadata("gecko_meta."+name, fact)
		}
		return err
	})
	p.hasMeta = true
	if err == nil {
		err = r.pushWaiting()
	}
	return err
}

// categoryName returns the name of a category, or 0.
func (r *reader) categoryName(v jsonlex.Value) (name model.StringID) {
	if text := member(v, "name"); text != "" {
		name = r.in.Store.Strings.Intern(text)
	}
	return name
}

// markerType notes which fields of a type of markers have indices of texts.
func (r *reader) markerType(v jsonlex.Value) {
	if v.Kind != jsonlex.Object {
		return
	}
	name := member(v, "name")
	l := jsonlex.Lexer{Buf: v.Raw}
	_ = l.Members(func(key []byte, v jsonlex.Value) {
		if v.Kind != jsonlex.Array || string(key) != "fields" && string(key) != "data" {
			return
		}
		l := jsonlex.Lexer{Buf: v.Raw}
		_ = l.Elements(func(v jsonlex.Value) {
			switch member(v, "format") {
			case "unique-string", "flow-id", "terminating-flow-id":
				if r.textFields[name] == nil {
					r.textFields[name] = map[string]model.StringID{}
				}
				field := member(v, "key")
				r.textFields[name][field] = r.in.Store.Strings.Intern("data." + field)
			}
		})
	})
}

// member returns the text of a member of an object, or "".
func member(v jsonlex.Value, name string) (text string) {
	if v.Kind != jsonlex.Object {
		return ""
	}
	l := jsonlex.Lexer{Buf: v.Raw}
	_ = l.Members(func(key []byte, v jsonlex.Value) {
		if string(key) == name && v.Kind == jsonlex.Text {
			text = string(v.Raw)
		}
	})
	return text
}

// thread reads the thread at the position and pushes its samples and markers, or keeps them until
// their shift is known. If it is truncated, the complete ones are pushed.
func (r *reader) thread(p *process) error {
	t := &thread{offset: r.Offset(), profile: p}
	err := r.members(t)
	if err != nil && err != jsonlex.ErrTruncated {
		return err
	}
	r.waiting = append(r.waiting, len(r.threads))
	r.threads = append(r.threads, t)
	p.threads = append(p.threads, t)
	if pushed := r.pushWaiting(); pushed != nil {
		return pushed
	}
	return err
}

// pushWaiting pushes the waiting threads whose shift is known. Times are relative to the start of
// their process; the outermost one is the reference.
func (r *reader) pushWaiting() error {
	waiting := r.waiting
	r.waiting = r.waiting[:0]
	for _, number := range waiting {
		t := r.threads[number]
		p, shift := t.profile, int64(0)
		if p != r.root {
			if !p.hasMeta || !r.root.hasMeta {
				r.waiting = append(r.waiting, number)
				continue
			}
			if p.start != 0 && r.root.start != 0 {
				shift = p.start - r.root.start
			}
		}
		if err := r.push(int64(number), t, shift); err != nil {
			return err
		}
	}
	return nil
}
