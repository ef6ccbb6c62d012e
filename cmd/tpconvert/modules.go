package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/tpconvert/tpconvert/cmd/tpconvert/console"
	"github.com/tpconvert/tpconvert/cmd/tpconvert/fetch"
	"github.com/tpconvert/tpconvert/cmd/tpconvert/rowformat"
	"github.com/tpconvert/tpconvert/rpc"
	"github.com/tpconvert/tpconvert/sqlfuncs/functions"
	"github.com/tpconvert/tpconvert/sqlfuncs/metrics"
	"github.com/tpconvert/tpconvert/sqlfuncs/metricsv1"
)

// sessionMemoryHelp describes --session-memory.
const sessionMemoryHelp = "memory that the statements and tables of a session may take besides the dataset's columns; a statement that needs more fails"

// stdlibHelp describes --stdlib.
const stdlibHelp = "folder of the modules for INCLUDE PERFETTO MODULE, or a checkout of Perfetto; by default what \"stdlib fetch\" has downloaded"

// derivedHelp describes --derived.
const derivedHelp = "let tables have the rows that derive added to the dataset, too"

// stdlib returns the folder of --stdlib or, failing that, of the modules that "stdlib fetch" has downloaded, or "".
func stdlib(flag string) string {
	if flag != "" {
		return flag
	}
	return fetch.Stdlib.Fetched()
}

// modules returns the files of PerfettoSQL's modules in the folder of --stdlib, or of those that were fetched, or nil.
func modules(flag string) fs.FS {
	folder := stdlib(flag)
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

// metricLibrary returns the metrics in the folder of --stdlib, or of "stdlib fetch", or nil if it has none.
func metricLibrary(flag string) (rpc.Metrics, error) {
	folder := stdlib(flag)
	if folder == "" {
		return nil, nil
	}
	library, err := metricsv1.Open(folder)
	if errors.Is(err, metricsv1.ErrNone) {
		return nil, nil // it may be a folder of modules only
	}
	return library, err
}

// readSpecs reads the specs, which are files or names.
func readSpecs(names []string) (*metrics.Summarizer, error) {
	if len(names) == 0 {
		names = metrics.Builtin()
	}
	var s metrics.Summarizer
	for _, name := range names {
		text, ok := metrics.Spec(name)
		if !ok {
			var err error
			text, err = os.ReadFile(name)
			if errors.Is(err, fs.ErrNotExist) {
				return nil, console.Usage(fmt.Errorf("%s is neither a file nor one of the specs %s", name, strings.Join(metrics.Builtin(), ", ")))
			}
			if err != nil {
				return nil, err
			}
		}
		if err := s.Add(text); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return &s, nil
}

// checkFormat rejects a format of rows that does not exist or does not suit the output.
func checkFormat(format string, out io.Writer) error {
	if err := rowformat.Check(format, out); err != nil {
		return console.Usage(err)
	}
	return nil
}
