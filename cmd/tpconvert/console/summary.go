package console

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	api "github.com/tpconvert/tpconvert"
	"github.com/tpconvert/tpconvert/internal/human"
	"github.com/tpconvert/tpconvert/internal/terminal"
)

// Summary describes a finished conversion.
type Summary struct{ *api.Result }

// MaxTraces is the maximum number of a dataset's traces to list.
const MaxTraces = 20

// summaryTables is the maximum number of tables in a summary, so that it fits a screen.
const summaryTables = 12

func (s Summary) Text(w io.Writer) {
	var bytes int64
	done, known := 0, 0
	for _, t := range s.Traces {
		bytes += t.Bytes
		switch {
		case t.Known != "":
			known++
		case t.Error == "":
			done++
		}
	}
	s.alarm(w)
	what := fmt.Sprintf("%s of %s traces", human.Count(done), human.Count(len(s.Traces)))
	if done == 1 && len(s.Traces) == 1 {
		what = fmt.Sprintf("%s (%s)", terminal.Printable(s.Traces[0].Path), s.Traces[0].Format)
	}
	fmt.Fprintf(w, "%s -> %s\n", what, terminal.Printable(s.Out))
	if known > 0 {
		fmt.Fprintf(w, "%s not converted, because the dataset already has their content:\n", human.Count(known))
		for _, t := range s.Traces {
			if t.Known != "" {
				fmt.Fprintf(w, "  %s %s\n", terminal.Printable(t.Path), terminal.Printable(t.Known))
			}
		}
	}
	fmt.Fprintln(w)
	PrintTables(w, s.Tables(), summaryTables)
	PrintLosses(w, s.Losses())
	fmt.Fprintf(w, "\nRead %s in %.1f s, %s/s; peak memory %s.\n",
		human.Bytes(bytes), s.Seconds, human.Bytes(int64(float64(bytes)/max(s.Seconds, 1e-3))), human.Bytes(s.PeakMemory))
}

// PrintTables lists the largest tables, up to most, then the number and size of the others, then the total.
func PrintTables(w io.Writer, tables []api.TableSize, most int) {
	row := func(t api.TableSize) {
		size := ""
		if t.Bytes > 0 {
			size = human.Bytes(t.Bytes)
		}
		fmt.Fprintf(w, "  %-32s %14s %12s\n", t.Name, human.Count(t.Rows), size)
	}
	slices.SortStableFunc(tables, func(a, b api.TableSize) int {
		return cmp.Or(cmp.Compare(b.Rows, a.Rows), cmp.Compare(b.Bytes, a.Bytes))
	})
	total := api.TableSize{Name: "total"}
	rest := api.TableSize{Name: fmt.Sprintf("%d more", len(tables)-most)}
	for i, t := range tables {
		total.Rows, total.Bytes = total.Rows+t.Rows, total.Bytes+t.Bytes
		if i < most {
			row(t)
		} else {
			rest.Rows, rest.Bytes = rest.Rows+t.Rows, rest.Bytes+t.Bytes
		}
	}
	if len(tables) > most {
		row(rest)
	}
	row(total)
}

// alarm says in one line for each trace that its dataset is far from complete.
func (s Summary) alarm(w io.Writer) {
	said := 0
	for _, c := range s.Traces {
		text := c.Alarm()
		if text == "" {
			continue
		}
		if said++; said <= MaxTraces {
			fmt.Fprintf(w, "%s: %s\n", terminal.Printable(c.Path), text)
		}
	}
	if said > MaxTraces {
		fmt.Fprintf(w, "%s more traces are incomplete\n", human.Count(said-MaxTraces))
	}
	if said > 0 {
		fmt.Fprintln(w)
	}
}
