package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/tpconvert/tpconvert/internal/count"
	"github.com/tpconvert/tpconvert/model"
)

// alignment describes how the files of a trace share one timeline.
type alignment struct {
	Clock    string        `json:"clock"` // of the timeline
	ChosenBy string        `json:"chosen_by,omitempty"`
	Files    []alignedFile `json:"files"`
}

// alignedFile is a file, or one of the clocks that its times use.
type alignedFile struct {
	File    string        `json:"file"`
	Machine string        `json:"machine"`         // name, or raw id
	Clock   string        `json:"clock,omitempty"` // "" if its times use no clock
	Steps   []alignedStep `json:"steps"`           // to the clock of the timeline
	Lost    bool          `json:"lost,omitempty"`  // no steps lead to the timeline
	Moved   int64         `json:"moved_ns,omitempty"`
	Dropped int64         `json:"dropped_events,omitempty"` // of all clocks in the file
}

// alignedStep converts times of a clock to the next clock.
type alignedStep struct {
	Clock string `json:"clock"` // the next clock
	By    string `json:"by"`
	File  string `json:"file,omitempty"` // with the snapshots
}

// alignmentOf describes how the files of the trace in store share the timeline.
func alignmentOf(store *model.Store) alignment {
	clock, chosenBy := store.TimelineClock()
	a := alignment{Clock: clock}
	if chosenBy != nil {
		a.ChosenBy = chosenBy.Name
	}
	for _, from := range store.Alignments() {
		f := alignedFile{File: from.File.Name, Machine: from.Machine, Clock: from.Clock, Lost: from.Lost,
			Steps: []alignedStep{}, Moved: from.File.Offset(), Dropped: from.File.Dropped()}
		for _, step := range from.Steps {
			s := alignedStep{Clock: step.Clock, By: string(step.Link.By)}
			if step.Link.File != nil {
				s.File = step.Link.File.Name
			}
			f.Steps = append(f.Steps, s)
		}
		a.Files = append(a.Files, f)
	}
	return a
}

// merged reports whether there is more than one file.
func (a alignment) merged() bool {
	return slices.ContainsFunc(a.Files, func(f alignedFile) bool { return f.File != a.Files[0].File })
}

// dropped is the number of events without a place on the timeline.
func (a alignment) dropped() (n int64) {
	for i, f := range a.Files {
		if i == 0 || f.File != a.Files[i-1].File {
			n += f.Dropped
		}
	}
	return n
}

func (a alignment) text(w io.Writer) {
	fmt.Fprintf(w, "\ntimeline: %s, chosen by %s\n", a.Clock, printable(cmp.Or(a.ChosenBy, "none of the files")))
	for _, f := range a.Files {
		fmt.Fprintf(w, "  %s, machine %s: %s\n", printable(f.File), printable(f.Machine), f.way())
	}
}

// way describes the steps to the timeline.
func (f alignedFile) way() string {
	var parts []string
	switch {
	case f.Clock == "":
		parts = append(parts, "no clock; its times are used as times of the timeline")
	case f.Lost:
		parts = append(parts, f.Clock+", which nothing relates to the timeline")
	case len(f.Steps) == 0:
		parts = append(parts, f.Clock+", the clock of the timeline")
	default:
		way := f.Clock
		for _, s := range f.Steps {
			by := s.By
			if s.File != "" {
				by += " of " + printable(s.File)
			}
			way += fmt.Sprintf(" -> %s (%s)", s.Clock, by)
		}
		parts = append(parts, way)
	}
	if f.Moved != 0 {
		parts = append(parts, fmt.Sprintf("moved by %s", time.Duration(f.Moved)))
	}
	if f.Dropped != 0 {
		parts = append(parts, "events dropped: "+count.String(f.Dropped))
	}
	return strings.Join(parts, "; ")
}
