package ingest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/tpconvert/tpconvert/ingest/format"
)

// signatures identify kinds of files that no format is near to, so that an error can
// name them.
var signatures = []format.Signature{
	{Name: etw, Offset: 72, Bytes: "\x02\x00\x01\xc0"}, // the version and type of the first event: of 32 bits, of 64 bits
	{Name: etw, Offset: 72, Bytes: "\x02\x00\x02\xc0"},
	{Name: "a goroutine profile in text", Bytes: "goroutine profile: "},
	{Name: "an XML file", Bytes: "<?xml"},
	{Name: "LZ4", Bytes: "\x04\x22\x4d\x18"},
	{Name: "7-Zip", Bytes: "7z\xbc\xaf\x27\x1c"},
	{Name: "an SQLite database", Bytes: "SQLite format 3\x00"},
	{Name: duckDB, Offset: 8, Bytes: "DUCK"},
	{Name: "an Arrow file", Bytes: "ARROW1"},
	{Name: "an ELF binary", Bytes: "\x7fELF"},
	{Name: "a Mach-O binary", Bytes: "\xcf\xfa\xed\xfe"},
	{Name: "a PNG image", Bytes: "\x89PNG"},
	{Name: "a PDF", Bytes: "%PDF-"},
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
func likeness(formats []*format.Format, head []byte) string {
	all := slices.Clone(signatures)
	for _, f := range formats {
		all = append(all, f.Unsupported...)
	}
	for _, s := range all {
		if len(head) <= s.Offset {
			continue
		}
		start := head[s.Offset:]
		switch {
		case bytes.HasPrefix(start, []byte(s.Bytes)):
			return s.Name
		case s.Offset == 0 && len(head) >= shortestSignature && strings.HasPrefix(s.Bytes, string(head)):
			return "the first bytes of " + s.Name
		}
	}
	return ""
}

// unknown returns the error for an input that starts with head and is in no known
// format.
func unknown(formats []*format.Format, head []byte) error {
	is := "it starts with " + glimpse(head)
	if kind := likeness(formats, head); kind != "" {
		is = "it looks like " + kind + ", which is not supported" + instead[kind]
	}
	return fmt.Errorf("%w: %s; https://github.com/tpconvert/tpconvert#what-it-reads lists the formats", format.ErrUnknown, is)
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
