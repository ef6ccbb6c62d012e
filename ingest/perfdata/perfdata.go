// Package perfdata reads perf.data files, in file and pipe mode, as written by perf
// record and simpleperf. The layout is described in Linux's
// tools/perf/Documentation/perf.data-file-format.txt and
// include/uapi/linux/perf_event.h, and in simpleperf's record_file.h.
//
// A recording is a list of events, each with the ids of its counters, followed by
// records from the kernel or perf: samples, mappings, thread names. The tokenizer
// finds the event of each record, because the record's layout depends on it, and
// pushes the data that becomes rows. Files have event names, build ids and symbols
// after the records, pipes before them, so these are looked up when the records are
// parsed.
package perfdata

import (
	"bytes"
	"encoding/binary"

	"github.com/tpconvert/tpconvert/ingest/format"
)

// Format is perf.data, as a file or a stream, from machines of either byte order.
var Format = &format.Format{
	Name: "perf", Title: "perf.data", Read: read,
	Sniff: func(head []byte) bool {
		return bytes.HasPrefix(head, magic) || bytes.HasPrefix(head, magicSwapped) || bytes.HasPrefix(head, magicOld)
	},
}

// Folder is perf.data in a folder, as perf record makes it with --threads or --kcore: the file data, which has all but the
// records of threads, and a file of records for each thread.
var Folder = &format.Format{
	Name: Format.Name, Title: Format.Title, Read: read, Folder: "data",
	Sniff: func(head []byte) bool {
		return Format.Sniff(head) && len(head) >= fileHeader && binary.LittleEndian.Uint64(head[len(magic):]) == fileHeader &&
			binary.LittleEndian.Uint64(head[featureBits:])&(1<<featureFolder) != 0
	},
}

var (
	magic        = []byte("PERFILE2")
	magicSwapped = []byte("2ELIFREP") // from a machine of the other byte order
	magicOld     = []byte("PERFFILE") // before Linux 3.3
)

func read(in *format.Input) error { return newTokenizer(in).run() }
