package tpconvert

import (
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/tpconvert/tpconvert/export"
	"github.com/tpconvert/tpconvert/ingest"
)

// StandardInput is the input that stands for Options.Stdin. Its name in the tables is "stdin".
const StandardInput = "-"

const stdinName = "stdin"

// expandFolders replaces folders among paths by the traces in them and their
// subfolders, unless a folder is a trace itself. It skips hidden files and folders, links to folders, datasets, and
// whatever is not a regular file, and logs the reason.
func expandFolders(paths []string, log *slog.Logger) ([]string, error) {
	var all []string
	for _, path := range paths {
		if info, err := os.Stat(path); path == StandardInput || err != nil || !info.IsDir() {
			all = append(all, path) // reading the trace reports any error
			continue
		}
		if export.IsDataset(path) {
			return nil, optionError("%s is a dataset, not a folder of traces", path)
		}
		folders := map[string]bool{} // that are traces
		err := filepath.WalkDir(path, func(name string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			reason := ""
			if name != path {
				reason = reasonToLeaveOut(name, e)
			}
			switch {
			case reason == "" && e.IsDir() && IsTraceFolder(name):
				folders[name] = true
				all = append(all, name)
			case reason == "" && !e.IsDir() && !partOfFolder(name, folders):
				all = append(all, name)
			case reason != "":
				log.Warn("left out: "+reason, "trace", name)
				if e.IsDir() {
					return filepath.SkipDir
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// isNotes reports whether a file is a text such as a readme. Reading a trace reports any error.
func isNotes(path string) bool {
	return ingest.IsNotes(head(path))
}

// reasonToLeaveOut returns why an entry of a folder is not a trace, or "" if it may be one.
func reasonToLeaveOut(path string, e fs.DirEntry) string {
	if strings.HasPrefix(e.Name(), ".") {
		return "hidden"
	}
	if e.IsDir() {
		if export.IsDataset(path) {
			return "a dataset"
		}
		return ""
	}
	info, err := os.Stat(path) // follows links
	switch {
	case err != nil:
		return err.Error()
	case info.IsDir():
		return "a link to a folder"
	case !info.Mode().IsRegular():
		return "not a file"
	case isNotes(path):
		return "a text, not a trace"
	}
	return ""
}

// totalSize adds up the sizes of files, in bytes. It is 0 if one has no size.
func totalSize(jobs []*job) int64 {
	var total int64
	for _, j := range jobs {
		s, ok := SourceOf(j.path)
		if !ok {
			return 0
		}
		total += s.Bytes
	}
	return total
}
