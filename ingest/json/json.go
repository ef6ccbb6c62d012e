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
	"sync"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/jsonlex"
	"github.com/tpconvert/tpconvert/ingest/internal/v8profile"
	"github.com/tpconvert/tpconvert/model"
)

// Format is the Trace Event Format.
var Format = &format.Format{Name: "json", Title: "Trace Event Format", Sniff: sniff, Read: read}

var (
	statRepaired = model.NewStat(1033, model.StatInfo{
		Name: "json_repaired", Severity: model.DataLoss, Effect: model.Damaged,
		Description: "Events and args of JSON traces with quotes, backslashes or brackets that are not valid JSON, which were read as they seem to be meant.",
	})
	statUnescapedBackslash = model.NewStat(1041, model.StatInfo{
		Name: "json_unescaped_backslash", Severity: model.DataLoss, Effect: model.Damaged,
		Description: "Events and args of JSON traces with texts whose backslashes are not escapes, as in paths of Windows, and were kept.",
	})
	statNotFiniteNumber = model.NewStat(1042, model.StatInfo{
		Name: "json_not_finite_number", Severity: model.Notice, Effect: model.Noticed,
		Description: "Events and args of JSON traces with NaN, infinity or numbers too large for a double, which JSON does not have.",
	})
	statControlCharacter = model.NewStat(1048, model.StatInfo{
		Name: "json_control_character", Severity: model.Notice, Effect: model.Noticed,
		Description: "Events of JSON traces with control characters in texts, such as line ends, which JSON has only as escapes. They were kept.",
	})
	statLargeInteger = model.NewStat(1049, model.StatInfo{
		Name: "json_large_integer", Severity: model.Notice, Effect: model.Noticed,
		Description: "Events and args of JSON traces with integers that do not fit in 64 bits with their sign. In args they are the nearest real numbers.",
	})
	statTrailingComma = model.NewStat(1050, model.StatInfo{
		Name: "json_trailing_comma", Severity: model.Notice, Effect: model.Noticed,
		Description: "Arrays and objects of JSON traces with a comma after the last element.",
	})
)

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
	t.parser.frames = sync.OnceValue(t.frames)
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
