package perfettosql

import (
	"fmt"
	"strconv"
	"strings"
)

// parser translates the tokens of a statement as it reads them.
type parser struct {
	source     string
	tokens     []token
	at         int
	in         *selection        // that is being read
	function   string            // that is being read
	parameters map[string]string // the function's parameters, with their types
	kinds      []string          // the same types, in order
	returns    string            // type of the function's result, "" if it returns a table
	calls      int               // number of calls of the function in its own body
	depth      int               // nesting of the current expression
	otherwise  pieces            // a condition under which the value of the current expression is not needed, or nil
	pointer    string            // the aggregate that makes the last query a table pointer
	result     relation          // columns of the last query
	tables     *commonTable      // the common tables in scope
	selections []*selection      // all selections, outer ones first
	references []*reference      // all
	checks     []func()          // run once the statement is read
	fills      []func()          // run last; they write the text of other parts of the statement into pieces
	catalog    catalog
	overlay    map[string]bool      // functions defined in overlay.sql
	extract    map[string]extractor // of arguments, by key
	delegates  map[string]string    // replacement functions, by name
	virtual    map[string]string    // virtual tables: what drops them
	deferred   bool                 // the statement only defines what others run
	effects    []effect             // statements to run in addition
	metrics    Metrics              // of version 1, or nil
	ordered    bool                 // see Session.OrderRows
}

func (p *parser) peek() token { return p.tokens[p.at] }

func (p *parser) next() token {
	t := p.tokens[p.at]
	if t.kind == end {
		p.fail(t, "syntax error at the end")
	}
	p.at++
	return t
}

// accept consumes the next token if it is this keyword or operator.
func (p *parser) accept(text string) bool {
	if p.peek().is(text) {
		p.at++
		return true
	}
	return false
}

func (p *parser) expect(text string) {
	if !p.accept(text) {
		t := p.peek()
		near := fmt.Sprintf("near %q", t.text)
		if t.kind == end {
			near = "at the end"
		}
		p.fail(t, "syntax error %s, want %s", near, text)
	}
}

// later runs a check once the statement is read.
func (p *parser) later(check func()) { p.checks = append(p.checks, check) }

// fail stops the translation; translate recovers.
func (p *parser) fail(t token, format string, args ...any) { panic(failAt(t.pos, format, args...)) }

// textSince returns the source text from a token up to the last one read.
func (p *parser) textSince(from int) string {
	first, last := p.tokens[from], p.tokens[p.at-1]
	if last.end <= first.pos || last.end > len(p.source) {
		return spell(p.tokens[from:p.at]) // tokens of a macro are not from this source
	}
	return strings.TrimSpace(p.source[first.pos:last.end])
}

// parameter returns the name of the column that holds a function's argument. It includes the function's name,
// because the argument of one function may be that of another.
func (p *parser) parameter(name string) string { return identifier(p.function + "$" + name) }

// statement is a translated statement. Its body can be bound on its own; the words in check or run around it
// make it a statement to check or to run. They contain no line breaks.
type statement struct {
	body        pieces
	check, run  [2]string
	rows        bool     // it returns rows
	effects     []effect // statements to run in addition
	macro       *macro
	delegate    [2]string // a function and its replacement
	include     string    // module to run
	includeName token
	drop        string
	virtual     string   // what drops the virtual table that it creates
	changes     string   // name of the object that it creates, changes or drops
	function    []string // types of the parameters of the function that it creates
	recursion   *recursion
}

// effect is a statement of PerfettoSQL.
type effect struct {
	sql   string
	place string // where it comes from, for errors; "" if it is from the statement itself

	memoize string // or a function that EXPERIMENTAL_MEMOIZE names
}

// macro is a macro of PerfettoSQL: a list of tokens to insert.
type macro struct {
	name       string
	parameters []string
	body       []token
}

// translate translates a statement whose macros are expanded.
func (p *parser) translate() (s *statement, err error) {
	defer func() {
		if r := recover(); r != nil {
			bad, ok := r.(*Error)
			if !ok {
				panic(r)
			}
			err = bad
		}
	}()
	p.enter(nil)
	s = p.statement()
	if t := p.peek(); t.kind != end {
		p.fail(t, "syntax error near %q", t.text)
	}
	p.analyse()
	s.effects = p.effects
	return s, nil
}

