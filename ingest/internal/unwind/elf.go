// Package unwind finds the callers of user code from a copy of its stack and its registers, by the call frame information of
// its binaries: .eh_frame or .debug_frame, as the DWARF standard and the Linux Standard Base describe them. It knows x86-64
// and arm64. Binaries may be damaged.
package unwind

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/klauspost/compress/zstd"
)

// ErrNotELF is the error for a file that is no ELF file of a known machine.
var ErrNotELF = errors.New("no ELF file of x86-64 or arm64")

const (
	maxSection  = 1 << 30 // bytes that are read of a section
	maxSections = 1 << 17
	maxNotes    = 1 << 16 // bytes that are read of notes
	maxWindow   = 64 << 20
)

// The types of sections and segments, and their flags.
const (
	sectionSymbols  = 2
	sectionNoBits   = 8
	sectionDynamic  = 11 // symbols of dynamic linking
	flagExecutable  = 4  // of a section
	flagCompressed  = 0x800
	segmentLoad     = 1
	segmentNote     = 4
	segmentEHFrame  = 0x6474e550
	segmentWritable = 2
)

// File is a binary.
type File struct {
	BuildID  []byte // nil if it has none
	machine  *machine
	in       io.ReaderAt
	size     int64
	segments []segment
	sections []section
	frames   []*frames
	symbols  *symbols // nil before the first name
	rows     map[uint64]*row
}

type segment struct {
	kind, flags                    uint32
	offset, address, size, aligned uint64
}

type section struct {
	name                          string
	kind                          uint32
	flags, address, offset, bytes uint64
	link                          uint32
}

// Open reads the headers, the build id and the call frame information of a binary. It reads symbols when a name is asked for.
func Open(in io.ReaderAt, size int64) (*File, error) {
	f := &File{in: in, size: size, rows: map[uint64]*row{}}
	head, err := f.take(0, 64)
	if err != nil || !bytes.HasPrefix(head, []byte("\x7fELF\x02\x01")) {
		return nil, ErrNotELF
	}
	le := binary.LittleEndian
	if f.machine = machines[le.Uint16(head[18:])]; f.machine == nil {
		return nil, ErrNotELF
	}
	if err := f.readSegments(le.Uint64(head[32:]), le.Uint16(head[54:]), le.Uint16(head[56:])); err != nil {
		return nil, err
	}
	if err := f.readSections(le.Uint64(head[40:]), le.Uint16(head[58:]), uint64(le.Uint16(head[60:])), uint32(le.Uint16(head[62:]))); err != nil {
		return nil, err
	}
	f.readBuildID()
	f.readFrames()
	return f, nil
}

// Same reports whether a binary is for the same machine.
func (f *File) Same(other *File) bool { return f.machine == other.machine }

// CanUnwind reports whether the binary has call frame information.
func (f *File) CanUnwind() bool { return len(f.frames) > 0 }

// take returns bytes of the file.
func (f *File) take(offset, n uint64) ([]byte, error) {
	if n > maxSection || offset > uint64(f.size) || n > uint64(f.size)-offset {
		return nil, fmt.Errorf("%d bytes at byte %d of %d", n, offset, f.size)
	}
	b := make([]byte, n)
	_, err := f.in.ReadAt(b, int64(offset))
	if err == io.EOF {
		err = nil
	}
	return b, err
}

func (f *File) readSegments(offset uint64, entry, n uint16) error {
	if n == 0 {
		return nil
	}
	if entry != 56 {
		return fmt.Errorf("program headers of %d bytes", entry)
	}
	table, err := f.take(offset, uint64(n)*uint64(entry))
	if err != nil {
		return fmt.Errorf("program headers: %w", err)
	}
	le := binary.LittleEndian
	for h := range slices.Chunk(table, int(entry)) {
		f.segments = append(f.segments, segment{kind: le.Uint32(h), flags: le.Uint32(h[4:]), offset: le.Uint64(h[8:]),
			address: le.Uint64(h[16:]), size: le.Uint64(h[32:]), aligned: le.Uint64(h[48:])})
	}
	return nil
}

