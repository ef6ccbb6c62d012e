// Package families lists the packet families that are read from Perfetto's native
// traces.
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

// read reads the packets of all families. At equal times, the events of families
// listed earlier come first.
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

// Format is a trace. Symbols is a trace that only holds symbols for other traces.
var (
	Format  = &format.Format{Name: "proto", Turn: format.TurnClocks, Read: read, Sniff: proto.Sniff}
	Symbols = &format.Format{Name: "symbols", Turn: format.TurnSymbols, Read: read, Sniff: profiling.SniffSymbols}
)
