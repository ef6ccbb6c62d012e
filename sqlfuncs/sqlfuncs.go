// Package sqlfuncs holds the functions, operators and views of Trace Processor as DuckDB macros and views. They are
// plain SQL over the dataset's tables, so a DuckDB file they are installed in serves any DuckDB client.
package sqlfuncs

import (
	"embed"
	"regexp"
	"strings"
)

// files are read in this order, because views and macros can refer only to earlier ones.
var files = []string{"args", "time", "text", "spans", "slices", "flows", "views", "counters", "stacks", "ftrace", "cpu", "frames", "gpu", "compare"}

//go:embed sql/*.sql
var sources embed.FS

//go:embed perfettosql/modules/tpconvert/gpu_words.sql
var gpuWords string

// fromPerfetto turns macros of PerfettoSQL, whose expressions mean the same here, into DuckDB's.
var fromPerfetto = strings.NewReplacer("PERFETTO MACRO", "MACRO", " RETURNS Expr", "", " Expr", "", "$", "")

// source returns the statements of a file.
func source(name string) string {
	text, err := sources.ReadFile("sql/" + name + ".sql")
	if err != nil {
		panic(err) // the file is embedded
	}
	if name == "gpu" {
		return fromPerfetto.Replace(gpuWords) + "\n" + string(text)
	}
	return string(text)
}

// Layout says whether the tables hold one trace or many.
type Layout int

const (
	// OneTrace is a dataset of one trace.
	OneTrace Layout = iota
	// ManyTraces is a dataset of many traces: each table has a trace_id column, and ids are unique only
	// within a trace. Macros that look up an id take the trace_id as an additional last argument.
	ManyTraces
)

// Macro is a macro or view of the DuckDB file, or a table used by one.
type Macro struct {
	Name string
	Kind string // MACRO, MACRO TABLE, VIEW or TABLE
	Doc  string // its result, with units and source; if it has no comment of its own, the previous one's
	SQL  string // the statement that creates it
}

// IsHelper reports whether m is used only by other macros.
func (m Macro) IsHelper() bool { return strings.HasPrefix(m.Name, "_") }

var (
	head = regexp.MustCompile(`^CREATE OR REPLACE (MACRO|VIEW|TABLE) "?(\w+)`)
	// tableMacro matches the head of a macro that returns rows.
	tableMacro = regexp.MustCompile(`^[^\n]*\) AS TABLE\n`)
	// manyOnly matches SQL inside a comment that applies only to many traces.
	manyOnly = regexp.MustCompile(`(?s)/\*!(.*?)\*/`)
)

// Macros lists all macros and views in the order of their creation.
func Macros(layout Layout) []Macro {
	var macros []Macro
	doc := ""
	for _, name := range files {
		for comment, sql := range statements(source(name)) {
			if comment != "" {
				doc = uncomment(comment)
			}
			m := head.FindStringSubmatch(sql)
			one := Macro{Name: m[2], Kind: m[1], Doc: strings.TrimPrefix(doc, m[2]+": "), SQL: withDenied(layout.apply(sql))}
			if one.Kind == "MACRO" && tableMacro.MatchString(one.SQL) {
				one.Kind = "MACRO TABLE"
			}
			macros = append(macros, one)
		}
	}
	return macros
}

// statements yields the statements of a source, without their semicolons, and the comments before them. A statement ends with
// a line that ends with a semicolon.
func statements(source string) func(yield func(comment, sql string) bool) {
	return func(yield func(comment, sql string) bool) {
		var comment, sql strings.Builder
		for line := range strings.Lines(source) {
			switch {
			case sql.Len() > 0 || strings.HasPrefix(line, "CREATE"):
				sql.WriteString(line)
				text, ended := strings.CutSuffix(strings.TrimSuffix(sql.String(), "\n"), ";")
				if !ended {
					continue
				}
				if !yield(comment.String(), text) {
					return
				}
				sql.Reset()
				comment.Reset()
			case strings.HasPrefix(line, "--"):
				comment.WriteString(line)
			default:
				comment.Reset()
			}
		}
	}
}

func (l Layout) apply(sql string) string {
	if l == ManyTraces {
		return manyOnly.ReplaceAllString(sql, "$1")
	}
	return manyOnly.ReplaceAllString(sql, "")
}

func uncomment(doc string) string {
	lines := strings.Split(strings.TrimSpace(doc), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimPrefix(strings.TrimPrefix(line, "--"), " ")
	}
	return strings.Join(lines, " ")
}
