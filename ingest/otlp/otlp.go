// Package otlp reads traces of OpenTelemetry's protocol: a message TracesData, or the requests that the collector's file
// exporter writes, one after the other, as protobuf or JSON. See opentelemetry/proto/trace/v1/trace.proto.
package otlp

import (
	"bufio"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/spans"
)

// Format is the format of OpenTelemetry's traces.
var Format = &format.Format{Name: "otlp", Title: "OpenTelemetry (OTLP)", Sniff: sniff, Read: read}

func sniff(head []byte) bool { return sniffJSON(head) || framingOf(head) != unknown }

func read(in *format.Input) error {
	r := bufio.NewReaderSize(in, format.HeadBytes)
	head, err := r.Peek(format.HeadBytes)
	if len(head) == 0 {
		return err
	}
	if sniffJSON(head) {
		return readJSON(in, r)
	}
	return readMessages(in, r, framingOf(head))
}

// noSpans returns the error for an input without a span, which may have records of another signal, or nil if it had one.
func noSpans(r *spans.Reader, other signal) error {
	err := r.NoSpans()
	if err != nil && other != "" {
		return format.Errorf(format.ErrUnsupported, -1, "OpenTelemetry %s are not read, only traces", other)
	}
	return err
}
