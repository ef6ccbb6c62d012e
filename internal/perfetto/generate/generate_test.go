package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestUpToDate fails when go generate would change anything.
func TestUpToDate(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	files, err := generate(root)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		if got, err := os.ReadFile(filepath.Join(root, name)); err != nil {
			t.Error(err)
		} else if !bytes.Equal(got, want) {
			t.Errorf("%s is not what go generate ./internal/perfetto makes", name)
		}
	}
	old, err := generated(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range old {
		if files[name] == nil {
			t.Errorf("%s is no longer made", name)
		}
	}
}

func TestNames(t *testing.T) {
	for name, want := range map[string]string{
		"track_uuid": "TrackUUID", "extra_counter_track_uuids": "ExtraCounterTrackUUIDs", "v8_js_code": "V8JsCode",
		"TYPE_SLICE_BEGIN": "TypeSliceBegin", "cpu_per_uid_data": "CPUPerUIDData",
	} {
		if got := goName(name); got != want {
			t.Errorf("%s is %s, not %s", name, got, want)
		}
	}
	if got := snake("BuiltinClock"); got != "builtin_clock" {
		t.Errorf("BuiltinClock is %s", got)
	}
}

func TestStatsTable(t *testing.T) {
	header := `#define PERFETTO_TP_STATS(F) \
  F(buffers_lost,          kIndexed,  kDataLoss,     kTrace, Scope::kTrace,    ""), \
  F(a_name_so_long_that_the_rest_is_on_the_next_line,                           \
                           kSingle,  kInfo,     kAnalysis, Scope::kGlobal,  "")`
	before := statColumns + "removed\tsingle\tinfo\ttrace\tnone\tevents\tGone.\nbuffers_lost\tsingle\tinfo\ttrace\tlost\tgaps\tBuffers that are lost.\n"
	want := statColumns + "buffers_lost\tindexed\tdata_loss\ttrace\tlost\tgaps\tBuffers that are lost.\n" +
		"a_name_so_long_that_the_rest_is_on_the_next_line\tsingle\tinfo\tanalysis\t\t\t\n"
	got := statsTable([]byte(header), []byte(before))
	if string(got) != want {
		t.Errorf("got\n%s", got)
	}
	if _, err := statsList(bytes.NewReader(got)); err == nil || !strings.Contains(err.Error(), "has no effect, value or description") {
		t.Errorf("a stat without a description: %v", err)
	}
}

func TestUses(t *testing.T) {
	root := t.TempDir()
	source := `package p

import (
	renamed "github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/internal/perfetto/pprofpb"
	"strings"
)

var _ = []int{renamed.Used, pprofpb.Misspelt, len(strings.Repeat("", renamed.Used))}
`
	if err := os.WriteFile(filepath.Join(root, "p.go"), []byte(source), 0o666); err != nil {
		t.Fatal(err)
	}
	used, err := uses(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(used) != 2 || used["pb.Used"].Line != 9 {
		t.Errorf("found %v", used)
	}
	err = unknown(used, func(constant string) bool { return constant == "pb.Used" })
	if want := "p.go:9:29: Perfetto's messages have no field or enum value pprofpb.Misspelt"; err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("the error is %v, not %s", err, want)
	}
}
