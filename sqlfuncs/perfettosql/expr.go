package perfettosql

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// expr is a translated expression.
type expr struct {
	sql      pieces
	truth    bool         // it is true or false; as a value SQLite uses 1 and 0
	compound bool         // it needs parentheses as an operand
	ref      *reference   // if it is a column
	table    string       // table of a star, "" for all
	class    func() class // nil if unknown
	call     string       // the function, if it is a call
	constant kind         // its kind (text or number) if it is a literal
	raw      string       // the content of a text literal
	pointer  string       // the aggregate that makes it a table pointer, if it is one: columns, or a query for them
}

// value returns the expression as an operand or argument.
func (e expr) value() pieces {
	switch {
	case e.truth:
		return cat("CAST((", e.sql, ") AS BIGINT)")
	case e.compound:
		return cat("(", e.sql, ")")
	}
	return e.sql
}

// whole returns the expression for places where no operator can bind to it.
func (e expr) whole() pieces {
	if e.truth {
		return e.value()
	}
	return e.sql
}

// condition returns the expression for places that expect a truth value.
func (e expr) condition() pieces {
	if e.compound {
		return cat("(", e.sql, ")")
	}
	return e.sql
}

// is returns a function that finds the class of the expression.
func (e expr) is() func() class {
	switch {
	case e.truth:
		return always(ofLong)
	case e.class == nil:
		return always(unknown)
	}
	return e.class
}

// commonClass returns the class of the result of any of several expressions.
func commonClass(of []expr) func() class {
	return lazily(func() class {
		var all []class
		for _, e := range of {
			all = append(all, e.is()())
		}
		c, _ := common(all...)
		return c
	})
}

// asText returns the expression converted to text.
func (e expr) asText() pieces {
	if e.constant == text {
		return e.sql
	}
	return cat("CAST(", e.whole(), " AS VARCHAR)")
}

// The precedence of SQLite's operators, lowest first.
const (
	bindsOr = iota + 1
	bindsAnd
	bindsNot
	bindsEqual
	bindsLess
	bindsBit
	bindsAdd
	bindsMultiply
	bindsConcat
	bindsCollate
	bindsUnary
)

var binary = map[string]int{
	"OR": bindsOr, "AND": bindsAnd,
	"=": bindsEqual, "==": bindsEqual, "!=": bindsEqual, "<>": bindsEqual, "IS": bindsEqual, "IN": bindsEqual,
	"LIKE": bindsEqual, "GLOB": bindsEqual, "REGEXP": bindsEqual, "MATCH": bindsEqual, "BETWEEN": bindsEqual,
	"ISNULL": bindsEqual, "NOTNULL": bindsEqual, "NOT": bindsEqual,
	"<": bindsLess, "<=": bindsLess, ">": bindsLess, ">=": bindsLess,
	"&": bindsBit, "|": bindsBit, "<<": bindsBit, ">>": bindsBit,
	"+": bindsAdd, "-": bindsAdd, "*": bindsMultiply, "/": bindsMultiply, "%": bindsMultiply,
	"||": bindsConcat, "->": bindsConcat, "->>": bindsConcat, "COLLATE": bindsCollate,
}

// maxNesting is the maximum depth of expressions, as in SQLite. Each operator of a chain such as 1 + 2 + 3 is one deeper.
const maxNesting = 1000

func (p *parser) expression() expr { return p.operators(bindsOr) }

// operators parses an expression whose operators have at least the given precedence.
func (p *parser) operators(least int) expr {
	if p.depth++; p.depth > maxNesting {
		p.fail(p.peek(), "nested more than %d levels deep", maxNesting)
	}
	defer func() { p.depth-- }()
	left := p.prefix(least)
	for depth := 1; ; depth++ {
		t := p.peek()
		if t.kind != word && t.kind != operator {
			return left
		}
		name := strings.ToUpper(t.text)
		binds := binary[name]
		if binds < least || binds == 0 || name == "NOT" && !p.negatable() {
			return left
		}
		if depth > maxNesting {
			p.fail(t, "this is nested more than %d deep", maxNesting)
		}
		p.next()
		left = p.infix(left, t, name, binds)
	}
}

// negatable reports whether the NOT here belongs to NOT IN, NOT LIKE and so on.
func (p *parser) negatable() bool {
	after := p.tokens[p.at+1]
	for _, name := range []string{"IN", "LIKE", "GLOB", "REGEXP", "MATCH", "BETWEEN", "NULL"} {
		if after.is(name) {
			return true
		}
	}
	return false
}

