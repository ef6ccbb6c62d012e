package export

import (
	"bufio"
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tpconvert/tpconvert/export/parquet"
	"github.com/tpconvert/tpconvert/export/staging"
	"github.com/tpconvert/tpconvert/model/table"
)

// bufferBytes is the size of the buffer for writing a file.
const bufferBytes = 128 << 10

// A row group of a packed file has at least packedRows rows, unless it is the last one or has packedText bytes
// of text.
const (
	packedRows = 128 << 10
	packedText = 32 << 20
)

// PackedFile is a file with a table's rows of many traces, which all began on one day.
type PackedFile struct {
	Table   string
	Day     string // as in trace_day, "" for NULL
	Path    string
	Rows    int64
	Bytes   int64
	Groups  []int64 // offsets of the row groups, bytes
	Columns []PackedColumn
}

// PackedColumn describes the values of a column in a file.
type PackedColumn struct {
	Field int   // Parquet field id
	Bytes int64 // compressed
	Nulls int64
	// Least and Greatest are bounds of the values in Parquet's plain encoding, text without its length. They
	// are nil if unknown.
	Least, Greatest []byte

	unbounded bool // the bounds of a row group with values are unknown
}

// TraceDayColumn is the second column of packed files. TraceAttemptColumn is the third one, of those that have it.
const (
	TraceDayColumn     = "trace_day"
	TraceAttemptColumn = "trace_attempt"
)

// PackedSchema returns the schema of a table in packed files: the columns trace_id and trace_day, then its own columns, with
// the field ids 1, 2 and so on. The table trace has no such schema, as it is not packed.
func PackedSchema(s *table.Schema) *table.Schema {
	columns := append([]table.Column{
		{Name: traceIDColumn, Type: table.TypeString, Doc: "Id of the trace."},
		{Name: TraceDayColumn, Type: table.TypeString, Nullable: true, Doc: "Day on which the trace began, UTC, such as 2026-11-23; that of its conversion if it does not say."},
	}, s.Columns...)
	for i := range columns {
		columns[i].Field = i + 1
	}
	return s.WithColumns(columns)
}

// WithAttempt returns a packed schema with one more column, by which rows name the attempt that made them.
func WithAttempt(s *table.Schema) *table.Schema {
	columns := slices.Insert(slices.Clone(s.Columns), 2, table.Column{Name: TraceAttemptColumn, Type: table.TypeString, Doc: "Attempt that made the row. The row counts if the ledger names it for this trace."})
	for i := range columns {
		columns[i].Field = i + 1
	}
	return s.WithColumns(columns)
}

// PackedColumns returns the number of columns that a packed schema has before those of its table.
func PackedColumns(s *table.Schema) int {
	if s.Columns[2].Name == TraceAttemptColumn {
		return 3
	}
	return 2
}

// Pack writes the rows of the traces in the spool to a file per table and day in dir, sorted by trace_id. A table
// without rows gets no file. schemas are packed schemas, possibly with other field ids.
func (s *Spool) Pack(dir string, schemas []*table.Schema, version string) ([]PackedFile, error) {
	slices.SortStableFunc(s.traces, func(a, b spooledTrace) int {
		return cmp.Or(strings.Compare(a.day, b.day), strings.Compare(a.id, b.id))
	})
	p := packer{spool: s, options: Options{Version: version, filtered: []string{traceIDColumn, "name"}}}
	if err := p.options.check(); err != nil {
		return nil, err
	}
	var files []PackedFile
	for _, schema := range schemas {
		for from, to := 0, 0; from < len(s.traces); from = to {
			day := s.traces[from].day
			for to = from; to < len(s.traces) && s.traces[to].day == day; {
				to++
			}
			file := PackedFile{Table: schema.Name, Day: day, Path: filepath.Join(dir, schema.Name+DaySuffix(day)+".parquet")}
			if err := p.table(&file, schema, s.traces[from:to]); err != nil {
				return nil, staging.Error(dir, err)
			}
			if file.Rows > 0 {
				files = append(files, file)
			}
		}
	}
	return files, nil
}

// DaySuffix returns what tells the names of the files of a day from those of others.
func DaySuffix(day string) string {
	if day == "" {
		return ""
	}
	return "-" + day
}

// packer packs one table after the other, and reuses memory.
type packer struct {
	spool   *Spool
	options Options
	scratch parquet.Scratch
	space   []int64 // memory of a piece
	rows    packedChunk
}

