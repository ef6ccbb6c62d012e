// Package perfdata reads what perf record and simpleperf write: perf.data files,
// and the same in pipe mode. The layout is that of Linux, tools/perf/Documentation/
// perf.data-file-format.txt and include/uapi/linux/perf_event.h, and of simpleperf's
// record_file.h.
//
// A recording is a list of events, each with the ids of its counters, and records
// that the kernel or perf wrote: samples, mappings, names of threads. The tokenizer
// finds the event of each record, as the layout of the rest depends on it, and
// pushes what rows are made of. Files tell the names of events, build ids and
// symbols behind the records, pipes before them, so they are looked up when the
// records are parsed.
package perfdata

import (
	"bytes"

	"github.com/tpconvert/tpconvert/ingest/format"
)

// Format is perf.data, as a file and as a stream, of machines of either byte order.
var Format = &format.Format{
	Name: "perf", Read: read,
	Sniff: func(head []byte) bool {
		return bytes.HasPrefix(head, magic) || bytes.HasPrefix(head, magicSwapped) || bytes.HasPrefix(head, magicOld)
	},
}

var (
	magic        = []byte("PERFILE2")
	magicSwapped = []byte("2ELIFREP") // by a machine of the other byte order
	magicOld     = []byte("PERFFILE") // before Linux 3.3
)

func read(in *format.Input) error { return newTokenizer(in).run() }
