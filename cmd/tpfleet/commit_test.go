package main

import (
	"strings"
	"testing"
)

// Results are committed as they come: many in several transactions, and those before one that cannot be read are in.
func TestCommitAsTheyCome(t *testing.T) {
	f := newFolder(t)
	results := func(first, traces int) string { return line(t, invented("file:///a/", first, traces)) }
	text := results(0, 6000) + results(6000, 6000) + results(12_000, 10)
	if a := account(t, f.run(t, text, "commit")); a.OK != 12_010 || a.Tasks != 3 || a.Tries != 2 {
		t.Errorf("%+v, want 12010 traces of 3 tasks in 2 transactions", a)
	}
	half := command(t, append([]string{"commit"}, f.flags()...)...)
	half.Stdin = strings.NewReader(results(20_000, 10_000) + results(30_000, 5) + "{")
	if half.Run() == nil {
		t.Error("half a result is committed")
	}
	if status := f.run(t, "", "status"); !strings.Contains(status, "22010") {
		t.Errorf("%s\nwant 22010 traces", status)
	}
}
