package export

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tpconvert/tpconvert/internal/human"
	"github.com/tpconvert/tpconvert/model"
)

// Losses says what a dataset does not have of its trace, by the effects that docs/losses.md defines.
type Losses struct {
	Events     int64       `json:"events"`     // in the dataset
	Lost       int64       `json:"lost"`       // events that it does not have, as far as they were counted
	Incomplete bool        `json:"incomplete"` // the input, or a file in it, ends too early
	Counts     []LossCount `json:"counts,omitempty"`
}

// LossCount is the value of a stat.
type LossCount struct {
	Name   string `json:"name"`
	Effect string `json:"effect"`
	Value  int64  `json:"value"`
	Text   string `json:"text"` // follows the value
}

// muchLost is the share of events from which a loss is said first.
const muchLost = 0.01

// maxLossesNamed is the maximum number of counts of one effect in a summary.
const maxLossesNamed = 8

// sumsTable has the values of profiles without times, such as folded stacks, whose lines are sums of events and not events.
const sumsTable = "aggregate_sample"

// Losses returns the losses that the manifest of a trace tells.
func (m *Manifest) Losses() Losses {
	sums := m.Events == 0 && slices.ContainsFunc(m.Tables, func(t Table) bool { return t.Name == sumsTable && t.Rows > 0 })
	l := Losses{Events: m.Events}
	for _, s := range m.Stats {
		if s.Effect == model.NoEffect.String() {
			continue
		}
		l.count(LossCount{s.Name, s.Effect, s.Value, s.Text()})
		if s.Lost() && !sums {
			l.Lost += s.Value
		}
		l.Incomplete = l.Incomplete || s.Name == model.StatIncompleteFile.String() || s.Name == model.StatTruncatedInput.String()
	}
	return l
}

// count adds a count to that with the same name and text.
func (l *Losses) count(c LossCount) {
	if i := slices.IndexFunc(l.Counts, func(o LossCount) bool { return o.Name == c.Name && o.Text == c.Text }); i >= 0 {
		l.Counts[i].Value += c.Value
	} else {
		l.Counts = append(l.Counts, c)
	}
}

// Add adds the losses of another trace.
func (l *Losses) Add(o Losses) {
	l.Events, l.Lost, l.Incomplete = l.Events+o.Events, l.Lost+o.Lost, l.Incomplete || o.Incomplete
	for _, c := range o.Counts {
		l.count(c)
	}
}

// Alarm returns one line if the dataset is far from complete, or "".
func (l Losses) Alarm() string {
	var parts []string
	if l.Incomplete {
		read := ""
		if l.Events > 0 {
			read = fmt.Sprintf(": %s events before its end were read", human.Count(l.Events))
		}
		parts = append(parts, "INCOMPLETE: the file ends too early"+read+", and the rest of it is missing")
	}
	if share := float64(l.Lost) / float64(l.Lost+l.Events); l.Lost > 0 && share > muchLost {
		parts = append(parts, fmt.Sprintf("LOST: %s of %s events (%.1f %%), %s", human.Count(l.Lost), human.Count(l.Lost+l.Events), 100*share,
			l.Describe(model.Lost)))
	}
	return strings.Join(parts, "; ")
}

// Describe lists the counts of one of the effects, or returns "".
func (l Losses) Describe(effects ...model.Effect) string {
	var counts []LossCount
	for _, e := range effects {
		for _, c := range l.Counts {
			if c.Effect == e.String() {
				counts = append(counts, c)
			}
		}
	}
	if len(counts) > maxLossesNamed { // name those of the most
		slices.SortStableFunc(counts, func(a, b LossCount) int { return cmp.Compare(b.Value, a.Value) })
	}
	var parts []string
	for _, c := range counts {
		parts = append(parts, human.Count(c.Value)+" "+c.Text)
	}
	if more := len(parts) - maxLossesNamed; more > 0 {
		parts = append(parts[:maxLossesNamed], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, ", ")
}
