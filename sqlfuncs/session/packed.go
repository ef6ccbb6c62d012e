package session

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/tpconvert/tpconvert/export"
	"github.com/tpconvert/tpconvert/model/schema"
	"github.com/tpconvert/tpconvert/model/table"
	"github.com/tpconvert/tpconvert/sqlfuncs"
	"github.com/tpconvert/tpconvert/sqlfuncs/dataframe"
	"github.com/tpconvert/tpconvert/sqlfuncs/perfettosql/tables"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqltext"
)

// packedTables are tables with the rows of many traces and the column trace_id, as a fleet has them. In their folder, the
// files of a table are TABLE.parquet, or in TABLE/ or TABLE/data/, or those that a fleet's list names. In a file, the rows of a trace are together.
type packedTables struct {
	folder  string // absolute, with slashes
	files   []packedFile
	traces  map[string][]packedRows
	metrics map[string]string // what the ledger says of those of a trace
	whole   map[string]bool   // columns of metrics with integers only
	facts   string            // selects the rows of the table trace in DuckDB; "" if it has no files
}

type packedFile struct {
	table, path string
	lacks       string // what selects NULL for columns that other files of the table have
}

// packedRows are the rows of a trace in a file.
type packedRows struct{ file, from, to int }

const (
	factsTable    = "trace"    // a row for each trace; that of a fleet is its ledger
	metadataTable = "metadata" // every trace has rows in it
)

// MetricPrefix begins the names of a fleet's tables of metrics.
const MetricPrefix = "metric_"

// readPacked returns the packed tables in a folder, or nil if there are none.
func readPacked(ctx context.Context, folder string) (*packedTables, error) {
	absolute, err := filepath.Abs(folder)
	if err != nil {
		return nil, err
	}
	p := &packedTables{folder: filepath.ToSlash(absolute), traces: map[string][]packedRows{}, metrics: map[string]string{}, whole: map[string]bool{}}
	lake, err := export.LakeTables(absolute)
	if err != nil {
		return nil, err
	}
	for _, s := range schema.All() {
		if lake != nil {
			for _, file := range lake[s.Name] {
				p.files = append(p.files, packedFile{table: s.Name, path: file})
			}
			continue
		}
		for _, pattern := range []string{".parquet", "/*.parquet", "/data/*.parquet"} {
			found, err := fs.Glob(os.DirFS(absolute), s.Name+pattern)
			if err != nil {
				return nil, err
			}
			for _, file := range found {
				p.files = append(p.files, packedFile{table: s.Name, path: path.Join(p.folder, file)})
			}
		}
	}
	if len(p.files) == 0 {
		return nil, nil
	}
	for name, files := range lake {
		if strings.HasPrefix(name, MetricPrefix) {
			for _, file := range files {
				p.files = append(p.files, packedFile{table: name, path: file})
			}
		}
	}
	for i, f := range p.files {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		if packed, err := p.read(i); err != nil || !packed {
			return nil, inFile(f.path, err)
		}
	}
	return p, p.choose()
}

// inFile adds the path of a file to an error.
func inFile(path string, err error) error {
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return err
}

// read finds the rows of each trace in a file. It reports whether the file has the column trace_id. Its version must be readable.
func (p *packedTables) read(i int) (packed bool, err error) {
	err = withFile(p.files[i].path, func(f *tables.File, _ *dataframe.Pool) (err error) {
		packed, err = p.index(i, f)
		return err
	})
	return packed, err
}

