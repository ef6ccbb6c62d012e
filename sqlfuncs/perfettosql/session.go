// Package perfettosql runs the SQL of Perfetto's Trace Processor, v58, in DuckDB.
//
// A statement is translated word by word into DuckDB's SQL. Some words depend on the types and scopes of
// names, such as text in double quotes or a column next to an aggregate. They are decided once the whole
// statement has been read, by asking DuckDB for the columns of tables and the types of functions.
package perfettosql

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
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

// ErrManyTraces is returned for a dataset of many traces, because PerfettoSQL works on one.
var ErrManyTraces = errors.New("PerfettoSQL requires a dataset of one trace")

// Session holds the tables, functions and macros created by PerfettoSQL statements.
type Session struct {
	Database
	catalog   *sqlfuncs.Catalog
	macros    map[string]*macro
	included  map[string]error     // modules that were read, or are being read
	defined   map[string][]*object // of modules, by lower-case name
	curves    bool                 // Wattson's curves were read
	ordered   bool                 // see OrderRows
	overlay   map[string]bool
	extract   map[string]extractor // of arguments, by key; nil until first needed
	delegates map[string]string    // replacement functions, by name
	virtual   map[string]string    // virtual tables: what drops them
	columns   map[string][]field   // columns of tables, calls and expressions, as reported by DuckDB
	functions map[string][]string  // types of the parameters of functions
}

// OrderRows makes queries without ORDER BY return groups and distinct rows in the order in which SQLite does, until the next
// Restart.
func (s *Session) OrderRows() { s.ordered = true }

// Database is what a session works on.
type Database struct {
	// Conn has the Settings, a database made by sqlfuncs.Register attached as "dataset", and an empty one before it in the
	// search path.
	Conn   *sql.Conn
	Layout sqlfuncs.Layout
	// Dataset creates the objects of the dataset when they are needed. It is nil if they exist.
	Dataset *sqlfuncs.Catalog
	// Describe checks a statement without running it, and returns the columns of its rows.
	Describe func(ctx context.Context, statement string) ([]Column, error)
	// Modules has the files of INCLUDE PERFETTO MODULE: a.b is a/b.sql. It may be nil.
	Modules fs.FS
	// Metrics has the templates of RUN_METRIC. It may be nil.
	Metrics Metrics
	// Recursion evaluates functions that call themselves. It may be nil.
	Recursion Recursion
	// Macros are CREATE statements of macros that need functions of the connection. They replace macros of the same name.
	Macros []string
}

// Column is a column of a query's rows.
type Column struct {
	Name string
	Type string // DuckDB's name, without parameters
}

// Settings are the statements with which a connection calculates and sorts like SQLite.
var Settings = []string{
	"SET integer_division = true", "SET ieee_floating_point_ops = false", "SET scalar_subquery_error_on_multiple_rows = false",
	"SET default_null_order = 'nulls_first_on_asc_last_on_desc'",
}

// New begins a session.
func New(ctx context.Context, d Database) (*Session, error) {
	if d.Layout == sqlfuncs.ManyTraces {
		return nil, ErrManyTraces
	}
	s := &Session{Database: d}
	return s, s.Restart(ctx)
}