// infix parses an operator's right operand, and returns the combined expression.
func (p *parser) infix(left expr, t token, name string, binds int) expr {
	not := name == "NOT"
	if not {
		t = p.next()
		name = strings.ToUpper(t.text)
	}
	op := func(text string) *piece { return &piece{text: " " + text + " ", pos: t.pos} }
	result := expr{truth: true, compound: true}
	switch name {
	case "AND", "OR":
		result.sql = cat(left.condition(), op(name), p.operators(binds+1).condition())
	case "ISNULL", "NOTNULL", "NULL": // NOT NULL
		null := "IS NULL"
		if name != "ISNULL" {
			null = "IS NOT NULL"
		}
		result.sql, not = cat(left.value(), op(null)), false
	case "IS":
		not = p.accept("NOT")
		same := "IS NOT DISTINCT FROM"
		if p.accept("DISTINCT") {
			p.expect("FROM")
			not = !not
		}
		if not {
			same = "IS DISTINCT FROM"
		}
		sign := op(same)
		result.sql, not = p.comparison(sign, left, p.operators(binds+1)), false
	case "IN":
		result.sql = p.inList(left, op("IN"))
	case "BETWEEN":
		low := p.operators(binds + 1)
		p.expect("AND")
		sign := op(name)
		sides := p.comparable(left, low, p.operators(binds+1))
		result.sql = cat(sides[0], sign, sides[1], " AND ", sides[2])
	case "LIKE", "GLOB":
		if name == "LIKE" {
			name = "ILIKE"
		}
		result.sql = cat(left.asText(), op(name), p.operators(binds+1).asText())
		if p.accept("ESCAPE") {
			result.sql = cat(result.sql, " ESCAPE ", p.operators(binds+1).value())
		}
	case "REGEXP", "MATCH":
		result.sql = cat("regexp_matches(", left.asText(), op(","), p.operators(binds+1).asText(), ")")
	case "=", "==", "!=", "<>", "<", "<=", ">", ">=":
		if name == "==" {
			name = "="
		}
		result.sql = p.comparison(op(name), left, p.operators(binds+1))
	case "COLLATE":
		collation := "NOCASE"
		if !p.next().is(collation) {
			return left
		}
		word := &piece{text: " COLLATE NOCASE", pos: t.pos}
		p.later(func() { // DuckDB refuses to collate other values, SQLite ignores it
			if c := left.is()(); c != ofText && c != unknown {
				word.text = ""
			}
		})
		result = expr{sql: cat(left.value(), word), class: left.class}
	case "||":
		operands := []expr{left, p.operators(binds + 1)}
		sides := []pieces{left.value(), operands[1].value()}
		places := slots(sides, operands)
		p.later(func() {
			for _, s := range places {
				if s.class() == ofBool {
					s.give(asLong)
				}
			}
		})
		result = expr{sql: cat(sides[0], op(name), sides[1]), compound: true, class: always(ofText)}
	case "->":
		result = expr{sql: cat(left.value(), op(name), p.operators(binds+1).value()), compound: true, class: always(ofText)}
	case "->>":
		key := p.operators(binds + 1)
		result = expr{sql: cat(&piece{text: "sqlite_json_extract(", pos: t.pos}, left.whole(), ", _json_path(", key.whole(), "))"), class: always(ofVariant)}
	default:
		operands := []expr{left, p.operators(binds + 1)}
		sides := []pieces{left.value(), operands[1].value()}
		p.calculate(slots(sides, operands))
		result = expr{sql: cat(sides[0], op(name), sides[1]), compound: true, class: calculated(operands)}
	}
	if not {
		result.sql = cat("NOT (", result.sql, ")")
	}
	return result
}

// calculated returns the class of the result of arithmetic.
func calculated(operands []expr) func() class {
	return lazily(func() class {
		result := ofLong
		for _, e := range operands {
			switch c := e.is()(); c {
			case ofHuge, ofReal:
				result = max(result, c)
			case ofText:
				if e.constant != text {
					result = ofReal
				}
			case ofVariant, unknown, ofNested:
				return unknown
			}
		}
		return result
	})
}

// comparison compares two operands.
func (p *parser) comparison(sign *piece, left, right expr) pieces {
	sides := p.comparable(left, right)
	return cat(sides[0], sign, sides[1])
}

