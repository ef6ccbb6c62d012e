// Package tracefile finds and opens the traces that inputs of a conversion name: files, folders and the standard input.
package tracefile

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"

	"github.com/tpconvert/tpconvert/export"
)

const (
	// StandardInput is the path that stands for the standard input, and StdinName its name in the tables.
	StandardInput = "-"
	StdinName     = "stdin"
	// Merged is the path that stands for the archive of merged traces, and MergedName its name in the tables.
	Merged     = "(merged traces)"
	MergedName = "merged.tar"
)

// File is a trace with random access.
type File interface {
	io.Reader
	io.ReaderAt
	io.Closer
}

// Open opens a trace. One in several files is an archive of them.
func Open(path string) (File, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		if !IsFolder(path) {
			return nil, folderError(path)
		}
		return openFolder(path)
	}
	return os.Open(path)
}

// folderError is the path of a folder that is no trace.
type folderError string

func (path folderError) Error() string {
	return string(path) + " is a folder, not a trace: name the files in it"
}

// OpenReaderAt opens a trace for random access, and returns its size in bytes. It copies other inputs, such as the
// standard input, to a temporary file.
func OpenReaderAt(path string, stdin io.Reader) (file File, size int64, err error) {
	from := stdin
	if path != StandardInput {
		if file, err = Open(path); err != nil {
			return nil, 0, err
		}
		if s, ok := SourceOf(path); ok {
			return file, s.Bytes, nil
		}
		defer file.Close()
		from = file
	}
	copied, err := os.CreateTemp("", "tpconvert-input-*")
	if err != nil {
		return nil, 0, err
	}
	_ = os.Remove(copied.Name()) // Windows keeps it: it removes no open file
	if size, err = io.Copy(copied, from); err != nil {
		copied.Close()
		return nil, 0, err
	}
	return copied, size, nil
}

// Section returns a file that supports random access as a section, or nil.
func Section(file io.Reader) *io.SectionReader {
	at, ok := file.(io.ReaderAt)
	if !ok {
		return nil
	}
	switch f := file.(type) {
	case *os.File:
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			return io.NewSectionReader(at, 0, info.Size())
		}
	case interface{ Size() int64 }:
		return io.NewSectionReader(at, 0, f.Size())
	}
	return nil
}

// Name returns the name of a trace, without its folder.
func Name(path string) string {
	if path == StandardInput {
		return StdinName
	}
	return filepath.Base(Absolute(path))
}

// SourceOf identifies the trace at a path as it is now, and returns false if it cannot be read more than once.
func SourceOf(path string) (export.Source, bool) {
	info, err := os.Stat(path)
	if err == nil && info.IsDir() && IsFolder(path) {
		f, err := openFolder(path)
		if err != nil {
			return export.Source{}, false
		}
		return export.Source{Path: Absolute(path), Bytes: f.Size(), Modified: f.modified}, true
	}
	if path == StandardInput || path == Merged || err != nil || !info.Mode().IsRegular() {
		return export.Source{}, false
	}
	return export.Source{Path: Absolute(path), Bytes: info.Size(), Modified: info.ModTime()}, true
}

// Absolute returns the absolute path, or path itself if the working folder is unknown.
func Absolute(path string) string {
	if from, err := filepath.Abs(path); err == nil && path != StandardInput && path != Merged {
		return from
	}
	return path
}

// hashedAtOnce is the number of bytes that Hash reads between two checks of its context.
const hashedAtOnce = 1 << 20

// Hash returns the SHA-256 of the trace at a path in hexadecimal, or "".
func Hash(ctx context.Context, path string) string {
	f, err := Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	digest := sha256.New()
	for ctx.Err() == nil {
		switch _, err := io.CopyN(digest, f, hashedAtOnce); err {
		case nil:
		case io.EOF:
			return hex.EncodeToString(digest.Sum(nil))
		default:
			return ""
		}
	}
	return ""
}
