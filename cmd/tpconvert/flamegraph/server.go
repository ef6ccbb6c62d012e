// Package flamegraph shows profiles as pprof does: as text, and in its web interface.
package flamegraph

import "log/slog"

// Log receives the messages of pprof.
type Log func(level slog.Level, msg string)

// Server shows a profile in pprof's web interface.
type Server struct {
	Title   string   // what is shown; the metric follows it
	Address string   // HOST:PORT; without a host only this machine can connect, without a port any free one is used
	Browse  bool     // open a browser
	Source  []string // folders whose source files may be shown
	Log     Log
	Started func(url string) // called with the address of the flame graph
}
