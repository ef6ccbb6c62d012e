// Package tally reads tallies: a line for each piece of work, with its start and duration in ns, and its name.
package tally

import (
	"bytes"
	"fmt"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/lines"
	"github.com/tpconvert/tpconvert/ingest/internal/token"
	"github.com/tpconvert/tpconvert/model"
)

// Format is a tally.
var Format = &format.Format{Name: "tally", Sniff: sniff, Read: read}

var statParseErrors = model.NewStat(0, model.StatInfo{
	Name: "tally_parse_errors", Severity: model.DataLoss, Effect: model.Lost,
	Description: "Lines of tallies that cannot be read.",
})

const header = "# tally\n"

func sniff(head []byte) bool { return bytes.HasPrefix(head, []byte(header)) }

func read(in *format.Input) error {
	in.UseClock(model.ClockMonotonic)
	work := in.Sorter.NewStream(&parser{in.Context})
	event := token.NewWriter(in.Store)
	return lines.Each(in, func(offset int64, line []byte) error {
		if offset == 0 {
			return nil
		}
		var start, dur int64
		var name string
		if _, err := fmt.Sscanf(string(line), "%d %d %s", &start, &dur, &name); err != nil {
			in.File.LogAt(statParseErrors, offset, nil)
			return nil
		}
		ts, ok := in.TraceTime(start, offset)
		if !ok {
			return nil
		}
		event.Reset()
		event.Int(dur)
		event.Text([]byte(name))
		return work.Push(ts, event.Bytes())
	})
}

// parser makes slices.
type parser struct{ *model.Context }

// Event parses a piece of work.
func (p *parser) Event(ts int64, event []byte) error {
	r := token.Reader(event)
	dur, name := r.Int(), r.Text()
	p.Slices.Scoped(ts, dur, p.Tracks.Thread(p.Machine.Thread(7)), 0, name, nil)
	return nil
}
