package tpconvert

import "github.com/tpconvert/tpconvert/internal/tracefile"

// StandardInput is the input that stands for Options.Stdin. Its name in the tables is "stdin".
const StandardInput = tracefile.StandardInput

// IsTraceFolder reports whether a folder is a trace in several files, such as one of CTF, and not a folder of traces or a dataset.
func IsTraceFolder(path string) bool { return tracefile.IsFolder(path) }

// SourceOf identifies the trace at a path as it is now, and returns false if it cannot be read more than once.
func SourceOf(path string) (Source, bool) { return tracefile.SourceOf(path) }
