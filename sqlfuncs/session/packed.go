package session

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/tpconvert/tpconvert/model/schema"
	"github.com/tpconvert/tpconvert/model/table"
	"github.com/tpconvert/tpconvert/sqlfuncs"
)

// packedTables are tables with the rows of many traces and the column trace_id, as a fleet has them. In their folder, the
// files of a table are TABLE.parquet, or in TABLE/ or TABLE/data/.
type packedTables struct {
	folder string // absolute, with slashes
	files  []packedFile
	traces map[string][]int32 // indexes of the files with rows of each trace
	facts  string             // selects the rows of the table trace; "" if it has no files
}

type packedFile struct{ table, path string }

const (
	factsTable    = "trace"    // a row for each trace; that of a fleet is its ledger
	metadataTable = "metadata" // every trace has rows in it
)

// readPacked returns the packed tables in a folder, or nil if there are none.
func readPacked(ctx context.Context, folder string) (*packedTables, error) {
	absolute, err := filepath.Abs(folder)
	if err != nil {
		return nil, err
	}
	p := &packedTables{folder: filepath.ToSlash(absolute), traces: map[string][]int32{}}
	for _, s := range schema.All() {
		for _, pattern := range []string{".parquet", "/*.parquet", "/data/*.parquet"} {
			found, err := fs.Glob(os.DirFS(absolute), s.Name+pattern)
			if err != nil {
				return nil, err
			}
			for _, file := range found {
				p.files = append(p.files, packedFile{s.Name, path.Join(p.folder, file)})
			}
		}
	}
	if len(p.files) == 0 {
		return nil, nil
	}
	db, err := OpenDatabase(ctx)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	if packed, err := p.check(ctx, db); err != nil || !packed {
		return nil, err
	}
	if err := p.index(ctx, db); err != nil {
		return nil, err
	}
	return p, p.choose(ctx, db)
}

// check reports whether all files have the column trace_id. They must be of this version.
func (p *packedTables) check(ctx context.Context, db *Database) (packed bool, err error) {
	for _, f := range p.files {
		if columns, err := db.Texts(ctx, "SELECT column_name FROM (DESCRIBE FROM "+f.rows()+")"); err != nil || !slices.Contains(columns, "trace_id") {
			return false, err
		}
		versions, err := db.Texts(ctx, "SELECT decode(value) FROM parquet_kv_metadata("+f.quoted()+") WHERE decode(key) = 'tpconvert.schema_version'")
		if err != nil {
			return false, err
		}
		for _, v := range versions { // files of other writers do not say it
			if v != strconv.Itoa(table.SchemaVersion) {
				return false, fmt.Errorf("%s has schema version %s, this tpconvert reads %d: convert the traces again", f.path, v, table.SchemaVersion)
			}
		}
	}
	return true, nil
}

// index finds the traces in each file, and the table trace.
func (p *packedTables) index(ctx context.Context, db *Database) error {
	var facts []string
	for i, f := range p.files {
		if f.table == factsTable {
			facts = append(facts, f.quoted())
			continue
		}
		ids, err := db.Texts(ctx, "SELECT DISTINCT trace_id FROM "+f.rows())
		if err != nil {
			return err
		}
		for _, id := range ids {
			p.traces[id] = append(p.traces[id], int32(i))
		}
	}
	if facts == nil {
		return nil
	}
	from := fmt.Sprintf("read_parquet([%s])", strings.Join(facts, ", "))
	columns, err := db.Texts(ctx, "SELECT column_name FROM (DESCRIBE FROM "+from+")")
	if err != nil {
		return err
	}
	p.facts = selectFacts(from, columns)
	return nil
}

// selectFacts selects the rows of the table trace. A ledger has other columns: it lacks some, and its status tells copies,
// which have the rows of another trace, and bad traces.
func selectFacts(from string, columns []string) string {
	all := schema.All()
	facts := all[slices.IndexFunc(all, func(s *table.Schema) bool { return s.Name == factsTable })]
	query := "SELECT *"
	for _, c := range facts.Columns {
		switch {
		case slices.Contains(columns, c.Name):
		case c.Type == table.TypeString:
			query += ", NULL::VARCHAR AS " + c.Name
		default:
			query += ", NULL::BIGINT AS " + c.Name
		}
	}
	query += " FROM " + from + " WHERE trace_id IS NOT NULL"
	if slices.Contains(columns, "status") {
		query += " AND status = 'ok'"
	}
	return query
}

// choose keeps the traces that the table trace names: a fleet may have files of others, because an attempt was never
// committed. It is an error if a trace has too few files, or two of a table, because some are superseded.
func (p *packedTables) choose(ctx context.Context, db *Database) error {
	ids := p.ids()
	if p.facts != "" {
		named, err := db.Texts(ctx, "SELECT DISTINCT trace_id FROM ("+p.facts+")")
		if err != nil {
			return err
		}
		ids = named
	}
	chosen := map[string][]int32{}
	for _, id := range ids {
		ofTable := map[string]string{}
		for _, i := range p.traces[id] {
			f := p.files[i]
			if other, twice := ofTable[f.table]; twice {
				return fmt.Errorf("the table %s has the trace %s twice, in %s and %s: only one of them is current", f.table, id, other, f.path)
			}
			ofTable[f.table] = f.path
		}
		if ofTable[metadataTable] == "" {
			return fmt.Errorf("%s has no rows of the table %s for the trace %s: files are missing", p.folder, metadataTable, id)
		}
		chosen[id] = p.traces[id]
	}
	p.traces = chosen
	return nil
}

func (p *packedTables) ids() []string { return slices.Sorted(maps.Keys(p.traces)) }

// dataset returns the rows of a trace.
func (p *packedTables) dataset(id string) sqlfuncs.Dataset {
	d := sqlfuncs.Dataset{Path: p.folder, TraceID: id, Rows: map[string]string{}}
	for _, i := range p.traces[id] {
		f := p.files[i]
		d.Tables = append(d.Tables, f.table)
		d.Rows[f.table] = f.rows() + " WHERE trace_id = " + Quote(id)
	}
	if p.facts != "" {
		d.Tables = append(d.Tables, factsTable)
		d.Rows[factsTable] = fmt.Sprintf("(%s AND trace_id = %s)", p.facts, Quote(id))
	}
	return d
}

// rows returns what to select the rows of a file from.
func (f packedFile) rows() string { return "read_parquet(" + f.quoted() + ")" }

func (f packedFile) quoted() string { return Quote(sqlfuncs.PathPattern(f.path)) }
