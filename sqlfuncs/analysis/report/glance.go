package report

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/tpconvert/tpconvert/sqlfuncs/session"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqltext"
)

//go:embed glance.yaml
var glanceYAML string

// rule is a sentence that may be worth saying.
type rule struct {
	Name, Section string
	Least         float64 // weight from which it is
	Text, SQL     string
}

// maxSentences is how many are said.
const maxSentences = 5

// Sentence is what is said at a glance.
type Sentence struct {
	Text, SQL string
	Link      string // to the section with more, or ""
	section   string
	weight    float64
}

// field is a column in the text of a rule.
var field = regexp.MustCompile(`\{(\w+)\}`)

// glance says which of some rules matter, the heaviest first.
func (m *maker) glance(ctx context.Context, rules string) ([]Sentence, error) {
	var all []rule
	if err := yaml.Unmarshal([]byte(rules), &all); err != nil {
		return nil, err
	}
	var said []Sentence
	for _, r := range all {
		if strings.Contains(r.SQL, "$scope") {
			if m.shown == nil || m.shown.Dropped { // it would name what the file drops
				continue
			}
			r.SQL = strings.NewReplacer("$scope", sqltext.QuoteText(m.shown.Scope), "$metric", sqltext.QuoteText(m.shown.Metric)).Replace(r.SQL)
		}
		names, rows, _, err := m.first(ctx, query{sql: r.SQL, limit: 1})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.Name, err)
		}
		if len(rows) == 0 {
			continue
		}
		value := func(name string) any { return rows[0][slices.Index(names, name)] }
		weight := session.Float(value("weight"))
		if !(weight >= r.Least) { // it may be no number
			continue
		}
		text := field.ReplaceAllStringFunc(r.Text, func(name string) string {
			name = strings.Trim(name, "{}")
			if name == "weight" {
				return strconv.FormatFloat(100*weight, 'f', 1, 64) + " %"
			}
			return m.cell(value(name), (&query{}).unit(name)).Text
		})
		said = append(said, Sentence{Text: text, SQL: strings.TrimSpace(r.SQL), section: r.Section, weight: weight})
	}
	slices.SortStableFunc(said, func(a, b Sentence) int { return cmp.Compare(b.weight, a.weight) })
	return said[:min(len(said), maxSentences)], nil
}

// link leads from the sentences to their sections.
func (p *Page) link() {
	for i := range p.Sentences {
		s := &p.Sentences[i]
		if at := slices.IndexFunc(p.Sections, func(section Section) bool { return section.Title == s.section }); at >= 0 {
			s.Link = "#s" + strconv.Itoa(at)
		}
	}
}
