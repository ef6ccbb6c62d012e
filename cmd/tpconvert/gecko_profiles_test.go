//go:build cgo

package main

import (
	"encoding/csv"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A Firefox profile, as far as the call tree of Firefox's profiler needs it. Tables are in columns, or in rows with a schema.
type geckoProfile struct {
	Threads   []json.RawMessage
	Processes []geckoProfile
	Shared    *geckoThread
}

type geckoThread struct {
	StringArray, StringTable []string
	FuncTable, FrameTable    geckoTable
	StackTable, Samples      geckoTable
}

// geckoTable has the values of columns.
type geckoTable map[string][]json.RawMessage

func (g *geckoTable) UnmarshalJSON(text []byte) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		return err
	}
	*g = geckoTable{}
	var schema map[string]int
	if json.Unmarshal(members["schema"], &schema) != nil || schema == nil {
		for name, member := range members {
			var column []json.RawMessage
			if json.Unmarshal(member, &column) == nil {
				(*g)[name] = column
			}
		}
		return nil
	}
	var rows [][]json.RawMessage
	if err := json.Unmarshal(members["data"], &rows); err != nil {
		return err
	}
	for name, at := range schema {
		column := make([]json.RawMessage, len(rows))
		for i, row := range rows {
			if at < len(row) {
				column[i] = row[at]
			}
		}
		(*g)[name] = column
	}
	return nil
}

// number returns an integer of a table, or -1 for none.
func (g geckoTable) number(column string, row int) int {
	if row < 0 || row >= len(g[column]) {
		return -1
	}
	n, err := strconv.Atoi(string(g[column][row]))
	if err != nil {
		return -1
	}
	return n
}

// add adds what the call tree has for each function: samples by their weight.
func (p *geckoProfile) add(t *testing.T, all map[string]weight) {
	t.Helper()
	for _, text := range p.Threads {
		var profile string
		if json.Unmarshal(text, &profile) == nil { // a process, up to version 3
			text = json.RawMessage(profile)
			var child geckoProfile
			if err := json.Unmarshal(text, &child); err != nil {
				t.Fatal(err)
			}
			child.add(t, all)
			continue
		}
		var thread geckoThread
		if err := json.Unmarshal(text, &thread); err != nil {
			t.Fatal(err)
		}
		thread.add(all)
	}
	for i := range p.Processes {
		p.Processes[i].add(t, all)
	}
}

// geckoLibrary is the library in the location of a frame.
var geckoLibrary = regexp.MustCompile(` \(in [^)]*\)$`)

func (g *geckoThread) add(all map[string]weight) {
	texts := append(g.StringArray, g.StringTable...)
	name := func(stack int) string {
		frame := g.StackTable.number("frame", stack)
		if at := g.FrameTable.number("location", frame); at >= 0 {
			return geckoLibrary.ReplaceAllString(texts[at], "")
		}
		return texts[g.FuncTable.number("name", g.FrameTable.number("func", frame))]
	}
	for i := range g.Samples["stack"] {
		stack := g.Samples.number("stack", i)
		if stack < 0 {
			continue
		}
		n := 1.0
		if len(g.Samples["weight"]) > 0 {
			n = float64(g.Samples.number("weight", i))
		}
		seen := map[string]bool{}
		for at := stack; at >= 0; at = g.StackTable.number("prefix", at) {
			name := name(at)
			w := all[name]
			if at == stack {
				w.flat += n
			}
			if !seen[name] {
				w.cumulative += n
			}
			seen[name], all[name] = true, w
		}
	}
}

// flat returns what functions have in themselves alone.
func flat(all map[string]weight) map[string]weight {
	to := map[string]weight{}
	for name, w := range all {
		to[name] = weight{flat: w.flat}
	}
	return to
}

// summaryOf returns what summarize says of functions, of all processes together.
func summaryOf(t *testing.T, dir string) map[string]weight {
	t.Helper()
	got := tpconvert(t, dir, "summarize", "--format", "csv", "profile", "out")
	got.expect(t, exitDone, "")
	rows, err := csv.NewReader(strings.NewReader(got.stdout)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]weight{}
	for _, row := range rows[1:] {
		all[row[3]] = weight{flat: all[row[3]].flat + number(t, row[4])}
	}
	return all
}

// TestFunctionsOfGecko compares every function, in SQL and in the profile that flamegraph writes, with the call tree of
// Firefox's profiler. It adds up the weights of samples: samply stores equal samples of a sleeping thread as one.
func TestFunctionsOfGecko(t *testing.T) {
	t.Parallel()
	const weights = `{"meta":{"version":24,"interval":1},"threads":[{"name":"t","tid":1,"pid":1,"stringArray":["main","run"],
"funcTable":{"name":[0,1]},"frameTable":{"func":[0,1]},"stackTable":{"prefix":[null,0],"frame":[0,1]},
"samples":{"stack":[1,0,null,1],"time":[1,2,3,4],"weight":[3,1,9,0],"weightType":"samples"}}]}`
	paths := append(shared(t, "gecko/*"), filepath.Join(folder(t, map[string]string{"weights.json": weights}), "weights.json"))
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			var p geckoProfile
			if err := json.Unmarshal(content(t, path), &p); err != nil {
				t.Fatal(err)
			}
			want := map[string]weight{}
			p.add(t, want)
			if len(want) == 0 {
				t.Fatal("the profile has no functions")
			}
			dir := t.TempDir()
			tpconvert(t, dir, "-q", path, "out").expect(t, exitDone, "")
			sameFunctions(t, "in SQL", functionsOf(t, dir, "out", "'stack_sample'"), maps.Clone(want))
			sameFunctions(t, "summarized", summaryOf(t, dir), flat(want))
			for name, readable := range demangled(t, dir, slices.Collect(maps.Keys(want))) { // as flame graphs show them
				w := want[name]
				delete(want, name)
				want[readable] = w
			}
			tpconvert(t, dir, "flamegraph", "-o", "out.pb.gz", "out").expect(t, exitDone, "")
			written := parsed(t, filepath.Join(dir, "out.pb.gz"))
			sameFunctions(t, "written", pprofFunctions(t, filepath.Join(dir, "out.pb.gz"), 0, written.SampleType[0]), want)
		})
	}
}

// demangled returns how PerfettoSQL demangles those of the names that begin as C++'s do.
func demangled(t *testing.T, dir string, names []string) map[string]string {
	t.Helper()
	names = slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, "_Z") })
	if len(names) == 0 {
		return nil
	}
	query := "SELECT column1 AS name, coalesce(demangle(column1), column1) AS readable FROM (VALUES ('" + strings.Join(names, "'), ('") + "'))"
	if err := os.WriteFile(filepath.Join(dir, "names.sql"), []byte(query), 0o666); err != nil {
		t.Fatal(err)
	}
	got := tpconvert(t, dir, "query", "--perfetto", "--format", "json", "--file", "names.sql", "out")
	got.expect(t, exitDone, "")
	var rows []struct{ Name, Readable string }
	if err := json.Unmarshal([]byte(got.stdout), &rows); err != nil {
		t.Fatal(err)
	}
	if len(rows) != len(names) {
		t.Fatalf("%d rows of %d names", len(rows), len(names))
	}
	all := map[string]string{}
	for _, row := range rows {
		all[row.Name] = row.Readable
	}
	return all
}
