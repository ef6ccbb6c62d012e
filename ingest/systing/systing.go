// Package systing reads the tables that systing records: a folder of Parquet files, one for each table, or what DuckDB exports of
// systing's database (EXPORT DATABASE, format Parquet).
//
// Tables of facts, such as threads, are read first. The rows of others are events, which take the way of all events: events.go says
// where each table's go.
package systing

import (
	"cmp"
	"io"
	"maps"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/parquetfile"
	"github.com/tpconvert/tpconvert/ingest/internal/spool"
	"github.com/tpconvert/tpconvert/ingest/internal/token"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/table"
	"github.com/tpconvert/tpconvert/sort"
)

// Format is the table of processes, which each recording has, beside the others.
var Format = &format.Format{Name: "systing", Folder: "process.parquet", Sniff: parquetfile.Is, Read: read}

var statParseErrors = model.NewStat(1051, model.StatInfo{
	Name: "systing_parse_errors", Severity: model.DataLoss, Effect: model.Lost,
	Description: "Rows of systing's tables that cannot be read, and values that refer to missing rows.",
})

// reader reads the tables of a recording.
type reader struct {
	*parser
	in     *format.Input
	parts  map[string]format.Part // by table
	stream *sort.Stream
	token  *token.Writer
	id     []byte // of the trace, in a database of several
}

