// Package parquet writes chunks of tables as Parquet files, and reads them.
package parquet

import (
	"bufio"
	"encoding/binary"
	"io"
	"slices"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/tpconvert/tpconvert/model/table"
)

// File writes a table as Parquet, one row group per chunk. It encodes the
// pages itself, a whole column at a time and several chunks in parallel;
// arrow-go writes the metadata around them.
type File struct {
	w        io.Writer
	position int64
	codec    Codec
	far      []bool // by column, whether its values are scattered
	filtered []bool // by column, whether it has bloom filters
	metadata *metadata.FileMetaDataBuilder
	index    metadata.PageIndexBuilder
	filters  metadata.FileBloomFilterBuilder
	groups   int16
}

var parquetTypes = [...]parquet.Type{
	table.TypeInt64:   parquet.Types.Int64,
	table.TypeInt32:   parquet.Types.Int32,
	table.TypeFloat64: parquet.Types.Double,
	table.TypeBool:    parquet.Types.Boolean,
	table.TypeString:  parquet.Types.ByteArray,
	table.TypeBytes:   parquet.Types.ByteArray,
}

const magic = "PAR1"

// Options are the options of a file.
type Options struct {
	CreatedBy string
	Codec     Codec
	Metadata  [][2]string // keys and values
	Filtered  []string    // columns with bloom filters
	Unsorted  bool        // the first column does not ascend
}

// New begins a file. Encodings are chosen by the type of the column
// and its values in the first chunk, which is nil for a table without rows:
//   - Integers are DELTA_BINARY_PACKED. That is the fastest, and smaller than
//     both plain and dictionaries for times, durations, ids and counts.
//   - Hashes and addresses, whose deltas are as wide as they are, and doubles
//     have a dictionary, in row groups where values repeat.
//   - Text and bytes always have a dictionary.
func New(w io.Writer, s *table.Schema, o Options, first *table.Chunk) (*File, error) {
	p := &File{w: w, codec: o.Codec, far: make([]bool, len(s.Columns)), filtered: make([]bool, len(s.Columns))}
	var err error
	fields := make(schema.FieldList, len(s.Columns))
	properties := []parquet.WriterProperty{
		parquet.WithCreatedBy(o.CreatedBy),
		parquet.WithCompression(p.codec.name),
	}
	if !o.Unsorted {
		properties = append(properties, parquet.WithSortingColumns([]parquet.SortingColumn{{ColumnIdx: 0}}))
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
		fields[i], err = schema.NewPrimitiveNodeLogical(c.Name, repetition, logical, parquetTypes[c.Type], -1, int32(c.Field))
		if err != nil {
			return nil, err
		}
		if first != nil {
			p.far[i] = scattered(first.Column(i))
			first.Drop(i)
		}
		p.filtered[i] = slices.Contains(o.Filtered, c.Name)
		properties = append(properties, parquet.WithEncodingFor(c.Name, columnEncoding(&c, p.far[i])))
	}
	root, err := schema.NewGroupNode("schema", parquet.Repetitions.Required, fields, -1)
	if err != nil {
		return nil, err
	}
	p.index.Schema = schema.NewSchema(root)
	p.metadata = metadata.NewFileMetadataBuilder(p.index.Schema, parquet.NewWriterProperties(properties...), nil)
	for _, kv := range o.Metadata {
		if err := p.metadata.AppendKeyValueMetadata(kv[0], kv[1]); err != nil {
			return nil, err
		}
	}
	_, err = p.Write([]byte(magic))
	return p, err
}

// Write writes to the file.
func (p *File) Write(b []byte) (int, error) {
	n, err := p.w.Write(b)
	p.position += int64(n)
	return n, err
}

// Tell returns the position in the file, as the page index needs it.
func (p *File) Tell() int64 { return p.position }

// Encode encodes a chunk into the scratch, for Append. Several chunks may be encoded in parallel.
func (p *File) Encode(c *table.Chunk, s *Scratch) error {
	return s.encode(c, p.far, p.filtered, p.codec)
}

