package main

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tpconvert/tpconvert/cmd/tpconvert/console"
)

// skipped is a Perfetto trace: the first whole packets are events of one sequence, the others need incremental state
// that their sequence lost.
func skipped(whole, lost int) []byte {
	var trace []byte
	number := func(b []byte, field, value uint64) []byte {
		return binary.AppendUvarint(binary.AppendUvarint(b, field<<3), value)
	}
	nested := func(b []byte, field uint64, inner []byte) []byte {
		return append(binary.AppendUvarint(binary.AppendUvarint(b, field<<3|2), uint64(len(inner))), inner...)
	}
	for i := range whole + lost {
		var p []byte
		p = number(p, 8, uint64(1000+i)) // timestamp
		p = number(p, 10, 7)             // trusted_packet_sequence_id
		if i == 0 {
			p = number(p, 41, 1) // incremental_state_cleared
		}
		if i >= whole {
			p = number(p, 10, 8)
			p = number(p, 13, 2) // SEQ_NEEDS_INCREMENTAL_STATE
		}
		var event []byte
		event = number(event, 9, 3) // an instant
		event = nested(event, 23, []byte("event"))
		event = number(event, 11, 5) // track
		p = nested(p, 11, event)
		trace = nested(trace, 1, p)
	}
	return trace
}

// Losses are said by what they mean for the dataset, whatever Trace Processor's severity is.
func TestLosses(t *testing.T) {
	var overlapping strings.Builder // slices of one thread that overlap without nesting
	for i := range 26 {
		fmt.Fprintf(&overlapping, `{"ph":"X","ts":%d,"dur":15,"pid":1,"tid":1,"name":"a"},`, 10*i)
	}
	dir := folder(t, map[string]string{
		"skipped.pftrace": string(skipped(100, 300)), "few.pftrace": string(skipped(1000, 3)),
		"overlap.json": `{"traceEvents":[` + strings.TrimSuffix(overlapping.String(), ",") + "]}",
	})
	const skippedStat = "packet_skipped_seq_needs_incremental_state_invalid"

	got := tpconvert(t, dir, "skipped.pftrace", "out")
	got.expect(t, exitDone, "")
	if want := "skipped.pftrace: LOST: 300 of 400 events (75.0 %), 300 " + skippedStat + "\n\n"; !strings.HasPrefix(got.stdout, want) {
		t.Errorf("summary %s\nwant first %s", got.stdout, want)
	}
	tpconvert(t, dir, "--strict", "skipped.pftrace", "strict").expect(t, exitFailure, "data was lost or damaged: 300 "+skippedStat)
	got = tpconvert(t, dir, "few.pftrace", "few")
	if got.expect(t, exitDone, ""); strings.Contains(got.stdout, "LOST") || !strings.Contains(got.stdout, "\nLost: 3 "+skippedStat+".\n") {
		t.Errorf("summary %s", got.stdout)
	}
	got = tpconvert(t, dir, "--strict", "overlap.json", "overlap")
	if got.expect(t, exitDone, ""); !strings.Contains(got.stdout, "\nNote: ") {
		t.Errorf("summary %s", got.stdout)
	}
	if n := rows(t, dir, "overlap", "slice.parquet"); n != 26 {
		t.Errorf("%d slices", n)
	}
	if got := tpconvert(t, dir, "inspect", "out"); !strings.HasPrefix(got.stdout, "LOST: 300 of 400 events") {
		t.Errorf("inspect %s", got.stdout)
	}
	if got := tpconvert(t, dir, "inspect", "skipped.pftrace"); !strings.HasPrefix(got.stdout, "LOST: 300 of 400 events") {
		t.Errorf("inspect %s", got.stdout)
	}
	m := manifestAt(t, filepath.Join(dir, "out"), "_tpconvert.json")
	if m.Events != 100 || len(m.Warnings) == 0 || !strings.HasPrefix(m.Warnings[0], "LOST: 300") {
		t.Errorf("manifest: %d events, warnings %q", m.Events, m.Warnings)
	}
}

// A compressed file that ends too early is a dataset that says so, and exit code 5.
func TestIncomplete(t *testing.T) {
	var events, packed bytes.Buffer
	events.WriteString(`{"traceEvents":[`)
	for i := range 50_000 {
		fmt.Fprintf(&events, "{\"ph\":\"X\",\"ts\":%d,\"dur\":1,\"pid\":1,\"tid\":1,\"name\":\"n%d\"},\n", 10*i, i*i%977)
	}
	w := gzip.NewWriter(&packed)
	w.Write(events.Bytes())
	w.Close()
	dir := folder(t, map[string]string{"cut.json.gz": string(packed.Bytes()[:packed.Len()/4])})
	got := tpconvert(t, dir, "cut.json.gz", "out")
	got.expect(t, exitIncomplete, "incomplete: the input ends too early")
	if !strings.HasPrefix(got.stdout, "cut.json.gz: INCOMPLETE: the file ends too early") || !strings.Contains(got.stdout, "\nDamaged: ") {
		t.Errorf("summary %s", got.stdout)
	}
	if n := rows(t, dir, "out", "slice.parquet"); n < 5_000 || n > 20_000 {
		t.Errorf("%d slices of a quarter", n)
	}
	tpconvert(t, dir, "--strict", "cut.json.gz", "strict").expect(t, exitFailure, "incomplete_file")
	got = tpconvert(t, dir, "--json", "cut.json.gz", "json")
	var s console.Summary
	if err := json.Unmarshal([]byte(got.stdout), &s); err != nil || len(s.Traces) != 1 || !s.Traces[0].Incomplete {
		t.Errorf("summary %s, %v", got.stdout, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "good.json"), []byte(goodTrace), 0o666); err != nil {
		t.Fatal(err)
	}
	tpconvert(t, dir, "good.json", "cut.json.gz", "both").expect(t, exitIncomplete, "")
	if all := tracesIn(t, filepath.Join(dir, "both")); len(all) != 2 {
		t.Errorf("traces %v", all)
	}
}