func (p *parser) statement() *statement {
	t := p.peek()
	switch {
	case p.atQuery():
		return &statement{body: p.query(), rows: true}
	case p.accept("EXPLAIN"):
		if p.accept("QUERY") {
			p.expect("PLAN")
		}
		return &statement{body: cat("EXPLAIN ", p.query()), rows: true}
	case p.accept("CREATE"):
		return p.create()
	case p.accept("INCLUDE"):
		p.expect("PERFETTO")
		p.expect("MODULE")
		from := p.peek()
		var name strings.Builder
		for t := p.peek(); t.kind != end; t = p.peek() {
			name.WriteString(p.next().text)
		}
		return &statement{include: name.String(), includeName: from}
	case p.accept("DROP"):
		return p.drop()
	case p.accept("INSERT"), p.accept("REPLACE"):
		for !p.accept("INTO") {
			p.next()
		}
		name := p.name()
		into := cat("INSERT INTO ", name, " ")
		if p.peek().is("(") {
			columns, _ := p.names()
			into = cat(into, columns)
		}
		return &statement{body: cat(into, p.query())}
	case p.accept("DELETE"):
		p.expect("FROM")
		out := cat("DELETE FROM ", p.changed())
		if p.accept("WHERE") {
			out = cat(out, " WHERE ", p.expression().sql)
		}
		return &statement{body: out}
	case p.accept("UPDATE"):
		out := cat("UPDATE ", p.changed())
		p.expect("SET")
		var all []pieces
		for {
			column := p.name()
			p.expect("=")
			all = append(all, cat(column, " = ", p.expression().whole()))
			if !p.accept(",") {
				break
			}
		}
		out = cat(out, " SET ", list(all))
		if p.accept("WHERE") {
			out = cat(out, " WHERE ", p.expression().sql)
		}
		return &statement{body: out}
	}
	p.fail(t, "syntax error near %q", t.text)
	return nil
}

// changed parses the name of a table to change.
func (p *parser) changed() *piece {
	t := p.peek()
	p.in.sources = []*source{{name: t.text, fields: p.tableNamed(t.text)}}
	return p.name()
}

// sliceViews are views of the overlay that Trace Processor defines in a module. The module's views replace
// them.
var sliceViews = map[string]bool{"thread_slice": true, "process_slice": true, "thread_or_process_slice": true}

func (p *parser) create() *statement {
	replace := ""
	if p.accept("OR") {
		p.expect("REPLACE")
		replace = "OR REPLACE "
	}
	perfetto := p.accept("PERFETTO")
	t := p.next()
	if t.is("TEMP") || t.is("TEMPORARY") || t.is("UNIQUE") {
		t = p.next()
	}
	switch {
	case t.is("TABLE"), t.is("VIEW"):
		if perfetto && sliceViews[strings.ToLower(p.peek().text)] {
			replace = "OR REPLACE "
		}
		return p.createTable(replace, strings.ToUpper(t.text), perfetto)
	case t.is("INDEX"): // DuckDB needs no index
		for p.peek().kind != end {
			p.next()
		}
		return &statement{}
	case t.is("VIRTUAL"):
		p.expect("TABLE")
		return p.createVirtualTable()
	case t.is("FUNCTION") && perfetto:
		return p.createFunction(replace)
	case t.is("MACRO") && perfetto:
		return &statement{macro: p.createMacro()}
	}
	p.fail(t, "syntax error near %q", t.text)
	return nil
}

// around returns the words before and after a body that make it a statement.
func around(before, after string) [2]string { return [2]string{before, after} }

func (p *parser) createTable(replace, what string, perfetto bool) *statement {
	exists := ""
	if p.accept("IF") {
		p.expect("NOT")
		p.expect("EXISTS")
		exists = "IF NOT EXISTS "
	}
	name := p.name().text
	head := fmt.Sprintf("CREATE %s%s %s%s", replace, what, exists, name)
	if p.accept("USING") { // the storage, which matters only to Perfetto
		p.name()
	}
	columns := ""
	if p.peek().is("(") {
		columns = p.columnTypes(perfetto)
	}
	if !p.accept("AS") {
		if p.accept("WITHOUT") {
			p.name()
		}
		return &statement{run: around(head+" ("+columns+")", ""), changes: name}
	}
	p.deferred = what == "VIEW"
	return &statement{body: p.query(), run: around(head+" AS", ""), changes: name}
}

