//go:build cgo

package flamegraph

import (
	"bytes"
	"encoding/json"
	"html"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/tpconvert/tpconvert/sqlfuncs/analysis/pprof"
)

var (
	pageTitle = regexp.MustCompile(`(<title>|id="details">)[^<]*<`)
	// boxTexts are the texts for a box of the flame graph, as JSON: the first that fits is shown.
	boxTexts = regexp.MustCompile(`"Display":\[(?:"(?:[^"\\]|\\.)*",?)+\]`)
	// noSettings hides what would change the user's settings of pprof.
	noSettings = []byte("<style>#save-config, .menu-delete-btn { display: none }</style>\n</head>")
)

// edited changes pages of pprof: their title says what is shown, and in which metric, and boxes have no broken names.
func (s *Server) edited(handler http.Handler, p *profile.Profile) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page := page{ResponseWriter: w}
		handler.ServeHTTP(&page, r)
		text := page.text.Bytes()
		if strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") {
			title := []byte(html.EscapeString(s.Title + ": " + metricOf(p, r.URL.Query().Get("si"))))
			text = pageTitle.ReplaceAllFunc(text, func(found []byte) []byte {
				start := found[:bytes.IndexByte(found, '>')+1]
				return slices.Concat(start, title, []byte("<"))
			})
			text = boxTexts.ReplaceAllFunc(text, wholeNames)
			text = bytes.Replace(text, []byte("</head>"), noSettings, 1)
		}
		if page.status != 0 {
			w.WriteHeader(page.status)
		}
		_, _ = w.Write(text) // fails if the browser has gone
	})
}

// page keeps a page until it is complete.
type page struct {
	http.ResponseWriter
	text   bytes.Buffer
	status int
}

func (p *page) WriteHeader(status int)               { p.status = status }
func (p *page) Write(text []byte) (n int, err error) { return p.text.Write(text) }

// metricOf returns the metric, with its unit, that pprof shows for a sample index, which is a name or number.
func metricOf(p *profile.Profile, index string) string {
	shown, err := p.SampleIndexByName(index)
	if n, notNumber := strconv.Atoi(index); err != nil && notNumber == nil && n >= 0 && n < len(p.SampleType) {
		shown, err = n, nil
	}
	if err != nil {
		return index
	}
	return pprof.MetricName(p.SampleType[shown])
}

// wholeNames drops the texts of a box that are the rest of a name cut in a bracket or path, such as "..)" of "f(...)" and
// "apk]" of "[base.apk]". The first text is the whole name.
func wholeNames(found []byte) []byte {
	const label = `"Display":`
	var texts []string
	if err := json.Unmarshal(found[len(label):], &texts); err != nil {
		return found
	}
	texts = append(texts[:1], slices.DeleteFunc(texts[1:], func(text string) bool { return !isName(text) })...)
	written, err := json.Marshal(texts)
	if err != nil {
		return found
	}
	return append([]byte(label), written...)
}

// isName reports whether a text can be a name: its brackets are closed, and it begins like one.
func isName(text string) bool {
	var open []rune
	for _, c := range text {
		switch c {
		case '(', '[', '{', '<':
			open = append(open, c)
		case ')', ']', '}', '>':
			const pairs = "()[]{}<>"
			if len(open) == 0 || strings.IndexRune(pairs, open[len(open)-1])+1 != strings.IndexRune(pairs, c) {
				return false
			}
			open = open[:len(open)-1]
		}
	}
	return len(open) == 0 && !strings.ContainsAny(text[:1], ".)]}>,;: 0123456789") && !strings.Contains(text, "/")
}
