package tpconvert

import (
	"slices"

	"github.com/tpconvert/tpconvert/model"
)

// Alignment describes how the files of a trace share one timeline.
type Alignment struct {
	Clock    string        `json:"clock"` // of the timeline
	ChosenBy string        `json:"chosen_by,omitempty"`
	Files    []AlignedFile `json:"files"`
}

// AlignedFile is a file, or one of the clocks that its times use.
type AlignedFile struct {
	File    string        `json:"file"`
	Machine string        `json:"machine"`         // name, or raw id
	Clock   string        `json:"clock,omitempty"` // "" if its times use no clock
	Steps   []AlignedStep `json:"steps"`           // to the clock of the timeline
	Lost    bool          `json:"lost,omitempty"`  // no steps lead to the timeline
	Moved   int64         `json:"moved_ns,omitempty"`
	Dropped int64         `json:"dropped_events,omitempty"` // of all clocks in the file
}

// AlignedStep converts times of a clock to the next clock.
type AlignedStep struct {
	Clock string `json:"clock"` // the next clock
	By    string `json:"by"`
	File  string `json:"file,omitempty"` // with the snapshots
}

// alignmentOf describes how the files of the trace in store share the timeline.
func alignmentOf(store *model.Store) Alignment {
	clock, chosenBy := store.TimelineClock()
	a := Alignment{Clock: clock}
	if chosenBy != nil {
		a.ChosenBy = chosenBy.Name
	}
	for _, from := range store.Alignments() {
		f := AlignedFile{File: from.File.Name, Machine: from.Machine, Clock: from.Clock, Lost: from.Lost,
			Steps: []AlignedStep{}, Moved: from.File.Offset(), Dropped: from.File.Dropped()}
		for _, step := range from.Steps {
			s := AlignedStep{Clock: step.Clock, By: string(step.Link.By)}
			if step.Link.File != nil {
				s.File = step.Link.File.Name
			}
			f.Steps = append(f.Steps, s)
		}
		a.Files = append(a.Files, f)
	}
	return a
}

// Merged reports whether there is more than one file.
func (a Alignment) Merged() bool {
	return slices.ContainsFunc(a.Files, func(f AlignedFile) bool { return f.File != a.Files[0].File })
}

// DroppedEvents is the number of events without a place on the timeline.
func (a Alignment) DroppedEvents() (n int64) {
	for i, f := range a.Files {
		if i == 0 || f.File != a.Files[i-1].File {
			n += f.Dropped
		}
	}
	return n
}