// Restart begins the session again, after the database before the dataset in the search path has been emptied.
func (s *Session) Restart(ctx context.Context) error {
	*s = Session{Database: s.Database, macros: map[string]*macro{}, included: map[string]error{}, defined: map[string][]*object{}, overlay: map[string]bool{}, delegates: map[string]string{}, virtual: map[string]string{}, columns: map[string][]field{}, functions: map[string][]string{}}
	objects, err := s.objects()
	if err != nil {
		return err
	}
	s.catalog = sqlfuncs.NewCatalog(s.Conn, s.Dataset, objects)
	for _, m := range prelude {
		if _, err := s.Run(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

// objects returns the statements that create what PerfettoSQL has beside, or in place of, the objects of a dataset.
func (s *Session) objects() ([]string, error) {
	statements, err := Split(overlay)
	if err != nil {
		return nil, err
	}
	objects, views := []string{unindexedStats()}, map[string]bool{}
	replaced := map[string]bool{}
	for _, text := range s.Macros {
		replaced[sqlfuncs.CreatedName(text)] = true
	}
	statements = slices.DeleteFunc(statements, func(s Statement) bool { return replaced[sqlfuncs.CreatedName(s.Text)] })
	for _, text := range s.Macros {
		statements = append(statements, Statement{Text: text})
	}
	for _, statement := range statements {
		objects = append(objects, statement.Text)
		name := sqlfuncs.CreatedName(statement.Text)
		if strings.HasPrefix(statement.Text, "CREATE MACRO") {
			s.overlay[name] = true
		} else {
			views[name] = true
		}
	}
	for _, t := range schema.All() {
		switch internal := "__intrinsic_" + t.Name; {
		case views[internal]:
		case views[t.Name]:
			objects = append(objects, fmt.Sprintf("CREATE VIEW %s AS FROM memory.%s", internal, t.Name))
		default:
			objects = append(objects, fmt.Sprintf("CREATE VIEW %s AS FROM dataset.%s", internal, t.Name))
		}
	}
	return objects, nil
}

// unindexedStats returns SQL for a table of the stats that Trace Processor always has.
func unindexedStats() string {
	var rows []string
	for _, s := range model.UnindexedStats() {
		rows = append(rows, fmt.Sprintf("('%s', %d, '%s', '%s')", s, s, s.Severity(), s.Source()))
	}
	return "CREATE TABLE _unindexed_stat AS FROM (VALUES " + strings.Join(rows, ",") + ") AS _stat(name, key, severity, source)"
}

// builtin are the modules whose functions exist even without a folder of modules.
var builtin = map[string]bool{"time.conversion": true}

// prelude are the macros that always exist.
var prelude = []string{
	"CREATE PERFETTO MACRO cast_int(value Expr) RETURNS Expr AS CAST($value AS INT)",
	"CREATE PERFETTO MACRO cast_double(value Expr) RETURNS Expr AS CAST($value AS REAL)",
	"CREATE PERFETTO MACRO cast_string(value Expr) RETURNS Expr AS CAST($value AS TEXT)",
}

// Query is a translated query.
type Query struct {
	SQL string
	// OnlyEffects is set if the query calls functions for their effects, such as IMPORT.
	OnlyEffects bool

	body   pieces
	broken error
}

// Place returns DuckDB's error in the query with its position in PerfettoSQL.
func (q *Query) Place(err error) error {
	if q.broken != nil {
		return q.broken
	}
	message, at := place(err)
	if at == 0 {
		return err
	}
	return &Error{position(q.body, min(at-2, len(q.body)-1)), strings.ReplaceAll(message, "sqlite_", "")} // line 1 is empty
}

// Run runs a statement of PerfettoSQL. If the statement has rows, Run returns the DuckDB query for them, else nil. An Error
// has the position of the fault in the text.
func (s *Session) Run(ctx context.Context, text string) (*Query, error) {
	tokens, err := tokenize(text)
	if err != nil {
		return nil, err
	}
	if !tokens[0].is("CREATE") || !isMacro(tokens) {
		if tokens, err = s.expand(tokens, 0); err != nil {
			return nil, err
		}
	}
	broken := s.define(ctx, tokens)
	q, err := s.run(ctx, text, tokens)
	switch {
	case err != nil && broken != nil:
		return nil, broken
	case q != nil:
		q.broken = broken
	}
	return q, err
}

// run is Run for a statement whose macros are expanded.
func (s *Session) run(ctx context.Context, text string, tokens []token) (query *Query, err error) {
	if s.extract == nil && slices.ContainsFunc(tokens, func(t token) bool { return t.is(extractArg) }) {
		if err := s.readArgs(ctx); err != nil {
			return nil, err
		}
	}
	if slices.ContainsFunc(tokens, func(t token) bool { return strings.HasPrefix(t.text, curves) }) {
		if err := s.readCurves(ctx); err != nil {
			return nil, err
		}
	}
	if slices.ContainsFunc(tokens, func(t token) bool { return t.text == moduleObjects }) {
		if err := s.listModules(ctx); err != nil {
			return nil, err
		}
	}
	translate := func(returns string) (*statement, error) {
		p := &parser{source: text, tokens: tokens, overlay: s.overlay, extract: s.extract, delegates: s.delegates, virtual: s.virtual, metrics: s.Metrics, ordered: s.ordered, catalog: known{s, ctx}, returns: returns}
		return p.translate()
	}
	t, err := translate("")
	if err != nil {
		return nil, err
	}
	if t.recursion != nil {
		if s.Recursion == nil {
			return nil, &Error{0, t.recursion.name + " calls itself, which is not supported here"}
		}
		returns, err := s.returned(ctx, t)
		if err == nil && returns != t.recursion.returns {
			t, err = translate(returns)
		}
		if err != nil {
			return nil, err
		}
	}
	for _, effect := range t.effects {
		if effect.memoize != "" {
			if err := s.memoize(effect.memoize); err != nil {
				return nil, &Error{0, err.Error()}
			}
			continue
		}
		if _, err := s.Run(ctx, effect.sql); err != nil {
			return nil, &Error{0, effect.place + err.Error()}
		}
	}
	if t.virtual != "" {
		defer func() {
			if err == nil {
				s.virtual[t.changes] = t.virtual
			}
		}()
	}
	switch {
	case t.effects != nil && !t.rows:
		return nil, nil
	case t.macro != nil:
		s.macros[t.macro.name] = t.macro
		return nil, nil
	case t.delegate[0] != "":
		s.delegates[t.delegate[0]] = t.delegate[1]
		return nil, nil
	case t.include != "":
		return nil, s.include(ctx, t.include, t.includeName)
	case t.drop == "MACRO":
		return nil, nil
	}
	statement := t.run[0] + "\n" + t.body.String() + "\n" + t.run[1]
	if t.recursion != nil { // it calls a function that runs the body
		statement = t.run[0]
	}
	if strings.TrimSpace(statement) == "" {
		return nil, nil
	}
	if err := s.catalog.Create(ctx, statement); err != nil {
		return nil, err
	}
	if s.redefines(text, t.changes) {
		s.defineAll(ctx) // with the object as it was
	}
	if t.rows {
		return &Query{SQL: statement, OnlyEffects: t.effects != nil, body: t.body}, nil
	}
	if t.check[0] != "" { // DuckDB does not check the bodies of macros
		if err := s.bind(ctx, t); err != nil {
			return nil, err
		}
	}
	if t.recursion != nil {
		s.Recursion.Define(t.recursion.name, t.recursion.query(t.body))
	}
	if t.function != nil {
		s.functions[strings.ToLower(strings.Trim(t.changes, `"`))] = t.function
	}
	_, err = s.Conn.ExecContext(ctx, statement)
	if err != nil && t.body != nil && t.check[0] == "" {
		if unbound := s.bind(ctx, t); unbound != nil { // it has a position
			err = unbound
		} else {
			_, err = s.Conn.ExecContext(ctx, statement) // bind may have created what the statement needs
		}
	}
	if t.drop != "" && err == nil {
		delete(s.virtual, t.changes)
	}
	if t.changes != "" {
		maps.DeleteFunc(s.columns, func(asked string, _ []field) bool { return strings.Contains(asked, t.changes) })
	}
	return nil, err
}

// known is the catalog of a session's database.
type known struct {
	*Session
	ctx context.Context
}

func (k known) columns(from string) []field { return k.described("FROM " + from) }

func (k known) class(expression string) class {
	if fields := k.described("SELECT " + expression); len(fields) > 0 {
		return fields[0].class()
	}
	return unknown
}

// described returns the columns of a query's result, or nil if the query is invalid.
func (k known) described(query string) []field {
	fields, ok := k.Session.columns[query]
	if !ok {
		fields = k.describe(query)
		k.Session.columns[query] = fields
	}
	return fields
}

func (k known) describe(query string) []field {
	if k.catalog.Create(k.ctx, query) != nil {
		return nil
	}
	columns, err := k.Describe(k.ctx, query)
	if err != nil {
		return nil
	}
	var fields []field
	for _, c := range columns {
		fields = append(fields, field{c.Name, always(classOfType(c.Type))})
	}
	return fields
}

// isMacro reports whether a CREATE statement creates a macro, whose body is expanded only where it is used.
func isMacro(tokens []token) bool {
	return slices.ContainsFunc(tokens[:min(len(tokens), 6)], func(t token) bool { return t.is("MACRO") })
}

// Limits on the nesting of macro calls and on the number of tokens after expansion.
const (
	maxDepth  = 100
	maxTokens = 1_000_000
)

// expand replaces macro calls by their expansion.
func (s *Session) expand(tokens []token, depth int) ([]token, error) {
	if depth > maxDepth {
		return nil, failAt(tokens[0].pos, "macros call each other in a cycle")
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
			return nil, failAt(t.pos, "unterminated call of macro %s", t.text)
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
			return nil, failAt(t.pos, "macros expand this statement to more than %d tokens", maxTokens)
		}
		i = next
	}
	return out, nil
}

// macroArguments returns the arguments of a call, starting at token i, and the position of its closing
// parenthesis.
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

// appliers are the macros that call a macro for each item of one or two lists. They have the word between the
// calls, and whether it also comes first.
var appliers = map[string]struct {
	joiner string
	first  bool
}{
	"__intrinsic_token_apply":            {",", false},
	"__intrinsic_token_apply_prefix":     {",", true},
	"__intrinsic_token_apply_and":        {"AND", false},
	"__intrinsic_token_apply_and_prefix": {"AND", true},
}

// call returns the expansion of a macro call.
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

// apply expands a call of an applier; the first argument names the macro to call.
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

// bind checks a statement, to report errors with their position.
func (s *Session) bind(ctx context.Context, t *statement) error {
	statement := t.check[0] + "\n" + t.body.String() + "\n" + t.check[1]
	if err := s.catalog.Create(ctx, statement); err != nil {
		return err
	}
	_, err := s.Describe(ctx, statement)
	if err != nil && !s.catalog.Complete() { // names may be made from parts, and DuckDB proposes similar ones
		if err := s.catalog.CreateAll(ctx); err != nil {
			return err
		}
		_, err = s.Describe(ctx, statement)
	}
	if err == nil {
		return nil
	}
	return (&Query{body: t.body}).Place(err)
}

// Catalog has what statements may name besides what modules and other statements define.
func (s *Session) Catalog() *sqlfuncs.Catalog { return s.catalog }

// linePlace matches the end of DuckDB's errors: a line of the statement and a caret under it.
var linePlace = regexp.MustCompile(`(?s)\n+LINE (\d+): .*$`)

// place returns the message and the line number of a DuckDB error.
func place(err error) (message string, line int) {
	message = err.Error()
	if m := linePlace.FindStringSubmatch(message); m != nil {
		line, _ = strconv.Atoi(m[1])
		message = strings.TrimSuffix(message, m[0])
	}
	return message, line
}

// position returns the source position of a piece, or of the nearest earlier one that has a position.
func position(body pieces, at int) int {
	for ; at >= 0; at-- {
		if body[at].pos >= 0 {
			return body[at].pos
		}
	}
	return 0
}
