package ingest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/tpconvert/tpconvert/ingest/format"
)

// signatures identify kinds of files that are not supported, so that an error can
// name them.
var signatures = []struct {
	name   string
	offset int
	bytes  string
}{
	{etw, 72, "\x02\x00\x01\xc0"}, // the version and type of the first event: of 32 bits, of 64 bits
	{etw, 72, "\x02\x00\x02\xc0"},
	{"an empty ZIP archive", 0, "PK\x05\x06"},
	{"trace.dat of trace-cmd", 0, "\x17\x08Dtracing"},
	{"a stream of the Common Trace Format (CTF) without the metadata of its folder", 0, "\xc1\x1f\xfc\xc1"},
	{"a stream of the Common Trace Format (CTF) without the metadata of its folder", 0, "\xc1\xfc\x1f\xc1"},
	{"metadata of the Common Trace Format (CTF), version 2", 0, "\x1e{"},
	{"an execution trace of Go", 0, "go 1."},
	{"a netperf file of .NET Core 2", 0, "\x14\x00\x00\x00!FastSerialization"},
	{"a goroutine profile in text", 0, "goroutine profile: "},
	{"an XML file", 0, "<?xml"},
	{"LZ4", 0, "\x04\x22\x4d\x18"},
	{"7-Zip", 0, "7z\xbc\xaf\x27\x1c"},
	{"an SQLite database", 0, "SQLite format 3\x00"},
	{duckDB, 8, "DUCK"},
	{"an Arrow file", 0, "ARROW1"},
	{"an ELF binary", 0, "\x7fELF"},
	{"a Mach-O binary", 0, "\xcf\xfa\xed\xfe"},
	{"a PNG image", 0, "\x89PNG"},
	{"a PDF", 0, "%PDF-"},
}

const (
	etw    = "a log of Event Tracing for Windows (.etl)"
	duckDB = "a DuckDB database"
)

// instead says how to get what a kind of file has in another format.
var instead = map[string]string{
	duckDB: "; of systing's, the tables can be read: duckdb FILE \"EXPORT DATABASE 'FOLDER' (FORMAT parquet)\"",
	etw:    "; PerfView saves its stacks for speedscope, and Perfetto on Windows records ETW in its own format",
}

// shortestSignature is how many bytes of a signature a file shorter than the
// signature must have.
const shortestSignature = 3

// likeness returns what kind of file an input of unknown format looks like, or "".
func likeness(head []byte) string {
	for _, s := range signatures {
		if len(head) <= s.offset {
			continue
		}
		start := head[s.offset:]
		switch {
		case bytes.HasPrefix(start, []byte(s.bytes)):
			return s.name
		case s.offset == 0 && len(head) >= shortestSignature && strings.HasPrefix(s.bytes, string(head)):
			return "the first bytes of " + s.name
		}
	}
	return ""
}

// unknown returns the error for an input that starts with head and is in no known
// format.
func unknown(formats []*format.Format, head []byte) error {
	is := "it starts with " + glimpse(head)
	if kind := likeness(head); kind != "" {
		is = "it looks like " + kind + ", which is not supported" + instead[kind]
	}
	return fmt.Errorf("%w: %s; supported formats: %s", format.ErrUnknown, is, names(formats))
}

// glimpse shows the first bytes of an input on one line.
func glimpse(head []byte) string {
	if len(bytes.TrimSpace(head)) == 0 {
		return fmt.Sprintf("%d bytes of white space", len(head))
	}
	head = head[:min(len(head), 16)]
	if strings.IndexFunc(string(head), func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r == '\uFFFD' }) < 0 {
		return fmt.Sprintf("%q", head)
	}
	return fmt.Sprintf("the bytes % x", head)
}

func names(formats []*format.Format) string {
	var all []string
	for _, f := range formats {
		if title := f.String(); !slices.Contains(all, title) {
			all = append(all, title)
		}
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}
