package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/tpconvert/tpconvert/export"
	"github.com/tpconvert/tpconvert/internal/count"
	"github.com/tpconvert/tpconvert/model"
)

// losses says what a dataset does not have of its trace, by the effects that docs/losses.md defines.
type losses struct {
	Events     int64       `json:"events"`     // in the dataset
	Lost       int64       `json:"lost"`       // events that it does not have, as far as they were counted
	Incomplete bool        `json:"incomplete"` // a compressed file or a file in an archive ends too early
	Counts     []lossCount `json:"counts,omitempty"`
}

// lossCount is the value of a stat.
type lossCount struct {
	Name   string `json:"name"`
	Effect string `json:"effect"`
	Value  int64  `json:"value"`
	Text   string `json:"text"` // follows the value
}

// muchLost is the share of events from which a loss is said first.
const muchLost = 0.01

// maxLossesNamed is the maximum number of counts of one effect in a summary.
const maxLossesNamed = 8

func lossesOf(events int64, stats []export.Stat) losses {
	l := losses{Events: events}
	for _, s := range stats {
		if s.Effect == model.NoEffect.String() {
			continue
		}
		l.count(lossCount{s.Name, s.Effect, s.Value, s.Text()})
		if s.Lost() {
			l.Lost += s.Value
		}
		l.Incomplete = l.Incomplete || s.Name == model.StatIncompleteFile.String()
	}
	return l
}

// count adds a count to that with the same name and text.
func (l *losses) count(c lossCount) {
	if i := slices.IndexFunc(l.Counts, func(o lossCount) bool { return o.Name == c.Name && o.Text == c.Text }); i >= 0 {
		l.Counts[i].Value += c.Value
	} else {
		l.Counts = append(l.Counts, c)
	}
}

// add adds the losses of another trace.
func (l *losses) add(o losses) {
	l.Events, l.Lost, l.Incomplete = l.Events+o.Events, l.Lost+o.Lost, l.Incomplete || o.Incomplete
	for _, c := range o.Counts {
		l.count(c)
	}
}

// alarm returns one line if the dataset is far from complete, or "".
func (l losses) alarm() string {
	var parts []string
	if l.Incomplete {
		parts = append(parts, "INCOMPLETE: the file ends too early, and the rest of it is missing")
	}
	if share := float64(l.Lost) / float64(l.Lost+l.Events); l.Lost > 0 && share > muchLost {
		parts = append(parts, fmt.Sprintf("LOST: %s of %s events (%.1f %%), %s", count.String(l.Lost), count.String(l.Lost+l.Events), 100*share,
			l.describe(model.Lost)))
	}
	return strings.Join(parts, "; ")
}

// lossHeads begin the lines of a summary.
var lossHeads = []struct {
	effect model.Effect
	head   string
}{{model.Lost, "Lost"}, {model.Damaged, "Damaged"}, {model.NotRead, "Not read"}, {model.Noticed, "Note"}}

func (l losses) text(w io.Writer) {
	if len(l.Counts) == 0 {
		return
	}
	fmt.Fprintln(w)
	for _, h := range lossHeads {
		if text := l.describe(h.effect); text != "" {
			fmt.Fprintf(w, "%s: %s.\n", h.head, text)
		}
	}
	fmt.Fprintln(w, "The tables stats and import_log say more.")
}

// describe lists the counts of one of the effects, or returns "".
func (l losses) describe(effects ...model.Effect) string {
	var parts []string
	for _, e := range effects {
		for _, c := range l.Counts {
			if c.Effect == e.String() {
				parts = append(parts, count.String(c.Value)+" "+c.Text)
			}
		}
	}
	if more := len(parts) - maxLossesNamed; more > 0 {
		parts = append(parts[:maxLossesNamed], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, ", ")
}
