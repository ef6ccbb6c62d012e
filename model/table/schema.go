package table

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// SchemaVersion is the version of the dataset's schema: the tables, their columns and
// their meaning.
const SchemaVersion = 3

// OldestSchemaVersion is the oldest version of datasets that can be read. Columns that they lack are NULL.
const OldestSchemaVersion = SchemaVersion - 1

// Readable reports whether datasets of a version can be read.
func Readable(version int) bool { return OldestSchemaVersion <= version && version <= SchemaVersion }

// Schema describes a table. It is derived from the table's declaration, a
// struct whose first field embeds Table, or the declaration of the parent in
// the hierarchy, and whose other fields are its columns in order:
//
//	type Flow struct {
//		Table    `tp:"flow" doc:"An arrow from one slice to another."`
//		SliceOut Ref[Slice] `tp:"2,slice_out" doc:"Where the arrow starts."`
//		...
//	}
//
// The tag of the first field names the table and has options: "held", "core", "sparse",
// "planned", "abstract", "derived", "bounds=COLUMN" and "until=COLUMN" are explained below. The
// condition of a derived table has its own tag:
//
//	Track `tp:"cpu_track,derived" where:"event_type=slice,cpu"`
//
// A column's tag gives its Parquet field id, its name and options: "null" if values can
// be absent (text and bytes always can), "asc" for values that mostly ascend, and "from=COLUMN" for the
// parent's column that a column of a derived table repeats.
type Schema struct {
	Name   string
	Parent string // table with every row of this one under the same id, or ""
	Doc    string
	Held   bool // rows are not sealed before the end because any may still change
	Core   bool // every dataset has it, even if it is empty
	Sparse bool // ids are set by SetID; they ascend but are not row numbers
	// Planned tables are part of the schema, but nothing fills them yet.
	Planned bool
	Bounds  string // column with the times covered by trace_bounds, or ""
	Until   string // rows last until the next one with the same value in this column; or ""
	// Abstract tables have neither rows of their own nor a file: their rows are those of
	// their children.
	Abstract bool
	// Derived tables repeat the parent's rows for which every condition in Where holds.
	// Nothing is appended to them. A row's column type names the last declared table
	// that contains it.
	Derived bool
	Where   []Condition
	Columns []Column
}

// Condition selects rows whose text column has one of the values or, if there are no
// values, rows whose column is not NULL.
type Condition struct {
	Column string
	Values []string
}

// Column describes one column of a table.
type Column struct {
	Field    int // Parquet field id, unique in the table and never reused
	Name     string
	Doc      string
	Type     Type
	Nullable bool
	Ref      string // table that the values refer to, or ""
	Set      string // table whose sets of rows the values number, or ""
	Time     bool   // see the type Time
	Dur      bool   // see the type Dur
	Asc      bool   // values mostly ascend
	Row      bool   // the row's id: either the first column or a copy of it
	From     string // in a derived table, the parent's column that this one repeats

	stored int // position in the table's storage, -1 for none
}

// Column returns the position of the named column, or -1.
func (s *Schema) Column(name string) int {
	for i := range s.Columns {
		if s.Columns[i].Name == name {
			return i
		}
	}
	return -1
}

// Without returns the schema without the named column, or s if it has none.
// Chunks of both have the same storage.
func (s *Schema) Without(column string) *Schema {
	i := s.Column(column)
	if i < 0 {
		return s
	}
	less := *s
	less.Columns = slices.Delete(slices.Clone(s.Columns), i, i+1)
	return &less
}

// WithColumns returns a schema of the same table with other columns. All of them have
// values of their own, even those with the row's id. NewChunk makes its chunks.
func (s *Schema) WithColumns(columns []Column) *Schema {
	other := *s
	other.Columns = slices.Clone(columns)
	for i := range other.Columns {
		other.Columns[i].Row, other.Columns[i].stored = false, i
	}
	return &other
}

// stored returns the named column's index in storage, or -1.
func (s *Schema) stored(name string) int {
	if i := s.Column(name); i >= 0 {
		return s.Columns[i].stored
	}
	return -1
}

var (
	tableType = reflect.TypeFor[Table]()
	rowIDType = reflect.TypeFor[RowID]()
)

// declare binds the columns of the table declared by v, a pointer to a declaration.
func declare(v any, chunkRows int, to *sink) *Table {
	value := reflect.ValueOf(v).Elem()
	s := schemaOf(value.Type())
	var table *Table
	columns := make([]storage, 0, len(s.Columns))
	var walk func(value reflect.Value)
	walk = func(value reflect.Value) {
		if value.Type() == tableType {
			table = value.Addr().Interface().(*Table)
			if s.Columns[0].stored == 0 {
				columns = append(columns, &table.ids)
			}
			return
		}
		walk(value.Field(0))
		for i := 1; i < value.NumField(); i++ {
			field := value.Field(i).Addr().Interface()
			if c := storageOf(field); c != nil {
				columns = append(columns, c)
			}
			if _, ok := field.(interface{ sets() reflect.Type }); ok {
				table.sets = true
			}
		}
	}
	walk(value)
	table.bind(s, chunkRows, to)
	for _, c := range s.Columns {
		if c.stored >= 0 {
			columns[c.stored].bind(table, c.stored, c.Nullable)
		}
	}
	table.columns = columns
	return table
}

