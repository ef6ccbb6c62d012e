// Package fuchsia reads traces in the Fuchsia trace format
// (https://fuchsia.dev/fuchsia-src/reference/tracing/trace-format), a sequence of
// records of 64-bit words.
//
// The tokenizer maintains the tables of each provider, applies records without a
// timestamp, and turns each event into a token in which every reference is resolved.
// The sorter orders the tokens, because each provider writes at its own pace. The
// parser turns them into rows.
package fuchsia

import (
	"bytes"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/model"
)

// Format is the Fuchsia trace format, FXT.
var Format = &format.Format{
	Name: "fuchsia", Read: read,
	Sniff: func(head []byte) bool { return bytes.HasPrefix(head, magic) },
}

var (
	statSkippedRecord = model.NewStat(1008, model.StatInfo{
		Name: "fuchsia_skipped_record", Indexed: true, Severity: model.Notice, Effect: model.NotRead,
		Description: "Records of Fuchsia's format that make no rows, by type.",
	})
	statBufferFull = model.NewStat(1009, model.StatInfo{
		Name: "fuchsia_buffer_full", Severity: model.DataLoss, Source: model.FromTrace, Effect: model.Lost, Gap: true,
		Description: "Times that a provider reports that it had no room for records.",
	})
)

// magic is the record at the start of every trace.
var magic = []byte{0x10, 0x00, 0x04, 0x46, 0x78, 0x54, 0x16, 0x00}

func read(in *format.Input) error {
	in.UseClock(model.ClockBoottime)
	return newTokenizer(in).run()
}
