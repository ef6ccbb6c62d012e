// Package families lists the families of packets that are read of Perfetto's
// native traces.
package families

import (
	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/ingest/proto/android"
	"github.com/tpconvert/tpconvert/ingest/proto/chrome"
	"github.com/tpconvert/tpconvert/ingest/proto/ftrace"
	"github.com/tpconvert/tpconvert/ingest/proto/generickernel"
	"github.com/tpconvert/tpconvert/ingest/proto/gpu"
	"github.com/tpconvert/tpconvert/ingest/proto/heap"
	"github.com/tpconvert/tpconvert/ingest/proto/memorygraph"
	"github.com/tpconvert/tpconvert/ingest/proto/power"
	"github.com/tpconvert/tpconvert/ingest/proto/profiling"
	"github.com/tpconvert/tpconvert/ingest/proto/system"
	"github.com/tpconvert/tpconvert/ingest/proto/traceinfo"
	"github.com/tpconvert/tpconvert/ingest/proto/trackevent"
)

// read reads packets of all families. Of events of one time, those of the family
// that stands first come first.
var read = proto.Reads(
	traceinfo.Modules,
	chrome.Modules,
	heap.Modules,
	profiling.Modules,
	memorygraph.Modules,
	trackevent.Modules,
	system.Modules,
	ftrace.Modules,
	android.Modules,
	power.Modules,
	gpu.Modules,
	generickernel.Modules,
)

// Format is a trace, Symbols one that only brings symbols for others.
var (
	Format  = &format.Format{Name: "proto", Turn: format.TurnClocks, Read: read, Sniff: proto.Sniff}
	Symbols = &format.Format{Name: "symbols", Turn: format.TurnSymbols, Read: read, Sniff: profiling.SniffSymbols}
)
