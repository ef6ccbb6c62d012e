package export

import (
	"fmt"
	"io"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"
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

// defaultZstdLevel makes files of slices 1 % larger than level 3 and writes
// them a quarter faster.
const defaultZstdLevel = 1

// newParquetFile begins a file. Encodings are chosen by the type of the column
// and its values in the first chunk, which is nil for a table without rows:
//   - Integers are DELTA_BINARY_PACKED. That is the fastest, and smaller than
//     both plain and dictionaries for times, durations, ids and counts.
//   - Hashes and addresses, whose deltas are as wide as they are, and doubles
//     have a dictionary, in row groups where values repeat.
//   - Text always has a dictionary.
func newParquetFile(w io.Writer, s *table.Schema, o *Options, first *table.Chunk) (encoder, error) {
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
		parquet.WithDictionaryDefault(false),
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
		switch {
		case c.Type == table.TypeBool:
		case c.Type == table.TypeString, c.Type == table.TypeFloat64, first != nil && scattered(first.Column(i)):
			properties = append(properties, parquet.WithDictionaryFor(c.Name, true))
		default:
			properties = append(properties, parquet.WithEncodingFor(c.Name, parquet.Encodings.DeltaBinaryPacked))
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

// dictionaryEncoder is the encoder of a column that has a dictionary, until it
// falls back to plain values.
type dictionaryEncoder interface {
	PutDictionary(arrow.Array) error
	NumEntries() int
}

func writeValues[T any](to file.ColumnChunkWriter, column *table.Column, v table.Vector, rows int, s *scratch, spare *[]T) error {
	values, _ := v.Values.([]T)
	if _, ok := to.CurrentEncoder().(dictionaryEncoder); ok && values != nil {
		if done, err := writeRepeated(to, column, v, rows, s); done || err != nil {
			return err
		}
		to.FallbackToPlain()
	}
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

// writeRepeated writes numbers with a dictionary, unless there are too many
// different ones.
func writeRepeated(to file.ColumnChunkWriter, column *table.Column, v table.Vector, rows int, s *scratch) (bool, error) {
	var bits []byte
	switch values := v.Values.(type) {
	case []int64:
		bits = arrow.Int64Traits.CastToBytes(values)
	case []float64:
		bits = arrow.Float64Traits.CastToBytes(values)
	}
	indices := grow(&s.indices, rows)
	if !s.numbers.encode(arrow.Uint64Traits.CastFromBytes(bits), v.Valid, indices, rows/4) {
		return false, nil
	}
	numbers := s.numbers.values
	words := wrap(arrowTypes[column.Type], len(numbers), 0, nil, arrow.Uint64Traits.CastToBytes(numbers))
	defer words.Release()
	return writeIndices(to, words, indices, v.Valid, s)
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
	s.words.encode(ids, c.Strings, indices, valid)
	words, err := texts(s.words.words, c.Strings)
	if err != nil {
		return err
	}
	defer words.Release()
	_, err = writeIndices(to, words, indices, valid, s)
	return err
}

// writeIndices writes a column as a dictionary and indices into it. It reports
// whether it did: values that the encoder takes for equal, as it does with the
// zeros of both signs, cannot be written so.
func writeIndices(to file.ColumnChunkWriter, words arrow.Array, indices []int32, valid []byte, s *scratch) (bool, error) {
	encoder := to.CurrentEncoder().(dictionaryEncoder)
	if err := encoder.PutDictionary(words); err != nil {
		return false, err
	}
	if encoder.NumEntries() != words.Len() {
		return false, nil
	}
	rows, count := len(indices), len(indices)
	var levels []int16
	if valid != nil {
		count, levels = present(valid, rows), s.definitionLevels(valid, rows)
	}
	statistics := to.PageStatistics()
	statistics.IncNulls(int64(rows - count))
	statistics.IncNumValues(int64(count))
	if text, ok := words.(*array.String); ok {
		// UpdateFromArrow overlooks empty strings, and the minimum with them.
		statistics.(*metadata.ByteArrayStatistics).UpdateFromArrowOffsets(text.ValueBytes(), text.ValueOffsets(), 0)
		statistics.IncNumValues(int64(-text.Len()))
	} else if err := statistics.UpdateFromArrow(words, false); err != nil {
		return false, err
	}
	positions := wrap(arrow.PrimitiveTypes.Int32, rows, rows-count, valid, arrow.Int32Traits.CastToBytes(indices))
	defer positions.Release()
	return true, to.WriteDictIndices(positions, levels, nil)
}
