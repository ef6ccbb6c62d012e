package derive_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/tpconvert/tpconvert/internal/datasettest"
	"github.com/tpconvert/tpconvert/sqlfuncs/derive"
	"github.com/tpconvert/tpconvert/sqlfuncs/session"
)

const trace = `[{"ph":"X","pid":1,"tid":2,"ts":1,"dur":5,"name":"work"},{"ph":"X","pid":1,"tid":2,"ts":2,"dur":2,"name":"part"}]`

func TestErrorsHaveALine(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "f.yaml: the file is empty",
		"dialect: sql\nevents: {}\n":    `f.yaml:1: dialect "sql": want duckdb or perfetto`,
		"events: {}\n":                  "f.yaml: it defines nothing",
		"alarms: {}\n":                  `f.yaml:1: unknown key "alarms": want events, annotations, alerts or dialect`,
		"events:\n  a:\n    track: x\n": "f.yaml:2: a: the key query is missing",
		"events:\n  a: {query: q}\n  a: {query: q}\n":               "f.yaml:3: a is there twice",
		"events:\n  a: {query: q}\nalerts:\n  a: {query: q}\n":      "f.yaml:4: a is there twice",
		"events:\n  a b: {query: q}\n":                              `f.yaml:2: name "a b": want letters, digits, dots, dashes and underscores`,
		"alerts:\n  a: {query: q, text: t, level: fatal}\n":         `f.yaml:2: a: level "fatal": want warning or error`,
		"events:\n  a:\n    query: q\n    level: error\n":           `f.yaml:4: a: unknown key "level": want query, track, unit`,
		"events:\n  a: {query: q}\n---\nevents:\n  b: {query: q}\n": "f.yaml:3: want a single document",
		"annotations:\n  a:\n    query: [q]\n    text: t\n":         "f.yaml:3: query: want a text",
		"events:\n  a: {query: q\n":                                 "f.yaml:",
	} {
		if _, err := derive.Parse("f.yaml", []byte(text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func TestBuiltin(t *testing.T) {
	all, err := derive.Builtin()
	if err != nil || len(all) == 0 {
		t.Fatalf("%d definitions, %v", len(all), err)
	}
	for _, d := range all {
		if d.Kind != derive.Alerts || d.Dialect != "perfetto" { // each build has them
			t.Errorf("%s: %s in %s", d.Name, d.Kind, d.Dialect)
		}
	}
}

func evaluator(t *testing.T, folder string) *derive.Evaluator {
	e := &derive.Evaluator{Open: func(ctx context.Context, perfetto bool) (*session.Session, error) {
		s, err := session.New(ctx, session.Options{Perfetto: perfetto})
		if err == nil {
			err = s.OpenDataset(ctx, folder)
		}
		return s, err
	}}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

func TestEvaluate(t *testing.T) {
	e := evaluator(t, datasettest.Convert(t, trace))
	all, err := derive.Parse("f.yaml", []byte(`dialect: perfetto
alerts:
  long:
    query: SELECT id AS slice_id, ts, dur, name FROM slice WHERE dur > 4000
    level: error
    text: "{name} took {dur} ns"
annotations:
  short:
    query: SELECT id AS slice_id, name FROM slice WHERE dur < 4000
    text: "short {name}"
  wrong:
    query: |
      SELECT id AS slice_id
      FROM slice WHERE absent
    text: x
`))
	if err != nil {
		t.Fatal(err)
	}
	var rows derive.Rows
	for i := range all[:2] {
		if err := e.Evaluate(t.Context(), &all[i], &rows); err != nil {
			t.Fatal(err)
		}
	}
	if all[0].Rows != 1 || len(rows.Alerts) != 1 || len(rows.Annotations) != 1 {
		t.Fatalf("%+v, %d", rows, all[0].Rows)
	}
	a := rows.Alerts[0]
	if got := fmt.Sprintln(*a.TS, *a.Dur, *a.SliceID, a.Level, a.Name, a.Text); got != "1000 5000 0 error long work took 5000 ns\n" {
		t.Error(got)
	}
	if got := rows.Annotations[0]; got != (derive.Annotation{SliceID: 1, Name: "short", Text: "short part"}) {
		t.Errorf("%+v", got)
	}
	// The line is that of the file.
	if err := e.Evaluate(t.Context(), &all[2], &rows); err == nil || !strings.HasPrefix(err.Error(), "f.yaml:14: wrong: no such column: absent") {
		t.Errorf("a column that is not there: %v", err)
	}
	if len(rows.Annotations) != 1 {
		t.Error("rows of a definition that failed")
	}
}
