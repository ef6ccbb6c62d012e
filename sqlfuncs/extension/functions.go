//go:build cgo

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/tpconvert/tpconvert"
	"github.com/tpconvert/tpconvert/model/schema"
	"github.com/tpconvert/tpconvert/model/table"
	"github.com/tpconvert/tpconvert/sqlfuncs"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqltext"
)

// function is a table function. Its first argument is a path or pattern of traces, or a list of those.
type function struct {
	name  string
	table bool // the second argument is the name of a table
	// bind describes the rows.
	bind func(c *call) error
	// attach runs before the rows are read, or is nil.
	attach func(c *call) error
	db     *database
}

// functions are those of a database.
func functions(db *database) []*function {
	return []*function{
		{name: "read_trace", table: true, bind: bindTable, db: db},
		{name: "trace_tables", bind: bindTables, db: db},
		{name: "trace_losses", bind: bindLosses, db: db},
		{name: "trace_inspect", bind: bindInspect, db: db},
		{name: "attach_trace", bind: bindTables, attach: attach, db: db},
	}
}

// call is a call of a function in a query.
type call struct {
	*function
	options
	patterns []string
	paths    []string // of the traces
	many     bool     // the argument is a list or a pattern, so there is a column trace_id
	wanted   string   // the second argument

	columns   []table.Column
	from      string                              // the table that they are of
	rowsOf    func(t *trace) (*table.Kept, error) // has that table
	estimated int64                               // number of rows, 0 if it is unknown
}

// traceID is the column that tells traces apart.
const traceID = "trace_id"

// prepare finds the traces and describes the rows.
func (c *call) prepare() error {
	for i, pattern := range c.patterns {
		absolute, err := filepath.Abs(pattern)
		if err != nil {
			return err
		}
		c.patterns[i] = absolute
		if _, err := os.Stat(absolute); err == nil || !strings.ContainsAny(pattern, "*?[") {
			c.paths = append(c.paths, absolute)
			continue
		}
		c.many = true
		found, err := filepath.Glob(absolute)
		if err != nil || len(found) == 0 {
			return fmt.Errorf("%s: no trace matches", pattern)
		}
		c.paths = append(c.paths, found...)
	}
	for _, path := range c.paths {
		if _, err := os.Stat(path); err != nil {
			return err
		}
	}
	return c.bind(c)
}

// returns notes the columns of a table. Those of several traces have the column trace_id, the last one.
func (c *call) returns(s *table.Schema) {
	c.from = s.Name
	if c.many {
		s = s.Without(traceID)
		c.columns = append(slices.Clip(s.Columns), table.Column{Name: traceID, Type: table.TypeString})
		return
	}
	c.columns = s.Columns
}

// bindTable is for the rows of a table.
func bindTable(c *call) error {
	all := schema.All()
	i := slices.IndexFunc(all, func(s *table.Schema) bool { return s.Name == c.wanted && !s.Abstract })
	if i < 0 {
		return fmt.Errorf("%s is no table of a trace: trace_tables lists them", c.wanted)
	}
	s := all[i]
	c.returns(s)
	c.rowsOf = func(t *trace) (*table.Kept, error) { return t.Kept, nil }
	for _, path := range c.paths {
		if t := traces.known(path); t != nil {
			c.estimated += t.Rows(s.Name)
		} else if source, ok := tpconvert.SourceOf(path); ok && s.Bounds != "" {
			c.estimated += source.Bytes / bytesOfEvent
		}
	}
	return nil
}

// bytesOfEvent is a guess of the bytes that an event takes in a trace.
const bytesOfEvent = 100

// source gives the chunks of the rows of a call to several threads.
type source struct {
	*call
	columns []string // that the query needs; "" is one without values

	mu      sync.Mutex
	left    []string    // paths of traces that were not read yet
	current *table.Kept // of the trace id
	id      string
	rest    []*table.Chunk
	known   map[string]bool // ids
}

// start begins to read the rows of a call.
func (c *call) start(columns []string) (*source, error) {
	if c.attach != nil {
		if err := c.attach(c); err != nil {
			return nil, err
		}
	}
	return &source{call: c, columns: columns, left: c.paths, known: map[string]bool{}}, nil
}

