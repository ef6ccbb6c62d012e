package parquet

import (
	"compress/gzip"
	"encoding/binary"

	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/klauspost/compress/zstd"
)

// Codec compresses pages.
type Codec struct {
	compress.Codec
	name  compress.Compression
	level int
}

var codecs = map[string]compress.Compression{
	"zstd": compress.Codecs.Zstd, "gzip": compress.Codecs.Gzip,
	"snappy": compress.Codecs.Snappy, "none": compress.Codecs.Uncompressed,
}

// defaultZstdLevel makes slice files 1 % larger than level 3 does, but writes
// them a quarter faster.
const defaultZstdLevel = 1

// NewCodec returns a codec by its name: zstd, gzip, snappy or none. Level 0 is the default.
func NewCodec(called string, level int) (Codec, error) {
	name := codecs[called]
	if level == 0 {
		level = compress.DefaultCompressionLevel
		if name == compress.Codecs.Zstd {
			level = defaultZstdLevel
		}
	}
	implementation, err := compress.GetCodec(name)
	return Codec{implementation, name, level}, err
}

// compress returns the compressed page, in memory that the next call reuses. A dense page
// is only framed, if the codec supports it.
func (s *Scratch) compress(page []byte, dense bool) []byte {
	c, level := s.codec, s.codec.level
	switch {
	case c.name == compress.Codecs.Uncompressed:
		return page
	case dense && c.name == compress.Codecs.Zstd:
		s.packed = appendStored(s.packed[:0], page)
		return s.packed
	case c.name == compress.Codecs.Zstd:
		if s.zstd == nil {
			s.zstd = newZstdEncoder(level)
		}
		s.packed = s.zstd.EncodeAll(page, s.packed[:0])
		return s.packed
	case dense && c.name == compress.Codecs.Gzip:
		level = gzip.NoCompression
	}
	return c.EncodeLevel(grow(&s.packed, int(c.CompressBound(int64(len(page))))), page, level)
}

// zstdWindow is the number of bytes in which an encoder finds repetitions. An encoder takes twice
// as much memory. Pages are rarely larger.
const zstdWindow = 1 << 20

func newZstdEncoder(level int) *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.EncoderLevelFromZstd(level)), zstd.WithWindowSize(zstdWindow),
		zstd.WithEncoderConcurrency(1), zstd.WithAllLitEntropyCompression(true))
	if err != nil {
		panic(err) // the options are valid
	}
	return e
}

// isDense reports whether compression hardly makes a page smaller, as is usual
// for data that is bit-packed already. Small pages do not count as dense.
func isDense(page, compressed []byte) bool {
	return len(page) >= 4<<10 && len(compressed) > len(page)-len(page)/16
}

// appendStored appends a Zstandard frame (RFC 8878) of raw blocks.
func appendStored(to, content []byte) []byte {
	const magic, singleSegmentOf32Bits = 0xfd2fb528, 0xa0
	const maxBlock, rawBlock, last = 128 << 10, 0 << 1, 1
	to = binary.LittleEndian.AppendUint32(to, magic)
	to = append(to, singleSegmentOf32Bits)
	to = binary.LittleEndian.AppendUint32(to, uint32(len(content)))
	for {
		n := min(len(content), maxBlock)
		header := rawBlock | n<<3
		if n == len(content) {
			header |= last
		}
		to = append(to, byte(header), byte(header>>8), byte(header>>16))
		to = append(to, content[:n]...)
		if content = content[n:]; len(content) == 0 {
			return to
		}
	}
}
