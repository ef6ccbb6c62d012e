package perfettosql

import (
	"strings"

	"github.com/tpconvert/tpconvert/sqlfuncs/sqltext"
)

// Reach is what SQL uses and leaves behind. It errs on the safe side.
type Reach struct {
	Changes bool     // later statements may see other tables, functions or rows
	Modules []string // that it includes
	Made    []string // names of what changes, in lower case
	names   []string // all names in it, in lower case, also those in texts
}

// Mentions reports whether the SQL may use one of the names.
func (r *Reach) Mentions(names map[string]bool) bool {
	for _, name := range r.names {
		if names[name] {
			return true
		}
	}
	return false
}

// Lists reports whether the result may tell what the engine has, such as the tables of others.
func (r *Reach) Lists() bool {
	for _, name := range r.names {
		if strings.HasPrefix(name, "sqlite_") || strings.HasPrefix(name, "pragma_") || engineNames[name] {
			return true
		}
	}
	return false
}

var (
	// engineNames are tables and functions whose rows depend on earlier statements.
	engineNames = map[string]bool{"perfetto_tables": true, "changes": true, "total_changes": true, "last_insert_rowid": true}
	// effectFunctions change the engine, see defineEffects. Their texts have names.
	effectFunctions = map[string]bool{"create_function": true, "create_view_function": true, "experimental_memoize": true, "import": true, "run_metric": true}
)

// ReachOf returns the reach of SQL that may have several statements.
func ReachOf(sql string) (*Reach, error) {
	statements, err := sqltext.Split(sql)
	if err != nil {
		return nil, err
	}
	r := &Reach{}
	for _, one := range statements {
		tokens, err := sqltext.Tokenize(one.Text)
		if err != nil {
			return nil, err
		}
		r.add(&reader{source: one.Text, tokens: tokens})
	}
	return r, nil
}

// add adds the reach of a statement.
func (r *Reach) add(statement *reader) {
	if statement.accept("INCLUDE", "PERFETTO", "MODULE") {
		var module strings.Builder
		for statement.peek().Kind != sqltext.End {
			module.WriteString(statement.next().Text)
		}
		r.Modules = append(r.Modules, module.String())
		return
	}
	first := statement.peek()
	reads := first.Is("SELECT") || first.Is("WITH") || first.Is("VALUES")
	var texts []string
	calls := false
	for _, t := range statement.tokens {
		switch {
		case t.Kind == sqltext.Text || t.Kind == sqltext.Quoted:
			texts = append(texts, namesIn(t.Text)...)
		case t.Kind == sqltext.Word:
			name := strings.ToLower(t.Text)
			r.names = append(r.names, name)
			calls = calls || effectFunctions[name]
		}
		reads = reads && !t.Is("INSERT") && !t.Is("UPDATE") && !t.Is("DELETE")
	}
	r.names = append(r.names, texts...)
	if reads && !calls {
		return
	}
	r.Changes = true
	if calls {
		r.Made = append(r.Made, texts...)
	}
	for statement.peek().Kind != sqltext.End {
		switch t := statement.next(); {
		case t.Is("TABLE"), t.Is("VIEW"), t.Is("FUNCTION"), t.Is("MACRO"), t.Is("INDEX"), t.Is("TRIGGER"), t.Is("INTO"), t.Is("UPDATE"), t.Is("TO"),
			t.Is("DELETE") && statement.accept("FROM"):
			_ = statement.accept("IF", "NOT", "EXISTS") || statement.accept("IF", "EXISTS")
			name := statement.next()
			if statement.accept(".") { // after the schema
				name = statement.next()
			}
			r.Made = append(r.Made, strings.ToLower(name.Text))
		}
	}
}

// namesIn returns the words of a text, in lower case.
func namesIn(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(c rune) bool { return c < 0x80 && !sqltext.IsWord(byte(c)) })
}
