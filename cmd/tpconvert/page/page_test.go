package page_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/tpconvert/tpconvert/cmd/tpconvert/page"
	"github.com/tpconvert/tpconvert/export"
	"github.com/tpconvert/tpconvert/internal/datasettest"
	"github.com/tpconvert/tpconvert/sqlfuncs/analysis/compare"
	"github.com/tpconvert/tpconvert/sqlfuncs/analysis/report"
	"github.com/tpconvert/tpconvert/sqlfuncs/analysis/trend"
	"github.com/tpconvert/tpconvert/sqlfuncs/session"
)

func printable(s string) string { return s }

func write(t *testing.T, p *report.Page) string {
	t.Helper()
	var b bytes.Buffer
	if err := page.Write(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// loaded matches what a browser would fetch, and hostile what a trace must not put into the page.
var (
	loaded  = regexp.MustCompile(`(?i)(src|href)\s*=\s*"?(https?:)?//|@import|url\(\s*['"]?https?:`)
	hostile = regexp.MustCompile(`<img|</script><`)
	scripts = regexp.MustCompile(`(?s)<script>.*?</script>`) // of ours
)

func TestMake(t *testing.T) {
	s, err := session.New(t.Context(), session.Options{Perfetto: true})
	if err == nil {
		defer s.Close()
		err = s.OpenDataset(t.Context(), datasettest.Convert(t, `[
			{"ph":"X","pid":1,"tid":2,"ts":1,"dur":5,"name":"work"},
			{"ph":"X","pid":1,"tid":2,"ts":2,"dur":2,"name":"</script><img src=x onerror=alert(1)>"}]`))
	}
	if err != nil {
		t.Fatal(err)
	}
	p, err := report.Make(t.Context(), s, report.Options{Name: "a.json", Alarm: "much is lost", Printable: printable})
	if err != nil {
		t.Fatal(err)
	}
	text := write(t, p)
	for _, want := range []string{"<title>0</title>", "much is lost", "work"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if found := loaded.FindString(text); found != "" {
		t.Errorf("the page loads %q", found)
	}
	if found := hostile.FindString(scripts.ReplaceAllLiteralString(text, "")); found != "" {
		t.Errorf("a name of the trace is in the page as HTML: %q", found)
	}
}

func TestCompareNamesBothSides(t *testing.T) {
	text := write(t, report.Compare([]string{"old.json"}, []string{"new.json"}, &compare.Result{}, printable))
	for _, want := range []string{"old.json", "new.json"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has no %q", want)
		}
	}
}

// The page to choose a trace has a link to each, and says which lost events.
func TestTraces(t *testing.T) {
	all := []*export.Manifest{{TraceID: "t_1"}, {TraceID: "t_2"}}
	all[0].Input.Name, all[1].Input.Name = "one.json", "two.json"
	text := write(t, report.Traces("out", "/open?trace=", all, nil, func(m *export.Manifest) int64 {
		if m == all[1] {
			return 777
		}
		return 0
	}, printable))
	for _, want := range []string{"/open?trace=t_1", "one.json", "/open?trace=t_2", "two.json", "777"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has no %q", want)
		}
	}
}

// The page of trends draws each group at its place, and a change between the groups before and after it.
func TestTrend(t *testing.T) {
	values, order := map[string][]float64{}, []string{}
	for i := range 20 {
		name := fmt.Sprintf("<img>%d", i)
		median := float64(100 + 100*(i/12) + i%2)
		order, values[name] = append(order, name), []float64{median - 10, median, median + 10}
	}
	s := trend.New(`n{name="</script><img src=x>"}`, "ns", values, order)
	if err := s.Find(t.Context(), 0.01, 1); err != nil {
		t.Fatal(err)
	}
	r := &trend.Result{By: "build", Order: "name", Significance: 0.01, Traces: 61, Without: 1, Groups: 20, Series: []*trend.Series{s}}
	p := report.Trend(r, printable)
	text := write(t, p)
	for _, want := range []string{"n{name=&#34;&lt;/script&gt;&lt;img src=x&gt;&#34;}", "left out: 1 of 61 traces without a build", "60 traces in 20 groups by build; &#43;99.5 % at &lt;img&gt;12", "at &lt;img&gt;12: 100.5 ns → 200.5 ns", "<title>&lt;img&gt;12\nmedian 200 ns of 3 traces\nfrom 191 ns to 209 ns</title>"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if loaded.MatchString(text) || hostile.MatchString(scripts.ReplaceAllLiteralString(text, "")) {
		t.Error("a name of a trace is in the page as HTML")
	}
	plot := p.Sections[0].Figures[0].Plot
	if len(plot.Dots) != 20 || len(plot.Changes) != 1 || len(plot.Ticks) < 3 || plot.Medians == "" {
		t.Fatalf("%+v", plot)
	}
	if at := plot.Changes[0].At; at <= plot.Dots[11].X || at >= plot.Dots[12].X {
		t.Errorf("the change is at %g, between %g and %g", at, plot.Dots[11].X, plot.Dots[12].X)
	}
	for _, dot := range plot.Dots {
		if dot.X < plot.Left || dot.X > plot.Width || dot.Y < plot.Top || dot.Y > plot.Bottom() {
			t.Errorf("%+v is outside", dot)
		}
	}
	if scale := plot.Dots[0].Y - plot.Dots[12].Y; math.Abs(scale-100*(plot.Dots[0].Y-plot.Dots[1].Y)) > 1e-6 || scale <= 0 {
		t.Errorf("0, 1 and 12 are at %g, %g and %g", plot.Dots[0].Y, plot.Dots[1].Y, plot.Dots[12].Y)
	}
	level := fmt.Sprintf("M%.1f %.1fH%.1f", plot.Changes[0].At, (plot.Dots[12].Y+plot.Dots[13].Y)/2, plot.Width-10)
	if !strings.HasSuffix(plot.Levels, level) {
		t.Errorf("the levels are %s, want %s at the end", plot.Levels, level)
	}
}

// The library of the pictures is the one that package.json names.
func TestLibraryIsCurrent(t *testing.T) {
	var names struct{ Dependencies map[string]string }
	text, err := os.ReadFile("echarts/package.json")
	if err == nil {
		err = json.Unmarshal(text, &names)
	}
	packed, err2 := os.Open("echarts/echarts.min.js.gz")
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	unpacked, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	library, err := io.ReadAll(unpacked)
	if err != nil {
		t.Fatal(err)
	}
	if want := "/* Apache ECharts " + names.Dependencies["echarts"] + ","; !bytes.HasPrefix(library, []byte(want)) {
		t.Errorf("the library begins with %.60q, want %q: make echarts builds it", library, want)
	}
}
