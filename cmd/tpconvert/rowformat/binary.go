package rowformat

import (
	"errors"
	"io"
	"math/big"

	"github.com/tpconvert/tpconvert/export/arrow"
	"github.com/tpconvert/tpconvert/export/parquet"
	"github.com/tpconvert/tpconvert/model/table"
	"github.com/tpconvert/tpconvert/sqlfuncs/session"
)

// columnTypes are the types of columns in Parquet and Arrow files.
var columnTypes = map[session.Kind]table.Type{
	session.Integer: table.TypeInt64,
	session.Huge:    table.TypeFloat64,
	session.Real:    table.TypeFloat64,
	session.Bool:    table.TypeBool,
	session.Bytes:   table.TypeBytes,
	session.Text:    table.TypeString,
	session.Variant: table.TypeString,
	session.Nested:  table.TypeString,
}

// chunkFile is a file of chunks, each of which becomes a row group or a batch.
type chunkFile interface {
	Append(*table.Chunk) error
	Close() error
}

// chunkWriter writes rows as chunks.
type chunkWriter struct {
	file    chunkFile
	columns []table.Column
	rows    *table.Builder
}

func newChunkWriter(out io.Writer, columns []session.Column, open func(io.Writer, *table.Schema) (chunkFile, error)) (*chunkWriter, error) {
	var all []table.Column
	for _, c := range columns {
		all = append(all, table.Column{Field: -1, Name: c.Name, Type: columnTypes[c.Kind], Nullable: true})
	}
	s := &table.Schema{Columns: all}
	file, err := open(out, s)
	if err != nil {
		return nil, err
	}
	return &chunkWriter{file, all, table.NewBuilder(s, table.DefaultChunkRows)}, nil
}

func arrowFile(out io.Writer, s *table.Schema) (chunkFile, error) { return arrow.NewPlain(out, s) }

// parquetFile writes chunks to a Parquet file.
type parquetFile struct {
	out     io.Writer
	schema  *table.Schema
	file    *parquet.File // nil before the first chunk
	scratch parquet.Scratch
}

func newParquetFile(out io.Writer, s *table.Schema) (chunkFile, error) {
	return &parquetFile{out: out, schema: s}, nil
}

// open begins the file, for whose encodings the first chunk tells, or nil if there are no rows.
func (p *parquetFile) open(first *table.Chunk) error {
	if p.file != nil {
		return nil
	}
	codec, err := parquet.NewCodec("zstd", 0)
	if err != nil {
		return err
	}
	pandas := arrow.PandasMetadata(arrow.PlainSchema(p.schema).Fields())
	p.file, err = parquet.New(p.out, p.schema, parquet.Options{CreatedBy: "tpconvert", Codec: codec, Metadata: [][2]string{pandas}, Unsorted: true}, first)
	return err
}

func (p *parquetFile) Append(c *table.Chunk) error {
	if err := p.open(c); err != nil {
		return err
	}
	if err := p.file.Encode(c, &p.scratch); err != nil {
		return err
	}
	return p.file.Append(c, &p.scratch)
}

func (p *parquetFile) Close() error {
	if err := p.open(nil); err != nil {
		return err
	}
	return p.file.Close()
}

func (w *chunkWriter) Row(values []any) error {
	for i, v := range values {
		w.add(i, v)
	}
	if w.rows.Full() {
		return w.file.Append(w.rows.Chunk())
	}
	return nil
}

// add adds a value to a column, or NULL if it is not of the column's type.
func (w *chunkWriter) add(i int, v any) {
	if w.columns[i].Type == table.TypeFloat64 {
		switch n := v.(type) {
		case *big.Int:
			v, _ = new(big.Float).SetInt(n).Float64()
		case int64:
			v = float64(n)
		}
	}
	switch w.columns[i].Type {
	case table.TypeInt64:
		put(w, i, v, w.rows.Int)
	case table.TypeFloat64:
		put(w, i, v, w.rows.Float)
	case table.TypeBool:
		put(w, i, v, w.rows.Bool)
	case table.TypeBytes:
		put(w, i, v, w.rows.Bytes)
	default:
		if v != nil {
			v = cellText(v)
		}
		put(w, i, v, w.rows.Text)
	}
}

func put[T any](w *chunkWriter, i int, v any, add func(int, T)) {
	if value, ok := v.(T); ok {
		add(i, value)
	} else {
		w.rows.Null(i)
	}
}

func (w *chunkWriter) End() error {
	var err error
	if c := w.rows.Chunk(); c != nil {
		err = w.file.Append(c)
	}
	return errors.Join(err, w.file.Close())
}
