package arrow

import (
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tpconvert/tpconvert/model/table"
)

// Plain writes chunks as an Arrow IPC file, one record batch per chunk, with text in place of dictionaries. So it needs no spool.
type Plain struct {
	file   *ipc.FileWriter
	schema *arrow.Schema
}

// NewPlain begins a file.
func NewPlain(w io.Writer, s *table.Schema) (*Plain, error) {
	schema := PlainSchema(s)
	file, err := ipc.NewFileWriter(w, ipc.WithSchema(schema))
	return &Plain{file, schema}, err
}

// Append adds a chunk as a record batch.
func (p *Plain) Append(c *table.Chunk) error {
	columns := make([]arrow.Array, len(c.Schema.Columns))
	for i, column := range c.Schema.Columns {
		if column.Type == table.TypeString {
			columns[i] = blobs(texts{array.NewStringBuilder(memory.DefaultAllocator)}, c, i)
		} else {
			columns[i] = values(c, i)
		}
	}
	return writeBatch(p.file, p.schema, columns, c.Rows)
}

// Close ends the file.
func (p *Plain) Close() error { return p.file.Close() }

// texts takes texts as bytes.
type texts struct{ *array.StringBuilder }

// Append adds a text.
func (t texts) Append(b []byte) { t.BinaryBuilder.Append(b) }