// An input that ends inside a record is exit code 5, whatever its format, and the first line says what was read.
func TestCutInsideRecord(t *testing.T) {
	var events strings.Builder
	for i := range 100 {
		fmt.Fprintf(&events, "{\"ph\":\"X\",\"ts\":%d,\"dur\":1,\"pid\":1,\"tid\":1,\"name\":\"n\"},\n", 10*i)
	}
	whole := skipped(100, 0)
	recording, err := os.ReadFile("../../testdata/perf.data")
	if err != nil {
		t.Fatal(err)
	}
	heap := "heap profile:      1:       64 [     1:      64] @ heapprofile\n     1:       64 [     1:      64] @ 0x00401000 0x402000\n     1:       64 [     1:      64] @ 0x0040"
	dir := folder(t, map[string]string{"a.json": `{"traceEvents":[` + events.String()[:350], "a.pftrace": string(whole[:len(whole)-3]),
		"a.data": string(recording[:len(recording)/2]), "a.heap": heap})
	for _, name := range []string{"a.json", "a.pftrace", "a.data", "a.heap"} {
		got := tpconvert(t, dir, name, "out_"+name)
		got.expect(t, exitIncomplete, "the input ends too early")
		if line, _, _ := strings.Cut(got.stdout, "\n"); !strings.HasPrefix(line, name+": INCOMPLETE: the file ends too early") ||
			name != "a.heap" && !strings.Contains(line, " events before its end were read, and the rest of it is missing") {
			t.Errorf("first line %q", line)
		}
	}
	if n := rows(t, dir, "out_a.heap", "stack_profile_frame.parquet"); n != 2 {
		t.Errorf("%d frames, want those of the whole sample", n)
	}
}

// Each exit code is the same if every input is there twice.
func TestCopies(t *testing.T) {
	cut := `[{"ph":"X","ts":1,"dur":1,"pid":1,"tid":1,"name":"a"},{"ph":"X","ts":`
	inputs := map[string]string{"good": goodTrace, "bad": "no trace", "lossy": lossyTrace, "cut": cut, "nothing": "\x0a\x00"}
	files := map[string]string{}
	for name, data := range inputs {
		files[name+"1"], files[name+"2"] = data, data
	}
	dir := folder(t, files)
	for _, c := range []struct {
		args string
		code int
		says string
	}{
		{"good1 good2", exitDone, ""},
		{"--strict lossy1 lossy2", exitFailure, "data was lost or damaged"},
		{"good1 good2 bad1 bad2", exitSomeFailed, "2 of 4 traces could not be converted"},
		{"bad1 good1 bad2", exitSomeFailed, "bad2 has the same content as bad1"},
		{"bad1 bad2", exitBadInput, "2 of 2 traces could not be converted"},
		{"nothing1 nothing2", exitBadInput, "it looks like Perfetto, but nothing in it can be read"},
		{"cut1 cut2", exitIncomplete, "the input ends too early"},
		{"cut1 cut2 bad1 bad2", exitSomeFailed, "2 of 4"},
	} {
		out := "out_" + strings.ReplaceAll(c.args, " ", "_")
		tpconvert(t, dir, append(strings.Fields(c.args), out)...).expect(t, c.code, c.says)
		if _, err := os.Stat(filepath.Join(dir, out)); c.code == exitBadInput && err == nil {
			t.Errorf("%s: a dataset", c.args)
		}
	}
}

// Lines of folded stacks are sums and not events, so that a bad one is no share of them.
func TestLossesOfSums(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"a.folded": "a;;b 1\n;lead 2\ntrail; 3\n 4\n"})
	got := tpconvert(t, dir, "a.folded", "out")
	got.expect(t, exitDone, "")
	if strings.Contains(got.stdout+got.stderr, "LOST") || !strings.Contains(got.stdout, "Lost: 1 collapsed_stack_parse_errors.") {
		t.Errorf("%s%s", got.stdout, got.stderr)
	}
	tpconvert(t, dir, "--strict", "a.folded", "strict").expect(t, exitFailure, "")
	var said struct{ Lost, Events int }
	if err := json.Unmarshal([]byte(tpconvert(t, dir, "inspect", "--json", "out").stdout), &said); err != nil || said.Lost != 0 || said.Events != 0 {
		t.Error(said, err)
	}
}
