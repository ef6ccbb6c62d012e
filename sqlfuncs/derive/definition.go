// Package derive adds events, annotations and alerts to datasets. They come from queries in YAML files.
package derive

import (
	_ "embed"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/tpconvert/tpconvert/export"
)

// The kinds of definitions, which are the sections of a file.
const (
	Events      = "events"
	Annotations = "annotations"
	Alerts      = "alerts"
)

// The levels of alerts.
const (
	Warning = "warning"
	Error   = "error"
)

// The dialects of queries.
const (
	duckDB   = "duckdb"
	perfetto = "perfetto"
)

// Definition is a named query, and what its rows become.
type Definition struct {
	export.Derivation
	place     string // file and line of the name
	file      string
	queryLine int // line of the query's first line, or 0 if lines of the query are not those of the file
}

// Stored returns the definition of a derivation that a dataset has.
func Stored(d export.Derivation) Definition {
	return Definition{Derivation: d, place: "derivation " + d.Name}
}

// BuiltinName is the name of the definitions that are part of the program.
const BuiltinName = "builtin"

//go:embed builtin.yaml
var builtin []byte

// Builtin returns the definitions that are part of the program.
func Builtin() ([]Definition, error) { return Parse(BuiltinName, builtin) }

// Parse reads the definitions in a file. Errors have the file and the line.
func Parse(file string, text []byte) ([]Definition, error) {
	p := parser{file: file}
	decoder := yaml.NewDecoder(strings.NewReader(string(text)))
	var root, rest yaml.Node
	err := decoder.Decode(&root)
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: the file is empty", file)
	}
	if err != nil {
		return nil, fmt.Errorf("%s:%s", file, yamlPlace.ReplaceAllString(err.Error(), "$1"))
	}
	if decoder.Decode(&rest) != io.EOF {
		return nil, p.errorf(&rest, "want a single document")
	}
	if err := p.root(root.Content[0]); err != nil {
		return nil, err
	}
	return p.all, nil
}

// yamlPlace matches the start of errors of the YAML parser.
var yamlPlace = regexp.MustCompile(`^yaml:(?: line (\d+:))?`)

type parser struct {
	file    string
	dialect string
	all     []Definition
}

func (p *parser) errorf(n *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("%s:%d: "+format, append([]any{p.file, n.Line}, args...)...)
}

// pairs returns the keys and values of a mapping, one after the other. what is its name in errors.
func (p *parser) pairs(n *yaml.Node, what string) ([]*yaml.Node, error) {
	if n.Kind != yaml.MappingNode {
		return nil, p.errorf(n, "%s: want keys and values", what)
	}
	seen := map[string]bool{}
	for i := 0; i < len(n.Content); i += 2 {
		key := n.Content[i]
		if seen[key.Value] {
			return nil, p.errorf(key, "%s is there twice", key.Value)
		}
		seen[key.Value] = true
		if value := n.Content[i+1]; value.Kind == yaml.AliasNode {
			n.Content[i+1] = value.Alias
		}
	}
	return n.Content, nil
}

func (p *parser) text(key, value *yaml.Node) (string, error) {
	if value.Kind != yaml.ScalarNode || value.Tag == "!!null" || strings.TrimSpace(value.Value) == "" {
		return "", p.errorf(key, "%s: want a text", key.Value)
	}
	return value.Value, nil
}

func (p *parser) root(n *yaml.Node) error {
	sections, err := p.pairs(n, "file")
	if err != nil {
		return err
	}
	p.dialect = duckDB
	for i := 0; i < len(sections); i += 2 {
		if key := sections[i]; key.Value == "dialect" {
			if p.dialect = sections[i+1].Value; p.dialect != duckDB && p.dialect != perfetto {
				return p.errorf(key, "dialect %q: want %s or %s", p.dialect, duckDB, perfetto)
			}
		}
	}
	for i := 0; i < len(sections); i += 2 {
		switch key := sections[i]; key.Value {
		case "dialect":
		case Events, Annotations, Alerts:
			if err := p.section(key, sections[i+1]); err != nil {
				return err
			}
		default:
			return p.errorf(key, "unknown key %q: want %s, %s, %s or dialect", key.Value, Events, Annotations, Alerts)
		}
	}
	if len(p.all) == 0 {
		return fmt.Errorf("%s: it defines nothing", p.file)
	}
	return nil
}

// names matches the names of definitions.
var names = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)

func (p *parser) section(kind, n *yaml.Node) error {
	definitions, err := p.pairs(n, kind.Value)
	if err != nil {
		return err
	}
	for i := 0; i < len(definitions); i += 2 {
		name := definitions[i]
		if !names.MatchString(name.Value) {
			return p.errorf(name, "name %q: want letters, digits, dots, dashes and underscores", name.Value)
		}
		if slices.ContainsFunc(p.all, func(d Definition) bool { return d.Name == name.Value }) {
			return p.errorf(name, "%s is there twice", name.Value)
		}
		if err := p.definition(kind.Value, name, definitions[i+1]); err != nil {
			return err
		}
	}
	return nil
}

// keys has the keys of each kind of definition. Those with a star must be there.
var keys = map[string][]string{
	Events:      {"*query", "track", "unit"},
	Annotations: {"*query", "*text", "link"},
	Alerts:      {"*query", "*level", "*text"},
}

func (p *parser) definition(kind string, name, n *yaml.Node) error {
	content, err := p.pairs(n, name.Value)
	if err != nil {
		return err
	}
	d := Definition{file: p.file, place: fmt.Sprintf("%s:%d: %s", p.file, name.Line, name.Value)}
	d.Kind, d.Name, d.Dialect = kind, name.Value, p.dialect
	fields := map[string]*string{"query": &d.Query, "track": &d.Track, "unit": &d.Unit, "level": &d.Level, "text": &d.Text, "link": &d.Link}
	for i := 0; i < len(content); i += 2 {
		key, value := content[i], content[i+1]
		if !slices.Contains(keys[kind], key.Value) && !slices.Contains(keys[kind], "*"+key.Value) {
			return p.errorf(key, "%s: unknown key %q: want %s", name.Value, key.Value, strings.ReplaceAll(strings.Join(keys[kind], ", "), "*", ""))
		}
		if *fields[key.Value], err = p.text(key, value); err != nil {
			return err
		}
		if key.Value == "query" {
			d.queryLine = value.Line
			switch value.Style {
			case yaml.LiteralStyle:
				d.queryLine++
			case yaml.FoldedStyle:
				d.queryLine = 0
			}
		}
	}
	for _, key := range keys[kind] {
		if key, must := strings.CutPrefix(key, "*"); must && *fields[key] == "" {
			return p.errorf(name, "%s: the key %s is missing", name.Value, key)
		}
	}
	if kind == Alerts && d.Level != Warning && d.Level != Error {
		return p.errorf(name, "%s: level %q: want %s or %s", name.Value, d.Level, Warning, Error)
	}
	p.all = append(p.all, d)
	return nil
}
