package metrics

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"

	"github.com/tpconvert/tpconvert/sqlfuncs/session"
)

// Digest tells specs apart in the ledger of a fleet, and rows that have labels from those of older versions.
func Digest(spec []byte) string {
	sum := sha256.Sum256(append([]byte("labels\n"), spec...))
	return hex.EncodeToString(sum[:4])
}

var notInNames = regexp.MustCompile(`[^a-z0-9_]+`)

// FleetTable returns the name of a fleet's table with the rows of a bundle.
func FleetTable(bundle string) string {
	return session.MetricPrefix + notInNames.ReplaceAllString(strings.ToLower(bundle), "_")
}

// Stored returns the tables of all bundles, or of the metrics with these ids, with the rows that a fleet has of a trace: those that Summarize
// would compute. It returns false if the fleet has not computed all specs for the trace, or has not kept the types of its values.
func (s *Summarizer) Stored(traces *session.Traces, trace string, ids []string) ([]Table, bool, error) {
	stored := traces.Digests(trace)
	if len(s.digests) == 0 || slices.ContainsFunc(s.digests, func(digest string) bool { return !slices.Contains(stored, digest) }) {
		return nil, false, nil
	}
	bundles, err := s.bundles(&generator{shared: s.queries}, ids)
	if err != nil {
		return nil, false, err
	}
	tables := []Table{}
	for _, b := range bundles {
		t, err := tableOf(b.id, b.metrics)
		if err != nil {
			return nil, false, err
		}
		if slices.ContainsFunc(t.Columns, func(c session.Column) bool { return c.Kind == session.Variant }) {
			return nil, false, nil
		}
		if t.Rows, err = traces.Metrics(trace, FleetTable(b.id), t.Columns); err != nil {
			return nil, false, err
		}
		for i, unit := range t.Units {
			if unit != "COUNT" {
				continue
			}
			whole, err := traces.Whole(FleetTable(b.id), t.Columns[t.Dimensions+i].Name)
			if err != nil {
				return nil, false, err
			}
			if whole {
				t.makeInteger(t.Dimensions + i)
			}
		}
		t.Main = t.Dimensions + mainOf(b.metrics, ids)
		tables = append(tables, t)
	}
	return tables, true, nil
}

// makeInteger makes real numbers integers, which a fleet stores as real numbers.
func (t *Table) makeInteger(column int) {
	t.Columns[column].Kind = session.Integer
	for _, row := range t.Rows {
		if v, real := row[column].(float64); real {
			row[column] = int64(v)
		}
	}
}
