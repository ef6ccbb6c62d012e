// Package perfettosql runs the SQL of Perfetto's Trace Processor, v58, in DuckDB.
//
// A statement is translated word by word into DuckDB's SQL. What depends on the types and scopes of names is settled by
// DuckDB itself: where it objects to what SQLite takes, such as text in double quotes or a column beside an aggregate,
// the word is translated anew, and the statement checked again.
package perfettosql

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/schema"
	"github.com/tpconvert/tpconvert/sqlfuncs"
)

//go:embed overlay.sql
var overlay string

// ErrManyTraces is returned for a dataset of many traces: PerfettoSQL knows one.
var ErrManyTraces = errors.New("PerfettoSQL is for a dataset of one trace")

// Session is a place for the tables, functions and macros that PerfettoSQL makes.
type Session struct {
	conn      *sql.Conn
	modules   fs.FS // nil if there are none
	macros    map[string]*macro
	included  map[string]bool
	overlay   map[string]bool
	extract   map[string]string // functions, by key of the argument; nil before they are asked for
	delegates map[string]string // functions that stand for others
}

var macroName = regexp.MustCompile(`CREATE MACRO (\w+)`)

// New begins a session. The connection has a database that sqlfuncs.Register made attached as "dataset", and an empty
// one before it in its search path. Modules has the files of INCLUDE PERFETTO MODULE: a.b is a/b.sql; it may be nil.
func New(ctx context.Context, conn *sql.Conn, modules fs.FS) (*Session, error) {
	layout, err := sqlfuncs.Registered(ctx, conn)
	if err != nil {
		return nil, err
	}
	if layout == sqlfuncs.ManyTraces {
		return nil, ErrManyTraces
	}
	s := &Session{conn: conn, modules: modules, macros: map[string]*macro{}, included: map[string]bool{}, overlay: map[string]bool{}, delegates: map[string]string{}}
	views, err := Split(overlay)
	if err != nil {
		return nil, err
	}
	statements := append([]Statement{{Text: unindexedStats()}}, views...)
	for _, setting := range []string{
		"integer_division = true", "ieee_floating_point_ops = false", "scalar_subquery_error_on_multiple_rows = false",
		"default_null_order = 'nulls_first_on_asc_last_on_desc'",
	} {
		statements = append(statements, Statement{Text: "SET " + setting})
	}
	for _, t := range schema.All() {
		if strings.Contains(overlay, "VIEW __intrinsic_"+t.Name+" ") {
			continue
		}
		from := "dataset." + t.Name
		if strings.Contains(overlay, "VIEW "+t.Name+" ") {
			from = "memory." + t.Name
		}
		statements = append(statements, Statement{Text: fmt.Sprintf("CREATE VIEW __intrinsic_%s AS FROM %s", t.Name, from)})
	}
	tx, err := conn.BeginTx(ctx, nil) // a commit for each statement would take as long again
	if err != nil {
		return nil, err
	}
	for _, statement := range statements {
		if _, err := tx.ExecContext(ctx, statement.Text); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", statement.Text, err), tx.Rollback())
		}
		if m := macroName.FindStringSubmatch(statement.Text); m != nil {
			s.overlay[m[1]] = true
		}
	}
	if err := tx.Commit(); err != nil {
		return nil, err
	}
	for _, m := range prelude {
		if _, err := s.Run(ctx, m); err != nil {
			return nil, err
		}
	}
	return s, nil
}

const extractArg = "extract_arg"

// readArgs finds out which arguments have values of one type only. What extract_arg gives of others is a VARIANT, which
// DuckDB does not order as Trace Processor does.
func (s *Session) readArgs(ctx context.Context) error {
	rows, err := s.conn.QueryContext(ctx, `
		SELECT key, CASE WHEN ints > 0 AND reals = 0 AND texts = 0 THEN 'extract_arg_int'
		                 WHEN ints = 0 AND reals > 0 AND texts = 0 THEN 'extract_arg_real'
		                 WHEN ints = 0 AND reals = 0 AND texts > 0 THEN 'extract_arg_str'
		                 ELSE 'extract_arg' END
		FROM (SELECT key, count(int_value) AS ints, count(real_value) AS reals, count(string_value) AS texts
		      FROM dataset.args WHERE key IS NOT NULL GROUP BY key)`)
	if err != nil {
		return err
	}
	defer rows.Close()
	s.extract = map[string]string{}
	for rows.Next() {
		var key, function string
		if err := rows.Scan(&key, &function); err != nil {
			return err
		}
		s.extract[key] = function
	}
	return rows.Err()
}

