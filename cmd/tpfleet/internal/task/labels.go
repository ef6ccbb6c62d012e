package task

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"

	"github.com/tpconvert/tpconvert"
)

// LabelsColumn is the column of the ledger, and of tables of metrics, with the labels of a trace.
const LabelsColumn = "labels"

// Labels describe a trace by names and values, such as the build that was traced.
type Labels map[string]string

// Text returns the labels as a JSON object with its names in order, "" if there are none.
func (l Labels) Text() string {
	if len(l) == 0 {
		return ""
	}
	text, err := json.Marshal(l)
	if err != nil {
		panic(err) // texts are JSON
	}
	return string(text)
}

// ReadLabels reads a JSON object of texts, numbers and flags.
func ReadLabels(text []byte) (Labels, error) {
	var values map[string]any
	if err := json.Unmarshal(text, &values); err != nil {
		return nil, fmt.Errorf("not a JSON object of labels: %w", err)
	}
	var raw map[string]json.RawMessage // numbers as they are written
	if err := json.Unmarshal(text, &raw); err != nil {
		return nil, err
	}
	l := Labels{}
	for name, v := range values {
		switch v := v.(type) {
		case string:
			l[name] = v
		case float64, bool:
			l[name] = string(raw[name])
		case nil:
		default:
			return nil, fmt.Errorf("the label %s is neither text nor a number", name)
		}
	}
	return l, l.Check()
}

// Check returns an error if a label has no name.
func (l Labels) Check() error {
	if _, there := l[""]; there {
		return errors.New("a label has no name")
	}
	return nil
}

// Redacted returns the labels with what the rules match in names and values replaced.
func (l Labels) Redacted(rules *tpconvert.Redaction) Labels {
	all := make(Labels, len(l))
	for name, value := range l {
		all[rules.Text(name)] = rules.Text(value)
	}
	return all
}

// LabelsIn returns what the named groups of a pattern match in a URL.
func LabelsIn(pattern *regexp.Regexp, url string) Labels {
	l := Labels{}
	for i, text := range pattern.FindStringSubmatch(url) {
		if name := pattern.SubexpNames()[i]; name != "" && text != "" {
			l[name] = text
		}
	}
	return l
}

// Label gives traces of the task labels.
func (t *Task) Label(labelsOf func(Trace) Labels) {
	for _, trace := range t.Traces {
		if l := labelsOf(trace); len(l) > 0 {
			if t.Labels == nil {
				t.Labels = map[string]Labels{}
			}
			t.Labels[trace.URL] = l
		}
	}
}

// LabelSources are the places with labels of a trace that are read with it.
type LabelSources struct {
	Sidecar string `json:"sidecar,omitempty"` // what follows the URL of a trace in that of a JSON object; there may be none
	Object  bool   `json:"object,omitempty"`  // metadata of the object in its store, and tags
}