// Append adds a row group to the file: the chunk that Encode put into the scratch.
func (p *File) Append(_ *table.Chunk, s *Scratch) error {
	g := &s.group
	group := p.metadata.AppendRowGroup()
	group.SetNumRows(g.rows)
	if err := p.index.AppendRowGroup(); err != nil {
		return err
	}
	for i := range g.columns {
		if err := p.describe(group.NextColumnChunk(), i, &g.columns[i]); err != nil {
			return err
		}
	}
	if err := group.Finish(0, p.groups); err != nil {
		return err
	}
	p.groups++
	filters := map[string]metadata.BloomFilterBuilder{}
	for i := range g.columns {
		if f := g.columns[i].filter; f != nil {
			filters[p.index.Schema.Column(i).Path()] = f
		}
	}
	p.filters.AppendRowGroup(group, filters)
	_, err := p.Write(g.bytes)
	return err
}

// describe fills in the metadata and the page index of the next column in the
// file.
func (p *File) describe(to *metadata.ColumnChunkMetaDataBuilder, i int, c *Column) error {
	offsets, err := p.index.GetOffsetIndexBuilder(i)
	if err != nil {
		return err
	}
	limits, err := p.index.GetColumnIndexBuilder(i)
	if err != nil {
		return err
	}
	info := metadata.ChunkMetaInfo{IndexPageOffset: -1, CompressedSize: int64(c.Size), UncompressedSize: int64(c.raw)}
	pages := c.pages
	if c.dictionary() {
		info.DictPageOffset = p.position + int64(pages[0].start)
		pages = pages[1:]
	}
	info.DataPageOffset = p.position + int64(pages[0].start)
	for _, page := range pages {
		statistics := page.bounds.statistics(page.rows - page.values)
		statistics.AllNullValue = page.values == 0
		if err := limits.AddPage(&statistics); err != nil {
			return err
		}
		if err := offsets.AddPage(p.position+int64(page.start), info.NumValues, int32(page.end-page.start)); err != nil {
			return err
		}
		info.NumValues += int64(page.rows)
	}
	if err := limits.Finish(); err != nil {
		return err
	}
	if err := offsets.Finish(0); err != nil {
		return err
	}
	statistics := c.Bounds.statistics(c.Nulls)
	statistics.Signed = to.Descr().SortOrder() == schema.SortSIGNED
	to.SetStats(statistics)
	counts := metadata.EncodingStats{DataEncodingStats: map[parquet.Encoding]int32{c.encoding: int32(len(pages))}}
	if c.dictionary() {
		counts.DictEncodingStats = map[parquet.Encoding]int32{parquet.Encodings.Plain: 1}
	}
	return to.Finish(info, c.dictionary(), false, counts)
}

// Close writes the bloom filters, the page index and the footer, with more keys and values of metadata.
func (p *File) Close(facts ...[2]string) error {
	for _, kv := range facts {
		if err := p.metadata.AppendKeyValueMetadata(kv[0], kv[1]); err != nil {
			return err
		}
	}
	buffer := bufio.NewWriter(p.w)
	p.w = buffer
	if err := p.filters.WriteTo(p); err != nil {
		return err
	}
	p.index.Finish()
	var location metadata.PageIndexLocation
	if err := p.index.WriteTo(p, &location); err != nil {
		return err
	}
	if err := p.metadata.SetPageIndexLocation(location); err != nil {
		return err
	}
	footer, err := p.metadata.Finish()
	if err != nil {
		return err
	}
	n, err := footer.WriteTo(p, nil)
	if err != nil {
		return err
	}
	if _, err := p.Write(append(binary.LittleEndian.AppendUint32(nil, uint32(n)), magic...)); err != nil {
		return err
	}
	return buffer.Flush()
}

// scattered reports whether many values differ from their predecessor by more than 32
// bits, as hashes and addresses do.
func scattered(v table.Vector) bool {
	values, _ := v.Values.([]int64)
	values = values[:min(len(values), 4096)]
	var before int64
	count, far := 0, 0
	for i, value := range values {
		if v.Valid != nil && v.Valid[i>>3]>>(i&7)&1 == 0 {
			continue
		}
		if d := value - before; count > 0 && d != int64(int32(d)) {
			far++
		}
		before = value
		count++
	}
	return far > count/8
}