// unindexedStats makes a table of the stats that Trace Processor always has.
func unindexedStats() string {
	var rows []string
	for _, s := range model.UnindexedStats() {
		rows = append(rows, fmt.Sprintf("('%s', %d, '%s', '%s')", s, s, s.Severity(), s.Source()))
	}
	return "CREATE TABLE _unindexed_stat AS FROM (VALUES " + strings.Join(rows, ",") + ") AS _stat(name, key, severity, source)"
}

// builtin are the modules whose functions are there without a folder of modules.
var builtin = map[string]bool{"time.conversion": true}

// prelude are the macros that are always there.
var prelude = []string{
	"CREATE PERFETTO MACRO cast_int(value Expr) RETURNS Expr AS CAST($value AS INT)",
	"CREATE PERFETTO MACRO cast_double(value Expr) RETURNS Expr AS CAST($value AS REAL)",
	"CREATE PERFETTO MACRO cast_string(value Expr) RETURNS Expr AS CAST($value AS TEXT)",
}

// Run runs a statement of PerfettoSQL up to the rows that it gives: the query for them is returned, of DuckDB, or "" if
// it gives none. An Error has the place in the text that is at fault.
func (s *Session) Run(ctx context.Context, text string) (query string, err error) {
	tokens, err := tokenize(text)
	if err != nil {
		return "", err
	}
	if !tokens[0].is("CREATE") || !isMacro(tokens) {
		if tokens, err = s.expand(tokens, 0); err != nil {
			return "", err
		}
	}
	if s.extract == nil && slices.ContainsFunc(tokens, func(t token) bool { return t.is(extractArg) }) {
		if err := s.readArgs(ctx); err != nil {
			return "", err
		}
	}
	p := &parser{source: text, tokens: tokens, overlay: s.overlay, extract: s.extract, delegates: s.delegates}
	t, err := p.translate()
	if err != nil {
		return "", err
	}
	for _, effect := range t.effects {
		if _, err := s.Run(ctx, effect); err != nil {
			return "", &Error{0, err.Error()}
		}
	}
	switch {
	case t.effects != nil:
		return "", nil
	case t.macro != nil:
		s.macros[t.macro.name] = t.macro
		return "", nil
	case t.delegate[0] != "":
		s.delegates[t.delegate[0]] = t.delegate[1]
		return "", nil
	case t.include != "":
		return "", s.include(ctx, t.include, t.includeName)
	case t.drop == "MACRO":
		return "", nil
	}
	if t.body != nil {
		if err := s.bind(ctx, t); err != nil {
			return "", err
		}
	}
	statement := t.run[0] + "\n" + t.body.String() + "\n" + t.run[1]
	if t.rows {
		return statement, nil
	}
	if strings.TrimSpace(statement) == "" {
		return "", nil
	}
	_, err = s.conn.ExecContext(ctx, statement)
	return "", err
}

// isMacro reports whether a CREATE statement is that of a macro, whose body is expanded where it is used.
func isMacro(tokens []token) bool {
	return slices.ContainsFunc(tokens[:min(len(tokens), 6)], func(t token) bool { return t.is("MACRO") })
}

