package perfettosql

import (
	"strconv"
	"strings"
)

// selection is a single SELECT, without others combined with it by UNION and so on.
type selection struct {
	outer      *selection // the enclosing selection, nil if none
	place      clause     // the clause of the outer one that contains it
	item       int        // the item of the outer one that contains it
	aggregated bool       // it is inside an argument of an aggregate of the outer one
	items      []*item
	sources    []*source
	references []*reference // columns named in it
	clause     clause       // the clause being parsed
	aggregates []*aggregate
	grouped    bool
	keys       []groupKey
	groups     pieces // its keys, translated
	distinct   bool
	merges     bool // USING merges columns of joined tables, taking the left table's
	conditions []onCondition
	chosen     bool   // it has a WHERE clause
	where      *piece // the keyword, and the text after the condition
	whereEnd   *piece
	from       pieces // FROM and WHERE
	windows    map[string]*window
	pointer    string  // the aggregate that makes its result a table pointer
	bound      *piece  // the columns of the table pointer in FROM
	binds      []field // their names
}

// aggregate is a call of an aggregate function.
type aggregate struct {
	name   string
	value  pieces // its first argument
	filter pieces // nil if there is none
}

// groupKey is an expression of GROUP BY.
type groupKey struct {
	ordinal int        // number of an item, 0 if it is not one
	ref     *reference // nil if it is not a column
	text    string
}

// enter begins a selection inside another.
func (p *parser) enter(outer *selection) *selection {
	p.in = &selection{outer: outer, where: &piece{pos: -1}, whereEnd: &piece{pos: -1}}
	if outer != nil {
		p.in.place, p.in.item = outer.clause, len(outer.items)-1
	}
	p.selections = append(p.selections, p.in)
	return p.in
}

// atQuery reports whether a query begins here.
func (p *parser) atQuery() bool {
	t := p.peek()
	return t.is("SELECT") || t.is("VALUES") || t.is("WITH")
}

// query parses SELECTs together with WITH, ORDER BY and LIMIT, and sets the parser's result.
func (p *parser) query() pieces {
	outer, tables := p.in, p.tables
	defer func() { p.in, p.tables = outer, tables }()
	var out pieces
	if p.accept("WITH") {
		p.accept("RECURSIVE")
		out = cat(p.commonTables(), " ")
	}
	first := p.selection(outer)
	parts, appended := []pieces{first}, true // appended: all parts are combined by UNION ALL
	out, with := cat(out, first), out
	single, result := true, p.result
	for {
		t := p.peek()
		if !t.is("UNION") && !t.is("EXCEPT") && !t.is("INTERSECT") {
			break
		}
		p.next()
		op := " " + strings.ToUpper(t.text) + " "
		if p.accept("ALL") {
			op += "ALL "
		}
		part := p.selection(outer)
		parts, appended = append(parts, part), appended && op == " UNION ALL "
		out = cat(out, op, part)
		single, result = false, united(result, p.result)
	}
	var order pieces
	if p.accept("ORDER") {
		p.expect("BY")
		if !single {
			p.enter(outer).sources = []*source{{fields: result}}
		}
		p.in.clause = inOrder
		order = cat(" ORDER BY ", p.orderTerms())
	}
	switch recursive := tables != nil && tables.open && tables.recursive; {
	case order != nil || !p.ordered:
	case single:
		order = p.in.order()
	case appended && !recursive:
		out = cat(with, inOrderOfParts(parts))
	}
	p.result = result
	if !p.accept("LIMIT") {
		return cat(out, order)
	}
	most, offset := p.limit()
	p.result = result
	switch {
	case most.sql[0].text == "-": // none
	case most.constant != number && single && p.function != "" && offset == nil:
		// DuckDB's LIMIT cannot depend on the parameter of a function.
		return cat(out, " QUALIFY row_number() OVER (", order, ") <= ", most.value(), order)
	default:
		if order == nil && single && p.in.onlyAutoID() {
			order = cat(" ORDER BY 1") // Trace Processor finds the first row
		}
		order = cat(order, " LIMIT ", most.value())
	}
	if offset != nil {
		order = cat(order, " OFFSET (", offset, ")")
	}
	return cat(out, order)
}

// inOrderOfParts returns a query that combines others by UNION ALL. DuckDB's rows may come in any order, so they are numbered.
func inOrderOfParts(parts []pieces) pieces {
	var all pieces
	for i, part := range parts {
		if i > 0 {
			all = cat(all, " UNION ALL ")
		}
		all = cat(all, "SELECT *, "+strconv.Itoa(i)+" AS _part FROM (", part, ")")
	}
	return cat("SELECT * EXCLUDE (_part) FROM (", all, ") ORDER BY _part")
}

