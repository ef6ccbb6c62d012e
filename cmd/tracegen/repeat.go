package main

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
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
	trace, err := readTrace(path)
	if err != nil {
		return err
	}
	var events []json.RawMessage
	if err := json.Unmarshal(trace["traceEvents"], &events); err != nil {
		return fmt.Errorf("%s: traceEvents: %w", path, err)
	}
	first, last := int64(math.MaxInt64), int64(0)
	var all []shifted
	for _, text := range events {
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
	o := &output{w: w, left: size}
	fmt.Fprint(o, `{"schemaVersion": 1, "traceEvents": [`)
	separator := "\n"
	for round := int64(0); o.wantsMore(); round++ {
		for _, e := range all {
			ts := e.ts + round*(last-first+1_000_000)
			fmt.Fprintf(o, "%s%s%d.%03d%s", separator, e.before, ts/1000, ts%1000, e.after)
			if separator = ",\n"; !o.wantsMore() {
				break
			}
		}
	}
	fmt.Fprint(o, "\n]}\n")
	return o.err
}

func readTrace(path string) (map[string]json.RawMessage, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	r := io.Reader(file)
	if strings.HasSuffix(path, ".gz") {
		if r, err = gzip.NewReader(file); err != nil {
			return nil, err
		}
	}
	var trace map[string]json.RawMessage
	if err := json.NewDecoder(r).Decode(&trace); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return trace, nil
}
