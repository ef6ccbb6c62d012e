//go:build cgo

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/tpconvert/tpconvert/cmd/tpconvert/serve"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
)

const ownTypes = `
file {
  name: "own.proto" package: "perfetto.protos" syntax: "proto2"
  message_type { name: "TraceMetrics"
    field { name: "own" number: 1 label: LABEL_OPTIONAL type: TYPE_MESSAGE type_name: ".perfetto.protos.OwnMetric" }
    field { name: "empty" number: 2 label: LABEL_OPTIONAL type: TYPE_MESSAGE type_name: ".perfetto.protos.OwnMetric" }
    field { name: "wrong" number: 3 label: LABEL_OPTIONAL type: TYPE_MESSAGE type_name: ".perfetto.protos.OwnMetric" } }
  message_type { name: "OwnMetric"
    field { name: "total" number: 1 label: LABEL_OPTIONAL type: TYPE_INT64 }
    field { name: "parts" number: 2 label: LABEL_REPEATED type: TYPE_MESSAGE type_name: ".perfetto.protos.OwnMetric.Part" }
    field { name: "level" number: 3 label: LABEL_OPTIONAL type: TYPE_ENUM type_name: ".perfetto.protos.OwnMetric.Level" }
    field { name: "ratio" number: 4 label: LABEL_OPTIONAL type: TYPE_DOUBLE }
    field { name: "none" number: 5 label: LABEL_OPTIONAL type: TYPE_MESSAGE type_name: ".perfetto.protos.OwnMetric.Part" }
    field { name: "names" number: 6 label: LABEL_REPEATED type: TYPE_STRING }
    field { name: "again" number: 7 label: LABEL_REPEATED type: TYPE_MESSAGE type_name: ".perfetto.protos.OwnMetric" }
    nested_type { name: "Part"
      field { name: "name" number: 1 label: LABEL_OPTIONAL type: TYPE_STRING }
      field { name: "dur" number: 2 label: LABEL_OPTIONAL type: TYPE_SINT32 } }
    enum_type { name: "Level" value { name: "LOW" number: 0 } value { name: "HIGH" number: 7 } } }
}`

