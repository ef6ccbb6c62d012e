package gperftools

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/model"
)

var statSamplesLost = model.NewStat(1060, model.StatInfo{
	Name: "gperftools_samples_lost", Severity: model.DataLoss, Source: model.FromTrace, Effect: model.Lost,
	Description: "Samples that the profiler of a contention profile discarded.",
})

var (
	countLine = regexp.MustCompile(`^\d+ @`)
	// fact is a line that pprof skips: samples that were lost, labels and values of Go's runtime, and the names of threads.
	fact = regexp.MustCompile(`^(discarded samples *= *|# labels: \{|# [A-Z]\w* = |--- Thread )(.*)`)
)

// facts adds what the text of a profile says beside its samples: the labels of goroutines. It counts what makes no rows.
func facts(in *format.Input, p *profile.Profile, text []byte) {
	at, samples := 0, 0
	for line := range bytes.Lines(text) {
		offset := int64(at)
		at += len(line)
		if countLine.Match(line) {
			samples++
		}
		found := fact.FindSubmatch(line)
		if found == nil {
			continue
		}
		switch mark, rest := string(found[1]), strings.TrimSpace(string(found[2])); {
		case mark[0] == 'd':
			if n, err := strconv.ParseInt(rest, 0, 64); err == nil && n > 0 {
				in.File.Add(statSamplesLost, model.None, n)
				in.File.PlaceAt(statSamplesLost, offset)
			}
		case mark[0] == '-':
			in.File.Unread(model.StatUnreadFact, model.None, "thread name").AddAt(offset)
		case !strings.HasSuffix(mark, "{"):
			in.File.Unread(model.StatUnreadFact, model.None, "runtime.MemStats value").AddAt(offset)
		case samples > 0 && samples <= len(p.Sample):
			p.Sample[samples-1].Label = labels(rest)
		}
	}
}

// labels reads the labels of a goroutine after their brace, such as
//
//	"request":"list", "user":"a \"b\""}
func labels(text string) map[string][]string {
	all := map[string][]string{}
	for {
		key, err := strconv.QuotedPrefix(text)
		if err != nil {
			return all
		}
		text = strings.TrimPrefix(text[len(key):], ":")
		value, err := strconv.QuotedPrefix(text)
		if err != nil {
			return all
		}
		text = strings.TrimPrefix(text[len(value):], ", ")
		k, _ := strconv.Unquote(key)
		v, _ := strconv.Unquote(value)
		all[k] = append(all[k], v)
	}
}

const contentionMark = "--- contention\n"

var mapLine = regexp.MustCompile(`(?m)^[0-9a-f]+-[0-9a-f]+ [r-][w-][x-]`)

// contention returns a contention profile of brpc with the marks that pprof needs, as Perl's pprof does not: a colon after
// the first, and a line before the mappings.
func contention(data []byte) []byte {
	samples, ok := bytes.CutPrefix(data, []byte(contentionMark))
	if !ok {
		return data
	}
	var mappings []byte
	if at := mapLine.FindIndex(samples); at != nil {
		samples, mappings = samples[:at[0]], samples[at[0]:]
	}
	return slices.Concat([]byte("--- contention:\n"), samples, []byte("--- Memory map: ---\n"), mappings)
}