// columnTypes parses a table's columns, as declared in SQLite or Perfetto.
func (p *parser) columnTypes(perfetto bool) string {
	p.expect("(")
	var columns []string
	for {
		if t := p.peek(); t.is("PRIMARY") || t.is("UNIQUE") || t.is("CHECK") || t.is("FOREIGN") || t.is("CONSTRAINT") {
			p.skipTo(",", ")")
		} else {
			name := p.name().text
			columns = append(columns, name+" "+p.columnType())
			p.skipTo(",", ")")
		}
		if !p.accept(",") {
			p.expect(")")
			return strings.Join(columns, ", ")
		}
	}
}

// columnType parses the type of a column or parameter.
func (p *parser) columnType() string {
	if t := p.peek(); t.kind != word {
		return "VARIANT"
	}
	name := strings.ToUpper(p.next().text)
	if p.accept("(") {
		p.skipTo(")")
		p.expect(")")
	}
	switch {
	case strings.Contains(name, "INT"), name == "LONG", name == "BOOL", name == "TIMESTAMP", name == "DURATION",
		strings.HasSuffix(name, "ID"):
		return "BIGINT"
	case strings.Contains(name, "CHAR"), name == "TEXT", name == "STRING", name == "CLOB":
		return "VARCHAR"
	case name == "BLOB", name == "BYTES":
		return "BLOB"
	case name == "REAL", name == "DOUBLE", strings.HasPrefix(name, "FLOA"):
		return "DOUBLE"
	}
	return "VARIANT"
}

// skipTo skips tokens up to the first of stops outside parentheses.
func (p *parser) skipTo(stops ...string) {
	for depth := 0; p.peek().kind != end; p.next() {
		t := p.peek()
		for _, stop := range stops {
			if depth == 0 && t.is(stop) {
				return
			}
		}
		if t.is("(") {
			depth++
		} else if t.is(")") {
			depth--
		}
	}
}

// createVirtualTable parses CREATE VIRTUAL TABLE name USING kind(arguments).
func (p *parser) createVirtualTable() *statement {
	name := p.name().text
	p.expect("USING")
	kind := p.next()
	if gaps, ok := spanJoins[strings.ToLower(kind.text)]; ok {
		return p.createSpanJoin(name, kind, gaps)
	}
	if strings.EqualFold(kind.text, "__intrinsic_window") {
		return p.createWindow(name, kind)
	}
	m, ok := mipmaps[strings.ToLower(kind.text)]
	if !ok {
		p.fail(kind, "there is no virtual table %s", kind.text)
	}
	return p.createMipmap(name, m)
}

// mipmap is a kind of table that gives one row for each step of a time window: SQL for what it keeps of its source, and for
// the function that takes the window.
type mipmap struct{ kept, columns, body string }

// inWindow are the rows of a window, with the number of their step. The last row before the window counts as one of the first
// step, unless another begins with the window.
const inWindow = `(SELECT *, iif(ts < $in_window_start, 0, (ts - $in_window_start) / $in_window_step) AS step
FROM %s
WHERE (ts >= $in_window_start OR next_ts IS NULL OR next_ts > $in_window_start) AND $in_window_start < $in_window_end
AND ts < $in_window_start + ($in_window_end - $in_window_start + $in_window_step - 1) / $in_window_step * $in_window_step)`