// ownCheckout writes a folder like a checkout of Perfetto, with metrics of our own.
func ownCheckout(t *testing.T) string {
	t.Helper()
	var set descriptorpb.FileDescriptorSet
	if err := prototext.Unmarshal([]byte(ownTypes), &set); err != nil {
		t.Fatal(err)
	}
	encoded, err := proto.Marshal(&set)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"python/perfetto/trace_processor/metrics.descriptor": string(encoded),
		"src/trace_processor/perfetto_sql/stdlib/x.sql":      "CREATE PERFETTO FUNCTION twice(n LONG) RETURNS LONG AS SELECT 2 * $n;",
		"src/trace_processor/metrics/sql/own/own.sql": `
			INCLUDE PERFETTO MODULE x;
			CREATE PERFETTO FUNCTION again(slice_id LONG) RETURNS PROTO AS
			SELECT OwnMetric('names', (SELECT RepeatedField(name) FROM (
			  SELECT 'z' AS name FROM slice AS s WHERE s.id = $slice_id UNION ALL SELECT s.name FROM slice AS s WHERE s.id = $slice_id
			  UNION ALL SELECT 'y' UNION ALL SELECT 'a' FROM slice AS s WHERE s.id = $slice_id)));
			SELECT RUN_METRIC('own/parts.sql', 'table_name', 'own_parts', 'least', '2000');
			CREATE PERFETTO VIEW own_output AS
			SELECT OwnMetric(
			  'total', (SELECT twice(sum(dur)) FROM slice),
			  'parts', (SELECT RepeatedField(proto) FROM own_parts),
			  'level', 'HIGH', 'ratio', 0.5, 'none', NULL_IF_EMPTY(OwnMetric_Part()),
			  'names', (SELECT RepeatedField(name) FROM (SELECT name, count() FROM slice GROUP BY name)),
			  'again', (SELECT RepeatedField(again(id)) FROM slice WHERE name = 'work'));`,
		"src/trace_processor/metrics/sql/own/parts.sql": `
			CREATE PERFETTO VIEW {{table_name}} AS
			SELECT OwnMetric_Part('name', name, 'dur', dur) AS proto FROM slice WHERE dur >= {{ least }} ORDER BY dur;`,
		"src/trace_processor/metrics/sql/empty.sql": "CREATE PERFETTO TABLE empty_output AS SELECT OwnMetric('total', 1) AS m FROM slice WHERE false;",
		"src/trace_processor/metrics/sql/wrong.sql": "CREATE PERFETTO VIEW wrong_output AS SELECT OwnMetric('total', 'text');",
	} {
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

func TestMetric(t *testing.T) {
	t.Parallel()
	checkout, dir := ownCheckout(t), dataset(t, goodTrace)
	run := func(args ...string) outcome {
		return tpconvert(t, dir, append([]string{"metric", "--stdlib", checkout}, args...)...)
	}
	for _, input := range []string{"out", "a.json"} {
		got := run("--run", "own,empty", "--format", "json", input)
		got.expect(t, exitDone, "")
		// JSON of protobuf has spaces at random.
		if got := strings.Join(strings.Fields(got.stdout), ""); got !=
			`{"own":{"total":"14000","parts":[{"name":"part","dur":2000},{"name":"work","dur":5000}],"level":"HIGH","ratio":0.5,"names":["part","work"],"again":[{"names":["z","work","y","a"]}]},"empty":{}}` {
			t.Errorf("%s: got %s", input, got)
		}
	}
	if got := run("--run", "own", "out"); !strings.Contains(got.stdout, `name:`) || !strings.Contains(got.stdout, "level:") {
		t.Errorf("text: %+v", got)
	}
	if got := run("--run", "own", "--format", "proto", "out"); !strings.HasPrefix(got.stdout, "\x0a") {
		t.Errorf("proto: %+v", got)
	}
	if got := run("--run", "own", "--format", "parquet", "out"); !strings.HasPrefix(got.stdout, "PAR1") {
		t.Errorf("parquet: %+v", got)
	}
	if got := run("--list"); got.stdout != "empty\nown\nwrong\n" {
		t.Errorf("list: %+v", got)
	}
	run("--run", "wrong", "out").expect(t, exitFailure, "field total: text (string) is not of type int64")
	run("--run", "other", "out").expect(t, exitFailure, "unknown metric other")
	run("out").expect(t, exitUsage, "--run is missing")
	without := command(t, dir, "metric", "--run", "own", "out")
	without.Env = append(without.Env, "XDG_CACHE_HOME="+dir)
	finish(t, without).expect(t, exitUsage, "there are no metrics")
	tpconvert(t, dir, "metric", "--run", "own", "--stdlib", dir, "out").expect(t, exitFailure, "there are no metrics of version 1")
	query := `SELECT RUN_METRIC("own/parts.sql", 'table_name', 'p', 'least', '2001'); SELECT count(*) AS n FROM p;`
	if got := rowsOf(t, dir, "out", query, "--perfetto", "--stdlib", checkout); !strings.HasSuffix(got, "\"n\"\n1\n") {
		t.Errorf("RUN_METRIC: %q", got)
	}
	url := serveWith(t, serve.Options{Stdlib: checkout}, filepath.Join(dir, "out"))
	args := protowire.AppendString(protowire.AppendTag(nil, pb.ComputeMetricArgs_MetricNames, protowire.BytesType), "empty")
	if got := protoFields(t, post(t, url+"/compute_metric", args))[pb.ComputeMetricResult_Metrics]; len(got) != 1 || string(got[0]) != "\x12\x00" {
		t.Errorf("/compute_metric: %q", got)
	}
}
