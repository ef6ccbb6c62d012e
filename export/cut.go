package export

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/parquet/file"

	"github.com/tpconvert/tpconvert/export/parquet"
	"github.com/tpconvert/tpconvert/export/staging"
	"github.com/tpconvert/tpconvert/model/schema"
	"github.com/tpconvert/tpconvert/model/table"
)

// Time is a moment of a trace, in ns.
type Time struct {
	NS       int64
	Absolute bool // NS is a time of the trace clock; otherwise it counts from the start of the trace
}

func (t *Time) String() string {
	if t.Absolute {
		return fmt.Sprintf("%d ns", t.NS)
	}
	return time.Duration(t.NS).String()
}

// Range is the part of a trace from From until before To, which are its start and its end if they are nil.
type Range struct {
	From, To *Time
}

// Whole reports whether a range is all of a trace.
func (r Range) Whole() bool { return r == Range{} }

// Span is a part of the trace clock, in ns.
type Span struct {
	Start int64 `json:"start_ts"`
	End   int64 `json:"end_ts"`
}

// within returns the times of the range in a trace with this span.
func (r Range) within(trace Span) (Span, error) {
	at := func(t *Time, otherwise int64) int64 {
		switch {
		case t == nil:
			return otherwise
		case t.Absolute:
			return t.NS
		}
		if t.NS > math.MaxInt64-max(trace.Start, 0) {
			return math.MaxInt64
		}
		return trace.Start + t.NS
	}
	s := Span{at(r.From, math.MinInt64), at(r.To, math.MaxInt64)}
	where := fmt.Sprintf("the trace is %v long, from %d to %d ns", time.Duration(trace.End-trace.Start), trace.Start, trace.End)
	switch {
	case s.Start > trace.End:
		return s, rangeError(fmt.Sprintf("--from %v is after the end: %s", r.From, where))
	case s.End <= trace.Start:
		return s, rangeError(fmt.Sprintf("--to %v is not after the start: %s", r.To, where))
	case s.End <= s.Start:
		return s, rangeError(fmt.Sprintf("--to %v is not after --from %v: %s", r.To, r.From, where))
	}
	return s, nil
}

// rangeError says why a trace has no such part. It is an ErrOption.
type rangeError string

func (e rangeError) Error() string { return string(e) }

func (rangeError) Unwrap() error { return ErrOption }

// errTimeless is for a trace that cannot be cut.
const errTimeless = rangeError("--from and --to: the trace has no events with a time")

// clip returns the part of a trace that is in the span. It is never empty, because Trace Processor reports no empty traces.
func (s Span) clip(trace Span) Span {
	start := max(s.Start, trace.Start)
	return Span{start, max(min(s.End, trace.End), start+1)}
}

// Cut copies the part of each trace of the dataset dir that is in o.Range to another dataset, of the same layout. Rows that were
// derived are left out. It returns the manifests of the new traces.
func Cut(ctx context.Context, dir, to string, o Options) ([]*Manifest, error) {
	manifests, many, err := ReadManifests(dir)
	if err != nil {
		return nil, err
	}
	for _, m := range manifests {
		if m.SchemaVersion != table.SchemaVersion {
			return nil, fmt.Errorf("%s has schema version %d, this tpconvert cuts %d: convert the trace again", dir, m.SchemaVersion, table.SchemaVersion)
		}
	}
	part := o.Range
	o.Range = Range{} // as the writers get no whole traces
	create, folder := func() (*Writer, error) { return Create(to, o) }, func(*Manifest) string { return dir }
	if many {
		d, err := OpenDataset(to, o)
		if err != nil {
			return nil, err
		}
		defer d.Close()
		create, folder = d.Create, func(m *Manifest) string { return filepath.Join(dir, partition+m.TraceID) }
	}
	for _, m := range manifests {
		w, err := create()
		if err != nil {
			return nil, err
		}
		stop := context.AfterFunc(ctx, func() { w.end(ctx.Err()) })
		m.Derived, m.DerivedTables = nil, nil
		if err = w.cut(folder(m), m, part); err == nil {
			err = w.Commit(m)
		}
		stop()
		if err != nil {
			if many {
				err = fmt.Errorf("trace %s, %s: %w", m.TraceID, m.Input.Name, err)
			}
			return nil, errors.Join(err, w.Abort())
		}
	}
	return manifests, nil
}