// onlyAutoID reports whether a selection returns numbers of rows only.
func (in *selection) onlyAutoID() bool {
	return len(in.items) == 1 && in.items[0].ref != nil && strings.EqualFold(in.items[0].ref.name, autoID) && !in.many()
}

// limit parses the limit and offset after LIMIT.
func (p *parser) limit() (most expr, offset pieces) {
	most = p.expression()
	if p.accept("OFFSET") {
		offset = p.expression().sql
	} else if p.accept(",") {
		offset, most = most.sql, p.expression()
	}
	return most, offset
}

// commonTables parses the tables of WITH. DuckDB accepts ORDER BY in a UNION only if the word RECURSIVE is absent.
func (p *parser) commonTables() pieces {
	var all []pieces
	with := "WITH "
	for {
		t := p.peek()
		out := cat(p.name())
		var columns []string
		if p.peek().is("(") {
			list, names := p.names()
			out, columns = cat(out, list), names
		}
		p.expect("AS")
		if p.accept("NOT") {
			p.expect("MATERIALIZED")
			out = cat(out, " AS NOT MATERIALIZED (")
		} else if p.accept("MATERIALIZED") {
			out = cat(out, " AS MATERIALIZED (")
		} else {
			out = cat(out, " AS (")
		}
		p.expect("(")
		var result relation
		itself := once(func() []field { return named(result, columns)() })
		table := &commonTable{name: t.text, fields: itself, next: p.tables, open: true}
		p.tables = table
		query := p.query()
		result, table.open = p.result, false
		if table.recursive {
			with = "WITH RECURSIVE "
		}
		out = cat(out, query, ")")
		p.expect(")")
		all = append(all, out)
		if !p.accept(",") {
			return cat(with, list(all))
		}
	}
}

// names parses names in parentheses.
func (p *parser) names() (out pieces, names []string) {
	p.expect("(")
	var all []pieces
	for {
		names = append(names, p.peek().text)
		all = append(all, cat(p.name()))
		if !p.accept(",") {
			p.expect(")")
			return cat("(", list(all), ")"), names
		}
	}
}

// name parses the name of something other than a column.
func (p *parser) name() *piece {
	t := p.next()
	if t.kind != word && t.kind != quoted && t.kind != text {
		p.fail(t, "syntax error near %q, a name is missing", t.text)
	}
	return &piece{text: identifier(t.text), pos: t.pos}
}

func (p *parser) orderTerms() pieces {
	var all []pieces
	for {
		e := p.expression()
		if e.ref != nil {
			e.ref.term = true
		}
		e.ordinal()
		term := e.whole()
		switch {
		case p.accept("DESC"):
			term = cat(term, " DESC")
		case p.accept("ASC"):
			term = cat(term, " ASC")
		}
		if p.accept("NULLS") {
			term = cat(term, " NULLS "+p.next().text)
		}
		all = append(all, term)
		if !p.accept(",") {
			return list(all)
		}
	}
}

// selection parses SELECT or VALUES without ORDER BY and LIMIT, and sets the parser's result.
func (p *parser) selection(outer *selection) pieces {
	in := p.enter(outer)
	if p.accept("VALUES") {
		return p.rows()
	}
	p.expect("SELECT")
	out := cat("SELECT ")
	if p.accept("DISTINCT") {
		out = cat("SELECT DISTINCT ")
		in.distinct = true
	} else {
		p.accept("ALL")
	}
	var items []pieces
	for {
		items = append(items, p.item())
		if !p.accept(",") {
			break
		}
	}
	if p.accept("FROM") {
		in.clause = inJoin
		in.from = cat(" FROM ", p.joins())
	}
	p.in = in
	in.from = cat(in.from, in.where)
	if p.accept("WHERE") {
		in.clause, in.chosen, in.where.text = inWhere, true, " WHERE "
		in.from = cat(in.from, p.expression().sql)
	}
	in.from = cat(in.from, in.whereEnd)
	out = cat(out, list(items), in.from)
	if p.accept("GROUP") {
		p.expect("BY")
		in.clause, in.grouped = inGroup, true
		in.groups = p.groupKeys()
		out = cat(out, " GROUP BY ", in.groups)
	}
	if p.accept("HAVING") {
		in.clause = inHaving
		out = cat(out, " HAVING ", p.expression().sql)
	}
	if p.accept("WINDOW") {
		in.clause = inHaving
		var all []pieces
		for {
			t, name := p.peek(), p.name()
			p.expect("AS")
			w := p.window()
			if in.windows == nil {
				in.windows = map[string]*window{}
			}
			in.windows[strings.ToLower(t.text)] = w
			all = append(all, cat(name, " AS ", w.sql))
			if !p.accept(",") {
				break
			}
		}
		out = cat(out, " WINDOW ", list(all))
	}
	p.pointer, p.result = in.pointer, once(in.fields)
	return out
}