// table writes the file of some traces of a table.
func (p *packer) table(file *PackedFile, schema *table.Schema, traces []spooledTrace) (err error) {
	file.Columns = make([]PackedColumn, len(schema.Columns))
	for i := range schema.Columns {
		file.Columns[i].Field = schema.Columns[i].Field
	}
	var out *packedFile
	p.rows.begin(schema)
	p.rows.grow(min(rowsOf(schema.Name, traces), packedRows))
	for _, trace := range traces {
		for i := range trace.pieces[schema.Name] {
			piece := &trace.pieces[schema.Name][i]
			b, err := p.spool.read(piece, &p.space)
			if err != nil {
				return err
			}
			p.rows.add(&trace, piece, b)
			if p.rows.rows >= packedRows || p.rows.strings.Size() >= packedText {
				if out, err = p.flush(out, file); err != nil {
					return err
				}
			}
		}
	}
	if p.rows.rows > 0 {
		if out, err = p.flush(out, file); err != nil {
			return err
		}
	}
	if out != nil {
		file.Bytes, err = out.finish()
	}
	return err
}

// packedFile is a file being written.
type packedFile struct {
	*parquet.File
	file   *os.File
	buffer *bufio.Writer
}

func (f *packedFile) finish() (int64, error) {
	err := f.Close()
	return f.Tell(), errors.Join(cmp.Or(err, f.buffer.Flush()), f.file.Close())
}