func (p *packedTables) index(i int, f *tables.File) (packed bool, err error) {
	if !f.Has("trace_id") {
		return false, nil
	}
	// Files of other writers do not say their version.
	if text := f.Metadata(export.SchemaVersionKey); text != "" {
		if v, err := strconv.Atoi(text); err != nil || !table.Readable(v) {
			return false, fmt.Errorf("schema version %s, this tpconvert reads %d and %d: convert the traces again", text, table.OldestSchemaVersion, table.SchemaVersion)
		}
	}
	p.files[i].lacks = lacks(p.files[i].table, f.Has)
	ids, err := f.Texts("trace_id")
	if err != nil {
		return false, err
	}
	keep := func(row int) bool { return !ids.IsNull(row) }
	if p.files[i].table == factsTable {
		p.facts = cmp.Or(p.facts, p.selectFacts(f.Has))
		// The status of a ledger tells copies, which have the rows of another trace, and bad traces.
		if f.Has("status") {
			status, err := f.Texts("status")
			if err != nil {
				return false, err
			}
			keep = func(row int) bool { return !ids.IsNull(row) && status.Text(row) == "ok" }
		}
		if f.Has("metrics") {
			metrics, err := f.Texts("metrics")
			if err != nil {
				return false, err
			}
			for row := range f.Len() {
				if keep(row) && !metrics.IsNull(row) {
					p.metrics[strings.Clone(ids.Text(row))] = strings.Clone(metrics.Text(row))
				}
			}
		}
	}
	for row := 0; row < f.Len(); {
		from := row
		for row < f.Len() && keep(row) && ids.TextID(row) == ids.TextID(from) {
			row++
		}
		if row == from {
			row++
			continue
		}
		id := strings.Clone(ids.Text(from))
		all := p.traces[id]
		if n := len(all); n > 0 && all[n-1].file == i {
			return false, fmt.Errorf("the rows of the trace %s are not together: sort the file by trace_id", id)
		}
		p.traces[id] = append(all, packedRows{i, from, row})
	}
	return true, nil
}

// selectFacts returns DuckDB's query for the rows of the table trace. A ledger has other columns, and lacks some.
func (p *packedTables) selectFacts(has func(column string) bool) string {
	var files []string
	for _, f := range p.files {
		if f.table == factsTable {
			files = append(files, f.quoted())
		}
	}
	query := "SELECT *" + lacks(factsTable, has)
	query += fmt.Sprintf(" FROM read_parquet([%s]) WHERE trace_id IS NOT NULL", strings.Join(files, ", "))
	if has("status") {
		query += " AND status = 'ok'"
	}
	return query
}

// lacks returns what selects NULL for the columns of a table that a file does not have.
func lacks(name string, has func(column string) bool) (columns string) {
	all := schema.All()
	at := slices.IndexFunc(all, func(s *table.Schema) bool { return s.Name == name })
	if at < 0 { // of metrics
		return ""
	}
	for _, c := range all[at].Columns {
		if !has(c.Name) {
			columns += fmt.Sprintf(", NULL::%s AS %s", sqlfuncs.TypeOf(c), c.Name)
		}
	}
	return columns
}

// choose keeps the traces that the table trace names: a fleet may have files of others, because an attempt was never
// committed. It is an error if a trace has too few files, or two of a table, because some are superseded.
func (p *packedTables) choose() error {
	for id, rows := range p.traces {
		ofTable := map[string]string{}
		for _, r := range rows {
			f := p.files[r.file]
			if other, twice := ofTable[f.table]; twice {
				return fmt.Errorf("the table %s has the trace %s twice, in %s and %s: only one of them is current", f.table, id, other, f.path)
			}
			ofTable[f.table] = f.path
		}
		if p.facts != "" && ofTable[factsTable] == "" {
			delete(p.traces, id)
			continue
		}
		if ofTable[metadataTable] == "" {
			return fmt.Errorf("%s has no rows of the table %s for the trace %s: files are missing", p.folder, metadataTable, id)
		}
	}
	return nil
}

func (p *packedTables) ids() []string { return slices.Sorted(maps.Keys(p.traces)) }

// opener opens the files with rows of a trace.
func (p *packedTables) opener(id string) tables.Opener {
	return func(table string, pool *dataframe.Pool) ([]tables.Rows, error) {
		for _, r := range p.traces[id] {
			if f := p.files[r.file]; f.table == table {
				file, err := os.Open(f.path)
				if err != nil {
					return nil, err
				}
				rows, err := tables.OpenFile(file, pool)
				if err != nil {
					return nil, err
				}
				rows.Slice(r.from, r.to)
				return []tables.Rows{rows}, nil
			}
		}
		return nil, nil
	}
}

