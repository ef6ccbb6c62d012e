package console

import (
	"fmt"
	"io"

	api "github.com/tpconvert/tpconvert"
	"github.com/tpconvert/tpconvert/model"
)

// lossHeads begin the lines of a summary.
var lossHeads = []struct {
	effect model.Effect
	head   string
}{{model.Lost, "Lost"}, {model.Damaged, "Damaged"}, {model.NotRead, "Not read"}, {model.Noticed, "Note"}}

// PrintLosses prints a line for each effect of losses.
func PrintLosses(w io.Writer, l api.Losses) {
	if len(l.Counts) == 0 {
		return
	}
	fmt.Fprintln(w)
	for _, h := range lossHeads {
		if text := l.Describe(h.effect); text != "" {
			fmt.Fprintf(w, "%s: %s.\n", h.head, text)
		}
	}
	fmt.Fprintln(w, "The tables stats and import_log say more.")
}
