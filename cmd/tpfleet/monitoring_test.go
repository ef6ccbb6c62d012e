package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"go.yaml.in/yaml/v3"
)

// monitoring is the folder of the alerts and the dashboard.
const monitoring = "../../docs/fleet/monitoring"

// alertExpressions returns the expressions of the alerts, by their names.
func alertExpressions(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(monitoring, "alerts.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct {
			Rules []struct{ Alert, Expr string }
		}
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			all[r.Alert] = r.Expr
		}
	}
	return all
}

// dashboardExpressions returns the expressions of the dashboard, by the titles of the panels, as Prometheus gets them. The dashboard has
// to fit the schema of Grafana, and its panels not to overlap.
func dashboardExpressions(t *testing.T) map[string]string {
	t.Helper()
	plugins.RegisterDefaultPlugins()
	text, err := os.ReadFile(filepath.Join(monitoring, "dashboard.json"))
	if err != nil {
		t.Fatal(err)
	}
	// All versions of Grafana import this format, and only new ones its successor.
	var strict, d dashboard.Dashboard //nolint:staticcheck
	// The strict function may return an empty list of errors, and then leaves out what it read.
	if err := strict.UnmarshalJSONStrict(text); err != nil && err.Error() != "" {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	if err := d.Validate(); err != nil {
		t.Fatal(err)
	}
	all, places, ids := map[string]string{}, map[[2]uint32]string{}, map[uint32]bool{}
	for _, p := range d.Panels {
		panel := p.Panel
		if panel == nil || panel.Id == nil || ids[*panel.Id] || panel.Title == nil || panel.GridPos == nil || panel.GridPos.X+panel.GridPos.W > 24 {
			t.Fatalf("a panel %+v", panel)
		}
		ids[*panel.Id] = true
		for x := panel.GridPos.X; x < panel.GridPos.X+panel.GridPos.W; x++ {
			for y := panel.GridPos.Y; y < panel.GridPos.Y+panel.GridPos.H; y++ {
				if other := places[[2]uint32{x, y}]; other != "" {
					t.Errorf("%s covers %s", *panel.Title, other)
				}
				places[[2]uint32{x, y}] = *panel.Title
			}
		}
		for i, target := range panel.Targets {
			query, is := target.(*prometheus.Dataquery)
			if !is {
				if value, is := target.(prometheus.Dataquery); is {
					query = &value
				} else {
					t.Fatalf("%s has the query %T", *panel.Title, target)
				}
			}
			all[fmt.Sprint(*panel.Title, " ", i)] = strings.ReplaceAll(query.Expr, "$__rate_interval", "5m")
		}
	}
	return all
}

var (
	metricName  = regexp.MustCompile(`\b(tpfleet_\w+|target_info)\b`)
	metricLabel = regexp.MustCompile(`(\w+)(?:=~?)"([^"]*)"`)
)

// checkExpressions reports names that the metrics of a command do not have.
func checkExpressions(t *testing.T, metrics map[string]float64) {
	t.Helper()
	names, labels := map[string]bool{}, map[string]bool{}
	for series := range metrics {
		name, rest, _ := strings.Cut(series, "{")
		names[name] = true
		for _, l := range metricLabel.FindAllStringSubmatch(rest, -1) {
			labels[l[1]] = true
		}
	}
	all := alertExpressions(t)
	alerts := len(all)
	maps.Copy(all, dashboardExpressions(t))
	if alerts < 5 || len(all) < alerts+10 {
		t.Fatalf("%d alerts and %d other expressions", alerts, len(all)-alerts)
	}
	for where, expr := range all {
		found := metricName.FindAllString(expr, -1)
		if len(found) == 0 {
			t.Errorf("%s: %s has no metric", where, expr)
		}
		for _, name := range found {
			if !names[name] {
				t.Errorf("%s: %s is not among %q", where, name, slices.Sorted(maps.Keys(names)))
			}
		}
		for _, l := range metricLabel.FindAllStringSubmatch(expr, -1) {
			if !labels[l[1]] {
				t.Errorf("%s: no metric has the label %s", where, l[1])
			}
		}
	}
}

// Prometheus takes the alerts and the expressions of the dashboard, and the alerts are raised when they should.
func TestAlerts(t *testing.T) {
	promtool := os.Getenv("FLEET_PROMTOOL")
	if promtool == "" {
		t.Skip("ALERTS ARE NOT TESTED: \"make fleet-test\" gets promtool for this")
	}
	dir := t.TempDir()
	for _, file := range []string{filepath.Join(monitoring, "alerts.yml"), "testdata/alerts_test.yml"} {
		text, err := os.ReadFile(file)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, filepath.Base(file)), text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	type rule struct {
		Record string `yaml:"record"`
		Expr   string `yaml:"expr"`
	}
	var rules []rule
	for _, expr := range dashboardExpressions(t) {
		rules = append(rules, rule{fmt.Sprintf("dashboard:%d", len(rules)), expr})
	}
	text, err := yaml.Marshal(map[string]any{"groups": []any{map[string]any{"name": "dashboard", "rules": rules}}})
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "dashboard.yml"), text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"check", "rules", "alerts.yml", "dashboard.yml"}, {"test", "rules", "alerts_test.yml"}} {
		c := exec.CommandContext(t.Context(), promtool, args...)
		c.Dir = dir
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("promtool %q: %v\n%s", args, err, out)
		}
	}
	for alert := range alertExpressions(t) {
		if text, err := os.ReadFile("testdata/alerts_test.yml"); err != nil || strings.Count(string(text), "alertname: "+alert+"\n")+strings.Count(string(text), "alertname: "+alert+"}") < 2 {
			t.Errorf("the alert %s has no test, %v", alert, err)
		}
	}
}