// wholeFolder has the files of all tables until they are cut.
const wholeFolder = "whole"

// narrow makes the writer of a range keep the whole trace until Cut.
func (w *Writer) narrow() (*Writer, error) {
	if w.options.Range.Whole() {
		return w, nil
	}
	s := &staging.Stage{Path: filepath.Join(w.stage.Path, wholeFolder)}
	if err := os.Mkdir(s.Path, 0o777); err != nil {
		return nil, errors.Join(staging.Error(s.Path, err), w.Abort())
	}
	o := w.options
	o.Format, o.Tables, o.EmptyTables, o.Temporary = Parquet, nil, false, true
	w.whole = newWriter(o, w.place, s, w.workers)
	w.whole.extends = true
	return w, nil
}

// Cut reduces a trace whose rows were all written to the range of the options, and changes its manifest. Without a range it does
// nothing. It comes before Commit.
func (w *Writer) Cut(m *Manifest) error {
	whole := w.whole
	if whole == nil {
		return nil
	}
	whole.running.Wait()
	all := *m
	if err := whole.failure(); err != nil {
		return err
	}
	if err := whole.finish(&all); err != nil {
		return err
	}
	w.cutting = true
	if err := w.cut(whole.stage.Path, &all, w.options.Range); err != nil {
		return err
	}
	*m = all
	return os.RemoveAll(whole.stage.Path)
}

// cut writes the rows of the trace in a folder that reach into the range, and changes the trace's manifest.
func (w *Writer) cut(folder string, m *Manifest, r Range) error {
	if m.Start == nil || m.End == nil {
		return errTimeless
	}
	trace := Span{*m.Start, *m.End}
	within, err := r.within(trace)
	if err != nil {
		return err
	}
	c := &cutter{Writer: w, Span: within, files: map[string]string{}, done: map[string]bool{}, rows: map[string]ids{}, sets: map[string]ids{}}
	for _, t := range m.Tables {
		if filepath.Ext(t.File) != "."+Parquet {
			return fmt.Errorf("%s: %w: only datasets of Parquet files can be cut; convert the trace with --from and --to", folder, ErrOption)
		}
		c.files[t.Name] = filepath.Join(folder, t.File)
	}
	part := within.clip(trace)
	c.done[traceTable], c.done[boundsTable] = true, true
	if err := c.bounds(part); err != nil {
		return err
	}
	for _, s := range w.options.Schemas {
		if err := c.table(s); err != nil {
			return err
		}
	}
	if m.Whole == nil {
		m.Whole = &trace
	}
	if m.StartUnix != nil {
		m.StartUnix = new(*m.StartUnix + part.Start - trace.Start)
	}
	m.Start, m.End = &part.Start, &part.End
	return nil
}

// boundsTable has the span of the dataset, not of what is left.
const boundsTable = "trace_bounds"

// cutter copies the rows of a trace that reach into a span:
//   - Of a table with times, the rows that overlap it, or last until it.
//   - Of a table whose rows refer to those, the rows that only refer to some that stay, such as flows.
//   - Of a table with sets, those that rows refer to, such as args.
//   - All rows of all other tables, such as threads and tracks.
type cutter struct {
	*Writer
	Span
	files map[string]string
	done  map[string]bool
	rows  map[string]ids // of each table that may lose some: the ids of those that stay
	sets  map[string]ids // of each table with sets: those that rows refer to
}

// bounds writes the table trace_bounds.
func (c *cutter) bounds(part Span) error {
	if c.files[boundsTable] == "" {
		return nil
	}
	var tables struct{ TraceBounds schema.TraceBounds }
	set := table.NewSet(&tables, table.NewStringPool(), 0, c.Writer, table.Parking{})
	row := tables.TraceBounds.Append()
	tables.TraceBounds.StartTS.Set(row, part.Start)
	tables.TraceBounds.EndTS.Set(row, part.End)
	set.Finish()
	return set.Err()
}