// next returns the next rows, or nil at their end.
func (s *source) next() (*batch, error) {
	c, kept, id, err := s.chunk()
	if c == nil || err != nil {
		return nil, err
	}
	b, err := readBatch(kept, c, s.columns)
	if err != nil {
		return nil, err
	}
	if i := slices.Index(s.columns, traceID); i >= 0 && s.many {
		b.columns[i] = column{text: id}
	}
	return b, nil
}

// chunk returns the next chunk, with the rows and the id of its trace. It reads the next trace if need be. A trace that has the
// content of an earlier one is left out.
func (s *source) chunk() (c *table.Chunk, kept *table.Kept, id string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.rest) == 0 {
		if len(s.left) == 0 {
			return nil, nil, "", nil
		}
		t, err := traces.open(s.left[0], s.options)
		if err != nil {
			return nil, nil, "", err
		}
		s.left, s.id = s.left[1:], t.manifest.TraceID
		if s.known[s.id] {
			continue
		}
		s.known[s.id] = true
		if s.current, err = s.rowsOf(t); err != nil {
			return nil, nil, "", err
		}
		s.rest = s.current.Chunks(s.from)
	}
	c, s.rest = s.rest[0], s.rest[1:]
	return c, s.current, s.id, nil
}

// attach creates the tables of the traces as views, and the macros and views of the command register.
func attach(c *call) error {
	filled, symbols := map[string]bool{}, map[string]bool{}
	for _, path := range c.paths {
		t, err := traces.open(path, c.options)
		if err != nil {
			return err
		}
		for _, s := range schema.All() {
			filled[s.Name] = filled[s.Name] || t.Rows(s.Name) > 0
		}
		if err := t.symbols(symbols); err != nil {
			return err
		}
	}
	d := sqlfuncs.Dataset{Query: func(table string) string { return "FROM " + c.text(table) }}
	if c.many {
		d.Layout = sqlfuncs.ManyTraces
	}
	statements := d.Catalog().Statements()
	for _, s := range schema.All() {
		if filled[s.Name] {
			statements = append(statements, sqlfuncs.ColumnComments(s)...)
		}
	}
	var names []string
	for symbol := range symbols {
		if name, ok := sqlfuncs.Demangle(symbol); ok {
			names = append(names, fmt.Sprintf("(%s, %s)", sqltext.QuoteText(symbol), sqltext.QuoteText(name)))
		}
	}
	if names != nil {
		statements = append(statements, "INSERT INTO _demangled VALUES "+strings.Join(names, ", "))
	}
	return c.db.run(statements...)
}

// symbols adds the texts of the trace that may be symbols of compilers, for the macro demangle.
func (t *trace) symbols(all map[string]bool) error {
	for _, names := range [][]string{{"stack_profile_frame", "name", "deobfuscated_name"}, {"stack_profile_symbol", "name"}} {
		for _, c := range t.Chunks(names[0]) {
			b, err := readBatch(t.Kept, c, names[1:])
			if err != nil {
				return err
			}
			for _, column := range b.columns {
				ids, _ := column.Values.([]table.StringID)
				for _, id := range ids {
					if text := b.texts.Get(id); strings.HasPrefix(text, "_") {
						all[text] = true
					}
				}
			}
		}
	}
	return nil
}

// text returns the call of read_trace for a table of the same traces.
func (c *call) text(name string) string {
	list := func(texts []string) string {
		var quoted []string
		for _, t := range texts {
			quoted = append(quoted, sqltext.QuoteText(t))
		}
		return "[" + strings.Join(quoted, ", ") + "]"
	}
	from := sqltext.QuoteText(c.patterns[0])
	if c.many {
		from = list(c.patterns)
	}
	text := fmt.Sprintf("read_trace(%s, %s, memory := %d, strict := %t", from, sqltext.QuoteText(name), c.memory, c.strict)
	if c.symbols != nil {
		text += ", symbols := " + list(c.symbols)
	}
	return text + ")"
}
