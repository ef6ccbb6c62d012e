package export_test

import (
	"testing"

	"github.com/tpconvert/tpconvert/export"
	"github.com/tpconvert/tpconvert/model"
)

// The text after a value is a phrase or the stat's name, never a sentence.
func TestLossesHaveNames(t *testing.T) {
	for description, want := range map[string]string{
		"version feature is not read":                        "1 version feature is not read",
		"Bytes of hardware trace data that are not decoded.": "1 perf_aux_ignored",
		"": "1 perf_aux_ignored",
	} {
		m := export.Manifest{Stats: []export.Stat{{Name: "perf_aux_ignored", Effect: model.NotRead.String(), Value: 1, Description: description}}}
		if got := m.Losses().Describe(model.NotRead); got != want {
			t.Errorf("%q: %s, want %s", description, got, want)
		}
	}
}
