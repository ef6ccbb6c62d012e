package gecko

import (
	"bytes"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"

	"github.com/tpconvert/tpconvert/ingest/internal/jsonlex"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/profile"
)

// none stands for a null or missing index.
const none = -1

// thread is a thread, or the block that all threads share.
type thread struct {
	offset   int64
	profile  *process
	name     model.StringID
	process  model.StringID // name of its process
	tid, pid int64          // 0 if unknown
	main     bool           // it is the main thread
	strings  []model.StringID

	frameFuncs, funcNames   []int32 // of frames, in column layout
	frameNames              []int32 // names of frames, in row layout
	stackParents, stackTops []int32
	stackOffsets            []int32 // how far before a stack its parent is, 0 if it has none; in newer profiles
	samples                 samples
	markers                 markers

	// The targets of the indices in events.
	names      []model.StringID
	categories []model.StringID
	callsites  []profile.CallsiteID // None for damaged stacks

	utid model.UTID
	seen bool // utid is set
}

type samples struct {
	stacks []int32
	times  []float64 // ms
	deltas []float64 // ms, in profiles without times

	weights    []float64 // how many samples each stands for, if it is not one
	weightType string    // of weights: samples if empty
}

type markers struct {
	names, phases, categories []int32
	starts, ends              []float64 // ms
	times                     []float64 // ms, in old profiles, whose data has the rest
	data                      spans
}

// spans is a list of texts, some of them empty.
type spans struct {
	text []byte
	at   [][2]int
}

func (s *spans) add(text []byte) {
	s.text = append(s.text, text...)
	s.at = append(s.at, [2]int{len(s.text) - len(text), len(s.text)})
}

func (s *spans) get(i int) []byte {
	if i >= len(s.at) {
		return nil
	}
	return s.text[s.at[i][0]:s.at[i][1]]
}

// columns are the columns to read from a table, by name.
type columns struct {
	indices map[string]*[]int32
	numbers map[string]*[]float64
	texts   map[string]*string // members that are not columns
	data    *spans             // for the column data
}

// members reads the members of a thread.
func (r *reader) members(t *thread) error {
	s, m := &t.samples, &t.markers
	return r.EachMember(func(key []byte) error {
		switch string(key) {
		case "tid", "pid":
			number := &t.tid
			if key[0] == 'p' {
				number = &t.pid
			}
			v, err := r.ReadValue()
			if err == nil {
				*number = id(v)
			}
			return err
		case "name", "processName":
			name := &t.name
			if key[0] == 'p' {
				name = &t.process
			}
			v, err := r.ReadValue()
			if err == nil && v.Kind == jsonlex.Text {
				*name = r.in.Store.Strings.InternBytes(v.Raw)
			}
			return err
		case "isMainThread":
			v, err := r.ReadValue()
			r.saysMain, t.main = true, v.Kind == jsonlex.Boolean && v.Int != 0
			return err
		case "stringTable", "stringArray":
			if ok, err := r.at('['); !ok {
				return err
			}
			return r.EachElement(func() error {
				v, err := r.ReadValue()
				if err != nil {
					return err
				}
				var id model.StringID
				if v.Kind == jsonlex.Text {
					id = r.in.Store.Strings.InternBytes(v.Raw)
				}
				t.strings = append(t.strings, id)
				return nil
			})
		case "frameTable":
			return r.table(key, columns{indices: map[string]*[]int32{"func": &t.frameFuncs, "location": &t.frameNames}})
		case "funcTable":
			return r.table(key, columns{indices: map[string]*[]int32{"name": &t.funcNames}})
		case "stackTable":
			return r.table(key, columns{indices: map[string]*[]int32{"prefix": &t.stackParents, "prefixOffset": &t.stackOffsets, "frame": &t.stackTops}})
		case "samples":
			return r.table(key, columns{indices: map[string]*[]int32{"stack": &s.stacks},
				numbers: map[string]*[]float64{"time": &s.times, "timeDeltas": &s.deltas, "weight": &s.weights},
				texts:   map[string]*string{"weightType": &s.weightType}})
		case "markers":
			return r.table(key, columns{indices: map[string]*[]int32{"name": &m.names, "phase": &m.phases, "category": &m.categories},
				numbers: map[string]*[]float64{"startTime": &m.starts, "endTime": &m.ends, "time": &m.times}, data: &m.data})
		}
		return r.unread(key)
	})
}

// id reads a pid or tid. A text may have a number after a dot, which distinguishes
// programs that ran in one process.
func id(v jsonlex.Value) int64 {
	if v.Kind == jsonlex.Text {
		text, _, _ := bytes.Cut(v.Raw, []byte("."))
		n, _ := strconv.ParseUint(string(text), 10, 32)
		return int64(n)
	}
	if n, ok := number(v); ok && n >= 0 && n <= math.MaxUint32 {
		return int64(n)
	}
	return 0
}