// flush writes the rows so far as a row group. The first one makes the file.
func (p *packer) flush(out *packedFile, file *PackedFile) (*packedFile, error) {
	c := p.rows.chunk()
	if out == nil {
		f, err := os.Create(file.Path)
		if err != nil {
			return nil, err
		}
		out = &packedFile{file: f, buffer: bufio.NewWriterSize(f, bufferBytes)}
		options, err := p.options.parquet(c.Schema)
		if err == nil {
			out.File, err = parquet.New(out.buffer, c.Schema, options, c)
		}
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	file.Groups = append(file.Groups, out.Tell())
	if err := out.Encode(c, &p.scratch); err != nil {
		return nil, errors.Join(err, out.file.Close())
	}
	if err := out.Append(c, &p.scratch); err != nil {
		return nil, errors.Join(err, out.file.Close())
	}
	for i := range file.Columns {
		file.Columns[i].add(&p.scratch.Columns()[i], c.Rows, c.Schema.Columns[i].Type)
	}
	file.Rows += int64(c.Rows)
	p.rows.begin(c.Schema)
	return out, nil
}

// add adds the values of a row group.
func (to *PackedColumn) add(c *parquet.Column, rows int, t table.Type) {
	to.Bytes += int64(c.Size)
	to.Nulls += int64(c.Nulls)
	b := parquet.Bounds{Least: to.Least, Greatest: to.Greatest}
	b.Add(c.Bounds, t)
	if to.unbounded = to.unbounded || c.Nulls < rows && c.Bounds.Least == nil; to.unbounded {
		b = parquet.Bounds{}
	}
	to.Least, to.Greatest = b.Least, b.Greatest
}

// packedChunk collects the rows of pieces for a row group.
type packedChunk struct {
	schema  *table.Schema
	rows    int
	strings *table.StringPool
	columns []packedColumn
	words   []table.StringID // of a column of a piece, by number
}

// packedColumn holds the values of a column, in the slice of its type, and its validity bits.
type packedColumn struct {
	int64s   []int64
	int32s   []int32
	float64s []float64
	bools    []bool
	texts    []table.StringID
	valid    []byte
}

// begin drops all rows, but not their memory.
func (p *packedChunk) begin(schema *table.Schema) {
	p.schema, p.rows, p.strings = schema, 0, table.NewRawPool() // the texts were valid in their own pools
	if len(p.columns) < len(schema.Columns) {
		p.columns = append(p.columns, make([]packedColumn, len(schema.Columns)-len(p.columns))...)
	}
	for i := range p.columns {
		c := &p.columns[i]
		*c = packedColumn{c.int64s[:0], c.int32s[:0], c.float64s[:0], c.bools[:0], c.texts[:0], c.valid[:0]}
	}
}

// grow makes room for a number of rows.
func (p *packedChunk) grow(rows int) {
	for i := range p.schema.Columns {
		c := &p.columns[i]
		switch p.schema.Columns[i].Type {
		case table.TypeInt64:
			c.int64s = slices.Grow(c.int64s, rows)
		case table.TypeInt32:
			c.int32s = slices.Grow(c.int32s, rows)
		case table.TypeFloat64:
			c.float64s = slices.Grow(c.float64s, rows)
		case table.TypeBool:
			c.bools = slices.Grow(c.bools, rows)
		case table.TypeString, table.TypeBytes:
			c.texts = slices.Grow(c.texts, rows)
		}
	}
}

// add appends the rows of a piece, whose memory is b.
func (p *packedChunk) add(trace *spooledTrace, piece *piece, b []byte) {
	packed := PackedColumns(p.schema)
	for i, text := range []string{trace.id, trace.day, trace.attempt}[:packed] {
		id := table.StringID(0)
		if text != "" {
			id = p.strings.Intern(text)
		}
		to := &p.columns[i]
		for range piece.rows {
			to.texts = append(to.texts, id)
		}
	}
	for i, spooled := range piece.columns {
		var parts [4][]byte
		parts, b = spooled.divide(b)
		column, to := &piece.schema.Columns[i], &p.columns[i+packed]
		values, valid := parts[0], parts[1]
		switch {
		case column.Row:
			for n := range piece.rows {
				to.int64s = append(to.int64s, piece.base+int64(n))
			}
		case column.Type == table.TypeInt64:
			to.int64s = appendValues(to.int64s, values, piece.rows)
		case column.Type == table.TypeInt32:
			to.int32s = appendValues(to.int32s, values, piece.rows)
		case column.Type == table.TypeFloat64:
			to.float64s = appendValues(to.float64s, values, piece.rows)
		case column.Type == table.TypeBool:
			to.bools = appendValues(to.bools, values, piece.rows)
		case column.Type.Interned():
			p.texts(to, piece.rows, valuesIn[int32](values), valuesIn[int64](parts[2]), parts[3])
		}
		if column.Nullable && !column.Type.Interned() {
			to.valid = appendBits(to.valid, p.rows, piece.rows, valid)
		}
	}
	p.rows += piece.rows
}

// texts appends the words with these numbers, or NULLs if there are no numbers.
func (p *packedChunk) texts(to *packedColumn, rows int, numbers []int32, lengths []int64, text []byte) {
	if len(numbers) == 0 {
		to.texts = appendValues(to.texts, nil, rows)
		return
	}
	p.words = append(p.words[:0], 0)
	for _, n := range lengths {
		p.words = append(p.words, p.strings.InternBytes(text[:n]))
		text = text[n:]
	}
	for _, n := range numbers {
		to.texts = append(to.texts, p.words[n])
	}
}

// appendValues appends the values in memory, or as many zeros as there are rows if it has none.
func appendValues[T any](to []T, memory []byte, rows int) []T {
	if len(memory) > 0 {
		return append(to, valuesIn[T](memory)...)
	}
	to = slices.Grow(to, rows)[:len(to)+rows]
	clear(to[len(to)-rows:])
	return to
}

// appendBits appends n bits to the first has bits of to.
func appendBits(to []byte, has, n int, bits []byte) []byte {
	for len(to) < (has+n+7)/8 {
		to = append(to, 0)
	}
	if len(bits) == 0 {
		return to
	}
	at, shift := has/8, has%8
	for i := 0; i < n; i += 8 {
		b := bits[i/8]
		if n-i < 8 {
			b &= 1<<(n-i) - 1
		}
		to[at] |= b << shift
		if at++; shift > 0 && at < len(to) {
			to[at] |= b >> (8 - shift)
		}
	}
	return to
}

// chunk returns the rows, which the next call of begin invalidates.
func (p *packedChunk) chunk() *table.Chunk {
	columns := make([]table.Vector, len(p.schema.Columns))
	for i := range columns {
		c := &p.columns[i]
		switch p.schema.Columns[i].Type {
		case table.TypeInt64:
			columns[i].Values = c.int64s
		case table.TypeInt32:
			columns[i].Values = c.int32s
		case table.TypeFloat64:
			columns[i].Values = c.float64s
		case table.TypeBool:
			columns[i].Values = c.bools
		case table.TypeString, table.TypeBytes:
			columns[i].Values = c.texts
		}
		if p.schema.Columns[i].Nullable && !p.schema.Columns[i].Type.Interned() {
			columns[i].Valid = c.valid
		}
	}
	return table.NewChunk(p.schema, p.rows, columns, p.strings.View())
}