func (f *File) readSections(offset uint64, entry uint16, n uint64, names uint32) error {
	if offset == 0 {
		return nil
	}
	if entry != 64 {
		return fmt.Errorf("section headers of %d bytes", entry)
	}
	le := binary.LittleEndian
	first, err := f.take(offset, 64)
	if err != nil {
		return fmt.Errorf("section headers: %w", err)
	}
	if n == 0 { // too many for the header
		n = le.Uint64(first[32:])
	}
	if names == 0xffff {
		names = le.Uint32(first[40:])
	}
	if n > maxSections {
		return fmt.Errorf("%d sections", n)
	}
	table, err := f.take(offset, n*64)
	if err != nil {
		return fmt.Errorf("section headers: %w", err)
	}
	var at []uint32 // of names
	for h := range slices.Chunk(table, 64) {
		at = append(at, le.Uint32(h))
		f.sections = append(f.sections, section{kind: le.Uint32(h[4:]), flags: le.Uint64(h[8:]), address: le.Uint64(h[16:]),
			offset: le.Uint64(h[24:]), bytes: le.Uint64(h[32:]), link: le.Uint32(h[40:])})
	}
	if uint64(names) >= n {
		return nil
	}
	texts, err := f.take(f.sections[names].offset, f.sections[names].bytes)
	if err != nil {
		return fmt.Errorf("names of sections: %w", err)
	}
	for i := range f.sections {
		f.sections[i].name = textAt(texts, at[i])
	}
	return nil
}

// textAt returns the text at an offset, up to a NUL.
func textAt(texts []byte, offset uint32) string {
	if uint64(offset) >= uint64(len(texts)) {
		return ""
	}
	text, _, _ := bytes.Cut(texts[offset:], []byte{0})
	return string(text)
}

// section returns the section with a name that has bytes, or nil.
func (f *File) section(name string) *section {
	for i, s := range f.sections {
		if s.name == name && s.kind != sectionNoBits && s.bytes > 0 {
			return &f.sections[i]
		}
	}
	return nil
}

// How a section is compressed (ELFCOMPRESS_*).
const (
	compressedZlib = 1
	compressedZstd = 2
)

// contents returns the bytes of a section, decompressed.
func (f *File) contents(s *section) ([]byte, error) {
	b, err := f.take(s.offset, s.bytes)
	if err != nil || s.flags&flagCompressed == 0 {
		return b, err
	}
	if len(b) < 24 {
		return nil, errors.New("truncated compressed section")
	}
	size := binary.LittleEndian.Uint64(b[8:])
	if size > maxSection {
		return nil, fmt.Errorf("a section of %d bytes", size)
	}
	var from io.Reader
	switch kind := binary.LittleEndian.Uint32(b); kind {
	case compressedZlib:
		from, err = zlib.NewReader(bytes.NewReader(b[24:]))
	case compressedZstd:
		var d *zstd.Decoder
		if d, err = zstd.NewReader(bytes.NewReader(b[24:]), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow)); err == nil {
			defer d.Close()
			from = d
		}
	default:
		err = fmt.Errorf("compression %d", kind)
	}
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(from, int64(size)))
}

func (f *File) readBuildID() {
	for _, s := range f.segments {
		if s.kind != segmentNote || s.size > maxNotes {
			continue
		}
		if notes, err := f.take(s.offset, s.size); err == nil && f.BuildID == nil {
			f.BuildID = buildIDOf(notes, s.aligned)
		}
	}
	if s := f.section(".note.gnu.build-id"); f.BuildID == nil && s != nil && s.bytes <= maxNotes {
		if notes, err := f.take(s.offset, s.bytes); err == nil {
			f.BuildID = buildIDOf(notes, 4)
		}
	}
}

// buildIDOf returns the build id among notes, or nil.
func buildIDOf(notes []byte, alignment uint64) []byte {
	if alignment != 8 {
		alignment = 4
	}
	le := binary.LittleEndian
	up := func(n uint64) uint64 { return (n + alignment - 1) &^ (alignment - 1) }
	for len(notes) >= 12 {
		name, size, kind := uint64(le.Uint32(notes)), uint64(le.Uint32(notes[4:])), le.Uint32(notes[8:])
		at := up(12 + name)
		if at > uint64(len(notes)) || size > uint64(len(notes))-at {
			return nil
		}
		if kind == 3 && name == 4 && string(notes[12:16]) == "GNU\x00" {
			return notes[at : at+size]
		}
		notes = notes[min(at+up(size), uint64(len(notes))):]
	}
	return nil
}

// Address returns the address in the binary of an offset in its file.
func (f *File) Address(offset uint64) (uint64, bool) {
	for _, s := range f.segments {
		if s.kind == segmentLoad && offset >= s.offset && offset-s.offset < s.size {
			return offset - s.offset + s.address, true
		}
	}
	return 0, false
}

// constant reads memory that the program cannot change, by its address in the binary.
func (f *File) constant(address uint64, n int) ([]byte, bool) {
	for _, s := range f.segments {
		if s.kind != segmentLoad || s.flags&segmentWritable != 0 || address < s.address || address-s.address >= s.size ||
			uint64(n) > s.size-(address-s.address) {
			continue
		}
		b, err := f.take(s.offset+address-s.address, uint64(n))
		return b, err == nil
	}
	return nil, false
}
