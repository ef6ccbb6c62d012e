package perfettosql

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"unicode/utf8"
)

// moduleObjects is the name of Trace Processor's table of the objects that modules define.
const moduleObjects = "__intrinsic_stdlib_objects"

// objectColumns are its columns after id.
var objectColumns = []string{
	"package", "module", "name", "qualified_name", "object_type", "exposed", "short_description", "summary", "description",
	"return_type", "return_description", "args", "cols",
}

// listModules makes the table of the modules' objects, which the UI reads once.
func (s *Session) listModules(ctx context.Context) error {
	var rows []string
	add := func(d *documented) { rows = append(rows, strings.Join(d.row(), "\x1f")) }
	if s.Modules != nil {
		err := fs.WalkDir(s.Modules, ".", func(file string, e fs.DirEntry, err error) error {
			path, module := strings.CutSuffix(file, ".sql")
			folder, _, packaged := strings.Cut(path, "/")
			if err != nil || e.IsDir() || !module || !packaged {
				return err
			}
			source, err := fs.ReadFile(s.Modules, file)
			if err != nil {
				return err
			}
			name := strings.ReplaceAll(path, "/", ".")
			add(&documented{pack: folder, module: name, name: name, kind: "MODULE"})
			for _, d := range documentedIn(string(source)) {
				d.pack, d.module = folder, name
				add(d)
			}
			return nil
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	selected := []string{"row_number() OVER () - 1 AS id"}
	for i, name := range objectColumns {
		kind := "VARCHAR"
		if name == "exposed" {
			kind = "BIGINT"
		}
		selected = append(selected, fmt.Sprintf("_values[%d]::%s AS %s", i+1, kind, name))
	}
	// One text is parsed much faster than as many literals.
	_, err := s.Conn.ExecContext(ctx, fmt.Sprintf(
		"CREATE OR REPLACE TABLE %s AS SELECT %s FROM (SELECT string_split(unnest(string_split(%s, chr(30))), chr(31)) AS _values) WHERE len(_values) > 1",
		moduleObjects, strings.Join(selected, ", "), literal(strings.Join(rows, "\x1e"))))
	return err
}

// documented is a module, or an object of one with the comments about it.
type documented struct {
	pack, module, name string
	kind               string
	about              string
	returns            string
	aboutReturn        string
	args, columns      []documentedField
}

// documentedField is an argument or a column.
type documentedField struct {
	Name  string `json:"name"`
	Type  string `json:"type"`
	About string `json:"description"`
}

// row returns the values of objectColumns.
func (d *documented) row() []string {
	exposed, qualified := "1", d.module
	if d.kind != "MODULE" {
		qualified += "." + d.name
	}
	if strings.HasPrefix(d.name, "_") {
		exposed = "0"
	}
	short := d.about
	if n := 160; len(short) > n {
		for n > 0 && !utf8.RuneStart(short[n]) {
			n--
		}
		short = short[:n]
	}
	return []string{d.pack, d.module, d.name, qualified, d.kind, exposed, short, d.summary(qualified, exposed == "1"),
		d.about, d.returns, d.aboutReturn, fieldsJSON(d.args), fieldsJSON(d.columns)}
}

// summary returns a text to search in.
func (d *documented) summary(qualified string, exposed bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Package: %s\nModule: %s", d.pack, d.module)
	if d.kind != "MODULE" {
		b.WriteString("\nName: " + d.name)
	}
	aliases := d.pack + " " + d.module
	if d.name != d.module {
		aliases += " " + d.name
	}
	access := "internal"
	if exposed {
		access = "public"
	}
	fmt.Fprintf(&b, "\nQualified name: %s\nSearch aliases: %s\nKind: %s %s",
		qualified, strings.NewReplacer(".", " ", "_", " ").Replace(aliases), access, d.kind)
	after := func(head, text string) {
		if text != "" {
			b.WriteString(head + text)
		}
	}
	list := func(head string, all []documentedField) {
		if len(all) > 0 {
			b.WriteString("\n" + head + ":")
		}
		for _, f := range all {
			fmt.Fprintf(&b, "\n- %s (%s)", f.Name, f.Type)
			after(": ", f.About)
		}
	}
	after("\nDescription: ", d.about)
	list("Arguments", d.args)
	if d.returns != "" {
		b.WriteString("\nReturns: " + d.returns)
		after(": ", d.aboutReturn)
	}
	list("Columns", d.columns)
	return b.String()
}

func fieldsJSON(all []documentedField) string {
	if all == nil {
		return "[]"
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(all); err != nil {
		panic(err) // they are texts
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// documentedIn returns the objects that a module's source defines: tables and views, then functions, then macros. There
// are none if it is invalid.
func documentedIn(source string) []*documented {
	tokens, err := tokenize(source)
	if err != nil {
		return nil
	}
	var byKind [3][]*documented
	for i := 0; i < len(tokens); i++ {
		r := docReader{source: source, tokens: tokens, at: i}
		if d, group := r.statement(); d != nil {
			byKind[group] = append(byKind[group], d)
		}
		for i = max(i, r.at); i < len(tokens) && !tokens[i].is(";"); i++ {
		}
	}
	return append(append(byKind[0], byKind[1]...), byKind[2]...)
}

// docReader reads the head of a statement.
type docReader struct {
	source string
	tokens []token
	at     int
}

// take moves past a word, and reports whether it was there.
func (r *docReader) take(text string) bool {
	if !r.tokens[r.at].is(text) {
		return false
	}
	r.at++
	return true
}

// statement reads a CREATE PERFETTO statement. The group is 0 for tables and views, 1 for functions and 2 for macros.
func (r *docReader) statement() (d *documented, group int) {
	d = &documented{about: r.comments(true)}
	if !r.take("CREATE") {
		return nil, 0
	}
	if r.take("OR") {
		r.take("REPLACE")
	}
	if !r.take("PERFETTO") {
		return nil, 0
	}
	switch {
	case r.take("TABLE"):
		d.kind = "TABLE"
	case r.take("VIEW"):
		d.kind = "VIEW"
	case r.take("FUNCTION"):
		d.kind, group = "FUNCTION", 1
	case r.take("MACRO"):
		d.kind, group = "MACRO", 2
	default:
		return nil, 0
	}
	if d.name = r.tokens[r.at].text; d.name == "" {
		return nil, 0
	}
	r.at++
	if group == 0 {
		d.columns = r.fields()
		return d, group
	}
	d.args = r.fields()
	d.aboutReturn = r.comments(false)
	if !r.take("RETURNS") {
		return d, group
	}
	if about := r.comments(false); about != "" && d.kind == "FUNCTION" {
		d.aboutReturn = about
	}
	if d.kind == "FUNCTION" && r.take("TABLE") {
		d.kind, d.returns = "TABLE_FUNCTION", "TABLE"
		d.columns = r.fields()
		return d, group
	}
	d.returns = r.until("AS", "DELEGATES", ";")
	return d, group
}

// fields reads a list of arguments or columns, if there is one.
func (r *docReader) fields() (all []documentedField) {
	if !r.take("(") {
		return nil
	}
	for r.tokens[r.at].kind != end && !r.take(")") {
		f := documentedField{Name: r.tokens[r.at].text, About: r.comments(false)}
		r.at++
		f.Type = r.until(",", ")")
		all = append(all, f)
		r.take(",")
	}
	return all
}

// until moves to one of the words outside parentheses, and returns the source on the way.
func (r *docReader) until(words ...string) string {
	from, depth := r.at, 0
	for ; r.tokens[r.at].kind != end; r.at++ {
		t := r.tokens[r.at]
		if depth == 0 && slices.ContainsFunc(words, t.is) {
			break
		}
		switch {
		case t.is("("):
			depth++
		case t.is(")"):
			depth--
		}
	}
	if r.at == from {
		return ""
	}
	return r.source[r.tokens[from].pos:r.tokens[r.at-1].end]
}

// comments returns the line comments before the next token or, if block is set, only those after the last blank line
// between them.
func (r *docReader) comments(block bool) string {
	from := 0
	if r.at > 0 {
		from = r.tokens[r.at-1].end
	}
	var found []string
	blank := false
	for line := range strings.Lines(r.source[from:r.tokens[r.at].pos]) {
		line = strings.TrimSpace(line)
		comment, ok := strings.CutPrefix(line, "--")
		switch {
		case ok:
			if block && blank {
				found = nil
			}
			blank = false
			if comment = strings.TrimSpace(comment); comment != "" {
				found = append(found, comment)
			}
		case line == "":
			blank = true
		}
	}
	return strings.Join(found, " ")
}