// include runs a module once, or all modules below a.b.*.
func (s *Session) include(ctx context.Context, name string, at token) error {
	if strings.HasPrefix(name, "prelude.") || s.included[name] || builtin[name] {
		return nil
	}
	s.included[name] = true
	if s.modules == nil {
		return failAt(at.pos, "module %s: --stdlib has to name a folder of Perfetto's modules", name)
	}
	path := strings.ReplaceAll(name, ".", "/")
	if folder, all := strings.CutSuffix(path, "/*"); all || name == "*" {
		return s.includeAll(ctx, strings.TrimSuffix(folder, "*"), at)
	}
	source, err := fs.ReadFile(s.modules, path+".sql")
	if err != nil {
		return failAt(at.pos, "there is no module %s in the folder of --stdlib", name)
	}
	statements, err := Split(string(source))
	if err != nil {
		return failAt(at.pos, "module %s: %v", name, err)
	}
	for _, statement := range statements {
		if _, err := s.Run(ctx, statement.Text); err != nil {
			pos := statement.Pos
			var bad *Error
			if errors.As(err, &bad) {
				pos += bad.Pos
			}
			line := 1 + strings.Count(string(source[:min(pos, len(source))]), "\n")
			return failAt(at.pos, "module %s, line %d: %v", name, line, err)
		}
	}
	return nil
}

func (s *Session) includeAll(ctx context.Context, folder string, at token) error {
	root := strings.Trim(folder, "/")
	if root == "" {
		root = "."
	}
	return fs.WalkDir(s.modules, root, func(path string, e fs.DirEntry, err error) error {
		name, module := strings.CutSuffix(path, ".sql")
		if err != nil || e.IsDir() || !module {
			return err
		}
		return s.include(ctx, strings.ReplaceAll(name, "/", "."), at)
	})
}

// How deep macros may call macros, and how many words they may make.
const (
	maxDepth  = 100
	maxTokens = 1_000_000
)

// expand replaces the calls of macros.
func (s *Session) expand(tokens []token, depth int) ([]token, error) {
	if depth > maxDepth {
		return nil, failAt(tokens[0].pos, "macros call each other without end")
	}
	var out []token
	for i := 0; i < len(tokens); i++ {
		t := tokens[i]
		if t.kind != word || i+2 >= len(tokens) || !tokens[i+1].is("!") || !tokens[i+2].is("(") {
			out = append(out, t)
			continue
		}
		args, next := macroArguments(tokens, i+3)
		if next < 0 {
			return nil, failAt(t.pos, "the call of macro %s has no end", t.text)
		}
		for j := range args {
			var err error
			if args[j], err = s.expand(args[j], depth+1); err != nil {
				return nil, err
			}
		}
		body, err := s.call(t, args)
		if err != nil {
			return nil, err
		}
		for j := range body {
			body[j].pos, body[j].end = t.pos, t.pos
		}
		if body, err = s.expand(body, depth+1); err != nil {
			return nil, err
		}
		if out = append(out, body...); len(out) > maxTokens {
			return nil, failAt(t.pos, "macros make more than %d words of this statement", maxTokens)
		}
		i = next
	}
	return out, nil
}

// macroArguments are the arguments of a call from i on, and the position of its closing parenthesis.
func macroArguments(tokens []token, i int) (args [][]token, closing int) {
	var arg []token
	for depth := 0; i < len(tokens); i++ {
		t := tokens[i]
		switch {
		case t.is("("):
			depth++
		case t.is(")") && depth == 0:
			if arg != nil {
				args = append(args, arg)
			}
			return args, i
		case t.is(")"):
			depth--
		case t.is(",") && depth == 0:
			args, arg = append(args, arg), nil
			continue
		}
		arg = append(arg, t)
	}
	return nil, -1
}

// appliers are the macros that call a macro with each item of one or two lists: the words between the calls, and whether
// they also come first.
var appliers = map[string]struct {
	joiner string
	first  bool
}{
	"__intrinsic_token_apply":            {",", false},
	"__intrinsic_token_apply_prefix":     {",", true},
	"__intrinsic_token_apply_and":        {"AND", false},
	"__intrinsic_token_apply_and_prefix": {"AND", true},
}