// Digests returns the digests of the specs whose metrics a fleet has of a trace.
func (t *Traces) Digests(id string) []string {
	if t.packed == nil {
		return nil
	}
	byName := map[string]string{}
	if err := json.Unmarshal([]byte(t.packed.metrics[id]), &byName); err != nil {
		return nil
	}
	return slices.Collect(maps.Values(byName)) // a failed spec has an error after its digest
}

// Metrics returns columns of the rows that a fleet's table of metrics has of a trace.
func (t *Traces) Metrics(id, table string, columns []Column) (rows [][]any, err error) {
	pool := dataframe.NewPool()
	defer pool.Free()
	parts, err := t.packed.opener(id)(table, pool)
	if err != nil {
		return nil, err
	}
	for _, part := range parts {
		defer func() { err = errors.Join(err, part.Close()) }()
		first := len(rows)
		for range part.Len() {
			rows = append(rows, make([]any, len(columns)))
		}
		for i, c := range columns {
			values := dataframe.NewValues(storedKinds[c.Kind])
			if err := part.Read(c.Name, part.Len(), values); err != nil {
				return nil, fmt.Errorf("table %s: %w", table, err)
			}
			for row, r := 0, values.Reader(pool); row < part.Len(); row++ {
				if r.IsNull(row) {
					continue
				}
				switch v := &rows[first+row][i]; c.Kind {
				case Text:
					*v = strings.Clone(r.Text(row))
				case Integer:
					*v = r.Int(row)
				case Bool:
					*v = r.Int(row) != 0
				default:
					*v = r.Float(row)
				}
			}
		}
	}
	return rows, nil
}

// Whole reports whether all numbers in a column of a fleet's table of metrics are integers.
func (t *Traces) Whole(table, column string) (whole bool, err error) {
	name := table + "." + column
	if known, there := t.packed.whole[name]; there {
		return known, nil
	}
	whole = true
	for _, f := range t.packed.files {
		if f.table != table || !whole {
			continue
		}
		if whole, err = wholeIn(f.path, column); err != nil {
			return false, inFile(f.path, err)
		}
	}
	t.packed.whole[name] = whole
	return whole, nil
}

// wholeIn reports whether all numbers in a column of a file are integers.
func wholeIn(path, column string) (whole bool, err error) {
	err = withFile(path, func(f *tables.File, pool *dataframe.Pool) error {
		whole = true
		if !f.Has(column) { // it is older than the column
			return nil
		}
		values := dataframe.NewValues(dataframe.Real)
		if err := f.Read(column, f.Len(), values); err != nil {
			return err
		}
		for row, r := 0, values.Reader(pool); row < f.Len() && whole; row++ {
			v := r.Float(row)
			whole = r.IsNull(row) || v == math.Trunc(v) && math.Abs(v) <= 1<<53
		}
		return nil
	})
	return whole, err
}

// withFile calls do with a file, whose texts are in the pool.
func withFile(path string, do func(*tables.File, *dataframe.Pool) error) error {
	r, err := os.Open(path)
	if err != nil {
		return err
	}
	pool := dataframe.NewPool()
	defer pool.Free()
	f, err := tables.OpenFile(r, pool)
	if err != nil {
		return err
	}
	return errors.Join(do(f, pool), f.Close())
}

var storedKinds = map[Kind]dataframe.Kind{Text: dataframe.Text, Integer: dataframe.Integer, Bool: dataframe.Integer, Real: dataframe.Real}

// dataset returns the rows of a trace for DuckDB.
func (p *packedTables) dataset(id string) sqlfuncs.Dataset {
	d := sqlfuncs.Dataset{Path: p.folder, TraceID: id, Rows: map[string]string{}}
	for _, r := range p.traces[id] {
		f := p.files[r.file]
		d.Tables = append(d.Tables, f.table)
		d.Rows[f.table] = fmt.Sprintf("(SELECT *%s FROM read_parquet(%s)) WHERE trace_id = %s", f.lacks, f.quoted(), sqltext.QuoteText(id))
		if f.table == factsTable {
			d.Rows[factsTable] = fmt.Sprintf("(%s AND trace_id = %s)", p.facts, sqltext.QuoteText(id))
		}
	}
	return d
}

func (f packedFile) quoted() string { return sqltext.QuoteText(sqlfuncs.PathPattern(f.path)) }
