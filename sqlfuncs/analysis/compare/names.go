package compare

import (
	"fmt"
	"regexp"
	"strings"
)

// Group gives the things whose names match a pattern one name.
type Group struct {
	name    string // may refer to parts of the pattern as $1
	pattern *regexp.Regexp
}

// ParseGroup reads NAME=REGEXP.
func ParseGroup(text string) (Group, error) {
	name, pattern, ok := strings.Cut(text, "=")
	if !ok || name == "" {
		return Group{}, fmt.Errorf("%q is not NAME=REGEXP", text)
	}
	re, err := regexp.Compile(pattern)
	return Group{name, re}, err
}

// number matches numbers in names, in hexadecimal if they say so or are long.
var number = regexp.MustCompile(`0[xX][0-9a-fA-F]+|\b[0-9a-fA-F]*[0-9][0-9a-fA-F]{7,}\b|[0-9]+`)

// groups give names to groups of names.
type groups struct {
	all   []Group
	exact bool              // numbers stay
	known map[string]string // by name
}

// function returns the name of the group of a function or a kernel. Its numbers belong to its name.
func (g *groups) function(name string) string {
	all := groups{all: g.all, exact: true}
	return all.find(name)
}

// of returns the name of the group of a name.
func (g *groups) of(name string) string {
	if group, ok := g.known[name]; ok {
		return group
	}
	group := g.find(name)
	if g.known == nil || len(g.known) > 1<<16 {
		g.known = map[string]string{}
	}
	g.known[name] = group
	return group
}

func (g *groups) find(name string) string {
	for _, group := range g.all {
		if m := group.pattern.FindStringSubmatchIndex(name); m != nil {
			return string(group.pattern.ExpandString(nil, group.name, name, m))
		}
	}
	if g.exact {
		return name
	}
	return number.ReplaceAllString(name, "#")
}
