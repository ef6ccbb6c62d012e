package sqlfuncs

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/tpconvert/tpconvert/model/schema"
	"github.com/tpconvert/tpconvert/model/table"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqltext"
)

// Dataset is a dataset of Parquet files to register.
type Dataset struct {
	Path   string // the folder's path for DuckDB, with slashes
	Layout Layout
	Tables []string // tables with files

	Derived []string // tables that also have the rows of their derived files

	TraceID string // of the trace, if Path is its folder in a dataset of many, whose files do not have it

	Rows map[string]string // what to select the rows of a table from, if they are not all of its file

	Query func(table string) string // returns a query for the rows of a table instead of Rows, if the tables have no files

	Older bool // there are files of an older version, which lack columns

	NoComments bool // skip the comments on tables and macros, which take a third of the time
}

// Register creates all declared tables, macros and views of a dataset in an empty database. The tables are views of
// the Parquet files or, if materialize is set, hold the rows themselves. A table without a file is empty.
func Register(ctx context.Context, db *sql.Conn, d Dataset, materialize bool) error {
	c := d.catalog(materialize)
	if err := c.CreateOn(ctx, db); err != nil {
		return err
	}
	return c.CreateAll(ctx)
}

// Catalog returns the objects that Register creates without materialize, to create them later.
func (d Dataset) Catalog() *Catalog { return d.catalog(false) }

func (d Dataset) catalog(materialize bool) *Catalog {
	c := &Catalog{named: map[string][]int{}}
	c.Add(registration, fmt.Sprintf("CREATE OR REPLACE TABLE %s AS SELECT %d AS schema_version, %t AS many_traces",
		registration, table.SchemaVersion, d.Layout == ManyTraces))
	add := func(kind, name, statement, doc string) {
		if d.NoComments || doc == "" {
			c.Add(name, statement)
		} else {
			c.Add(name, statement, fmt.Sprintf("COMMENT ON %s %s IS %s", kind, sqltext.QuoteName(name), sqltext.QuoteText(doc)))
		}
	}
	for _, s := range schema.All() {
		if s.Abstract {
			continue // one of the views below
		}
		kind, rows := "VIEW", d.Empty(s)
		if materialize {
			kind = "TABLE"
		}
		if d.Query != nil {
			rows = d.Query(s.Name)
		} else if from := d.from(s); from != "" {
			rows = d.read(s, from)
		}
		add(kind, s.Name, fmt.Sprintf("CREATE OR REPLACE %s %s AS %s", kind, s.Name, rows), s.Doc)
	}
	for _, m := range Macros(d.Layout) {
		doc := m.Doc
		if m.IsHelper() {
			doc = ""
		}
		add(m.Kind, m.Name, m.SQL, doc)
	}
	return c
}

// CommentColumns adds comments to the columns of the tables that Register made. It takes twice as long as
// everything else.
func CommentColumns(ctx context.Context, db *sql.Conn) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	for _, s := range schema.All() {
		if s.Abstract {
			continue
		}
		for _, statement := range ColumnComments(s) {
			if _, err := tx.ExecContext(ctx, statement); err != nil {
				return errors.Join(fmt.Errorf("%s: %w", statement, err), tx.Rollback())
			}
		}
	}
	return tx.Commit()
}

// ColumnComments returns the statements that comment on the columns of a table.
func ColumnComments(s *table.Schema) (all []string) {
	for _, c := range s.Columns {
		all = append(all, fmt.Sprintf("COMMENT ON COLUMN %s.%s IS %s", s.Name, sqltext.QuoteName(c.Name), sqltext.QuoteText(c.Doc)))
	}
	return all
}

// registration is the table that identifies a database made by Register.
const registration = "_tpconvert"

var (
	// ErrForeign is wrapped by errors for databases that Register did not make.
	ErrForeign = errors.New("not a DuckDB file of tpconvert")
	// ErrVersion is wrapped by errors for databases with another schema version.
	ErrVersion = errors.New("made by another version of tpconvert")
)

