package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestParseSize(t *testing.T) {
	for in, want := range map[string]int64{
		"1": 1, "100B": 100, "64kB": 64_000, "500MB": 500_000_000, "1GB": 1_000_000_000,
	} {
		if got, err := parseSize(in); err != nil || got != want {
			t.Errorf("parseSize(%q) = %d, %v, want %d", in, got, err, want)
		}
	}
	for _, in := range []string{"", "B", "MB", "0", "-1GB", "1TB", "1 GB", "1.5MB", "1BB", "99999999999GB"} {
		if got, err := parseSize(in); err == nil {
			t.Errorf("parseSize(%q) = %d, want an error", in, got)
		}
	}
}

func TestCommand(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace")
	run := func(args ...string) error {
		cmd := command()
		cmd.SetArgs(append(args, path))
		cmd.SetErr(new(bytes.Buffer))
		return cmd.Execute()
	}
	for _, name := range []string{"json", "ndjson"} {
		if err := run("--format="+name, "--size=100kB"); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, generate(t, name, 1e5)) {
			t.Errorf("%s: it wrote something else", name)
		}
	}
	if err := run("--format=ninja-nested", "--count=2"); err != nil {
		t.Fatal(err)
	}
	const log = "# ninja log v5\n0\t4\t0\tout0\t1\n1\t3\t0\tout1\t1ef0\n"
	if got, err := os.ReadFile(path); err != nil || string(got) != log {
		t.Errorf("%q, %v, want %q", got, err, log)
	}
	for _, args := range [][]string{{"--format=xml"}, {"--size=big"}, {"--size=1MB", "extra"}} {
		if run(args...) == nil {
			t.Errorf("%v: no error", args)
		}
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != log {
		t.Errorf("an error left %q, %v", got, err)
	}
}
