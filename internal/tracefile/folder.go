package tracefile

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/tpconvert/tpconvert/export"
	"github.com/tpconvert/tpconvert/ingest"
	"github.com/tpconvert/tpconvert/ingest/archive"
	"github.com/tpconvert/tpconvert/ingest/format"
)

// IsFolder reports whether a folder is a trace in several files, such as one of CTF, and not a folder of traces or a dataset.
func IsFolder(path string) bool {
	// A dataset's tables have names that those of recordings have, too.
	if export.IsDataset(path) || export.IsDataset(filepath.Dir(path)) {
		return false
	}
	for _, f := range ingest.Formats {
		if f.Folder != "" && f.Sniff(head(filepath.Join(path, f.Folder))) {
			return true
		}
	}
	return false
}

// head returns the first bytes of a file, or nil. Reading the trace reports any error.
func head(path string) []byte {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, format.HeadBytes))
	if err != nil {
		return nil
	}
	return head
}

// folder is the archive of the files in a folder.
type folder struct {
	*io.SectionReader
	modified time.Time // of the file that changed last
}

func openFolder(path string) (*folder, error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var files archive.Bundle
	f := new(folder)
	for _, e := range entries {
		file := filepath.Join(path, e.Name())
		info, err := os.Stat(file) // follows links
		switch {
		case strings.HasPrefix(e.Name(), "."):
			continue
		case err != nil:
			return nil, err
		case !info.Mode().IsRegular():
			continue
		}
		if err := files.Add(e.Name(), info.Size(), lateFile(file)); err != nil {
			return nil, err
		}
		if info.ModTime().After(f.modified) {
			f.modified = info.ModTime()
		}
	}
	f.SectionReader = io.NewSectionReader(&files, 0, files.Size())
	return f, nil
}

func (*folder) Close() error { return nil }

// lateFile is the path of a file that is opened for each read, because a folder may have more files than a process can open.
type lateFile string

// ReadAt implements io.ReaderAt.
func (path lateFile) ReadAt(p []byte, offset int64) (int, error) {
	f, err := os.Open(string(path))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return f.ReadAt(p, offset)
}

// partOfFolder reports whether a file below a folder is part of a trace in several files.
func partOfFolder(path string, traces map[string]bool) bool {
	folder := filepath.Dir(path)
	return traces[folder] || filepath.Base(folder) == format.IndexFolder && traces[filepath.Dir(folder)]
}
