package ingest

import (
	"slices"
	"strings"

	"github.com/tpconvert/tpconvert/ingest/archive"
	"github.com/tpconvert/tpconvert/ingest/arrowtar"
	"github.com/tpconvert/tpconvert/ingest/artmethod"
	"github.com/tpconvert/tpconvert/ingest/asyncprofiler"
	"github.com/tpconvert/tpconvert/ingest/bugreport"
	"github.com/tpconvert/tpconvert/ingest/callgrind"
	"github.com/tpconvert/tpconvert/ingest/collapsed"
	"github.com/tpconvert/tpconvert/ingest/compressed"
	"github.com/tpconvert/tpconvert/ingest/ctf"
	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/fuchsia"
	"github.com/tpconvert/tpconvert/ingest/gecko"
	"github.com/tpconvert/tpconvert/ingest/gotrace"
	"github.com/tpconvert/tpconvert/ingest/gperftools"
	"github.com/tpconvert/tpconvert/ingest/heapprofile"
	"github.com/tpconvert/tpconvert/ingest/heapsnapshot"
	"github.com/tpconvert/tpconvert/ingest/hprof"
	"github.com/tpconvert/tpconvert/ingest/instruments"
	"github.com/tpconvert/tpconvert/ingest/jaeger"
	"github.com/tpconvert/tpconvert/ingest/jfr"
	"github.com/tpconvert/tpconvert/ingest/json"
	"github.com/tpconvert/tpconvert/ingest/logcat"
	"github.com/tpconvert/tpconvert/ingest/manifest"
	"github.com/tpconvert/tpconvert/ingest/netlog"
	"github.com/tpconvert/tpconvert/ingest/nettrace"
	"github.com/tpconvert/tpconvert/ingest/ninja"
	"github.com/tpconvert/tpconvert/ingest/nsys"
	"github.com/tpconvert/tpconvert/ingest/otlp"
	"github.com/tpconvert/tpconvert/ingest/perfdata"
	"github.com/tpconvert/tpconvert/ingest/perftext"
	"github.com/tpconvert/tpconvert/ingest/pprof"
	"github.com/tpconvert/tpconvert/ingest/primes"
	"github.com/tpconvert/tpconvert/ingest/proto/families"
	"github.com/tpconvert/tpconvert/ingest/rocpd"
	"github.com/tpconvert/tpconvert/ingest/simpleperfproto"
	"github.com/tpconvert/tpconvert/ingest/speedscope"
	"github.com/tpconvert/tpconvert/ingest/stackprof"
	"github.com/tpconvert/tpconvert/ingest/strace"
	"github.com/tpconvert/tpconvert/ingest/systing"
	"github.com/tpconvert/tpconvert/ingest/systrace"
	"github.com/tpconvert/tpconvert/ingest/tracecmd"
	"github.com/tpconvert/tpconvert/ingest/xplane"
	"github.com/tpconvert/tpconvert/ingest/zipkin"
)

// Formats are all formats that can be read, in the order in which they are tried.
// An input has the first format whose Sniff accepts it, so a format stands before
// others that also accept some of its inputs.
var Formats = []*format.Format{
	// Binary formats with a signature.
	arrowtar.Format,
	archive.Tar,
	fuchsia.Format,
	perfdata.Folder,
	perfdata.Format,
	tracecmd.Format,
	ctf.Format,
	simpleperfproto.Format,
	artmethod.Format,
	artmethod.Packed,
	archive.Zip,
	hprof.Format,
	gotrace.Format,
	jfr.Format,
	rocpd.Format,
	nsys.Format,
	gperftools.Format,
	nettrace.Format,
	systing.Format,
	compressed.Gzip,
	compressed.Zstd,
	compressed.Xz,
	compressed.Bzip2,
	// Text formats.
	manifest.Format,
	gecko.Format,
	otlp.Format,
	jaeger.Format,
	zipkin.Format,
	speedscope.Format,
	heapprofile.Format,
	heapsnapshot.Format,
	stackprof.Format,
	netlog.Format,
	instruments.Format,
	logcat.Studio,
	json.Format,
	compressed.Ctrace,
	ninja.Format,
	callgrind.Format,
	asyncprofiler.Format,
	bugreport.Dumpstate,
	logcat.Format,
	strace.Format,
	collapsed.Format,
	systrace.Format,
	perftext.Format,
	families.Names,
	// Protocol Buffers, which begin with nothing but a field number.
	xplane.Format,
	families.Symbols,
	pprof.Format,
	families.Format,
	primes.Format,
}

// Title returns what messages call the formats of a trace: pprof (gzip) for gzip/pprof.
func Title(formats string) string {
	var titles, containers []string
	for name := range strings.SplitSeq(formats, "/") {
		at := slices.IndexFunc(Formats, func(f *format.Format) bool { return f.Name == name })
		switch {
		case at < 0:
			titles = append(titles, name)
		case Formats[at].Container:
			containers = append(containers, name)
		default:
			titles = append(titles, Formats[at].String())
		}
	}
	if len(titles) == 0 || len(containers) == 0 {
		return strings.Join(append(titles, containers...), ", ")
	}
	return strings.Join(titles, ", ") + " (" + strings.Join(containers, ", ") + ")"
}
