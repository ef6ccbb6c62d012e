// Package families lists the packet families that are read from Perfetto's native
// traces.
package families

import (
	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/ingest/proto/android"
	"github.com/tpconvert/tpconvert/ingest/proto/chrome"
	"github.com/tpconvert/tpconvert/ingest/proto/etw"
	"github.com/tpconvert/tpconvert/ingest/proto/ftrace"
	"github.com/tpconvert/tpconvert/ingest/proto/generickernel"
	"github.com/tpconvert/tpconvert/ingest/proto/gpu"
	"github.com/tpconvert/tpconvert/ingest/proto/heap"
	"github.com/tpconvert/tpconvert/ingest/proto/memorygraph"
	"github.com/tpconvert/tpconvert/ingest/proto/power"
	"github.com/tpconvert/tpconvert/ingest/proto/profiling"
	"github.com/tpconvert/tpconvert/ingest/proto/r8"
	"github.com/tpconvert/tpconvert/ingest/proto/system"
	"github.com/tpconvert/tpconvert/ingest/proto/traceinfo"
	"github.com/tpconvert/tpconvert/ingest/proto/trackevent"
	"github.com/tpconvert/tpconvert/ingest/proto/v8"
	"github.com/tpconvert/tpconvert/ingest/proto/winscope"
	"github.com/tpconvert/tpconvert/model"
)

var statR8ParseErrors = model.NewStat(1023, model.StatInfo{
	Name: "r8_mapping_parse_errors", Severity: model.DataLoss, Effect: model.Damaged,
	Description: "Lines of R8's or ProGuard's text that name nothing.",
})

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
	etw.Modules,
	android.Modules,
	power.Modules,
	gpu.Modules,
	generickernel.Modules,
	winscope.Modules,
	v8.Modules,
)

// Format is a trace. Symbols is a trace that only holds symbols for other traces, Names a text of
// names before obfuscation for them.
var (
	Format  = &format.Format{Name: "proto", Title: "Perfetto", Turn: format.TurnClocks, Read: read, Sniff: proto.Sniff}
	Symbols = &format.Format{Name: "symbols", Turn: format.TurnSymbols, Read: read, Sniff: profiling.SniffSymbols}
	Names   = &format.Format{Name: "r8_mapping", Title: "R8 mapping", Turn: format.TurnSymbols, Read: readNames, Sniff: r8.Sniff}
)

// readNames reads the names of the package that the name of the file shows.
func readNames(in *format.Input) error {
	pkg := r8.Package(in.Name)
	names := r8.NewReader(in.Reader, pkg)
	in.Reader = names
	err := read(in)
	for i, offset := range names.Invalid {
		stat := statR8ParseErrors
		if names.Cut && i == len(names.Invalid)-1 {
			stat = model.StatTruncatedInput
		}
		in.File.LogAt(stat, offset, nil)
	}
	if pkg == "" {
		in.File.ExplainUnread(model.StatUnreadFact, model.None,
			"file of names before obfuscation is not named after a package, so it renames neither methods nor the classes of known packages")
	}
	return err
}