// table copies a table, after those that decide which rows stay.
func (c *cutter) table(s *table.Schema) error {
	if c.done[s.Name] {
		return nil
	}
	c.done[s.Name] = true
	timed := slices.ContainsFunc(s.Columns, func(c table.Column) bool { return c.Time })
	for _, other := range c.options.Schemas {
		refersTo := slices.ContainsFunc(other.Columns, func(c table.Column) bool { return c.Set == s.Name })
		refersFrom := !timed && slices.ContainsFunc(s.Columns, func(c table.Column) bool { return c.Ref == other.Name })
		if refersTo || refersFrom {
			if err := c.table(other); err != nil {
				return err
			}
		}
	}
	path, ok := c.files[s.Name]
	if !ok {
		return nil
	}
	err := c.copy(s, path)
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return err
}

// copy copies the rows of a file.
func (c *cutter) copy(s *table.Schema, path string) error {
	reader, err := parquet.Open(path)
	if err != nil {
		return err
	}
	defer reader.Close()
	if n := reader.MetaData().Schema.NumColumns(); n != len(s.Columns) {
		return fmt.Errorf("%d columns instead of %d", n, len(s.Columns))
	}
	t := &tableCutter{cutter: c, schema: s, to: c.outputs[s.Name], pending: table.NewBuilder(s, 0)}
	if err := t.plan(reader); err != nil {
		return err
	}
	for i := range reader.NumRowGroups() {
		if err := c.failure(); err != nil {
			return err
		}
		if err := t.group(parquet.Group(reader, i)); err != nil {
			return err
		}
	}
	return t.flush()
}

// tableCutter copies a table.
type tableCutter struct {
	*cutter
	schema  *table.Schema
	to      *output // nil if the table is not written
	most    int     // rows of a new row group
	filters []func(g *parquet.RowGroup, keep []bool) error
	kept    ids   // ids of the rows that stay, nil if all do
	row     int64 // first row of the current group
	pending *table.Builder
}

// plan finds out which rows stay.
func (t *tableCutter) plan(reader *file.Reader) error {
	time, dur := -1, -1
	for i, column := range t.schema.Columns {
		switch {
		case column.Time:
			time = i
		case column.Dur:
			dur = i
		}
	}
	for i := range reader.NumRowGroups() {
		t.most = max(t.most, int(reader.MetaData().RowGroup(i).NumRows()))
	}
	if time >= 0 {
		var lasting []int64
		if by := t.schema.Column(t.schema.Until); by >= 0 {
			var err error
			if lasting, err = t.lasting(reader, time, by); err != nil {
				return err
			}
		}
		t.filters = append(t.filters, func(g *parquet.RowGroup, keep []bool) error {
			err := t.byTime(g, keep, time, dur)
			for ; len(lasting) > 0 && lasting[0] < t.row+g.NumRows(); lasting = lasting[1:] {
				keep[lasting[0]-t.row] = true
			}
			return err
		})
	}
	for i, column := range t.schema.Columns {
		switch there, lossy := t.rows[column.Ref]; {
		case column.Set == t.schema.Name:
			t.filters = append(t.filters, func(g *parquet.RowGroup, keep []bool) error { return byID(g, i, keep, t.sets[column.Set]) })
		case time < 0 && lossy && column.Ref != t.schema.Name:
			t.filters = append(t.filters, func(g *parquet.RowGroup, keep []bool) error { return byID(g, i, keep, there) })
		}
	}
	if len(t.filters) > 0 {
		t.kept = ids{}
		t.rows[t.schema.Name] = t.kept
	}
	return nil
}

// byTime drops the rows that do not reach into the span.
func (t *tableCutter) byTime(g *parquet.RowGroup, keep []bool, time, dur int) error {
	if t.outside(g, time, dur) {
		clear(keep)
		return nil
	}
	ts, _, err := g.Int64s(time)
	if err != nil {
		return err
	}
	var durs []int64 // 0 for NULL
	if dur >= 0 {
		if durs, _, err = g.Int64s(dur); err != nil {
			return err
		}
	}
	for i, at := range ts {
		keep[i] = at >= t.Start && at < t.End || at < t.Start && durs != nil && (durs[i] < 0 || durs[i] > t.Start-at)
	}
	return nil
}

