package series

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/semver"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/lake"
)

// The orders of groups.
const (
	ByName = "name" // versions as such, and numbers in names by their value
	ByTime = "time" // when half of their traces had begun
	None   = "none" // there is none: they cannot have a trend
)

// Orders are all of them.
var Orders = []string{ByName, ByTime, None}

// Grouping puts traces in groups by what the ledger says of them: a label, or else a column.
type Grouping struct{ label, column string }

// GroupBy groups traces by build, device, day, a column of the ledger or, if there is no such column, a label.
func GroupBy(name string) Grouping {
	switch {
	case name == "build":
		return Grouping{name, "android_build_fingerprint"}
	case name == "device":
		return Grouping{name, "machine_name"}
	case name == "day":
		return Grouping{column: "trace_day"}
	case lake.IsColumn(name):
		return Grouping{column: name}
	}
	return Grouping{label: name}
}

// Order returns the order that groups by a name have, unless another is asked for.
func Order(by string) string {
	if by == "build" || by == "day" {
		return ByName
	}
	return None
}

// Columns are the columns of the ledger that Add needs.
func (g Grouping) Columns() []string {
	all := []string{"labels", "start_unix_ns", "added_unix_ns"}
	if g.column != "" {
		all = append(all, g.column)
	}
	return all
}

// Groups are groups of traces.
type Groups struct {
	Of      map[string]string // names of groups by trace
	Without int               // traces that have none

	starts map[string][]int64
}

// Group groups traces, whose facts begin with g.Columns.
func (g Grouping) Group(traces []lake.Selected) *Groups {
	all := &Groups{Of: map[string]string{}, starts: map[string][]int64{}}
	for _, t := range traces {
		name := g.groupOf(t.Facts)
		if name == "" {
			all.Without++
			continue
		}
		all.Of[t.ID] = name
		start, known := t.Facts[1].(int64)
		added, _ := t.Facts[2].(int64)
		if all.starts[name] == nil {
			all.starts[name] = []int64{}
		}
		if known && start >= year2000 && start <= added { // clocks may be wrong
			all.starts[name] = append(all.starts[name], start)
		}
	}
	return all
}

const year2000 = 946684800 * int64(time.Second)

// groupOf returns the group of a trace, "" if it has none.
func (g Grouping) groupOf(facts []any) string {
	if text, there := facts[0].(string); there && g.label != "" {
		labels := map[string]string{}
		if err := json.Unmarshal([]byte(text), &labels); err == nil && labels[g.label] != "" {
			return labels[g.label]
		}
	}
	if g.column != "" && facts[3] != nil {
		return fmt.Sprint(facts[3])
	}
	return ""
}

// commit matches the digests of commits of Git and others.
var commit = regexp.MustCompile(`^[0-9a-f]{7,64}$`)

// ErrOrder is wrapped if groups cannot be put in the order.
var ErrOrder = errors.New("there is no order")

// Names returns the names of the groups in an order.
func (all *Groups) Names(order string) ([]string, error) {
	var names []string
	digests, letters := true, false
	for name := range all.starts {
		names = append(names, name)
		digests = digests && commit.MatchString(name)
		letters = letters || strings.ContainsAny(name, "abcdef")
	}
	slices.SortFunc(names, compare(names))
	switch {
	case order == ByName && digests && letters:
		return nil, fmt.Errorf("%w of commits such as %s by their names: --order time takes that in which they were traced", ErrOrder, names[0])
	case order == ByTime:
		median := map[string]int64{}
		for _, name := range names {
			starts := all.starts[name]
			if len(starts) == 0 {
				return nil, fmt.Errorf("%w by time: no trace of %s says when it began; use --order name", ErrOrder, name)
			}
			slices.Sort(starts)
			median[name] = starts[(len(starts)-1)/2]
		}
		slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(median[a], median[b]) })
	}
	return names, nil
}

// compare returns what compares names: versions as semantic ones if all are, of which 1.0-rc1 comes before 1.0, else texts with numbers.
func compare(names []string) func(a, b string) int {
	version := func(name string) string { return "v" + strings.TrimPrefix(name, "v") }
	if slices.ContainsFunc(names, func(name string) bool { return !semver.IsValid(version(name)) }) {
		return natural
	}
	// The numbers in rc2 and rc10 count, although the standard compares these as texts.
	release := func(v string) string { return strings.TrimSuffix(semver.Canonical(v), semver.Prerelease(v)) }
	return func(a, b string) int {
		v, w := version(a), version(b)
		if c := semver.Compare(release(v), release(w)); c != 0 {
			return c
		}
		if early := semver.Prerelease(v) != ""; early != (semver.Prerelease(w) != "") {
			return semver.Compare(v, w)
		}
		return natural(a, b)
	}
}

var part = regexp.MustCompile(`[0-9]+|[^0-9]+`)

// natural compares texts, and the numbers in them by their value.
func natural(a, b string) int {
	x, y := part.FindAllString(a, -1), part.FindAllString(b, -1)
	for i := range min(len(x), len(y)) {
		p, q := x[i], y[i]
		if isNumber(p) && isNumber(q) {
			p, q = strings.TrimLeft(p, "0"), strings.TrimLeft(q, "0")
			if c := cmp.Compare(len(p), len(q)); c != 0 {
				return c
			}
		}
		if c := cmp.Compare(p, q); c != 0 {
			return c
		}
	}
	return cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(a, b))
}

func isNumber(part string) bool { return part[0] >= '0' && part[0] <= '9' }