var mipmaps = map[string]mipmap{
	// The longest slice of each depth.
	"__intrinsic_slice_mipmap": {
		kept:    "id, ts, dur, depth, lead(ts) OVER (PARTITION BY depth ORDER BY ts, id) AS next_ts",
		columns: "ts LONG, id LONG, count LONG, dur LONG, depth LONG",
		body: `ts, id, count, dur, depth FROM (SELECT *, count() OVER (PARTITION BY depth, step) AS count,
row_number() OVER (PARTITION BY depth, step ORDER BY dur DESC, ts, id) AS place FROM ` + inWindow + `)
WHERE place = 1 ORDER BY depth, step`,
	},
	// The extreme values and the last one.
	"__intrinsic_counter_mipmap": {
		kept:    "ts, CAST(value AS REAL) AS value, row_number() OVER (ORDER BY ts) AS number, lead(ts) OVER (ORDER BY ts) AS next_ts",
		columns: "min_value DOUBLE, max_value DOUBLE, last_ts LONG, last_value DOUBLE",
		body: `min_value, max_value, ts AS last_ts, value AS last_value FROM (SELECT *, min(value) OVER (PARTITION BY step) AS min_value,
max(value) OVER (PARTITION BY step) AS max_value, row_number() OVER (PARTITION BY step ORDER BY number DESC) AS place FROM ` + inWindow + `)
WHERE place = 1 ORDER BY step`,
	},
}

// createMipmap parses the arguments of a mipmap, a query in parentheses.
func (p *parser) createMipmap(name string, m mipmap) *statement {
	p.expect("(")
	from := p.at
	p.skipTo(")")
	source := spell(p.tokens[from:p.at])
	p.expect(")")
	plain := strings.Trim(name, `"`)
	kept := "_mipmap_" + plain
	p.effects = append(p.effects, effect{sql: fmt.Sprintf("CREATE PERFETTO TABLE %s AS SELECT %s FROM %s", kept, m.kept, source)},
		effect{sql: fmt.Sprintf("CREATE PERFETTO FUNCTION %s(in_window_start LONG, in_window_end LONG, in_window_step LONG) RETURNS TABLE(%s) AS SELECT %s",
			plain, m.columns, fmt.Sprintf(m.body, kept))})
	return &statement{virtual: fmt.Sprintf("DROP MACRO TABLE %s; DROP TABLE %s", name, identifier(kept)), changes: name}
}

// createWindow parses the arguments of a table of the steps from start to start + dur: start, dur, and a step's duration, or 0
// for one step.
func (p *parser) createWindow(name string, kind token) *statement {
	var numbers []int64
	if p.accept("(") {
		for !p.accept(")") {
			sign := ""
			if p.accept("-") {
				sign = "-"
			}
			t := p.next()
			n, err := strconv.ParseInt(sign+t.text, 10, 64)
			if err != nil {
				p.fail(t, "%s: want an integer", kind.text)
			}
			numbers = append(numbers, n)
			if !p.peek().is(")") {
				p.expect(",")
			}
		}
	}
	if len(numbers) != 3 {
		p.fail(kind, "%s: want a start, a duration and the duration of a step", kind.text)
	}
	start, dur, step := numbers[0], max(numbers[1], 0), numbers[2]
	if step < 0 {
		p.fail(kind, "%s: the duration of a step is negative", kind.text)
	}
	if step == 0 {
		step = max(dur, 1)
	}
	steps := dur / step
	if dur%step > 0 {
		steps++
	}
	query := &piece{text: fmt.Sprintf("SELECT %d::BIGINT + range * %d::BIGINT AS ts, %[2]d::BIGINT AS dur, range AS quantum_ts FROM range(%d)", start, step, steps), pos: kind.pos}
	return &statement{body: cat(query), run: around("CREATE VIEW "+name+" AS", ""), virtual: "DROP VIEW " + name, changes: name}
}

// spanJoins are the kinds of span joins, with the sides whose gaps count.
var spanJoins = map[string][2]bool{"span_join": {false, false}, "span_left_join": {false, true}, "span_outer_join": {true, true}}

// createSpanJoin parses the arguments of SPAN_JOIN(a PARTITIONED x, b PARTITIONED x).
func (p *parser) createSpanJoin(name string, kind token, gaps [2]bool) *statement {
	p.expect("(")
	var sides []string
	partition := ""
	for {
		sides = append(sides, literal(p.name().text))
		if p.accept("PARTITIONED") {
			t := p.next()
			if partition != "" && !strings.EqualFold(partition, t.text) {
				p.fail(t, "%s: both tables must be partitioned by the same column", kind.text)
			}
			partition = t.text
		}
		if !p.accept(",") {
			break
		}
	}
	p.expect(")")
	if len(sides) != 2 {
		p.fail(kind, "%s: want two tables", kind.text)
	}
	by := "NULL"
	if partition != "" {
		by = literal(partition)
	}
	call := &piece{text: fmt.Sprintf("_join_spans(%s, %s, %s, %t, %t)", sides[0], sides[1], by, gaps[0], gaps[1]), pos: kind.pos}
	return &statement{body: cat("FROM ", call), run: around("CREATE VIEW "+name+" AS", ""), virtual: "DROP VIEW " + name, changes: name}
}

