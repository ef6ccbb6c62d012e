package gpuwork

import (
	"fmt"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/spool"
	"github.com/tpconvert/tpconvert/ingest/internal/sqlitefile"
	"github.com/tpconvert/tpconvert/ingest/internal/token"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/sort"
)

var statParseErrors = model.NewStat(1026, model.StatInfo{
	Name: "sqlite_parse_errors", Severity: model.DataLoss, Effect: model.Lost,
	Description: "Pages and rows of SQLite files that cannot be read, or lack what they refer to.",
})

// Reader passes rows of an SQLite file to the sorter. What cannot be read is counted in sqlite_parse_errors.
type Reader struct {
	In      *format.Input
	DB      *sqlitefile.File
	Token   *token.Writer
	Threads *sort.Stream // of slices of threads, which nest
	Others  *sort.Stream
	file    *spool.File
}

// Open opens the file of an input, until Close.
func Open(in *format.Input) (*Reader, error) {
	r := &Reader{In: in, Token: token.NewWriter(in.Store)}
	var err error
	if r.file, err = spool.Open(in); err != nil {
		return nil, err
	}
	r.DB, err = sqlitefile.Open(r.file, r.file.Size, func(why string) { r.LostRows(1, why) })
	if err != nil {
		r.Close()
		return nil, err
	}
	if r.DB.Cut {
		in.File.LogAt(model.StatTruncatedInput, r.file.Size, nil)
	}
	return r, nil
}

// Close closes the file.
func (r *Reader) Close() {
	if r.DB != nil {
		r.DB.Close()
	}
	r.file.Close()
}

// Sort begins the streams. Their tokens begin with the number of a table and the duration.
func (r *Reader) Sort(parser sort.Sink) {
	r.Threads = r.In.Sorter.NewStream(parser)
	r.Threads.SetTie(outermost)
	r.Others = r.In.Sorter.NewStream(parser)
}

// outermost orders slices that begin at the same time: the longest comes first.
func outermost(event []byte) int64 {
	t := token.Reader(event)
	t.Uint()
	return -t.Int()
}

// Span returns the begin of a row and its duration, -1 if it does not end, by the columns that have its times. A row without a
// begin is lost. What is wrong with others is counted.
func (r *Reader) Span(row *sqlitefile.Row, t *sqlitefile.Table, start, end int) (ts, dur int64, ok bool) {
	from, ok := row.Int(start)
	if ok {
		ts, ok = r.In.TraceTime(from, model.None)
	}
	if !ok {
		r.Lost(t.Name, row.ID, "a time that cannot be used")
		return 0, 0, false
	}
	if column := row.Misfit(); column >= 0 {
		r.Lost(t.Name, row.ID, t.Columns[column]+" is not an integer")
	}
	to, ended := row.Int(end)
	switch {
	case !ended:
		return ts, -1, true
	case to < from:
		r.Lost(t.Name, row.ID, "it ends before it begins")
		return ts, -1, true
	}
	return ts, to - from, true
}

// Lost counts a row that cannot be used, or not all of it.
func (r *Reader) Lost(table string, row int64, why string) {
	r.LostRows(1, fmt.Sprintf("row %d of %s: %s", row, table, why))
}

// LostRows counts rows that cannot be used.
func (r *Reader) LostRows(n int, why string) {
	r.In.File.Add(statParseErrors, model.None, int64(n-1))
	r.In.File.Log(statParseErrors, model.LogEntry{Args: r.reason(why)})
}

func (r *Reader) reason(why string) model.ArgSource {
	strings := r.In.Store.Strings
	return model.ArgFunc(func(set *model.ArgSet) { set.Add(strings.Intern("error"), model.StringArg(strings.Intern(why))) })
}

// Unread counts the rows of a table that make no rows.
func (r *Reader) Unread(t *sqlitefile.Table, name string) {
	n := t.Count()
	if n == 0 {
		return
	}
	for u := r.In.File.Unread(model.StatUnreadEvent, model.None, name+" row"); n > 0; n-- {
		u.Add(model.LogEntry{})
	}
}
