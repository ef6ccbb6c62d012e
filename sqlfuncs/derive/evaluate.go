package derive

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/tpconvert/tpconvert/sqlfuncs/session"
)

// Annotation is a row of the table annotation.
type Annotation struct {
	SliceID          int64
	Name, Text, Link string
}

// Alert is a row of the table alert. Times are in ns of the trace clock; what is not known is nil.
type Alert struct {
	TS, Dur             *int64
	Level, Name, Text   string
	SliceID, UTID, UPID *int64
}

// Rows are the rows of definitions.
type Rows struct {
	Events      []eventRows
	Annotations []Annotation
	Alerts      []Alert
}

// Evaluator runs definitions on a trace. What it asks itself, it asks in PerfettoSQL, which is always there.
type Evaluator struct {
	// Open opens the trace for SQL of Trace Processor, or for that of DuckDB.
	Open func(ctx context.Context, perfetto bool) (*session.Session, error)

	sessions map[string]*session.Session // by dialect
	last     map[string]int64            // greatest id of each table that rows may refer to
}

// Close closes the sessions.
func (e *Evaluator) Close() (err error) {
	for _, s := range e.sessions {
		err = errors.Join(err, s.Close())
	}
	return err
}

// session returns a session without objects of other definitions.
func (e *Evaluator) session(ctx context.Context, dialect string) (*session.Session, error) {
	if s := e.sessions[dialect]; s != nil {
		return s, s.Restore(ctx)
	}
	s, err := e.Open(ctx, dialect == perfetto)
	if err != nil {
		return nil, err
	}
	if e.sessions == nil {
		e.sessions = map[string]*session.Session{}
	}
	e.sessions[dialect] = s
	return s, nil
}

// integers returns the first row of a query by column. NULL is -1.
func integers(ctx context.Context, s *session.Session, query string) (map[string]int64, error) {
	all := map[string]int64{}
	err := s.Each(ctx, query, func(q *session.Query) error {
		return q.Each(ctx, func(values []any) error {
			for i, c := range q.Columns {
				all[c.Name] = -1
				if n, ok := values[i].(int64); ok {
					all[c.Name] = n
				}
			}
			return nil
		})
	})
	return all, err
}

// Evaluate runs a definition, adds its rows to to and sets their number in d. Nothing is added if it fails.
func (e *Evaluator) Evaluate(ctx context.Context, d *Definition, to *Rows) error {
	if e.last == nil {
		s, err := e.session(ctx, perfetto)
		if err != nil {
			return err
		}
		e.last, err = integers(ctx, s, `SELECT (SELECT max(id) FROM slice) AS slice, (SELECT max(id) FROM thread) AS thread,
			(SELECT max(id) FROM process) AS process`)
		if err != nil {
			return err
		}
	}
	s, err := e.session(ctx, d.Dialect)
	if err != nil {
		return fmt.Errorf("%s: %w", d.place, err)
	}
	var rows result
	err = s.Each(ctx, d.Query, func(q *session.Query) error {
		if !q.Last {
			return errors.New("only the last statement may give rows")
		}
		return rows.read(ctx, q)
	})
	if err != nil {
		return d.sqlError(err)
	}
	if rows.columns == nil {
		return fmt.Errorf("%s: the query gives no rows: it must end with a SELECT", d.place)
	}
	switch d.Kind {
	case Events:
		err = e.events(d, &rows, to)
	case Annotations:
		err = e.annotations(d, &rows, to)
	default:
		err = e.alerts(d, &rows, to)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", d.place, err)
	}
	d.Rows = int64(len(rows.values))
	return nil
}

// Alerts returns the alerts that the trace has in its table, and then those of the definitions. A definition replaces the
// earlier one of the same name.
func (e *Evaluator) Alerts(ctx context.Context, definitions []Definition) ([]Alert, error) {
	s, err := e.session(ctx, perfetto)
	if err != nil {
		return nil, err
	}
	var r result
	err = s.Each(ctx, "SELECT ts, dur, level, name, text, slice_id, utid, upid FROM alert ORDER BY id", func(q *session.Query) error { return r.read(ctx, q) })
	if err != nil {
		return nil, err
	}
	var rows Rows
	for _, row := range r.values {
		number := func(i int) *int64 {
			if v, ok := row[i].(int64); ok {
				return &v
			}
			return nil
		}
		text := func(i int) string { v, _ := row[i].(string); return v }
		if !slices.ContainsFunc(definitions, func(d Definition) bool { return d.Name == text(3) }) {
			rows.Alerts = append(rows.Alerts, Alert{number(0), number(1), text(2), text(3), text(4), number(5), number(6), number(7)})
		}
	}
	for _, d := range definitions {
		if err := e.Evaluate(ctx, &d, &rows); err != nil {
			return nil, err
		}
	}
	return rows.Alerts, nil
}

// sqlError adds the place in the file to an error of the query.
func (d *Definition) sqlError(err error) error {
	line, message := session.ErrorLine(err)
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case line == 0 || d.queryLine == 0:
		return fmt.Errorf("%s: %w", d.place, err)
	}
	return fmt.Errorf("%s:%d: %s: %s", d.file, d.queryLine+line-1, d.Name, message)
}

// result is the rows of a query.
type result struct {
	columns []session.Column
	values  [][]any
}

func (r *result) read(ctx context.Context, q *session.Query) error {
	r.columns = slices.Clone(q.Columns)
	for i := range r.columns {
		if r.columns[i].Kind == session.Huge { // the type of a sum of integers
			r.columns[i].Kind = session.Integer
		}
	}
	return q.Each(ctx, func(values []any) error {
		values = slices.Clone(values)
		for i, v := range values {
			if huge, ok := v.(*big.Int); ok {
				if !huge.IsInt64() {
					return fmt.Errorf("column %s: %s does not fit in 64 bits", r.columns[i].Name, huge)
				}
				values[i] = huge.Int64()
			}
		}
		r.values = append(r.values, values)
		return nil
	})
}