// Registered returns the layout of a database that Register made.
func Registered(ctx context.Context, db *sql.Conn) (Layout, error) {
	var version int
	var many bool
	err := db.QueryRowContext(ctx, "SELECT schema_version, many_traces FROM "+registration).Scan(&version, &many)
	switch {
	case err != nil:
		return OneTrace, fmt.Errorf("%w: it has no table %s", ErrForeign, registration)
	case !table.Readable(version):
		return OneTrace, fmt.Errorf("%w: it has schema version %d, this tpconvert reads %d and %d", ErrVersion, version, table.OldestSchemaVersion, table.SchemaVersion)
	case many:
		return ManyTraces, nil
	}
	return OneTrace, nil
}

// read selects the rows of a table.
func (d Dataset) read(s *table.Schema, from string) string {
	var columns []string
	for _, c := range d.columns(s) {
		if c.Name == "trace_id" && d.TraceID != "" {
			columns = append(columns, sqltext.QuoteText(d.TraceID)+" AS trace_id")
			continue
		}
		columns = append(columns, sqltext.QuoteName(c.Name))
	}
	if d.Layout == ManyTraces {
		columns = append(columns, "trace_id")
	}
	return fmt.Sprintf("SELECT %s FROM %s", strings.Join(columns, ", "), from)
}

// from returns what to select the rows of a table from, or "" if it has none.
func (d Dataset) from(s *table.Schema) string {
	if rows, ok := d.Rows[s.Name]; ok {
		return rows
	}
	var folder []string
	options := ""
	if d.Layout == ManyTraces {
		folder, options = []string{"trace_id=*"}, ", hive_partitioning = true, hive_types = {trace_id: VARCHAR}"
	}
	if d.Older {
		options += ", union_by_name = true"
	}
	var files []string
	if slices.Contains(d.Tables, s.Name) {
		files = append(files, sqltext.QuoteText(d.glob(append(folder, s.Name+".parquet")...)))
	}
	if slices.Contains(d.Derived, s.Name) {
		files = append(files, sqltext.QuoteText(d.glob(append(folder, schema.DerivedFolder, s.Name+".parquet")...)))
	}
	rows := ""
	switch len(files) {
	case 0:
		return ""
	case 1:
		rows = fmt.Sprintf("read_parquet(%s%s)", files[0], options)
	default:
		rows = fmt.Sprintf("read_parquet([%s]%s)", strings.Join(files, ", "), options)
	}
	if d.Older { // columns that no file has are NULL
		rows = fmt.Sprintf("(FROM %s UNION ALL BY NAME %s)", rows, d.Empty(s))
	}
	return rows
}

// columns returns the columns in a table's files.
func (d Dataset) columns(s *table.Schema) []table.Column {
	if d.Layout == ManyTraces {
		s = s.Without("trace_id")
	}
	return s.Columns
}

// glob returns a path in the dataset for DuckDB, which treats it as a pattern.
func (d Dataset) glob(names ...string) string {
	return path.Join(append([]string{PathPattern(d.Path)}, names...)...)
}

// PathPattern returns the pattern of DuckDB that only this path matches.
func PathPattern(path string) string {
	return strings.NewReplacer("*", "[*]", "?", "[?]", "[", "[[]").Replace(path)
}

// Empty returns a query with the columns of a table and no rows.
func (d Dataset) Empty(s *table.Schema) string {
	var columns []string
	for _, c := range d.columns(s) {
		columns = append(columns, fmt.Sprintf("NULL::%s AS %s", types[c.Type], sqltext.QuoteName(c.Name)))
	}
	if d.Layout == ManyTraces {
		columns = append(columns, "NULL::VARCHAR AS trace_id")
	}
	return fmt.Sprintf("SELECT %s WHERE false", strings.Join(columns, ", "))
}

var types = map[table.Type]string{
	table.TypeInt64:   "BIGINT",
	table.TypeInt32:   "INTEGER",
	table.TypeFloat64: "DOUBLE",
	table.TypeBool:    "BOOLEAN",
	table.TypeString:  "VARCHAR",
	table.TypeBytes:   "BLOB",
}

// TypeOf returns the type of a column in DuckDB.
func TypeOf(c table.Column) string { return types[c.Type] }