// createFunction parses a function. Its arguments become columns of a row that the body refers to, so that no
// column of the body hides an argument.
func (p *parser) createFunction(string) *statement {
	name := strings.Trim(p.name().text, `"`)
	p.function, p.parameters, p.deferred = name, map[string]string{}, true
	var parameters, arguments, nulls, bound []string
	given, bindings := "", map[string]string{} // of a function that calls itself
	p.expect("(")
	for !p.accept(")") {
		parameter := strings.ToLower(p.next().text)
		column := p.parameter(parameter)
		argument := identifier("_" + parameter + "_")
		parameters = append(parameters, argument)
		kind := p.columnType()
		p.parameters[parameter] = kind
		p.kinds = append(p.kinds, kind)
		for p.accept(".") { // a variable number of arguments
		}
		arguments = append(arguments, argument+"::"+kind+" AS "+column)
		nulls = append(nulls, "NULL::"+kind+" AS "+column)
		bindings[column] = fmt.Sprintf("$%d::%s", len(parameters), kind)
		bound = append(bound, bindings[column]+" AS "+column)
		given += ", " + argument + "::" + kind
		p.accept(",")
	}
	p.expect("RETURNS")
	table := p.accept("TABLE")
	if table {
		p.columnTypes(true)
	} else if kind := p.columnType(); p.returns == "" {
		p.returns = kind
	}
	if p.accept("DELEGATES") {
		p.expect("TO")
		return &statement{delegate: [2]string{strings.ToLower(name), strings.ToLower(p.next().text)}}
	}
	p.expect("AS")
	body := p.query()
	head := fmt.Sprintf("CREATE OR REPLACE MACRO %s(%s) AS ", name, strings.Join(parameters, ", "))
	s := &statement{body: body, changes: name, function: p.kinds}
	if len(parameters) == 0 {
		none := []string{"NULL AS _none"}
		arguments, nulls, bound = none, none, none
	}
	from := func(columns []string) string { return "(SELECT " + strings.Join(columns, ", ") + ") AS _arguments" }
	switch {
	case table:
		s.run = around(head+"TABLE SELECT _rows.* FROM "+from(arguments)+", LATERAL (", ") AS _rows")
	case p.calls > 0:
		s.recursion = &recursion{strings.ToLower(name), p.returns,
			around("(SELECT (", ") FROM "+from(nulls)+")"), around("SELECT ((", ")::"+p.returns+") FROM "+from(bound)), bindings}
		s.run = around(head+recursiveCall(p.returns, name, -1)+given+")", "")
	default:
		s.run = around(head+"(SELECT (", ") FROM "+from(arguments)+")")
	}
	s.check = around("SELECT 1 FROM "+from(nulls)+", LATERAL (", ") AS _rows")
	return s
}

func (p *parser) createMacro() *macro {
	m := &macro{name: strings.ToLower(p.next().text)}
	p.expect("(")
	for !p.accept(")") {
		m.parameters = append(m.parameters, strings.ToLower(p.next().text))
		p.columnType()
		p.accept(",")
	}
	p.expect("RETURNS")
	p.columnType()
	p.expect("AS")
	for p.peek().kind != end {
		m.body = append(m.body, p.next())
	}
	return m
}

func (p *parser) drop() *statement {
	p.accept("PERFETTO")
	what := strings.ToUpper(p.next().text)
	exists := ""
	if p.accept("IF") {
		p.expect("EXISTS")
		exists = "IF EXISTS "
	}
	name := p.name().text
	if p.accept("ON") {
		p.name()
	}
	if what == "INDEX" {
		return &statement{}
	}
	if drop := p.virtual[name]; drop != "" && what == "TABLE" {
		return &statement{drop: what, run: around(drop, ""), changes: name}
	}
	return &statement{drop: what, run: around(fmt.Sprintf("DROP %s %s%s", what, exists, name), ""), changes: name}
}
