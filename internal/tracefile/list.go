package tracefile

import (
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/tpconvert/tpconvert/export"
	"github.com/tpconvert/tpconvert/ingest"
)

// List replaces folders among paths by the traces in them and their
// subfolders, unless a folder is a trace itself. It skips hidden files and folders, links to folders, datasets, and
// whatever is not a regular file, and logs the reason.
func List(paths []string, log *slog.Logger) ([]string, error) {
	var all []string
	for _, path := range paths {
		if info, err := os.Stat(path); path == StandardInput || err != nil || !info.IsDir() {
			all = append(all, path) // reading the trace reports any error
			continue
		}
		if export.IsDataset(path) {
			return nil, datasetError(path)
		}
		folders := map[string]bool{} // that are traces
		err := walk(path, func(name string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			reason := ""
			if name != filepath.Clean(path) {
				reason = reasonToLeaveOut(name, e)
			}
			switch {
			case reason == "" && e.IsDir() && IsFolder(name):
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

// walk is filepath.WalkDir, and follows the path if it is a link to a folder. All names are clean.
func walk(path string, do fs.WalkDirFunc) error {
	return filepath.WalkDir(filepath.Clean(path)+string(filepath.Separator), func(name string, e fs.DirEntry, err error) error {
		return do(filepath.Clean(name), e, err)
	})
}

// datasetError is the path of a dataset among the inputs. It is an export.ErrOption.
type datasetError string

func (path datasetError) Error() string {
	return string(path) + " is a dataset, not a folder of traces"
}

func (datasetError) Unwrap() error { return export.ErrOption }

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
	case ingest.IsNotes(head(path)):
		return "a text, not a trace"
	}
	return ""
}
