package export

import (
	"bufio"
	"fmt"
	"os"
	"unsafe"

	"github.com/tpconvert/tpconvert/export/encoding"
	"github.com/tpconvert/tpconvert/model/table"
)

// Spool keeps the rows of traces in a temporary file until they are packed. It is a table.Sink for one
// goroutine, and takes one trace at a time: Keep or Drop ends it.
type Spool struct {
	file   *os.File
	buffer *bufio.Writer
	end    int64 // of what was written
	kept   int64 // end of the last trace that was kept
	words  encoding.Dictionary
	pieces map[string][]piece // of the current trace, by table
	traces []spooledTrace
}

// spooledTrace is a trace in the spool.
type spooledTrace struct {
	id, day, attempt string
	pieces           map[string][]piece // by table
}

// piece is a chunk in the spool. Its columns follow each other in the file, each part at a multiple of eight
// bytes.
type piece struct {
	schema  *table.Schema
	base    int64
	rows    int
	offset  int64
	columns []spooledColumn
}

// spooledColumn has the sizes of the parts of a column in bytes. Text has indices as values: 0 for NULL, or
// the number of a word, from 1.
type spooledColumn struct {
	values, valid int
	lengths, text int // of words
}

func (c *spooledColumn) parts() [4]int { return [...]int{c.values, c.valid, c.lengths, c.text} }

// size is that of all parts.
func (c *spooledColumn) size() (n int) {
	for _, part := range c.parts() {
		n += padded(part)
	}
	return n
}

// divide returns the parts of the column, whose memory b begins with, and what follows it.
func (c *spooledColumn) divide(b []byte) (parts [4][]byte, rest []byte) {
	for i, n := range c.parts() {
		parts[i], b = b[:n], b[padded(n):]
	}
	return parts, b
}

// NewSpool makes a spool whose file is in dir, or in the system's temporary directory if that is "".
func NewSpool(dir string) (*Spool, error) {
	file, err := os.CreateTemp(dir, "tpconvert-pack-*")
	if err != nil {
		return nil, err
	}
	// Unlinking at once, where the system allows it, makes sure that the file is gone however the process
	// ends.
	os.Remove(file.Name())
	return &Spool{file: file, buffer: bufio.NewWriterSize(file, bufferBytes), pieces: map[string][]piece{}}, nil
}

// Close removes the spool.
func (s *Spool) Close() error {
	err := s.file.Close()
	os.Remove(s.file.Name()) // Windows removes no open file, so it is still there
	return err
}

// Keep ends the current trace, which gets this id, this day for the column trace_day, "" for NULL, and this attempt, if there is
// a column for it.
func (s *Spool) Keep(traceID, day, attempt string) error {
	if err := s.buffer.Flush(); err != nil {
		return s.failed(err)
	}
	s.traces = append(s.traces, spooledTrace{traceID, day, attempt, s.pieces})
	s.kept, s.pieces = s.end, map[string][]piece{}
	return nil
}

// Drop ends the current trace and forgets its rows.
func (s *Spool) Drop() error {
	s.buffer.Reset(s.file)
	s.end, s.pieces = s.kept, map[string][]piece{}
	if _, err := s.file.Seek(s.end, 0); err != nil {
		return s.failed(err)
	}
	if err := s.file.Truncate(s.end); err != nil {
		return s.failed(err)
	}
	return nil
}

func (s *Spool) failed(err error) error {
	return fmt.Errorf("%w the rows of traces to a temporary file: %w", ErrTarget, err)
}

// Chunk implements table.Sink.
func (s *Spool) Chunk(c *table.Chunk) error {
	defer c.Release()
	p := piece{schema: c.Schema, base: c.Base, rows: c.Rows, offset: s.end, columns: make([]spooledColumn, len(c.Schema.Columns))}
	for i := range p.columns {
		if err := s.column(&p.columns[i], c.Column(i), c.Strings); err != nil {
			return s.failed(err)
		}
	}
	s.pieces[c.Schema.Name] = append(s.pieces[c.Schema.Name], p)
	return c.Strings.Err()
}

func (s *Spool) column(to *spooledColumn, v table.Vector, view table.StringView) (err error) {
	write := func(size *int, b []byte) {
		if err == nil {
			*size = len(b)
			err = s.write(b)
		}
	}
	switch values := v.Values.(type) {
	case []int64:
		write(&to.values, memoryOf(values))
	case []int32:
		write(&to.values, memoryOf(values))
	case []float64:
		write(&to.values, memoryOf(values))
	case []bool:
		write(&to.values, memoryOf(values))
	case []table.StringID:
		s.words.Reset()
		indices := make([]int32, len(values))
		for i, id := range values {
			if id != 0 {
				indices[i] = s.words.Index(id) + 1
			}
		}
		lengths := make([]int64, len(s.words.Words))
		var text []byte
		for i, word := range s.words.Words {
			lengths[i] = int64(view.Size(word))
			text = view.Append(text, word)
		}
		write(&to.values, memoryOf(indices))
		write(&to.lengths, memoryOf(lengths))
		write(&to.text, text)
		return err
	}
	write(&to.valid, v.Valid)
	return err
}

// write appends b, and fills up to a multiple of eight bytes.
func (s *Spool) write(b []byte) error {
	var zeros [8]byte
	s.end += int64(padded(len(b)))
	if _, err := s.buffer.Write(b); err != nil {
		return err
	}
	_, err := s.buffer.Write(zeros[:padded(len(b))-len(b)])
	return err
}

func padded(n int) int { return (n + 7) &^ 7 }

// read returns the memory of a piece, using that of *space.
func (s *Spool) read(p *piece, space *[]int64) ([]byte, error) {
	size := 0
	for _, c := range p.columns {
		size += c.size()
	}
	if cap(*space) < size/8 {
		*space = make([]int64, size/8)
	}
	b := memoryOf((*space)[:size/8])
	if _, err := s.file.ReadAt(b, p.offset); err != nil {
		return nil, s.failed(err)
	}
	return b, nil
}

// rowsOf returns the number of rows of a table in some traces.
func rowsOf(table string, traces []spooledTrace) int {
	rows := 0
	for _, t := range traces {
		for i := range t.pieces[table] {
			rows += t.pieces[table][i].rows
		}
	}
	return rows
}

// memoryOf returns the memory of some values.
func memoryOf[T any](v []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*int(unsafe.Sizeof(*new(T))))
}

// valuesIn returns the values in memory that is aligned to eight bytes.
func valuesIn[T any](b []byte) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(*new(T))))
}
