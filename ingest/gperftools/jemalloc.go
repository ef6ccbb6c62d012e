package gperftools

import (
	"bytes"
	"fmt"
	"regexp"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/model"
)

const jemallocMark = "heap_v2/"

// jemallocValues are the objects and bytes of a stack, or of all before the first stack, in all threads or in one.
var jemallocValues = regexp.MustCompile(`^\s+t(\*|\d+): (\d+: \d+ \[\s*\d+: \d+\])`)

// jemalloc returns a heap profile of jemalloc in the format of gperftools, which has a line for each stack with its values:
//
//	heap_v2/524288
//	  t*: 1: 20665 [0: 0]
//	@ 0x401158 0x40120d
//	  t*: 1: 20665 [0: 0]
//	  t0: 1: 20665 [0: 0]
//
// The values of each thread are left out and counted.
func jemalloc(in *format.Input, data []byte) []byte {
	if !bytes.HasPrefix(data, []byte(jemallocMark)) {
		return data
	}
	var text bytes.Buffer
	var period, stack []byte
	at := 0
	for line := range bytes.Lines(data) {
		values := jemallocValues.FindSubmatch(line)
		switch {
		case bytes.HasPrefix(line, []byte(jemallocMark)):
			period = bytes.TrimSpace(line)
		case bytes.HasPrefix(line, []byte("@")):
			stack = bytes.TrimSpace(line)
		case bytes.HasPrefix(line, []byte("MAPPED_LIBRARIES:")):
			return append(text.Bytes(), data[at:]...)
		case values == nil:
			text.Write(line) // an empty line, or one that is an error
		case string(values[1]) != "*":
			in.File.Unread(model.StatUnreadFact, model.None, "values of a thread").AddAt(int64(at))
		case stack == nil:
			fmt.Fprintf(&text, "heap profile: %s @ %s\n", values[2], period)
		default:
			fmt.Fprintf(&text, "%s %s\n", values[2], stack)
		}
		at += len(line)
	}
	return text.Bytes()
}
