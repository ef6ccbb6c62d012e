package trend

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/tpconvert/tpconvert/internal/human"
	"github.com/tpconvert/tpconvert/sqlfuncs/analysis/compare"
)

// Shown are the columns of Texts, but for the name of the group.
var Shown = []string{"traces", "p5", "p25", "p50", "p75", "p95", "change", "p"}

// Texts returns what people read of a group: the columns of Shown. Only a group at which the values change has the last two.
func (s *Series) Texts(at int) []string {
	g := s.Groups[at]
	texts := []string{human.Count(g.Traces)}
	for _, v := range []float64{g.P5, g.P25, g.P50, g.P75, g.P95} {
		texts = append(texts, human.Quantity(v, s.Unit))
	}
	if c := s.Change(at); c != nil {
		return append(texts, c.Size(s.Unit), c.Probability())
	}
	return append(texts, "", "")
}

// Size shows how much greater the values are after a change: in percent, or in their unit if they were 0.
func (c *Change) Size(unit string) string {
	if c.Before > 0 && c.After > 0 {
		return compare.Change(c.Before, c.After)
	}
	diff := human.Quantity(c.After-c.Before, unit)
	if c.After > c.Before {
		diff = "+" + diff
	}
	return diff
}

// Probability shows P.
func (c *Change) Probability() string { return strconv.FormatFloat(c.P, 'g', 2, 64) }

// Sentence says what changed.
func (s *Series) Sentence(c *Change) string {
	return fmt.Sprintf("%s at %s: %s → %s, p %s", c.Size(s.Unit), c.Name, human.Quantity(c.Before, s.Unit), human.Quantity(c.After, s.Unit), c.Probability())
}

// Sentences say what changed in a series, or that nothing did, if it has an order.
func (r *Result) Sentences(s *Series) (all []string) {
	for i := range s.Changes {
		all = append(all, s.Sentence(&s.Changes[i]))
	}
	switch {
	case len(all) > 0 || s.LeastP == 0:
		return all
	case s.LeastP > r.Significance:
		return []string{fmt.Sprintf("too few groups: no change can have p below %.2g", s.LeastP)}
	}
	return []string{"no change"}
}

// LeftOut says which traces do not count.
func (r *Result) LeftOut() (notes []string) {
	for _, left := range []struct {
		n   int
		why string
	}{
		{r.Without, "without a " + r.By}, {r.Unmeasured, `without the metrics of the current specs, which "rework --metrics-only" computes`},
		{r.Failed, "for which the SQL failed"},
	} {
		if left.n > 0 {
			notes = append(notes, fmt.Sprintf("left out: %d of %s %s", left.n, count(r.Traces, "trace"), left.why))
		}
	}
	return notes
}

// Summary counts the traces and groups.
func (s *Series) Summary(by string) string {
	return fmt.Sprintf("%s in %s by %s", count(s.Traces, "trace"), count(len(s.Groups), "group"), by)
}

func count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return human.Count(n) + " " + thing
}

// Last returns the changes within the last groups, all if n is 0.
func (s *Series) Last(n int) []Change {
	return slices.DeleteFunc(slices.Clone(s.Changes), func(c Change) bool { return n > 0 && c.At < len(s.Groups)-n })
}
