package ingest_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	_ "github.com/tpconvert/tpconvert/ingest" // declares the stats of all formats
	"github.com/tpconvert/tpconvert/model"
)

var generate = flag.Bool("generate", false, "write new stats to testdata/stats.txt")

// testdata/stats.txt lists the key of every stat of our own: datasets have these keys, so lines are never removed.
func TestStatKeysAreNotReused(t *testing.T) {
	const path = "testdata/stats.txt"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	names, keys := map[string]string{}, map[string]string{}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if names[words[0]] != "" || keys[words[1]] != "" {
			t.Errorf("%s: %s %s is given out twice", path, words[0], words[1])
		}
		names[words[0]], keys[words[1]] = words[1], words[0]
	}
	want := bytes.Clone(text)
	for _, s := range model.AllStats() {
		key, name := fmt.Sprint(int(s)), s.String()
		switch {
		case !s.Own() || names[key] == name:
		case names[key] != "":
			t.Errorf("%s has key %s, which is that of %s: give it a new one", name, key, names[key])
		case keys[name] != "":
			t.Errorf("%s has key %s, but its key is %s", name, key, keys[name])
		default:
			want = fmt.Appendf(want, "%s %s\n", key, name)
		}
	}
	if *generate && !t.Failed() {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
	} else if !bytes.Equal(text, want) {
		t.Errorf("%s is not current: run make generate", path)
	}
}

// Every stat says in a sentence of its own what it counts, and what a fault means for the dataset.
func TestStatsAreDescribed(t *testing.T) {
	names, texts := map[string]model.Stat{}, map[string]model.Stat{}
	for _, s := range model.AllStats() {
		text := s.Description()
		if s.String() == "" || !strings.HasSuffix(text, ".") || len(text) > 200 {
			t.Errorf("%d %s: %q", s, s, text)
		}
		if other, ok := names[s.String()]; ok {
			t.Errorf("%d and %d are both named %s", s, other, s)
		}
		if other, ok := texts[text]; ok {
			t.Errorf("%s and %s have the same description", s, other)
		}
		names[s.String()], texts[text] = s, s
		if s.Own() && s.Severity() >= model.DataLoss && s.Effect() < model.NotRead {
			t.Errorf("%s has severity %s, but the effect %s", s, s.Severity(), s.Effect())
		}
	}
}