// call is what stands for the call of a macro.
func (s *Session) call(name token, args [][]token) ([]token, error) {
	called := strings.ToLower(name.text)
	if a, ok := appliers[called]; ok {
		return apply(name, args, a.joiner, a.first)
	}
	if strings.HasPrefix(called, "__intrinsic_stringify") && len(args) == 1 {
		return []token{{kind: text, text: strings.ReplaceAll(spell(args[0]), "''", "'")}}, nil
	}
	m := s.macros[called]
	if m == nil {
		return nil, failAt(name.pos, "there is no macro %s", name.text)
	}
	if len(args) != len(m.parameters) {
		return nil, failAt(name.pos, "macro %s has %d parameters, not %d", name.text, len(m.parameters), len(args))
	}
	var body []token
	for _, t := range m.body {
		i := -1
		if t.kind == variable {
			i = slices.Index(m.parameters, strings.ToLower(t.text[1:]))
		}
		if i < 0 {
			body = append(body, t)
		} else {
			body = append(body, args[i]...)
		}
	}
	return body, nil
}

// apply calls the macro that the first argument names.
func apply(name token, args [][]token, joiner string, first bool) ([]token, error) {
	if len(args) < 2 || len(args) > 3 || len(args[0]) != 1 {
		return nil, failAt(name.pos, "%s: want a macro and one or two lists", name.text)
	}
	n := -1
	var lists [][][]token
	for _, arg := range args[1:] {
		items, closing := macroArguments(arg, 1)
		if !arg[0].is("(") || closing != len(arg)-1 {
			return nil, failAt(name.pos, "%s: want lists in parentheses", name.text)
		}
		if lists = append(lists, items); n < 0 || len(items) < n {
			n = len(items)
		}
	}
	mark := func(text string) token {
		if text == "AND" {
			return token{kind: word, text: text}
		}
		return token{kind: operator, text: text}
	}
	var body []token
	for i := range n {
		if i > 0 || first {
			body = append(body, mark(joiner))
		}
		body = append(body, args[0][0], mark("!"), mark("("))
		for j, items := range lists {
			if j > 0 {
				body = append(body, mark(","))
			}
			body = append(body, items[i]...)
		}
		body = append(body, mark(")"))
	}
	return body, nil
}

// maxRepairs is how many words of a statement may be translated anew.
const maxRepairs = 500

// bind checks a statement, and translates words anew where DuckDB takes them otherwise than SQLite.
func (s *Session) bind(ctx context.Context, t *statement) error {
	strict := slices.ContainsFunc(t.body, func(p *piece) bool { return p.check != "" })
	if strict {
		_ = s.bindAs(ctx, t, pieces.strict) // what else is wrong shows without
	}
	return s.bindAs(ctx, t, pieces.String)
}

func (s *Session) bindAs(ctx context.Context, t *statement, text func(pieces) string) error {
	for range maxRepairs {
		stmt, err := s.conn.PrepareContext(ctx, t.check[0]+"\n"+text(t.body)+"\n"+t.check[1])
		if err == nil {
			return stmt.Close()
		}
		message, at := place(err)
		at -= 2 // the words before the body are on line 1
		if !repair(message, t.body, at) {
			return &Error{position(t.body, min(at, len(t.body)-1)), strings.ReplaceAll(message, "sqlite_", "")}
		}
	}
	return &Error{0, "this statement is too far from DuckDB's SQL"}
}

// linePlace is where DuckDB shows a line of the statement and a caret under it.
var linePlace = regexp.MustCompile(`(?s)\n+LINE (\d+): .*$`)

// place takes the message and the line from an error of DuckDB.
func place(err error) (message string, line int) {
	message = err.Error()
	if m := linePlace.FindStringSubmatch(message); m != nil {
		line, _ = strconv.Atoi(m[1])
		message = strings.TrimSuffix(message, m[0])
	}
	return message, line
}

// position is the place in the source of a piece, or of the nearest before it that has one.
func position(body pieces, at int) int {
	for ; at >= 0; at-- {
		if body[at].pos >= 0 {
			return body[at].pos
		}
	}
	return 0
}

var (
	missing       = regexp.MustCompile(`Referenced (?:column|table) "(.*?)" (?:was )?not found`)
	noFunction    = regexp.MustCompile(`No function matches|Could not choose a best candidate`)
	unlike        = regexp.MustCompile(`Cannot (?:mix|compare|combine) `)
	unconvertible = regexp.MustCompile(`Could not convert string '(.*)' to`)
	ungrouped     = regexp.MustCompile(`^Binder Error: column (.*) must appear in the GROUP BY clause or be used`)
	ambiguous     = regexp.MustCompile(`Ambiguous reference to column name "(.*?)" \(use: "(.*?)" or`)
)