// column returns the index of a column, or -1. Its values must be of one of the kinds; a column with only NULLs may be of
// any.
func (r *result) column(name string, kinds ...session.Kind) (int, error) {
	i := slices.IndexFunc(r.columns, func(c session.Column) bool { return c.Name == name })
	if i < 0 || slices.Contains(kinds, r.columns[i].Kind) {
		return i, nil
	}
	for n, row := range r.values {
		ok := false
		switch row[i].(type) {
		case nil:
			ok = true
		case int64: // PerfettoSQL has types of values, not of columns
			ok = slices.Contains(kinds, session.Integer)
		case float64:
			ok = slices.Contains(kinds, session.Real)
		case string:
			ok = slices.Contains(kinds, session.Text)
		}
		if !ok {
			return -1, fmt.Errorf("column %s: row %d has %v, want %s", name, n+1, row[i], kindNames[kinds[0]])
		}
	}
	return i, nil
}

var kindNames = map[session.Kind]string{session.Integer: "an integer", session.Real: "a number", session.Text: "a text"}

// integers returns the values of a column of integers, nil for NULL, or nothing if there is no such column.
func (r *result) integers(name string) ([]*int64, error) {
	i, err := r.column(name, session.Integer)
	if i < 0 {
		return nil, err
	}
	all := make([]*int64, len(r.values))
	for n, row := range r.values {
		if v, ok := row[i].(int64); ok {
			all[n] = &v
		}
	}
	return all, nil
}

// references is integers for a column of ids.
func (e *Evaluator) references(r *result, column, table string) ([]*int64, error) {
	all, err := r.integers(column)
	for n, id := range all {
		if id != nil && (*id < 0 || *id > e.last[table]) {
			return nil, fmt.Errorf("column %s: row %d has %d, but the table %s has no such id", column, n+1, *id, table)
		}
	}
	return all, err
}

func at(column []*int64, row int) *int64 {
	if column == nil {
		return nil
	}
	return column[row]
}

func (e *Evaluator) annotations(d *Definition, r *result, to *Rows) error {
	ids, err := e.references(r, "slice_id", "slice")
	if err != nil {
		return err
	}
	if ids == nil && len(r.values) > 0 || !r.has("slice_id") {
		return r.missing("slice_id")
	}
	texts, err := r.expand(d.Text)
	if err != nil {
		return err
	}
	links, err := r.expand(d.Link)
	if err != nil {
		return err
	}
	var all []Annotation
	for n, id := range ids {
		if id == nil {
			return fmt.Errorf("column slice_id: row %d has NULL", n+1)
		}
		all = append(all, Annotation{*id, d.Name, texts[n], links[n]})
	}
	to.Annotations = append(to.Annotations, all...)
	return nil
}

func (e *Evaluator) alerts(d *Definition, r *result, to *Rows) error {
	ts, err := r.integers("ts")
	if err != nil {
		return err
	}
	dur, err := r.integers("dur")
	if err != nil {
		return err
	}
	ids, err := e.references(r, "slice_id", "slice")
	if err != nil {
		return err
	}
	utids, err := e.references(r, "utid", "thread")
	if err != nil {
		return err
	}
	upids, err := e.references(r, "upid", "process")
	if err != nil {
		return err
	}
	texts, err := r.expand(d.Text)
	if err != nil {
		return err
	}
	for n := range r.values {
		to.Alerts = append(to.Alerts, Alert{
			TS: at(ts, n), Dur: at(dur, n), Level: d.Level, Name: d.Name, Text: texts[n],
			SliceID: at(ids, n), UTID: at(utids, n), UPID: at(upids, n),
		})
	}
	return nil
}

func (r *result) has(name string) bool {
	return slices.ContainsFunc(r.columns, func(c session.Column) bool { return c.Name == name })
}

func (r *result) missing(name string) error {
	return fmt.Errorf("the query has no column %s, only %s", name, r.names())
}

func (r *result) names() string {
	var all []string
	for _, c := range r.columns {
		all = append(all, c.Name)
	}
	return strings.Join(all, ", ")
}

// expand returns the text of each row: {column} is replaced by its value, and {{ by {.
func (r *result) expand(template string) ([]string, error) {
	parts, err := r.parts(template)
	if err != nil {
		return nil, err
	}
	texts := make([]string, len(r.values))
	for n, row := range r.values {
		var b strings.Builder
		for _, p := range parts {
			switch {
			case p.column < 0:
				b.WriteString(p.text)
			case row[p.column] != nil:
				fmt.Fprint(&b, row[p.column])
			}
		}
		texts[n] = b.String()
	}
	return texts, nil
}

// part is a text or, if column is not -1, the value of a column.
type part struct {
	text   string
	column int
}

func (r *result) parts(template string) (parts []part, err error) {
	for rest := template; rest != ""; {
		before, after, found := strings.Cut(rest, "{")
		parts = append(parts, part{before, -1})
		switch {
		case !found:
			return parts, nil
		case strings.HasPrefix(after, "{"):
			parts, rest = append(parts, part{"{", -1}), after[1:]
			continue
		}
		var name string
		name, rest, found = strings.Cut(after, "}")
		i := slices.IndexFunc(r.columns, func(c session.Column) bool { return c.Name == name })
		if !found || i < 0 {
			return nil, fmt.Errorf("%q names {%s}, but the columns are %s", template, name, r.names())
		}
		parts = append(parts, part{column: i})
	}
	return parts, nil
}