// order is the order in which SQLite returns the rows of a query without ORDER BY, as far as it is known. Messages of metrics
// list their parts in this order.
func (in *selection) order() pieces {
	switch {
	case in.groups != nil:
		return cat(" ORDER BY ", in.groups)
	case in.distinct:
		return cat(" ORDER BY ALL")
	}
	return nil
}

// groupKeys parses the keys after GROUP BY.
func (p *parser) groupKeys() pieces {
	var all []pieces
	for {
		e := p.expression()
		n := e.ordinal()
		sql := e.whole()
		key := groupKey{ordinal: n, ref: e.ref, text: sql.String()}
		p.in.keys = append(p.in.keys, key)
		all = append(all, sql)
		if !p.accept(",") {
			return list(all)
		}
	}
}

// rows parses the rows of VALUES. SQLite names their columns column1, column2 and so on.
func (p *parser) rows() pieces {
	var rows []pieces
	var names []string
	var columns [][]expr
	for {
		p.expect("(")
		row := p.arguments()
		for i, e := range row {
			if i == len(names) {
				names, columns = append(names, "column"+strconv.Itoa(i+1)), append(columns, nil)
			}
			columns[i] = append(columns[i], e)
		}
		rows = append(rows, cat("(", list(values(row)), ")"))
		if !p.accept(",") {
			break
		}
	}
	p.result = once(func() []field {
		var fields []field
		for i, name := range names {
			fields = append(fields, field{name, commonClass(columns[i])})
		}
		return fields
	})
	return cat("SELECT * FROM (VALUES ", list(rows), ") AS _values("+strings.Join(names, ", ")+")")
}

// item parses a column of the result. An unnamed column is named by its text. The columns of a table pointer
// have names already.
func (p *parser) item() pieces {
	from, in := p.at, p.in
	item := &item{class: always(unknown)}
	p.in.items = append(p.in.items, item)
	e := p.expression()
	p.in = in
	item.sql, item.ref = e.whole(), e.ref
	if e.pointer == "" {
		item.class = e.is()
	}
	t := p.peek()
	switch {
	case e.pointer != "":
		if p.accept("AS") {
			p.name()
		}
		return e.sql
	case p.accept("AS") || t.kind == quoted || t.kind == text || t.kind == word && !afterItem[strings.ToUpper(t.text)]:
		item.name = p.peek().text
		return cat(item.sql, " AS ", p.name())
	case strings.HasSuffix(e.sql[0].text, "*"):
		item.star, item.table = true, e.table
		return e.sql
	case e.ref != nil && len(e.sql) == 1:
		item.name = e.ref.name
		e.sql[0].name = e.ref.name
		if e.ref.quoted {
			e.sql[0].name = p.textSince(from)
		}
		return e.sql
	}
	item.name = p.textSince(from)
	return cat(item.sql, " AS ", identifier(item.name))
}

// afterItem are the words that end an item or a table, and cannot name it.
var afterItem = map[string]bool{
	"FROM": true, "WHERE": true, "GROUP": true, "ORDER": true, "HAVING": true, "LIMIT": true, "UNION": true,
	"EXCEPT": true, "INTERSECT": true, "WINDOW": true, "ON": true, "USING": true, "JOIN": true, "LEFT": true,
	"RIGHT": true, "FULL": true, "INNER": true, "CROSS": true, "NATURAL": true, "OUTER": true, "OFFSET": true,
	"INDEXED": true, "NOT": true, "SET": true, "RETURNING": true, "PARTITIONED": true,
}

// joins parses the tables after FROM.
func (p *parser) joins() pieces { return p.joinsTo(p.table()) }

// joinsTo parses the joins to a table. All joins associate to the left; a join without a condition is a cross
// join.
func (p *parser) joinsTo(out pieces) pieces {
	in := p.in
	for {
		natural := p.accept("NATURAL")
		kind := ""
		t := p.peek()
		switch {
		case p.accept(","):
		case t.is("LEFT"), t.is("RIGHT"), t.is("FULL"):
			p.next()
			p.accept("OUTER")
			kind = strings.ToUpper(t.text) + " "
			p.expect("JOIN")
		case p.accept("INNER"), p.accept("CROSS"):
			p.expect("JOIN")
		case p.accept("JOIN"):
		default:
			return out
		}
		fromLeft := !t.is("RIGHT") && !t.is("FULL")
		before := in.sources
		right := p.table()
		p.in = in
		joined := in.sources[len(in.sources)-1]
		switch {
		case natural:
			in.merges = in.merges || fromLeft
			out = cat(out, " NATURAL "+kind+"JOIN ", right)
		case p.accept("ON"):
			words, first := &piece{text: " ON ", pos: -1}, len(in.references)
			condition := p.expression().condition()
			if kind == "" {
				in.conditions = append(in.conditions, onCondition{words, condition, in.references[first:len(in.references):len(in.references)], len(in.sources)})
			}
			out = cat(out, " "+kind+"JOIN ", right, words, condition)
		case p.accept("USING"):
			in.merges = in.merges || fromLeft
			pos := p.peek().pos
			list, names := p.names()
			words := &piece{text: " USING " + list.line(), pos: pos}
			u := using{words, names, joined, before}
			p.later(u.settle)
			joined.merged = map[string]bool{}
			for _, name := range names {
				joined.merged[strings.ToLower(name)] = true
			}
			out = cat(out, " "+kind+"JOIN ", right, words)
		case kind != "":
			out = cat(out, " "+kind+"JOIN ", right, " ON true")
		default:
			out = cat(out, " CROSS JOIN ", right)
		}
	}
}

