package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	api "github.com/tpconvert/tpconvert"
	"github.com/tpconvert/tpconvert/internal/human"
	"github.com/tpconvert/tpconvert/internal/terminal"
)

// printAlignment prints how the files of a trace share a timeline.
func printAlignment(w io.Writer, a api.Alignment) {
	fmt.Fprintf(w, "\ntimeline: %s, chosen by %s\n", a.Clock, terminal.Printable(cmp.Or(a.ChosenBy, "none of the files")))
	for _, f := range a.Files {
		fmt.Fprintf(w, "  %s, machine %s: %s\n", terminal.Printable(f.File), terminal.Printable(f.Machine), wayOf(f))
	}
}

// wayOf describes the steps to the timeline.
func wayOf(f api.AlignedFile) string {
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
				by += " of " + terminal.Printable(s.File)
			}
			way += fmt.Sprintf(" -> %s (%s)", s.Clock, by)
		}
		parts = append(parts, way)
	}
	if f.Moved != 0 {
		parts = append(parts, fmt.Sprintf("moved by %s", time.Duration(f.Moved)))
	}
	if f.Dropped != 0 {
		parts = append(parts, "events dropped: "+human.Count(f.Dropped))
	}
	return strings.Join(parts, "; ")
}
