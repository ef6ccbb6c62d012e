package page_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/tpconvert/tpconvert/cmd/tpconvert/page"
	"github.com/tpconvert/tpconvert/export"
	"github.com/tpconvert/tpconvert/internal/datasettest"
	"github.com/tpconvert/tpconvert/sqlfuncs/analysis/compare"
	"github.com/tpconvert/tpconvert/sqlfuncs/analysis/report"
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

// The library of the pictures is the one that package.json names.
func TestLibraryIsCurrent(t *testing.T) {
	var names struct{ Dependencies map[string]string }
	text, err := os.ReadFile("echarts/package.json")
	if err == nil {
		err = json.Unmarshal(text, &names)
	}
	library, err2 := os.ReadFile("echarts/echarts.min.js")
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	if want := "/* Apache ECharts " + names.Dependencies["echarts"] + ","; !bytes.HasPrefix(library, []byte(want)) {
		t.Errorf("the library begins with %.60q, want %q: make echarts builds it", library, want)
	}
}