// number returns the value of a number, or NaN.
func number(v jsonlex.Value) (float64, bool) {
	switch v.Kind {
	case jsonlex.Integer:
		return float64(v.Int), true
	case jsonlex.Double:
		return v.Float, true
	}
	return math.NaN(), false
}

// index converts a number to an index, or to none.
func index(n float64) int32 {
	if n >= 0 && n <= math.MaxInt32 {
		return int32(n)
	}
	return none
}

// rows is a table in row layout. A cell is a number, the index of an object in data, or
// NaN.
type rows struct {
	schema map[string]int
	cells  []float64
	starts []int
	data   spans
}

// cell returns a cell, or NaN.
func (t *rows) cell(row, column int) float64 {
	end := len(t.cells)
	if row+1 < len(t.starts) {
		end = t.starts[row+1]
	}
	if at := t.starts[row] + column; at < end {
		return t.cells[at]
	}
	return math.NaN()
}

// table reads the table at the position, in row or column layout. Rows may come before
// their schema. If the end is missing, the rest is still used.
func (r *reader) table(key []byte, c columns) error {
	if ok, err := r.at('{'); !ok {
		return err
	}
	name, offset := string(key), r.Offset()
	t := rows{schema: map[string]int{}}
	err := r.EachMember(func(key []byte) error {
		if string(key) == "schema" {
			return r.schema(&t)
		}
		if text := c.texts[string(key)]; text != nil {
			v, err := r.ReadValue()
			if v.Kind == jsonlex.Text {
				*text = string(v.Raw)
			}
			return err
		}
		indices, numbers := c.indices[string(key)], c.numbers[string(key)]
		if indices == nil && numbers == nil && string(key) != "data" {
			if c := r.Buf[r.Pos]; c == '[' {
				r.unreadColumn(name, string(key), offset)
			}
			return r.Skip()
		}
		if ok, err := r.at('['); !ok {
			return err
		}
		switch {
		case indices != nil:
			return r.numbers(func(n float64) { *indices = append(*indices, index(n)) })
		case numbers != nil:
			return r.numbers(func(n float64) { *numbers = append(*numbers, n) })
		}
		return r.EachElement(func() error {
			if r.Buf[r.Pos] == '[' {
				return r.row(&t, c.data != nil)
			}
			if c.data == nil {
				return r.Skip()
			}
			v, err := r.ReadValue()
			if err != nil {
				return err
			}
			if v.Kind != jsonlex.Object {
				v.Raw = nil
			}
			c.data.add(v.Raw)
			return nil
		})
	})
	t.columns(c)
	for _, column := range slices.Sorted(maps.Keys(t.schema)) {
		read := c.indices[column] != nil || c.numbers[column] != nil || c.data != nil && column == "data"
		if !read && len(t.starts) > 0 {
			r.unreadColumn(name, column, offset)
		}
	}
	return err
}

// unreadColumn counts a column that is not read. Those of samples and markers are measurements, and are counted by name; those of
// frames and functions are many.
func (r *reader) unreadColumn(table, column string, offset int64) {
	if table == "samples" || table == "markers" {
		table += "." + column
	}
	r.in.File.Unread(model.StatUnreadFact, model.None, table+" column").AddAt(offset)
}

// numbers calls f with each element of the list at the position, NaN if it is no number.
func (r *reader) numbers(f func(n float64)) error {
	return r.EachElement(func() error {
		if n, ok := r.Digits(); ok {
			f(float64(n))
			return nil
		}
		v, err := r.ReadValue()
		if err == nil {
			n, _ := number(v)
			f(n)
		}
		return err
	})
}

func (r *reader) schema(t *rows) error {
	if ok, err := r.at('{'); !ok {
		return err
	}
	return r.EachMember(func(key []byte) error {
		name := string(key)
		v, err := r.ReadValue()
		if v.Kind == jsonlex.Integer && v.Int >= 0 && v.Int <= math.MaxInt32 {
			t.schema[name] = int(v.Int)
		}
		return err
	})
}

// row reads a row. If data is set, it keeps the objects in it.
func (r *reader) row(t *rows, data bool) error {
	t.starts = append(t.starts, len(t.cells))
	return r.EachElement(func() error {
		if c := r.Buf[r.Pos]; !data && (c == '{' || c == '[') {
			t.cells = append(t.cells, math.NaN())
			return r.Skip()
		}
		if n, ok := r.Digits(); ok {
			t.cells = append(t.cells, float64(n))
			return nil
		}
		v, err := r.ReadValue()
		if err != nil {
			return err
		}
		n, _ := number(v)
		if v.Kind == jsonlex.Object {
			n = float64(len(t.data.at))
			t.data.add(v.Raw)
		}
		t.cells = append(t.cells, n)
		return nil
	})
}