// schemas has every schema derived so far, by the type of its declaration.
var schemas sync.Map

// schemaOf derives the schema from the type of a declaration, once.
func schemaOf(declaration reflect.Type) *Schema {
	if s, ok := schemas.Load(declaration); ok {
		return s.(*Schema)
	}
	s := &Schema{}
	head := declaration.Field(0)
	s.head(head)
	child := head.Type != tableType
	s.Columns = append(s.Columns, s.id(child))
	if child {
		parent := schemaOf(head.Type)
		s.Parent = parent.Name
		s.Columns = append(s.Columns, parent.Columns[1:]...)
	}
	for i := 1; i < declaration.NumField(); i++ {
		s.Columns = append(s.Columns, columnOf(declaration.Field(i)))
	}
	stored := s.Columns[0].stored + 1
	for i := range s.Columns[1:] {
		if c := &s.Columns[1+i]; !c.Row {
			c.stored = stored
			stored++
		}
	}
	first, _ := schemas.LoadOrStore(declaration, s)
	return first.(*Schema)
}

// id returns the first column. The ids of child and sparse tables are stored.
func (s *Schema) id(child bool) Column {
	id := Column{Field: 1, Name: "id", Type: TypeInt64, Asc: true, Row: true, stored: -1,
		Doc: "Number of the row, ascending in the file."}
	if child {
		id.Doc = "Id of the row here and in the parent table."
	}
	if s.Sparse {
		id.Doc = "Id of the row, ascending in the file, with gaps."
	}
	if child || s.Sparse {
		id.Row, id.stored = false, 0
	}
	return id
}

// nameOf returns the name of the table whose declaration has this first field.
func nameOf(head reflect.StructField) string {
	name, _, _ := strings.Cut(head.Tag.Get("tp"), ",")
	return name
}

// head parses the tag of a declaration's first field.
func (s *Schema) head(field reflect.StructField) {
	parts := strings.Split(field.Tag.Get("tp"), ",")
	s.Name, s.Doc = parts[0], field.Tag.Get("doc")
	for _, option := range parts[1:] {
		key, value, _ := strings.Cut(option, "=")
		switch key {
		case "held":
			s.Held = true
		case "sparse":
			s.Sparse = true
		case "core":
			s.Core = true
		case "planned":
			s.Planned = true
		case "bounds":
			s.Bounds = value
		case "until":
			s.Until = value
		case "abstract":
			s.Abstract = true
		case "derived":
			s.Derived = true
		default:
			panic(fmt.Sprintf("table: %s: unknown option %q", s.Name, option))
		}
	}
	for term := range strings.SplitSeq(field.Tag.Get("where"), ",") {
		if column, values, ok := strings.Cut(term, "="); ok {
			s.Where = append(s.Where, Condition{Column: column, Values: strings.Split(values, "|")})
		} else if column != "" {
			s.Where = append(s.Where, Condition{Column: column})
		}
	}
}

func columnOf(field reflect.StructField) Column {
	parts := strings.Split(field.Tag.Get("tp"), ",")
	number, err := strconv.Atoi(parts[0])
	if err != nil || len(parts) < 2 {
		panic(fmt.Sprintf("table: field %s: tag %q", field.Name, field.Tag))
	}
	c := Column{Field: number, Name: parts[1], Doc: field.Tag.Get("doc"), stored: -1}
	if field.Type == rowIDType {
		c.Type, c.Row, c.Asc = TypeInt64, true, true
	} else {
		values := reflect.New(field.Type).Interface()
		storage := storageOf(values)
		if storage == nil {
			panic(fmt.Sprintf("table: field %s: type %s", field.Name, field.Type))
		}
		c.Type = storage.kind()
		c.Nullable = c.Type.Interned()
		if to, ok := values.(interface{ referred() reflect.Type }); ok {
			c.Ref = nameOf(to.referred().Field(0))
		}
		switch v := values.(type) {
		case *Time:
			c.Time = true
		case *Dur:
			c.Dur = true
		case interface{ sets() reflect.Type }:
			c.Set = nameOf(v.sets().Field(0))
		}
	}
	for _, option := range parts[2:] {
		key, value, _ := strings.Cut(option, "=")
		switch key {
		case "null":
			c.Nullable = true
		case "asc":
			c.Asc = true
		case "from":
			c.From = value
		default:
			panic(fmt.Sprintf("table: field %s: unknown option %q", field.Name, option))
		}
	}
	return c
}