// comparable returns the SQL of operands that are compared with each other. In SQLite, a literal number
// compared with text becomes text; otherwise text that looks like a number becomes one. Numbers sort before
// text.
func (p *parser) comparable(operands ...expr) []pieces {
	texts, numbers := 0, 0
	extracts := slices.ContainsFunc(operands, func(e expr) bool { return e.call == extractArg })
	for _, e := range operands {
		if e.constant == number {
			numbers++
		}
		if e.constant == text && (extracts || !isNumber(e.raw)) {
			texts++
		}
	}
	sides := make([]pieces, len(operands))
	for i, e := range operands {
		switch n, exact := e.integral(); {
		case texts > 0 && numbers == 0:
			sides[i] = e.asText()
			operands[i].truth, operands[i].class = false, always(ofText)
		case exact:
			sides[i] = cat(&piece{text: n, pos: e.sql[0].pos})
		default:
			sides[i] = e.value()
		}
	}
	as := asKey
	if numbers > 0 && texts == 0 {
		as = asVarchar
	}
	p.compare(slots(sides, operands), as)
	return sides
}

func isNumber(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return err == nil
}

// integral returns a real literal without a fraction as an integer, because integers compare exactly.
func (e expr) integral() (text string, ok bool) {
	if e.constant != number {
		return "", false
	}
	digits, real := strings.CutSuffix(e.sql[0].text, "::DOUBLE")
	x, err := strconv.ParseFloat(digits, 64)
	return strconv.FormatFloat(x, 'f', 0, 64), real && err == nil && x == math.Trunc(x) && x < 1<<63
}

// inList parses the list, query or table after IN.
func (p *parser) inList(left expr, in *piece) pieces {
	table := cat("SELECT NULL WHERE false")
	result := relation(func() []field { return nil })
	switch t := p.peek(); {
	case !t.is("("):
		table, result = cat("FROM ", p.name()), p.tableNamed(t.text)
	default:
		p.next()
		if p.atQuery() {
			table = p.query()
			result = p.result
		} else if !p.peek().is(")") {
			sides := p.comparable(append([]expr{left}, p.arguments()...)...)
			return cat(sides[0], in, "(", list(sides[1:]), ")")
		}
		p.expect(")")
	}
	sides := []pieces{left.value(), table}
	both := slots(sides, []expr{left, {class: firstOf(result)}})
	both[1].query = true
	p.compare(both, asKey)
	return cat(sides[0], in, "(", sides[1], ")")
}

// firstOf returns the class of a query's first column.
func firstOf(result relation) func() class {
	return lazily(func() class {
		if fields := result(); len(fields) > 0 {
			return fields[0].class()
		}
		return unknown
	})
}

func values(items []expr) []pieces {
	all := make([]pieces, len(items))
	for i, e := range items {
		all[i] = e.whole()
	}
	return all
}

// arguments parses expressions up to the closing parenthesis.
func (p *parser) arguments() []expr {
	var items []expr
	for {
		items = append(items, p.expression())
		if !p.accept(",") {
			p.expect(")")
			return items
		}
	}
}

// prefix parses an expression up to the first infix operator.
func (p *parser) prefix(least int) expr {
	t := p.peek()
	switch {
	case t.is("NOT") && p.tokens[p.at+1].is("EXISTS"):
		p.next()
		e := p.prefix(least)
		return expr{sql: cat("NOT ", e.sql), truth: true, compound: true}
	case t.is("NOT"):
		p.next()
		return expr{sql: cat(&piece{text: "NOT ", pos: t.pos}, p.operators(bindsNot).condition()), truth: true, compound: true}
	case t.is("-"), t.is("+"), t.is("~"):
		p.next()
		e := p.operators(bindsUnary)
		return expr{sql: cat(&piece{text: t.text, pos: t.pos}, e.value()), compound: true, class: e.is()}
	case t.is("EXISTS"):
		p.next()
		p.expect("(")
		q := p.query()
		p.expect(")")
		return expr{sql: cat("EXISTS (", q, ")"), truth: true}
	case t.is("CASE"):
		return p.caseOf()
	case t.is("CAST"):
		return p.cast()
	case t.is("("):
		return p.parenthesis()
	}
	return p.primary()
}

func (p *parser) parenthesis() expr {
	p.next()
	if p.atQuery() {
		q := p.query()
		p.expect(")")
		return expr{sql: cat("(", q, ")"), pointer: p.pointer, class: firstOf(p.result)}
	}
	items := p.arguments()
	if len(items) == 1 {
		e := items[0]
		e.sql, e.compound = cat("(", e.sql, ")"), false
		return e
	}
	return expr{sql: cat("(", list(values(items)), ")"), class: always(ofNested)}
}

