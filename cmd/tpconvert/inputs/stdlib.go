package inputs

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/tpconvert/tpconvert/internal/fetch"
	"github.com/tpconvert/tpconvert/sqlfuncs/functions"
	"github.com/tpconvert/tpconvert/sqlfuncs/metricsv1"
	"github.com/tpconvert/tpconvert/sqlfuncs/session"
)

// SessionMemoryHelp describes --session-memory.
const SessionMemoryHelp = "memory that the statements and tables of a session may take besides the dataset's columns; a statement that needs more fails"

// StdlibHelp describes --stdlib.
const StdlibHelp = "folder of the modules for INCLUDE PERFETTO MODULE, or a checkout of Perfetto; by default what \"stdlib fetch\" has downloaded"

// DerivedHelp describes --derived.
const DerivedHelp = "let tables have the rows that derive added to the dataset, too"

// Stdlib returns the folder of --stdlib or, failing that, of the modules that "stdlib fetch" has downloaded, or "".
func Stdlib(flag string) string {
	if flag != "" {
		return flag
	}
	return fetch.Stdlib.Fetched()
}

// Modules returns the files of PerfettoSQL's modules in the folder of --stdlib, or of those that were fetched, or nil.
func Modules(flag string) fs.FS {
	folder := Stdlib(flag)
	if folder == "" {
		return nil
	}
	source := filepath.Join(folder, "src", "trace_processor")
	modules := filepath.Join(source, "perfetto_sql", "stdlib")
	if info, err := os.Stat(modules); err == nil && info.IsDir() {
		return checkout{os.DirFS(modules), os.DirFS(filepath.Join(source, "plugins", "wattson", "data"))}
	}
	return os.DirFS(folder)
}

// checkout has the modules of a checkout of Perfetto and, in their folder, the curves, which it has elsewhere.
type checkout struct{ modules, curves fs.FS }

// Open implements fs.FS.
func (c checkout) Open(path string) (fs.File, error) {
	if rest, ok := strings.CutPrefix(path, functions.CurvesFolder); ok && (rest == "" || rest[0] == '/') {
		return c.curves.Open(cmp.Or(strings.TrimPrefix(rest, "/"), "."))
	}
	return c.modules.Open(path)
}

// Metrics returns the metrics in the folder of --stdlib, or of "stdlib fetch", or nil if it has none.
func Metrics(flag string) (session.Metrics, error) {
	folder := Stdlib(flag)
	if folder == "" {
		return nil, nil
	}
	library, err := metricsv1.Open(folder)
	if errors.Is(err, metricsv1.ErrNone) {
		return nil, nil // it may be a folder of modules only
	}
	return library, err
}
