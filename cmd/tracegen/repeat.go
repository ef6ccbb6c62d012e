package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// timeOf finds the time of an event, in µs.
var timeOf = regexp.MustCompile(`"ts"\s*:\s*([0-9]+(?:\.[0-9]+)?)`)

// shifted is an event in two parts, between which its time goes.
type shifted struct {
	before, after string
	ts            int64 // ns
}

// repeat writes the events of a trace in Chrome's JSON again and again, each time later by the length of the trace.
func repeat(w *bufio.Writer, path string, size int64) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var trace struct {
		TraceEvents []json.RawMessage `json:"traceEvents"`
	}
	if err := json.Unmarshal(data, &trace); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	first, last := int64(math.MaxInt64), int64(0)
	var all []shifted
	for _, text := range trace.TraceEvents {
		at := timeOf.FindSubmatchIndex(text)
		if at == nil {
			continue
		}
		us, err := strconv.ParseFloat(string(text[at[2]:at[3]]), 64)
		if err != nil {
			return err
		}
		e := shifted{string(text[:at[2]]), string(text[at[3]:]), int64(math.Round(us * 1000))}
		if strings.Contains(e.before+e.after, `"dur"`) {
			first, last = min(first, e.ts), max(last, e.ts)
		}
		all = append(all, e)
	}
	if first > last {
		return fmt.Errorf("%s has no events with a duration", path)
	}
	w.WriteString(`{"schemaVersion": 1, "traceEvents": [`)
	separator := "\n"
	for round := int64(0); size > 0; round++ {
		for _, e := range all {
			ts := e.ts + round*(last-first+1_000_000)
			n, err := fmt.Fprintf(w, "%s%s%d.%03d%s", separator, e.before, ts/1000, ts%1000, e.after)
			if err != nil {
				return err
			}
			separator = ",\n"
			if size -= int64(n); size <= 0 {
				break
			}
		}
	}
	_, err = w.WriteString("\n]}\n")
	return err
}