func read(in *format.Input) error {
	own, err := openTable(in, in.File, in)
	if err != nil {
		return err
	}
	defer own.Close()
	switch {
	case own.damage != nil && in.Parts == nil:
		return format.Errorf(format.ErrCorrupt, -1, "a Parquet file: %v", own.damage)
	case own.damage != nil: // the other tables may be whole
	case !own.has("upid") || !own.has("is_kernel_thread"):
		return format.Errorf(format.ErrUnsupported, -1, "a Parquet file that is not systing's table of processes")
	case in.Parts == nil:
		return format.Errorf(format.ErrUnsupported, -1, "the processes of a recording without its other tables: name their folder instead")
	}
	r := &reader{in: in, parser: newParser(in.Context), parts: map[string]format.Part{}, token: token.NewWriter(in.Store)}
	for _, part := range in.Parts {
		if name, ok := strings.CutSuffix(path.Base(part.Name), ".parquet"); ok {
			r.parts[name] = part
		} else {
			part.File.Unread(model.StatUnreadFact, model.None, "file without rows").Add(model.LogEntry{})
		}
	}
	if _, ok := r.parts["thread"]; !ok && own.damage != nil {
		return format.Errorf(format.ErrCorrupt, -1, "a Parquet file: %v", own.damage)
	}
	if err := r.facts(own); err != nil {
		return err
	}
	r.stream = in.Sorter.NewStream(r.parser)
	for i := range events {
		if err := r.each(events[i].name, func(t *tableFile) error { return r.push(i, t) }); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.parts)) { // each drops what it reads
		err := r.rows(name, func(t *tableFile) {
			t.file.Unread(model.StatUnreadEvent, model.None, name+" row").Add(model.LogEntry{})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// each calls a function with a table, if there is one.
func (r *reader) each(name string, do func(*tableFile) error) error {
	part, ok := r.parts[name]
	if !ok {
		return nil
	}
	delete(r.parts, name)
	from, err := part.Open()
	if err != nil {
		return err
	}
	defer from.Close()
	t, err := openTable(r.in, part.File, from)
	if err != nil {
		return err
	}
	defer t.Close()
	t.one = &r.id
	if t.damage == nil {
		if err := do(t); err != nil {
			return err
		}
	}
	t.report()
	return t.input.Err()
}

// rows calls a function with each row of a table.
func (r *reader) rows(name string, do func(*tableFile)) error {
	return r.each(name, func(t *tableFile) error {
		for t.Next() {
			do(t)
		}
		return nil
	})
}

// tableFile is a table.
type tableFile struct {
	*parquetfile.File
	*parquetfile.Rows
	file    *model.File
	strings *table.StringPool
	input   *spool.File
	columns map[string]int
	group   int
	damage  error
	one     *[]byte // the trace whose rows are read, in a database of several; nil to read all
	read    int64
}

func openTable(in *format.Input, file *model.File, from io.Reader) (*tableFile, error) {
	part := *in
	part.Reader = from
	if from != io.Reader(in) {
		part.At = nil
	}
	input, err := spool.Open(&part)
	if err != nil {
		return nil, err
	}
	t := &tableFile{file: file, strings: in.Store.Strings, input: input, columns: map[string]int{}}
	t.File, t.damage = parquetfile.Open(input, input.Size)
	if err := input.Err(); err != nil {
		t.Close()
		return nil, err
	}
	if t.damage != nil {
		return t, nil
	}
	for i, name := range t.Columns {
		t.columns[name] = i
	}
	return t, nil
}

func (t *tableFile) Close() { t.input.Close() }

func (t *tableFile) has(column string) bool {
	_, ok := t.columns[column]
	return ok
}

// Next moves to the next row of the trace. Behind damage, it goes on with the next row group.
func (t *tableFile) Next() bool {
	for {
		if t.Rows != nil && t.Rows.Next() {
			t.read++
			if t.foreign() {
				t.file.Unread(model.StatUnreadEvent, model.None, "row of another trace in the database").Add(model.LogEntry{})
				continue
			}
			return true
		}
		if t.Rows != nil && t.Rows.Err != nil {
			t.damage = t.Rows.Err
		}
		if t.group == t.Groups() {
			return false
		}
		rows, err := t.Group(t.group)
		t.damage = cmp.Or(err, t.damage)
		t.Rows = rows
		t.group++
	}
}

// foreign reports whether the row is of another trace than the first.
func (t *tableFile) foreign() bool {
	id := t.value("trace_id").Text
	if id == nil || t.one == nil {
		return false
	}
	if *t.one == nil {
		*t.one = slices.Clone(id)
	}
	return string(*t.one) != string(id)
}

// report counts what was not read.
func (t *tableFile) report() {
	if t.damage != nil {
		lost := int64(1)
		if t.File != nil {
			lost = max(1, t.File.Rows()-t.read)
		}
		t.damaged(t.damage.Error())
		t.file.Add(statParseErrors, model.None, lost-1)
	}
	if t.File != nil {
		for _, name := range t.Skipped {
			t.file.Unread(model.StatUnreadFact, model.None, name+" column").Add(model.LogEntry{})
		}
	}
}

// damaged counts a row that cannot be read.
func (t *tableFile) damaged(message string) {
	pool := t.strings
	t.file.Log(statParseErrors, model.LogEntry{Args: model.ArgFunc(func(set *model.ArgSet) {
		set.Add(pool.Intern("message"), model.StringArg(pool.Intern(message)))
	})})
}

// value returns what the row has in a column, if there is one.
func (t *tableFile) value(column string) parquetfile.Value {
	if i, ok := t.columns[column]; ok {
		return t.Value(i)
	}
	return parquetfile.Value{}
}

// list returns what the row has in a column of lists.
func (t *tableFile) list(column string) []parquetfile.Value {
	if i, ok := t.columns[column]; ok {
		return t.Values(i)
	}
	return nil
}

func (t *tableFile) int(column string) int64 { return t.value(column).Int }

// text returns a text, or 0.
func (t *tableFile) text(column string) model.StringID {
	if v := t.value(column); v.Kind == parquetfile.Text {
		return t.strings.InternBytes(v.Text)
	}
	return 0
}

// push passes the rows of a table of events to the sorter.
func (r *reader) push(number int, t *tableFile) error {
	e := &events[number]
	r.tables[number] = r.newEventTable(e.name, t)
	for _, column := range unreadColumns[e.name] {
		if t.has(column) {
			t.file.Unread(model.StatUnreadFact, model.None, column+" column").Add(model.LogEntry{})
		}
	}
	for t.Next() {
		at := t.value("ts")
		if at.Kind != parquetfile.Int {
			t.damaged("a row without ts")
			continue
		}
		dur := t.int("dur")
		if err := r.event(number, 0, at.Int, t); err != nil {
			return err
		}
		if e.end != nil && dur > 0 {
			if err := r.event(number, 1, at.Int+dur, t); err != nil {
				return err
			}
		}
	}
	return nil
}

// event passes a row to the sorter. The first number says whether it is the event's end.
func (r *reader) event(number, end int, at int64, t *tableFile) error {
	ts, ok := r.in.TraceTime(at, 0)
	if !ok {
		return nil
	}
	w := r.token
	w.Reset()
	w.Uint(uint64(2*number + end))
	for i := range t.Columns {
		v := t.Value(i)
		w.Uint(uint64(v.Kind))
		switch v.Kind {
		case parquetfile.Int, parquetfile.Bool:
			w.Int(v.Int)
		case parquetfile.Real:
			w.Uint(math.Float64bits(v.Real))
		case parquetfile.Text:
			w.Text(v.Text)
		}
	}
	return r.stream.Push(ts, w.Bytes())
}
