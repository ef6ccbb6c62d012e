// Package otlp reads traces of OpenTelemetry's protocol: a message TracesData, or the requests that the collector's file
// exporter writes, one after the other, as protobuf or JSON. See opentelemetry/proto/trace/v1/trace.proto.
package otlp

import (
	"bufio"

	"github.com/tpconvert/tpconvert/ingest/format"
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