// columns turns rows into columns, after what the columns have already.
func (t *rows) columns(c columns) {
	before := 0
	if c.data != nil {
		before = len(c.data.text)
	}
	for name, column := range t.schema {
		indices, numbers := c.indices[name], c.numbers[name]
		for row := range t.starts {
			n := t.cell(row, column)
			switch {
			case indices != nil:
				*indices = append(*indices, index(n))
			case numbers != nil:
				*numbers = append(*numbers, n)
			case name == "data" && c.data != nil:
				span := [2]int{}
				if i := index(n); i != none && int(i) < len(t.data.at) {
					span = [2]int{before + t.data.at[i][0], before + t.data.at[i][1]}
				}
				c.data.at = append(c.data.at, span)
			}
		}
	}
	switch {
	case before > 0:
		c.data.text = append(c.data.text, t.data.text...)
	case c.data != nil:
		c.data.text = t.data.text
	}
}

// resolve stores the stacks of a thread once its profile is complete, and frees the
// tables.
func (t *thread) resolve(r *reader, p *process) {
	t.names, t.categories = t.strings, p.categories
	if p.shared != nil && len(t.names) == 0 {
		t.names = p.shared.strings
	}
	if len(t.stackTops) == 0 && p.shared != nil {
		if p.shared.callsites == nil {
			p.shared.names = p.shared.strings
			p.shared.stacks(r)
		}
		t.callsites = p.shared.callsites
		return
	}
	t.stacks(r)
	t.frameFuncs, t.funcNames, t.frameNames, t.stackParents, t.stackOffsets, t.stackTops = nil, nil, nil, nil, nil, nil
}

// stacks stores the stacks in the thread's tables.
func (t *thread) stacks(r *reader) {
	frames := make([]profile.FrameID, max(len(t.frameFuncs), len(t.frameNames)))
	for i := range frames {
		name := int32(none)
		located := i < len(t.frameNames)
		if located {
			name = t.frameNames[i]
		} else if f := t.frameFuncs[i]; f >= 0 && int(f) < len(t.funcNames) {
			name = t.funcNames[f]
		}
		frames[i] = model.None
		if name >= 0 && int(name) < len(t.names) {
			frames[i] = r.frame(t.names[name], located)
		} else {
			r.damaged(t.offset)
		}
	}
	for i := len(t.stackParents); i < len(t.stackOffsets); i++ {
		parent, offset := int32(none), t.stackOffsets[i]
		if 0 < offset && int(offset) <= i {
			parent = int32(i) - offset
		} else if offset != 0 {
			parent = int32(i) // damage, as no stack is its own parent
		}
		t.stackParents = append(t.stackParents, parent)
	}
	t.callsites = make([]profile.CallsiteID, min(len(t.stackParents), len(t.stackTops)))
	for i := range t.callsites {
		t.callsites[i] = model.None
		// Parents come before their children, so there are no cycles.
		parent, above, top := profile.CallsiteID(model.None), t.stackParents[i], t.stackTops[i]
		valid := top >= 0 && int(top) < len(frames) && frames[top] != model.None
		if above != none && valid {
			if valid = int(above) < i; valid {
				parent = t.callsites[above]
				valid = parent != model.None
			}
		}
		if !valid {
			r.damaged(t.offset)
			continue
		}
		t.callsites[i] = r.in.Store.Stacks.Callsite(parent, frames[top])
	}
}

// sourceIndex matches the index of the source that Firefox writes after the position of a JavaScript function.
var sourceIndex = regexp.MustCompile(`(:[0-9]+\)?)\[[0-9]+\]$`)

// frame returns the frame of a function. The file may follow the name: read (in
// libc.so). A location is the name of a frame in row layout.
func (r *reader) frame(name model.StringID, located bool) profile.FrameID {
	stacks, strings := r.in.Store.Stacks, r.in.Store.Strings
	if text := strings.Get(name); located && text != "" && text[len(text)-1] == ']' {
		name = strings.Intern(sourceIndex.ReplaceAllString(text, "$1"))
	}
	function, file, inFile := bytes.Cut([]byte(strings.Get(name)), []byte(" (in "))
	if inFile {
		file, _, _ = bytes.Cut(file, []byte(")"))
		name = strings.InternBytes(function)
	} else {
		file = []byte("gecko")
	}
	key := mappingKey{string(file), inFile}
	mapping, known := r.mappings[key]
	if !known {
		mapping = stacks.DummyMapping(key.file)
		r.mappings[key] = mapping
	}
	return stacks.FunctionFrame(mapping, name, 0, 0)
}

// mappingKey separates the mapping of functions without a file from a file's mapping.
type mappingKey struct {
	file   string
	inFile bool
}
