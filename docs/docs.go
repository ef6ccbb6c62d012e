// Package docs has the pages that the command shows.
package docs

import _ "embed"

// Cookbook has common analyses of a dataset.
//
//go:embed cookbook.md
var Cookbook string

// Skill teaches an agent the first analyses of a trace.
//
//go:embed agents/SKILL.md
var Skill string
