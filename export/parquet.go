package export

import (
	"fmt"
	"io"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/tpconvert/tpconvert/model/table"
)

// parquetFile writes a table as Parquet, a chunk a row group. It drives the
// column writers itself, which is faster than going through Arrow records:
// NULLs are left out before encoding and text arrives as dictionary indices.
type parquetFile struct {
	w *file.Writer
}

var parquetTypes = [...]parquet.Type{
	table.TypeInt64:   parquet.Types.Int64,
	table.TypeInt32:   parquet.Types.Int32,
	table.TypeFloat64: parquet.Types.Double,
	table.TypeBool:    parquet.Types.Boolean,
	table.TypeString:  parquet.Types.ByteArray,
}

var codecs = map[string]compress.Compression{
	"zstd": compress.Codecs.Zstd, "gzip": compress.Codecs.Gzip,
	"snappy": compress.Codecs.Snappy, "none": compress.Codecs.Uncompressed,
}

// defaultZstdLevel costs half the time of level 3 for a few percent of size.
const defaultZstdLevel = 1

func newParquetFile(w io.Writer, s *table.Schema, o *Options) (encoder, error) {
	fields := make(schema.FieldList, len(s.Columns))
	level := o.Compression.level
	if level == 0 && o.Compression.codec == "zstd" {
		level = defaultZstdLevel
	}
	properties := []parquet.WriterProperty{
		parquet.WithCreatedBy("tpconvert " + o.Version),
		parquet.WithCompression(codecs[o.Compression.codec]),
		parquet.WithPageIndexEnabled(true),
		parquet.WithSortingColumns([]parquet.SortingColumn{{ColumnIdx: 0}}),
		parquet.WithBatchSize(16 << 10),
	}
	if level != 0 {
		properties = append(properties, parquet.WithCompressionLevel(level))
	}
	for i, c := range s.Columns {
		repetition := parquet.Repetitions.Required
		if c.Nullable {
			repetition = parquet.Repetitions.Optional
		}
		var logical schema.LogicalType = schema.NoLogicalType{}
		if c.Type == table.TypeString {
			logical = schema.StringLogicalType{}
		}
		var err error
		fields[i], err = schema.NewPrimitiveNodeLogical(c.Name, repetition, logical, parquetTypes[c.Type], -1, int32(c.Field))
		if err != nil {
			return nil, err
		}
		if c.Type == table.TypeInt64 || c.Type == table.TypeInt32 {
			properties = append(properties,
				parquet.WithDictionaryFor(c.Name, false),
				parquet.WithEncodingFor(c.Name, parquet.Encodings.DeltaBinaryPacked))
		}
	}
	root, err := schema.NewGroupNode("schema", parquet.Repetitions.Required, fields, -1)
	if err != nil {
		return nil, err
	}
	pw, err := file.NewParquetWriterWithError(w, root, file.WithWriterProps(parquet.NewWriterProperties(properties...)))
	if err != nil {
		return nil, err
	}
	for _, kv := range fileMetadata(o) {
		if err := pw.AppendKeyValueMetadata(kv[0], kv[1]); err != nil {
			return nil, err
		}
	}
	return &parquetFile{pw}, nil
}

// fileMetadata is what every file says of itself, besides its trace.
func fileMetadata(o *Options) [][2]string {
	return [][2]string{
		{"tpconvert.schema_version", strconv.Itoa(table.SchemaVersion)},
		{"tpconvert.version", o.Version},
	}
}

const traceIDKey = "tpconvert.trace_id"

func (p *parquetFile) write(c *table.Chunk, s *scratch) error {
	group, err := p.w.AppendRowGroupChecked()
	if err != nil {
		return err
	}
	for i, column := range c.Schema.Columns {
		to, err := group.NextColumn()
		if err != nil {
			return err
		}
		if err := writeColumn(to, c, i, s); err != nil {
			return fmt.Errorf("column %s: %w", column.Name, err)
		}
	}
	return group.Close()
}

func (p *parquetFile) close(traceID string, _ *scratch) error {
	if err := p.w.AppendKeyValueMetadata(traceIDKey, traceID); err != nil {
		return err
	}
	return p.w.Close()
}

func writeColumn(to file.ColumnChunkWriter, c *table.Chunk, i int, s *scratch) error {
	column, v := &c.Schema.Columns[i], c.Column(i)
	if column.Row {
		v.Values = s.rowIDs(c.Base, c.Rows)
	}
	switch column.Type {
	case table.TypeInt64:
		return writeValues(to, column, v, c.Rows, s, &s.int64s)
	case table.TypeInt32:
		return writeValues(to, column, v, c.Rows, s, &s.int32s)
	case table.TypeFloat64:
		return writeValues(to, column, v, c.Rows, s, &s.float64s)
	case table.TypeBool:
		return writeValues(to, column, v, c.Rows, s, &s.bools)
	default:
		return writeText(to, c, v, s)
	}
}

func writeValues[T any](to file.ColumnChunkWriter, column *table.Column, v table.Vector, rows int, s *scratch, spare *[]T) error {
	values, _ := v.Values.([]T)
	var levels []int16
	if column.Nullable {
		levels = s.definitionLevels(v.Valid, rows)
		if values != nil {
			values = compact(spare, values, v.Valid)
		}
	}
	_, err := to.(interface {
		WriteBatch(values []T, definition, repetition []int16) (int64, error)
	}).WriteBatch(values, levels, nil)
	return err
}

// writeText hands a column of text to the column writer as a dictionary and
// indices, which spares it hashing every value.
func writeText(to file.ColumnChunkWriter, c *table.Chunk, v table.Vector, s *scratch) error {
	ids, _ := v.Values.([]table.StringID)
	if ids == nil {
		_, err := to.(*file.ByteArrayColumnChunkWriter).WriteBatch(nil, s.definitionLevels(nil, c.Rows), nil)
		return err
	}
	indices, valid := grow(&s.indices, c.Rows), grow(&s.valid, (c.Rows+7)/8)
	s.words.reset()
	count := s.words.encode(ids, c.Strings, indices, valid)
	words, err := texts(s.words.words, c.Strings)
	if err != nil {
		return err
	}
	defer words.Release()
	if err := to.CurrentEncoder().(interface{ PutDictionary(arrow.Array) error }).PutDictionary(words); err != nil {
		return err
	}
	statistics := to.PageStatistics()
	statistics.IncNulls(int64(c.Rows - count))
	statistics.IncNumValues(int64(count))
	if err := statistics.UpdateFromArrow(words, false); err != nil {
		return err
	}
	array := wrap(arrow.PrimitiveTypes.Int32, c.Rows, c.Rows-count, valid, arrow.Int32Traits.CastToBytes(indices))
	defer array.Release()
	return to.WriteDictIndices(array, s.definitionLevels(valid, c.Rows), nil)
}
