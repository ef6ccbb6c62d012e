package session

import (
	"fmt"
	"strings"

	"github.com/tpconvert/tpconvert/sqlfuncs/perfettosql"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqltext"
)

var (
	// noPartition matches DuckDB's error in a macro that selects the columns of a partition.
	noPartition = lazyRegexp(`^Binder Error: Star expression "COLUMNS\(.*_span_named\(c, ('(?:[^']|'')*')\).* resulted in an empty set of columns`)
	// noColumn matches its error in a macro that needs a column of its source.
	noColumn = lazyRegexp(`^Binder Error: Column "(\w+)" in REPLACE list not found`)
	// noObject matches its error about a table or function that does not exist.
	noObject = lazyRegexp(`^Catalog Error: .*?\b(?:Table|Table Function|Scalar Function|Aggregate Function|Macro Function) with name "?(\w+)"? (?:does not|is not)`)
	// candidates matches a list of functions of a name for other types.
	candidates = lazyRegexp(`(?s)\n\\?\s*t?Candidate functions:.*`)
)

// explained returns DuckDB's message about a statement with the words of its macros in place of their insides, and with what to
// do instead.
func explained(message, statement string) string {
	if m := noPartition().FindStringSubmatch(message); m != nil {
		return "Binder Error: the sources have no column " + strings.ReplaceAll(strings.Trim(m[1], "'"), "''", "'") + ", which is the partition"
	}
	if m := noColumn().FindStringSubmatch(message); m != nil && !strings.Contains(strings.ToLower(statement), "replace") {
		return "Binder Error: a source has no column " + m[1]
	}
	if m := noObject().FindStringSubmatch(message); m != nil {
		if module := perfettosql.ModuleOf(m[1]); module != "" {
			return fmt.Sprintf("%s is made by Perfetto's module %s, in PerfettoSQL: tpconvert query --perfetto ... \"INCLUDE PERFETTO MODULE %s; ...\"",
				m[1], module, module)
		}
	}
	switch {
	case strings.HasPrefix(message, "Parser Error"):
		return message + dialect(statement)
	case strings.HasPrefix(message, "Catalog Error: Scalar Function with name ! "), strings.HasPrefix(message, "Binder Error: Referenced column"):
		if hint := dialect(statement); hint != "" { // DuckDB reads m!(x) as a sign behind a column
			return strings.TrimPrefix(hint, "\n")
		}
	case strings.HasPrefix(message, "Binder Error") && strings.Contains(message, "VARCHAR") && mentions(statement, "extract_arg"):
		return candidates().ReplaceAllString(message, "") + "\nextract_arg gives text: extract_arg_int and extract_arg_real give numbers"
	}
	return message
}

// dialect says what in a statement is PerfettoSQL, or "".
func dialect(statement string) string {
	tokens, err := sqltext.Tokenize(statement)
	if err != nil {
		return ""
	}
	for i, t := range tokens[:len(tokens)-1] {
		next := tokens[i+1]
		switch {
		case next.Is("PERFETTO") && (t.Is("INCLUDE") || t.Is("CREATE") || t.Is("REPLACE") || t.Is("DROP")):
			return "\nThis is PerfettoSQL: query --perfetto runs it"
		case t.Kind == sqltext.Word && next.Is("!") && i+2 < len(tokens) && tokens[i+2].Is("("):
			hint := "\n" + t.Text + "! is a macro of PerfettoSQL: query --perfetto runs it"
			if module := perfettosql.ModuleOf(t.Text); module != "" {
				hint += ", after INCLUDE PERFETTO MODULE " + module
			}
			return hint
		}
	}
	return ""
}

// mentions reports whether a word is in a statement.
func mentions(statement, word string) bool {
	for w := range sqltext.Words(statement) {
		if w == word {
			return true
		}
	}
	return false
}
