package perfettosql

import (
	"fmt"
	"regexp"
	"strings"
)

// Metrics has what PerfettoSQL needs for Trace Processor's metrics of version 1.
type Metrics interface {
	// Template returns the text of a template for RUN_METRIC.
	Template(file string) (string, error)
	// Builds reports whether a function builds a message. Such a call becomes one of MessageFunction.
	Builds(function string) bool
}

// MessageFunction is the function in DuckDB that builds a message. Its arguments are the name of PerfettoSQL's function, and
// names of fields and their values.
const MessageFunction = "_metric_message"

// placeholder matches the places in a template for the arguments of RUN_METRIC.
var placeholder = regexp.MustCompile(`\{\{\s*(\w*)\s*\}\}`)

// runMetric adds the statements of a template to the effects. The first argument is its file; names and values for
// placeholders follow.
func (p *parser) runMetric(args []expr, t token) {
	if p.metrics == nil {
		p.fail(t, "RUN_METRIC: --stdlib must name a checkout of Perfetto, which has the templates")
	}
	var words []string
	for i, arg := range args {
		word := arg.raw
		switch {
		case arg.constant == text:
		case arg.constant == number:
			word = strings.TrimSuffix(arg.sql.String(), asBigint)
		case arg.ref != nil && arg.ref.quoted:
			word = arg.ref.name
		default:
			p.fail(t, "RUN_METRIC: argument %d is not a constant", i+1)
		}
		words = append(words, word)
	}
	if len(words)%2 == 0 {
		p.fail(t, "RUN_METRIC: want a template, and names and values")
	}
	source, err := p.metrics.Template(words[0])
	if err != nil {
		p.fail(t, "RUN_METRIC: %v", err)
	}
	values := map[string]string{}
	for i := 1; i < len(words); i += 2 {
		values[words[i]] = words[i+1]
	}
	missing := ""
	source = placeholder.ReplaceAllStringFunc(source, func(found string) string {
		name := placeholder.FindStringSubmatch(found)[1]
		value, ok := values[name]
		if !ok {
			missing = name
		}
		return value
	})
	if missing != "" {
		p.fail(t, "RUN_METRIC: %s needs a value for %s", words[0], missing)
	}
	statements, err := Split(source)
	if err != nil {
		p.fail(t, "RUN_METRIC: %s: %v", words[0], err)
	}
	for _, s := range statements {
		line := 1 + strings.Count(source[:s.Pos], "\n")
		p.effects = append(p.effects, effect{sql: s.Text, place: fmt.Sprintf("%s, line %d: ", words[0], line)})
	}
}

// message translates the call of a function that builds a message.
func (p *parser) message(function string, args []expr) expr {
	all := []pieces{cat(literal(strings.ToLower(function)))}
	for _, arg := range args {
		all = append(all, arg.whole())
	}
	return expr{sql: cat(MessageFunction, "(", list(all), ")"), class: always(ofBlob)}
}
