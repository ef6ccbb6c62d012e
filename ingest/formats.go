package ingest

import (
	"github.com/tpconvert/tpconvert/ingest/compressed"
	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/fuchsia"
	"github.com/tpconvert/tpconvert/ingest/json"
	"github.com/tpconvert/tpconvert/ingest/logcat"
	"github.com/tpconvert/tpconvert/ingest/ninja"
	"github.com/tpconvert/tpconvert/ingest/pprof"
	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/ingest/strace"
	"github.com/tpconvert/tpconvert/ingest/systrace"
)

// Formats are all formats that can be read.
var Formats = []*format.Format{
	compressed.Ctrace,
	compressed.Gzip,
	compressed.Zstd,
	fuchsia.Format,
	json.Format,
	logcat.Format,
	ninja.Format,
	pprof.Format,
	proto.Format,
	proto.Symbols,
	strace.Format,
	systrace.Format,
}
