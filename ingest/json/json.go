// Package json reads traces in the Trace Event Format, which Chrome's tracing
// made common: an array of events, or an object with this array as traceEvents.
// It accepts what Trace Processor accepts: a missing closing bracket, truncated
// input, stray commas, numbers as strings.
//
// The tokenizer turns each event into a token: a few numbers and the text of its
// args. Events may come in any order, so the sorter orders the tokens once the
// whole input is read. The parser then turns them into rows.
package json

import (
	"bytes"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/jsonlex"
	"github.com/tpconvert/tpconvert/ingest/internal/v8profile"
	"github.com/tpconvert/tpconvert/model"
)

// Format is the Trace Event Format.
var Format = &format.Format{Name: "json", Title: "Trace Event Format", Sniff: sniff, Read: read}

// sniffBytes is how many bytes of the input Trace Processor looks at.
const sniffBytes = 128

func sniff(head []byte) bool {
	start := bytes.Join(bytes.Fields(head[:min(len(head), sniffBytes)]), nil)
	return bytes.HasPrefix(start, []byte(`{"`)) || bytes.HasPrefix(start, []byte(`[{"`))
}

func read(in *format.Input) error {
	in.UseClock(model.ClockTraceFile)
	t := &tokenizer{Reader: jsonlex.NewReader(in), in: in, places: sharedPlaces.Of(in), begins: begins{threads: map[thread]*threadBegins{}}}
	t.parser = newParser(in, threadsOf(in.Machine, t.places))
	t.events = in.Sorter.NewStream(t.parser)
	t.v8 = v8profile.New(in.Context, in.Sorter, func(process, thread int64) model.UTID {
		return t.parser.threads.thread(t.owners.list[process], t.owners.list[thread])
	})
	in.AtEnd(t.stacks)
	in.AtEnd(t.parser.end)
	err := t.run()
	t.Reader, t.one = jsonlex.Reader{}, block{} // frees the buffers, because t lives until the end
	return err
}
