// Package otlp reads traces and profiles of OpenTelemetry's protocol: a message TracesData or ProfilesData, or the requests that the
// collector's file exporter writes, one after the other, as protobuf or JSON. See opentelemetry/proto/trace/v1/trace.proto.
package otlp

import (
	"bufio"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/spans"
)

// Format is the format of OpenTelemetry's traces and profiles.
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
	f := framingOf(head)
	if hasProfiles(head, f) {
		return readProfiles(in, r, f)
	}
	return readMessages(in, r, f)
}

// noSpans returns the error for an input without a span, which may have records of another signal, or nil if it had one.
func noSpans(r *spans.Reader, other signal) error {
	err := r.NoSpans()
	if err != nil && other == ofProfiles {
		return errNoSamples()
	}
	if err != nil && other != "" {
		return format.Errorf(format.ErrUnsupported, -1, "OpenTelemetry %s are not read, only traces and profiles", other)
	}
	return err
}

func errNoSamples() error {
	return format.Errorf(format.ErrNoEvents, -1, "OpenTelemetry profiles without samples and tables of a release that is read")
}