// outside reports whether no row of a group can reach into the span.
func (t *tableCutter) outside(g *parquet.RowGroup, time, dur int) bool {
	least, greatest, known := g.Limits(time)
	if !known || least >= t.End || greatest >= t.Start || dur < 0 {
		return known && (least >= t.End || greatest < t.Start)
	}
	shortest, longest, known := g.Limits(dur)
	return known && shortest >= 0 && longest <= t.Start-greatest
}

// lasting returns the numbers of the rows that last until the span: of those with each value of the column by, the latest one
// before it.
func (t *tableCutter) lasting(reader *file.Reader, time, by int) ([]int64, error) {
	type row struct{ ts, number int64 }
	last := map[int64]row{}
	number := int64(0)
	for i := range reader.NumRowGroups() {
		g := parquet.Group(reader, i)
		first := number
		number += g.NumRows()
		if least, _, known := g.Limits(time); known && least > t.Start {
			continue
		}
		ts, _, err := g.Int64s(time)
		if err != nil {
			return nil, err
		}
		values, _, err := g.Int64s(by)
		if err != nil {
			return nil, err
		}
		for i, at := range ts {
			if before, ok := last[values[i]]; at <= t.Start && (!ok || before.ts <= at) {
				last[values[i]] = row{at, first + int64(i)}
			}
		}
	}
	var rows []int64
	for _, r := range last {
		rows = append(rows, r.number)
	}
	slices.Sort(rows)
	return rows, nil
}

// byID drops the rows whose id in a column is not among those that stay.
func byID(g *parquet.RowGroup, column int, keep []bool, there ids) error {
	values, some, err := g.Int64s(column)
	if err != nil {
		return err
	}
	for i, id := range values {
		keep[i] = keep[i] && (some != nil && !some[i] || there.has(id))
	}
	return nil
}

// group copies the rows of a row group that stay.
func (t *tableCutter) group(g *parquet.RowGroup) error {
	keep := slices.Repeat([]bool{true}, int(g.NumRows()))
	for _, filter := range t.filters {
		if err := filter(g, keep); err != nil {
			return err
		}
		if !slices.Contains(keep, true) {
			break
		}
	}
	t.row += g.NumRows()
	rows := 0
	for _, k := range keep {
		if k {
			rows++
		}
	}
	if rows == 0 {
		return nil
	}
	if t.pending.Rows()+rows > t.most || t.pending.TextBytes() > chunkText {
		if err := t.flush(); err != nil {
			return err
		}
	}
	if err := t.note(g, keep); err != nil {
		return err
	}
	if t.to == nil {
		return nil
	}
	for i, column := range t.schema.Columns {
		if err := g.Keep(i, column.Type, keep, t.pending); err != nil {
			return fmt.Errorf("column %s: %w", column.Name, err)
		}
	}
	return nil
}

// note remembers the ids of the rows that stay, and the sets that they refer to.
func (t *tableCutter) note(g *parquet.RowGroup, keep []bool) error {
	for i, column := range t.schema.Columns {
		to := t.kept
		if column.Set != "" && column.Set != t.schema.Name {
			if t.sets[column.Set] == nil {
				t.sets[column.Set] = ids{}
			}
			to = t.sets[column.Set]
		} else if i > 0 || to == nil {
			continue
		}
		values, some, err := g.Int64s(i)
		if err != nil {
			return fmt.Errorf("column %s: %w", column.Name, err)
		}
		for row, v := range values {
			if keep[row] && (some == nil || some[row]) {
				to.add(v)
			}
		}
	}
	return nil
}

// chunkText is the number of bytes of new texts from which a chunk ends.
const chunkText = 8 << 20

// flush writes the pending rows.
func (t *tableCutter) flush() error {
	c := t.pending.Chunk()
	if c == nil {
		return nil
	}
	return t.Chunk(c)
}

// ids is a set of numbers. Those near each other take a bit each.
type ids map[int64]*[64]uint64

func (s ids) add(id int64) {
	page := s[id>>12]
	if page == nil {
		page = new([64]uint64)
		s[id>>12] = page
	}
	page[id>>6&63] |= 1 << (id & 63)
}

func (s ids) has(id int64) bool {
	page := s[id>>12]
	return page != nil && page[id>>6&63]&(1<<(id&63)) != 0
}
