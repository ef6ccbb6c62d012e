// Package spool keeps inputs that are not read from front to back in temporary files.
package spool

import (
	"errors"
	"io"
	"os"
)

// File is an input in a temporary file.
type File struct {
	Size int64
	Err  error // of reading the file, to tell a disk that fails from damage of the input
	file *os.File
}

// Copy writes an input to a temporary file in a folder, "" for the system's.
func Copy(in io.Reader, folder string) (*File, error) {
	file, err := os.CreateTemp(folder, "tpconvert-input-*")
	if err != nil {
		return nil, err
	}
	os.Remove(file.Name()) // where this fails, Close does it
	f := &File{file: file}
	if f.Size, err = io.Copy(file, in); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Close gives up the file.
func (f *File) Close() {
	f.file.Close()
	os.Remove(f.file.Name())
}

// ReadAt is that of io.ReaderAt.
func (f *File) ReadAt(p []byte, offset int64) (int, error) {
	if offset < 0 {
		return 0, errors.New("a place before the start")
	}
	n, err := f.file.ReadAt(p, offset)
	if err != nil && err != io.EOF {
		f.Err = err
	}
	return n, err
}
