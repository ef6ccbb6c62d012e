package json

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tpconvert/tpconvert/ingest/internal/jsonlex"
)

const (
	maxMembers    = 16 // number of an outer object's members that are remembered
	maxMemberName = 40 // bytes of each member's name
)

// otherKinds are kinds of JSON files that are not traces, or not supported, and the
// members that identify them. The first match wins.
var otherKinds = []struct {
	name    string
	members []string
}{
	{"an HTTP archive (HAR)", []string{"log"}},
	{"a source map", []string{"mappings", "sources"}},
	{"a Jupyter notebook", []string{"cells", "nbformat"}},
	{"a Lighthouse report", []string{"lighthouseVersion"}},
	{"Go's test output", []string{"Action", "Package"}},
	{"Bazel's build events", []string{"children", "id"}},
	{"spans of OpenTelemetry's console exporter, not OTLP", []string{"context", "start_time", "end_time"}},
	{"spans of OpenTelemetry's stdout exporter, not OTLP", []string{"SpanContext", "StartTime", "EndTime"}},
}

// likeness says what an input without events looks like.
func (t *tokenizer) likeness(truncated bool) string {
	has := func(name string) bool { return slices.Contains(t.members, name) }
	for _, kind := range otherKinds {
		if !slices.ContainsFunc(kind.members, func(name string) bool { return !has(name) }) {
			return "it looks like " + kind.name + ", which is not supported"
		}
	}
	switch {
	case truncated:
		return "the input ends before the first event"
	case t.large:
		return "an event is " + jsonlex.ErrTooLarge.Error()
	case has("traceEvents"):
		return "traceEvents is empty"
	case len(t.members) > 0:
		return fmt.Sprintf("it is plain JSON with the members %q", strings.Join(t.members, ", "))
	}
	return "it is plain JSON"
}