// table parses a table, a table function call, a query, or joins in parentheses, with its alias, and makes it
// a source of the selection.
func (p *parser) table() pieces {
	var out pieces
	in := p.in
	before := len(in.sources)
	single := false // one table in parentheses, which DuckDB does not accept
	called := false // it is a function call, which DuckDB does not name like the function
	t := p.peek()
	switch {
	case p.accept("("):
		if p.atQuery() {
			clause := in.clause
			in.clause = inTable
			out = cat("(", p.query(), ")")
			in.clause = clause
			in.sources = append(in.sources, &source{fields: p.result})
		} else if out = p.table(); p.peek().is(")") {
			single = true
		} else {
			out = cat("(", p.joinsTo(out), ")")
		}
		p.expect(")")
	default:
		out = cat(p.name())
		s := &source{name: t.text}
		if out[0].text == identifier("__intrinsic_table_ptr") && p.accept("(") {
			out = p.tablePointer()
			s.fields = func() []field { return in.binds }
			p.expect(")")
		} else if p.accept("(") {
			p.mustHave(strings.ToLower(t.text), t)
			table := out[0].text
			out[0].text = strings.Trim(table, `"`) + "("
			var args []expr
			if p.accept(")") {
				out = cat(out, ")")
				p.calledTable(out, table)
			} else {
				first := len(in.references)
				args = p.arguments()
				for _, r := range in.references[first:] {
					r.visible = before
				}
				all := values(args)
				if p.otherwise != nil && t.is("EXPERIMENTAL_SLICE_LAYOUT") { // DuckDB runs queries in all branches of IIF
					all[0] = cat("CASE WHEN ", p.otherwise, " THEN NULL ELSE ", all[0], " END")
				}
				out = cat(out, list(all), ")")
			}
			name := t.text
			s.fields = once(func() []field {
				if fields := p.catalog.columns(callOf(name, args)); fields != nil || args != nil {
					return fields
				}
				return p.catalog.columns(table)
			})
			called = true
		} else {
			s.fields = p.tableNamed(t.text)
		}
		in.sources = append(in.sources, s)
	}
	t = p.peek()
	if p.accept("AS") || t.kind == quoted || t.kind == text || t.kind == word && !afterItem[strings.ToUpper(t.text)] {
		name := p.peek().text
		if single {
			out = cat("(FROM ", out, ")")
		}
		out = cat(out, " AS ", p.name())
		inner := &selection{sources: in.sources[before:], items: []*item{{star: true}}}
		in.sources = append(in.sources[:before:before], &source{name: name, fields: once(inner.fields)})
	} else if called {
		out = cat(out, " AS ", identifier(in.sources[before].name))
	}
	if p.accept("INDEXED") {
		p.expect("BY")
		p.name()
	} else if p.peek().is("NOT") && p.tokens[p.at+1].is("INDEXED") {
		p.next()
		p.next()
	}
	return out
}

// tableNamed returns the columns of a table. Common tables take precedence.
func (p *parser) tableNamed(name string) relation {
	for t := p.tables; t != nil; t = t.next {
		if strings.EqualFold(t.name, name) {
			t.recursive = t.recursive || t.open
			return t.fields
		}
	}
	return once(func() []field { return p.catalog.columns(identifier(name)) })
}

// calledTable takes the parentheses off a call without arguments if it names a table, which SQLite calls too.
func (p *parser) calledTable(call pieces, table string) {
	p.later(func() {
		if p.catalog.columns(call.line()) == nil && p.catalog.columns(table) != nil {
			call[0].text, call[1].text = table, ""
		}
	})
}

// callOf returns a call whose arguments have the right classes, to ask DuckDB for the type of its result.
func callOf(function string, args []expr) string {
	var all []string
	for _, arg := range args {
		if arg.constant != 0 {
			all = append(all, arg.sql.line())
		} else {
			all = append(all, arg.is()().typed())
		}
	}
	return function + "(" + strings.Join(all, ", ") + ")"
}
