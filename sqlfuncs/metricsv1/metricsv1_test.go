package metricsv1_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/tpconvert/tpconvert/internal/datasettest"
	"github.com/tpconvert/tpconvert/sqlfuncs/metricsv1"
	"github.com/tpconvert/tpconvert/sqlfuncs/session"
)

// types are the messages of a checkout with the metric own.
const types = `file { name: "own.proto" package: "perfetto.protos" syntax: "proto2"
	message_type { name: "TraceMetrics" field { name: "own" number: 7 label: LABEL_OPTIONAL type: TYPE_MESSAGE type_name: ".perfetto.protos.Own" } }
	message_type { name: "Own"
		field { name: "total" number: 1 label: LABEL_OPTIONAL type: TYPE_INT64 }
		field { name: "names" number: 2 label: LABEL_REPEATED type: TYPE_STRING }
		field { name: "delta" number: 3 label: LABEL_OPTIONAL type: TYPE_SINT32 } } }`

func checkout(t *testing.T, templates map[string]string) string {
	var set descriptorpb.FileDescriptorSet
	err := prototext.Unmarshal([]byte(types), &set)
	var encoded []byte
	if err == nil {
		encoded, err = proto.Marshal(&set)
	}
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	files := map[string]string{"python/perfetto/trace_processor/metrics.descriptor": string(encoded)}
	for name, text := range templates {
		files["src/trace_processor/metrics/sql/"+name] = text
	}
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func open(t *testing.T, templates map[string]string) *metricsv1.Library {
	l, err := metricsv1.Open(checkout(t, templates))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestCompute(t *testing.T) {
	l := open(t, map[string]string{
		"a/own.sql": `CREATE PERFETTO VIEW own_output AS
			SELECT Own('total', (SELECT sum(dur) FROM slice), 'names', (SELECT RepeatedField(name) FROM (SELECT name FROM slice ORDER BY ts)), 'delta', -2)`,
		"a/part.sql": "SELECT 1",
	})
	if names, err := l.Names(); err != nil || !slices.Equal(names, []string{"own"}) {
		t.Errorf("metrics %q, %v", names, err)
	}
	s, err := session.New(t.Context(), session.Options{Perfetto: true, Metrics: l})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	trace := `[{"ph":"X","pid":1,"tid":2,"ts":1,"dur":5,"name":"work"},{"ph":"X","pid":1,"tid":2,"ts":2,"dur":2,"name":"part"}]`
	if err := s.OpenDataset(t.Context(), datasettest.Convert(t, trace)); err != nil {
		t.Fatal(err)
	}
	encoded, err := l.Compute(t.Context(), s, []string{"own"})
	if err != nil {
		t.Fatal(err)
	}
	// Field 7 with the fields 1 = 7000, 2 = work and part, 3 = zigzag of -2.
	if want := "\x3a\x11\x08\xd8\x36\x12\x04work\x12\x04part\x18\x03"; string(encoded) != want {
		t.Errorf("%q, want %q", encoded, want)
	}
	text, err := l.JSON(encoded)
	if got := strings.Join(strings.Fields(string(text)), ""); err != nil || got != `{"own":{"total":"7000","names":["work","part"],"delta":-2}}` {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := l.Compute(t.Context(), s, []string{"part"}); err == nil || !strings.Contains(err.Error(), "unknown metric part") {
		t.Errorf("a template that is no metric: %v", err)
	}
}

func TestBuild(t *testing.T) {
	l := open(t, map[string]string{"a/own.sql": ""})
	if _, err := l.Functions(); err != nil {
		t.Fatal(err)
	}
	if got, err := l.Build("OWN", []any{"total", int64(3), "delta", nil}); err != nil || string(got) != "perfetto.protos.Own\x00\x08\x03" {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := l.Build("Own", nil); err != nil || got == nil || len(got) > 0 {
		t.Errorf("an empty message: %q, %v", got, err)
	}
	for want, args := range map[string][]any{
		"want names of fields and their values, not 1 arguments": {"total"},
		"argument 1 is not the name of a field":                  {int64(1), int64(2)},
		"perfetto.protos.Own has no such field":                  {"other", int64(2)},
		"text (string) is not of type int64":                     {"total", "text"},
		"it is repeated, but x is one value":                     {"names", "x"},
		"it is not repeated, but there is a list":                {"total", []any{int64(1)}},
	} {
		if _, err := l.Build("Own", args); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %s", args, err, want)
		}
	}
}

func TestWrongCheckouts(t *testing.T) {
	if _, err := metricsv1.Open(t.TempDir()); !errors.Is(err, metricsv1.ErrNone) {
		t.Errorf("an empty folder: %v", err)
	}
	l := open(t, map[string]string{"a/own.sql": "", "b/own.sql": ""})
	if _, err := l.Names(); err == nil || err.Error() != "metric own has two templates: a/own.sql and b/own.sql" {
		t.Errorf("two templates: %v", err)
	}
}