func (p *parser) caseOf() expr {
	out := cat(&piece{text: "CASE", pos: p.next().pos})
	var branches []expr
	var places []slot
	branch := func() pieces {
		e := p.expression()
		sql := []pieces{e.value()}
		branches, places = append(branches, e), append(places, slots(sql, []expr{e})...)
		return sql[0]
	}
	of := !p.peek().is("WHEN")
	if of {
		out = cat(out, " ", p.expression().value())
	}
	otherwise, fixed := p.otherwise, p.columnless()
	for p.accept("WHEN") {
		when := p.expression()
		p.expect("THEN")
		choice := !of && fixed()
		before := p.otherwise
		if choice {
			p.otherwise = either(before, "NOT ", when.condition())
		}
		if of {
			out = cat(out, " WHEN ", when.value())
		} else {
			out = cat(out, " WHEN ", when.condition())
		}
		out = cat(out, " THEN ", branch())
		p.otherwise, fixed = before, p.columnless()
		if choice {
			p.otherwise = either(before, "", when.condition())
		}
	}
	if p.accept("ELSE") {
		out = cat(out, " ELSE ", branch())
	}
	p.otherwise = otherwise
	p.expect("END")
	p.mix(places)
	return expr{sql: cat(out, " END"), class: commonClass(branches)}
}

// columnless returns a function that reports whether what has been read since names no column and has no query, so that it is
// the same in every scope.
func (p *parser) columnless() func() bool {
	in, references, selections := p.in, len(p.in.references), len(p.selections)
	return func() bool { return len(in.references) == references && len(p.selections) == selections }
}

// either returns the condition that the first one holds, if it is not nil, or the second one, or not.
func either(first pieces, not string, second pieces) pieces {
	one := cat(not+"coalesce((", second, ")::BOOLEAN, false)")
	if first == nil {
		return one
	}
	return cat("(", first, " OR ", one, ")")
}

func (p *parser) cast() expr {
	pos := p.next().pos
	p.expect("(")
	e := p.expression()
	p.expect("AS")
	name := strings.ToUpper(p.next().text)
	for !p.accept(")") {
		p.next()
	}
	as := func(format string, c class) expr {
		before, after, _ := strings.Cut(format, "%")
		return expr{sql: cat(&piece{text: before, pos: pos}, e.whole(), after), class: always(c)}
	}
	switch {
	case strings.Contains(name, "INT"), name == "LONG", name == "BOOL", name == "BOOLEAN":
		return as("sqlite_to_integer(%)", ofLong)
	case name == "REAL", name == "DOUBLE", strings.HasPrefix(name, "FLOA"), name == "NUMERIC":
		return as("sqlite_to_real(%)", ofReal)
	case name == "BLOB":
		return as("CAST(% AS BLOB)", ofBlob)
	}
	return as("sqlite_to_text(%)", ofText)
}

// primary parses a literal, a column or a call.
func (p *parser) primary() expr {
	t := p.next()
	one := func(text string) pieces { return cat(&piece{text: text, pos: t.pos}) }
	switch t.kind {
	case number:
		n, c := p.number(t)
		return expr{sql: one(n), constant: number, class: always(c)}
	case text:
		return expr{sql: one(literal(t.text)), constant: text, raw: t.text, class: always(ofText)}
	case blob:
		var b strings.Builder
		for i := 0; i+1 < len(t.text); i += 2 {
			b.WriteString(`\x` + t.text[i:i+2])
		}
		return expr{sql: one("'" + b.String() + "'::BLOB"), class: always(ofBlob)}
	case variable:
		name := strings.ToLower(t.text[1:])
		kind, ok := p.parameters[name]
		if !ok {
			p.fail(t, "there is no parameter %s", t.text)
		}
		return expr{sql: one(p.parameter(name)), class: always(classOfType(kind))}
	case operator:
		if t.text == "*" {
			return expr{sql: one("*")}
		}
	case word:
		switch strings.ToUpper(t.text) {
		case "NULL":
			return expr{sql: one("NULL"), class: always(ofNull)}
		case "TRUE":
			return expr{sql: one("1"), class: always(ofLong)}
		case "FALSE":
			return expr{sql: one("0"), class: always(ofLong)}
		case "FROM", "WHERE", "SELECT", "GROUP", "ORDER", "THEN", "WHEN", "ELSE", "LIMIT", "JOIN", "ON", "AS", "HAVING":
			p.fail(t, "syntax error near %q", t.text)
		}
		if p.peek().is("(") {
			return p.call(t)
		}
	}
	if t.kind != word && t.kind != quoted {
		p.fail(t, "syntax error near %q", t.text)
	}
	if t.text == "" {
		return expr{sql: one("''"), constant: text, class: always(ofText)}
	}
	return p.columnOf(t)
}