// repair translates anew what DuckDB objects to, which it places in a piece. It reports whether there was a way.
func repair(message string, body pieces, at int) bool {
	if m := missing.FindStringSubmatch(message); m != nil {
		return body.quote(m[1])
	}
	if unlike.MatchString(message) {
		return at >= 0 && at < len(body) && body[at].mix() || body.mixAll()
	}
	if noFunction.MatchString(message) && at >= 0 && at < len(body) && body[at].takes(asReal) {
		return body[at].mix()
	}
	if m := unconvertible.FindStringSubmatch(message); m != nil {
		return body.mixAround(literal(m[1]))
	}
	if m := ambiguous.FindStringSubmatch(message); m != nil {
		return body.choose(at, m[1], m[2])
	}
	if m := ungrouped.FindStringSubmatch(message); m != nil {
		return body.spread(identifier(m[1]))
	}
	if strings.Contains(message, "must appear in the GROUP BY clause") {
		if at < 0 || at >= len(body) {
			return body.spreadStars()
		}
		if p := body[at]; p.in != nil {
			p.become(p.in.any(p.text))
			return true
		}
	}
	return false
}

// spread lets a column be of any row in each selection that has HAVING, which may be or name an item of the result. DuckDB
// does not say where.
func (s pieces) spread(column string) (done bool) {
	for _, p := range s {
		if in := p.in; in != nil && in.having != nil && p.text == column && !in.aggregated(p) &&
			slices.ContainsFunc(slices.Concat(in.items, []pieces{in.having}), func(part pieces) bool { return slices.Contains(part, p) }) {
			p.become(in.any(p.text))
			done = true
		}
	}
	return done
}

// spreadStars lets all columns be of any row in each selection that groups rows. DuckDB does not say where.
func (s pieces) spreadStars() (done bool) {
	for _, p := range s {
		if p.in != nil && (p.in.grouped || p.in.aggregates != nil) && strings.HasSuffix(p.text, "*") {
			p.name = `\0` // each keeps its own
			p.become(p.in.any("COLUMNS(" + p.text + ")"))
			done = true
		}
	}
	return done
}

// aggregated reports whether a column is an argument of an aggregate.
func (s *selection) aggregated(column *piece) bool {
	return slices.ContainsFunc(s.aggregates, func(a aggregate) bool { return slices.Contains(a.args, column) })
}

// choose takes a column from the first table that has it, as SQLite does with columns that USING has merged. DuckDB does
// not say where USING is.
func (s pieces) choose(at int, column, first string) bool {
	if at < 0 || at >= len(s) {
		at = slices.IndexFunc(s, func(p *piece) bool { return p.using != nil && strings.EqualFold(p.text, identifier(column)) })
	}
	if at < 0 || s[at].in == nil || !s[at].in.merges {
		return false
	}
	p := s[at]
	p.in = nil
	table, column, _ := strings.Cut(first, ".")
	p.text, p.kind = identifier(table)+"."+identifier(column), word
	if p.using != nil {
		p.using.open.text = " ON ("
		p.text += " = " + p.using.table + "." + identifier(column)
	}
	return true
}

// quote makes text of a name in double quotes that is no column.
func (s pieces) quote(name string) (done bool) {
	for _, p := range s {
		if p.kind == quoted && p.text == identifier(name) {
			p.become(literal(name))
			done = true
		}
	}
	return done
}

// any is a column beside aggregates: of the row with the least or greatest value if there is one min or max, else of the
// first row.
func (s *selection) any(column string) string {
	var extremes []aggregate
	for _, a := range s.aggregates {
		if a.name == "min" || a.name == "max" {
			extremes = append(extremes, a)
		}
	}
	if len(extremes) == 1 {
		return fmt.Sprintf("arg_%s_null(%s, %s)", extremes[0].name, column, strings.ReplaceAll(extremes[0].args.String(), "\n", " "))
	}
	return "first(" + column + ")"
}
