package model

import (
	"strings"
	"testing"
)

// TestStatDescriptions checks that every stat says in a sentence of its own what it counts.
func TestStatDescriptions(t *testing.T) {
	var all []Stat
	for s := range stats {
		all = append(all, Stat(s))
	}
	for s := range ownStats {
		all = append(all, firstOwnStat+Stat(s))
	}
	seen := map[string]Stat{}
	for _, s := range all {
		text := s.Description()
		if s.String() == "" || !strings.HasSuffix(text, ".") || len(text) > 200 {
			t.Errorf("%d %s: %q", s, s, text)
		}
		if other, ok := seen[text]; ok {
			t.Errorf("%s and %s have the same description", s, other)
		}
		seen[text] = s
	}
}