// number translates a numeric literal to DuckDB. SQLite's integers have 64 bits, and its reals are doubles.
func (p *parser) number(t token) (literal string, c class) {
	clean := strings.ReplaceAll(t.text, "_", "")
	if strings.HasPrefix(strings.ToLower(clean), "0x") {
		n, err := strconv.ParseUint(clean[2:], 16, 64)
		if err != nil {
			p.fail(t, "malformed number %s", t.text)
		}
		return strconv.FormatInt(int64(n), 10) + asBigint, ofLong
	}
	if _, err := strconv.ParseInt(clean, 10, 64); err == nil {
		return clean + asBigint, ofLong
	}
	if _, err := strconv.ParseFloat(clean, 64); err != nil {
		p.fail(t, "malformed number %s", t.text)
	}
	if clean == "9223372036854775808" { // it is part of the least integer, -9223372036854775808
		return clean, ofHuge
	}
	return clean + "::DOUBLE", ofReal
}

// asBigint follows a literal integer.
const asBigint = "::BIGINT"

// ordinal turns a literal number back into an item number if it is a whole term, and returns it, or 0.
func (e expr) ordinal() (n int) {
	if e.constant == number {
		e.sql[0].text = strings.TrimSuffix(e.sql[0].text, asBigint)
		n, _ = strconv.Atoi(e.sql[0].text)
	}
	return n
}

// autoID is the number of a row in a table, rowid in DuckDB.
const autoID = "_auto_id"

// columnOf parses a column that begins with t: name, table.name or table.*.
func (p *parser) columnOf(t token) expr {
	out := &piece{text: identifier(t.text), pos: t.pos}
	names := []string{t.text}
	single := t.kind == quoted
	for p.accept(".") {
		t, single = p.next(), false
		switch {
		case t.is("*"):
			out.text += ".*"
			return expr{sql: cat(out), table: names[len(names)-1]}
		case t.kind == word || t.kind == quoted:
			out.text += "." + identifier(t.text)
			names = append(names, t.text)
		default:
			p.fail(t, "syntax error near %q", t.text)
		}
	}
	name := names[len(names)-1]
	if strings.EqualFold(name, autoID) && !single {
		out.text = strings.TrimSuffix(out.text, identifier(name)) + "rowid"
	}
	r := &reference{piece: out, in: p.in, clause: p.in.clause, visible: math.MaxInt, item: len(p.in.items) - 1, name: name, quoted: single}
	if len(names) > 1 {
		r.table = names[len(names)-2]
	}
	p.in.references, p.references = append(p.in.references, r), append(p.references, r)
	return expr{sql: cat(out), ref: r, class: lazily(r.class)}
}

// aggregates are the aggregate functions.
var aggregates = map[string]bool{
	"avg": true, "count": true, experimentalProfile: true, "group_concat": true, "json_group_array": true, "json_group_object": true, "max": true, "median": true, "min": true,
	"percentile": true, "percentile_cont": true, "percentile_disc": true, "repeatedfield": true, "string_agg": true, "sum": true, "total": true, "value_at_max_ts": true,
}

// StackFunction is the name in SQL of CAT_STACKS, a function of a connection.
const StackFunction = "_cat_stacks"

const experimentalProfile = "experimental_profile"

// renamed maps functions to their names in DuckDB, where these differ.
var renamed = map[string]string{extractArg: "_extract_arg", "format": "printf", "last_non_null": "last_value", "repeatedfield": "list"}

// public maps functions of Trace Processor to those that its prelude makes of them.
var public = map[string]string{
	"__intrinsic_abs_time_str": "abs_time_str", "__intrinsic_base64_decode": "base64_decode", "__intrinsic_base64_encode": "base64_encode",
	"__intrinsic_demangle": "demangle", "__intrinsic_exp": "exp", "__intrinsic_ln": "ln", "__intrinsic_sqrt": "sqrt",
	"__intrinsic_regexp": "regexp", "__intrinsic_regexp_with_flags": "regexp", "__intrinsic_regexp_extract": "regexp_extract",
	"__intrinsic_regexp_replace_simple": "regexp_replace_simple", "__intrinsic_reverse": "reverse", "__intrinsic_to_monotonic": "to_monotonic",
	"__intrinsic_to_realtime": "to_realtime", "__intrinsic_to_timecode": "to_timecode", "__intrinsic_unhex": "unhex",
}

// call parses a function call whose name has been read.
func (p *parser) call(t token) expr {
	p.next()
	name := strings.ToLower(t.text)
	head := &piece{pos: t.pos}
	first, within := len(p.in.references), len(p.selections)
	var args []expr
	var items []pieces
	var body pieces
	switch {
	case p.peek().is("*"):
		p.next()
		p.expect(")")
		body = cat("*")
	case p.accept(")"):
	default:
		distinct, fixed := p.accept("DISTINCT"), p.columnless()
		if p.atQuery() {
			args = []expr{{sql: cat("(", p.query(), ")")}}
			args[0].class = firstOf(p.result)
		} else {
			args = []expr{p.expression()}
		}
		otherwise := p.otherwise
		choice := (name == "iif" || name == "if") && fixed()
		for p.accept(",") {
			if choice {
				p.otherwise = either(otherwise, [...]string{"", "NOT ", ""}[min(len(args), 2)], args[0].sql)
			}
			args = append(args, p.expression())
		}
		p.otherwise = otherwise
		items = p.values(name, args, t)
		body = list(items)
		if distinct {
			body = cat("DISTINCT ", body)
		}
		if p.accept("ORDER") {
			p.expect("BY")
			body = cat(body, " ORDER BY ", p.orderTerms())
		}
		p.expect(")")
	}
	if to, ok := p.delegates[name]; ok {
		name = to
	}
	if to, ok := public[name]; ok {
		name = to
	}
	if p.returns != "" && name == strings.ToLower(p.function) && len(args) == len(p.kinds) {
		return p.again(args, t)
	}
	if f, ok := p.specialCall(name, args, t); ok {
		return f
	}
	if name == internalLayout {
		return p.packed(args, t)
	}
	if fails, ok := p.missing(name, t); ok {
		return fails
	}
	out := name
	if to, ok := renamed[name]; ok {
		out = to
	}
	if name == extractArg && len(args) == 2 && args[1].constant == text {
		of, ok := p.extract[args[1].raw]
		if !ok {
			return expr{sql: cat("NULL::VARIANT"), call: name, class: always(ofVariant)}
		}
		head.text = of.name + "("
		e := expr{sql: cat(head, body, ")"), class: always(of.class)}
		if of.class == ofVariant {
			e.call = name
		}
		return e
	}
	if p.overlay["sqlite_"+name] && (len(args) > 1 || name != "min" && name != "max") {
		out = "sqlite_" + name
	}
	if name == "last_non_null" {
		body = cat(body, " IGNORE NULLS")
	}
	head.text = out + "("
	call := cat(head, body, ")")
	filter := p.filter()
	if filter != nil {
		call = cat(call, " FILTER (WHERE ", filter, ")")
	}
	over := p.over()
	if name == experimentalProfile && over != nil {
		p.fail(t, "%s may not be used as a window function", t.text)
	}
	e := expr{sql: cat(call, over), call: name, class: p.resultOf(name, out, args, over != nil)}
	if name == "json_group_array" { // DuckDB's function is a macro, which accepts no ORDER BY
		head.text = "list("
		e.sql = cat("coalesce(to_json(", e.sql, "), '[]')::VARCHAR")
	}
	if name == experimentalProfile { // DuckDB has no aggregates of ours
		head.text = "list("
		e.sql = cat(name+"(", e.sql, ")")
	}
	if aggregates[name] && over == nil && (len(args) < 2 || name != "min" && name != "max") {
		a := &aggregate{name: name, filter: filter}
		if items != nil {
			a.value = items[0]
		}
		p.in.aggregates = append(p.in.aggregates, a)
		for _, r := range p.in.references[first:] {
			r.aggregated = true
		}
		for _, inner := range p.selections[within:] {
			inner.aggregated = inner.aggregated || inner.outer == p.in
		}
	}
	return e
}

// resultOf returns the class of a call's result.
func (p *parser) resultOf(name, out string, args []expr, windowed bool) func() class {
	switch {
	case name == "coalesce", name == "ifnull", name == "min", name == "max":
		return commonClass(args)
	case (name == "iif" || name == "if") && len(args) > 0:
		return commonClass(args[1:])
	case name == "count":
		return always(ofLong)
	case name == "json_group_array":
		return always(ofText)
	case name == experimentalProfile:
		return always(ofBlob)
	}
	return lazily(func() class {
		call := callOf(out, args)
		if windowed {
			call += " OVER ()"
		}
		return p.catalog.class(call)
	})
}

// mustHave rejects a function that only Trace Processor has. DuckDB's own error would suggest unrelated functions.
func (p *parser) mustHave(name string, t token) {
	if p.lacks(name) {
		p.fail(t, unsupported, t.text)
	}
}

const unsupported = "%s of Trace Processor is not supported"

// lacks reports whether only Trace Processor has a function.
func (p *parser) lacks(name string) bool {
	own := name == "run_metric" || strings.HasPrefix(name, "experimental_") || strings.HasPrefix(name, "__intrinsic_")
	return own && !p.overlay[name]
}

// missing returns an expression that fails when it runs, for a call of a function that only Trace Processor has. Modules
// define functions and views with such calls, and most of their users need others.
func (p *parser) missing(name string, t token) (e expr, ok bool) {
	if !p.deferred {
		p.mustHave(name, t)
	}
	if !p.lacks(name) {
		return expr{}, false
	}
	return expr{sql: cat("error(" + literal(fmt.Sprintf(unsupported, t.text)) + ")")}, true
}

const internalLayout = "internal_layout"

// packed parses the window of internal_layout(ts, dur) OVER (PARTITION BY ... ORDER BY ts ...), which returns the first row of
// the picture with room for a slice. DuckDB has no window functions of ours, so a query of the same rows returns the list of
// results for each partition.
func (p *parser) packed(args []expr, t token) expr {
	if len(args) != 2 || p.in == nil {
		p.fail(t, "%s: want a start and a duration", t.text)
	}
	p.expect("OVER")
	ts, dur, in := args[0].value(), args[1].value(), p.in
	lists, number := &piece{pos: t.pos}, &piece{pos: t.pos}
	name := p.peek()
	var w *window
	if name.is("(") {
		w = p.window()
	} else {
		p.name()
	}
	p.fills = append(p.fills, func() {
		if w == nil {
			if w = in.windows[strings.ToLower(name.text)]; w == nil {
				p.fail(name, "there is no window %s", name.text)
			}
		}
		if !w.ordered {
			p.fail(t, "%s: want a window with ORDER BY", t.text)
		}
		order := "ORDER BY " + ts.line() + ", " + dur.line()
		rows := "_pack(list((" + ts.line() + ")::BIGINT " + order + "), list((" + dur.line() + ")::BIGINT " + order + "))[1]"
		from, partition := in.from.line(), ""
		if w.keys == nil {
			lists.text = "(SELECT " + rows + from + ")"
		} else {
			key := "row(" + w.keys.line() + ")"
			lists.text = "(SELECT map(list(_key), list(_rows)) FROM (SELECT " + key + " AS _key, " + rows + " AS _rows " + from +
				" GROUP BY " + key + "))[" + key + "]"
			partition = "PARTITION BY " + w.keys.line() + " "
		}
		number.text = "[row_number() OVER (" + partition + order + ")]"
	})
	return expr{sql: cat(lists, number), class: always(ofLong)}
}

// values returns the SQL of a call's arguments.
func (p *parser) values(name string, args []expr, t token) []pieces {
	all := values(args)
	switch name {
	case "iif", "if":
		all[0] = args[0].sql
		p.mix(slots(all[1:], args[1:]))
	case "coalesce", "ifnull", "min", "max":
		p.mix(slots(all, args))
	case "sum", "avg", "total":
		p.calculate(slots(all, args))
	case experimentalProfile:
		return []pieces{p.sample(args, t)}
	case "printf", "format":
		if args[0].constant == text {
			p.formatted(all, args, t)
		}
	}
	return all
}

// sample returns what a row gives to experimental_profile(stack, type, unit, value, ...).
func (p *parser) sample(args []expr, t token) pieces {
	if len(args)%3 != 1 {
		p.fail(t, "%s: want a stack, and for each value its type, unit and value", t.text)
	}
	if len(args) == 1 {
		return cat("_profile_sample(", args[0].whole(), ", ['samples', 'count'], [1])")
	}
	var types, numbers []pieces
	for value := range slices.Chunk(args[1:], 3) {
		types = append(types, cat("_profile_text(", value[0].whole(), ")"), cat("_profile_text(", value[1].whole(), ")"))
		numbers = append(numbers, cat("_profile_value(", value[2].whole(), ")"))
	}
	return cat("_profile_sample(", args[0].whole(), ", [", list(types), "], [", list(numbers), "])")
}

var directive = regexp.MustCompile(`%[-+ 0#,!]*\d*(?:\.\d+)?(?:ll|l|h)?([a-zA-Z%])`)

// formatted converts the arguments of printf to the types that its directives require.
func (p *parser) formatted(all []pieces, args []expr, t token) {
	i := 1
	for _, m := range directive.FindAllStringSubmatch(all[0][0].text, -1) {
		if m[1] == "%" {
			continue
		}
		if i >= len(args) {
			p.fail(t, "printf: there is no argument for %s", m[0])
		}
		switch m[1] {
		case "d", "i", "u", "x", "X", "o", "c":
			all[i] = cat("coalesce(sqlite_to_integer(", args[i].whole(), "), 0)")
		case "f", "e", "E", "g", "G":
			all[i] = cat("coalesce(sqlite_to_real(", args[i].whole(), "), 0)")
		default:
			all[i] = cat("coalesce(", args[i].asText(), ", '')")
		}
		i++
	}
	all[0][0].text = strings.NewReplacer("%lld", "%d", "%ld", "%d", "%lli", "%d", "%llu", "%d", "%i", "%d", "%u", "%d").Replace(all[0][0].text)
}

// filter parses the condition of FILTER. It returns nil if there is none.
func (p *parser) filter() (condition pieces) {
	if p.peek().is("FILTER") && p.tokens[p.at+1].is("(") {
		p.next()
		p.next()
		p.expect("WHERE")
		condition = p.expression().sql
		p.expect(")")
	}
	return condition
}

// over parses the window after OVER. It returns nil if there is none.
func (p *parser) over() pieces {
	if !p.accept("OVER") {
		return nil
	}
	if !p.peek().is("(") {
		return cat(" OVER ", identifier(p.next().text))
	}
	return cat(" OVER ", p.window().sql)
}

// window is a window in parentheses.
type window struct {
	sql     pieces
	keys    pieces // of PARTITION BY, nil if there are none
	ordered bool   // it has ORDER BY
}

func (p *parser) window() *window {
	p.expect("(")
	w := &window{}
	out := cat("(")
	if t := p.peek(); (t.kind == word || t.kind == quoted) && !t.is("PARTITION") && !t.is("ORDER") &&
		!t.is("ROWS") && !t.is("RANGE") && !t.is("GROUPS") {
		out = cat(out, identifier(p.next().text), " ")
	}
	if p.accept("PARTITION") {
		p.expect("BY")
		w.keys = p.expressions()
		out = cat(out, "PARTITION BY ", w.keys)
	}
	if p.accept("ORDER") {
		p.expect("BY")
		w.ordered = true
		out = cat(out, " ORDER BY ", p.orderTerms())
	}
	// The frame has the same keywords in both dialects, with numbers or columns in between.
	for !p.accept(")") {
		t := p.next()
		if t.kind == end {
			p.fail(t, "unterminated window")
		}
		out = cat(out, &piece{text: " " + t.text, pos: t.pos})
	}
	w.sql = cat(out, ")")
	return w
}

// expressions parses a list of values.
func (p *parser) expressions() pieces {
	var items []pieces
	for {
		items = append(items, p.expression().whole())
		if !p.accept(",") {
			return list(items)
		}
	}
}

// specialCall translates calls that have no matching call in DuckDB.
func (p *parser) specialCall(name string, args []expr, t token) (expr, bool) {
	constant := func(i int) string {
		if i >= len(args) || args[i].constant != text {
			p.fail(t, "%s: argument %d must be text", name, i+1)
		}
		return args[i].raw
	}
	switch name {
	case "create_function", "create_view_function":
		p.effects = append(p.effects, effect{sql: fmt.Sprintf("CREATE OR REPLACE PERFETTO FUNCTION %s RETURNS %s AS %s",
			constant(0), legacyReturns(name, constant(1)), constant(2))})
	case "experimental_memoize":
		p.effects = append(p.effects, effect{memoize: constant(0)})
	case "import":
		p.effects = append(p.effects, effect{sql: "INCLUDE PERFETTO MODULE " + constant(0)})
	case "run_metric":
		if p.deferred {
			return expr{}, false
		}
		p.runMetric(args, t)
	case "null_if_empty":
		if len(args) != 1 {
			p.fail(t, "NULL_IF_EMPTY: want one argument")
		}
		return expr{sql: cat("nullif(", args[0].whole(), ", ''::BLOB)"), class: always(ofBlob)}, true
	case "hash":
		var parts []pieces
		for _, arg := range args {
			parts = append(parts, cat("_hash_part(", arg.whole(), ")"))
		}
		return expr{sql: cat("_hash([", list(parts), "])"), class: always(ofLong)}, true
	case "cat_stacks":
		return expr{sql: cat(StackFunction, "(", list(values(args)), ")"), class: always(ofBlob)}, true
	case "__intrinsic_table_ptr_bind":
		return p.bind(args, t), true
	default:
		if names, ok := pointed[name]; ok {
			return p.pointTo(names, args, t), true
		}
		if p.metrics != nil && p.metrics.Builds(t.text) {
			return p.message(name, args), true
		}
		return expr{}, false
	}
	return expr{sql: cat("NULL"), class: always(ofNull)}, true
}

func legacyReturns(name, returns string) string {
	if name == "create_view_function" {
		return "TABLE(" + returns + ")"
	}
	return returns
}
