package perfettosql

import (
	"strconv"
	"strings"
)

// selection is a SELECT with its own rows, without those joined to it by UNION and so on.
type selection struct {
	aggregates []aggregate
	items      []pieces
	having     pieces
	grouped    bool
	merges     bool   // columns of joined tables, by USING
	pointer    bool   // it makes a table pointer
	bound      *piece // the columns of the table pointer in FROM
}

// aggregate is a call of a function of many rows.
type aggregate struct {
	name string
	args pieces
}

// atQuery reports whether a query begins here.
func (p *parser) atQuery() bool {
	t := p.peek()
	return t.is("SELECT") || t.is("VALUES") || t.is("WITH")
}

// query parses SELECTs with what is before and after them.
func (p *parser) query() pieces {
	outer := p.in
	defer func() { p.in = outer }()
	var out pieces
	if p.accept("WITH") {
		p.accept("RECURSIVE")
		out = cat("WITH RECURSIVE ", p.commonTables(), " ")
	}
	out = cat(out, p.selection())
	single := true
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
		out = cat(out, op, p.selection())
		single = false
	}
	var order pieces
	if p.accept("ORDER") {
		p.expect("BY")
		order = cat(" ORDER BY ", p.orderTerms())
	}
	if !p.accept("LIMIT") {
		return cat(out, order)
	}
	most, offset := p.limit()
	switch {
	case most.sql[0].text == "-": // none
	case most.constant != number && single && p.function != "" && offset == nil:
		// DuckDB has no limit that depends on the parameter of a function.
		return cat(out, " QUALIFY row_number() OVER (", order, ") <= ", most.value(), order)
	default:
		order = cat(order, " LIMIT ", most.value())
	}
	if offset != nil {
		order = cat(order, " OFFSET (", offset, ")")
	}
	return cat(out, order)
}

// limit parses what follows LIMIT.
func (p *parser) limit() (most expr, offset pieces) {
	most = p.expression()
	if p.accept("OFFSET") {
		offset = p.expression().sql
	} else if p.accept(",") {
		offset, most = most.sql, p.expression()
	}
	return most, offset
}

func (p *parser) commonTables() pieces {
	var all []pieces
	for {
		out := cat(p.name())
		if p.peek().is("(") {
			out = cat(out, p.names())
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
		out = cat(out, p.query(), ")")
		p.expect(")")
		all = append(all, out)
		if !p.accept(",") {
			return list(all)
		}
	}
}

// names parses names in parentheses.
func (p *parser) names() pieces {
	p.expect("(")
	var all []pieces
	for {
		all = append(all, cat(p.name()))
		if !p.accept(",") {
			p.expect(")")
			return cat("(", list(all), ")")
		}
	}
}

// name parses the name of something that is no column.
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

// selection parses SELECT or VALUES without ORDER BY and what follows it.
func (p *parser) selection() pieces {
	p.in = &selection{}
	if p.accept("VALUES") {
		return p.rows()
	}
	in := p.in
	p.expect("SELECT")
	out := cat("SELECT ")
	if p.accept("DISTINCT") {
		out = cat("SELECT DISTINCT ")
	} else {
		p.accept("ALL")
	}
	for {
		in.items = append(in.items, p.item())
		if !p.accept(",") {
			break
		}
	}
	out = cat(out, list(in.items))
	if p.accept("FROM") {
		out = cat(out, " FROM ", p.joins())
	}
	p.in = in
	if p.accept("WHERE") {
		out = cat(out, " WHERE ", p.expression().sql)
	}
	if p.accept("GROUP") {
		p.expect("BY")
		in.grouped = true
		out = cat(out, " GROUP BY ", p.expressions())
	}
	if p.accept("HAVING") {
		in.having = p.expression().sql
		out = cat(out, " HAVING ", in.having)
	}
	if p.accept("WINDOW") {
		var all []pieces
		for {
			name := p.name()
			p.expect("AS")
			all = append(all, cat(name, " AS ", p.window()))
			if !p.accept(",") {
				break
			}
		}
		out = cat(out, " WINDOW ", list(all))
	}
	p.pointer = in.pointer
	return out
}

// rows parses what follows VALUES, whose columns SQLite names column1, column2 and so on.
func (p *parser) rows() pieces {
	var rows []pieces
	var names []string
	for {
		p.expect("(")
		row := values(p.arguments())
		for i := len(names); i < len(row); i++ {
			names = append(names, "column"+strconv.Itoa(i+1))
		}
		rows = append(rows, cat("(", list(row), ")"))
		if !p.accept(",") {
			return cat("SELECT * FROM (VALUES ", list(rows), ") AS _values("+strings.Join(names, ", ")+")")
		}
	}
}

// item parses a column of the result. One without a name is named by its text. What is a table pointer has its names.
func (p *parser) item() pieces {
	from := p.at
	e := p.expression()
	t := p.peek()
	switch {
	case e.pointer:
		if p.accept("AS") {
			p.name()
		}
		return e.sql
	case p.accept("AS"):
		return cat(e.whole(), " AS ", p.name())
	case t.kind == quoted || t.kind == text || t.kind == word && !afterItem[strings.ToUpper(t.text)]:
		return cat(e.whole(), " AS ", p.name())
	case strings.HasSuffix(e.sql[0].text, "*"):
		return e.sql
	case len(e.sql) == 1 && e.column != "":
		e.sql[0].name = e.column
		if e.sql[0].kind == quoted {
			e.sql[0].name = p.textSince(from)
		}
		return e.sql
	}
	return cat(e.whole(), " AS ", identifier(p.textSince(from)))
}

// afterItem are the words that end an item or a table, and cannot name it.
var afterItem = map[string]bool{
	"FROM": true, "WHERE": true, "GROUP": true, "ORDER": true, "HAVING": true, "LIMIT": true, "UNION": true,
	"EXCEPT": true, "INTERSECT": true, "WINDOW": true, "ON": true, "USING": true, "JOIN": true, "LEFT": true,
	"RIGHT": true, "FULL": true, "INNER": true, "CROSS": true, "NATURAL": true, "OUTER": true, "OFFSET": true,
	"INDEXED": true, "NOT": true, "SET": true, "RETURNING": true, "PARTITIONED": true,
}

// joins parses what follows FROM.
func (p *parser) joins() pieces { return p.joinsTo(p.table()) }

// joinsTo parses the joins to a table. All bind to the left, and those without a condition are cross joins.
func (p *parser) joinsTo(out pieces) pieces {
	in := p.in
	for {
		natural := p.accept("NATURAL")
		in.merges = in.merges || natural
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
		right := p.table()
		p.in = in
		switch {
		case natural:
			out = cat(out, " NATURAL "+kind+"JOIN ", right)
		case p.accept("ON"):
			out = cat(out, " "+kind+"JOIN ", right, " ON ", p.expression().condition())
		case p.accept("USING"):
			in.merges = true
			open := &piece{text: " USING (", pos: -1}
			names := p.names()
			if len(names) == 3 { // a column in parentheses
				names[1].in, names[1].using = in, &using{open, p.joined}
			}
			out = cat(out, " "+kind+"JOIN ", right, open, names[1:])
		case kind != "":
			out = cat(out, " "+kind+"JOIN ", right, " ON true")
		default:
			out = cat(out, " CROSS JOIN ", right)
		}
	}
}

// table parses a table, a call of a table function, a query or joins in parentheses, with its name.
func (p *parser) table() pieces {
	var out pieces
	single := false // in parentheses, which DuckDB does not have around one table
	switch {
	case p.peek().is("("):
		p.next()
		if p.atQuery() {
			out = cat("(", p.query(), ")")
		} else if out = p.table(); p.peek().is(")") {
			single = true
		} else {
			out = cat("(", p.joinsTo(out), ")")
		}
		p.expect(")")
	default:
		t := p.peek()
		out = cat(p.name())
		p.joined = out[0].text
		if p.joined == identifier("__intrinsic_table_ptr") && p.accept("(") {
			out = p.tablePointer()
			p.expect(")")
		} else if p.accept("(") {
			p.mustHave(strings.ToLower(t.text), t)
			out[0].text = strings.Trim(out[0].text, `"`) + "("
			if p.accept(")") {
				out = cat(out, ")")
			} else {
				out = cat(out, list(values(p.arguments())), ")")
			}
		}
	}
	t := p.peek()
	if p.accept("AS") || t.kind == quoted || t.kind == text || t.kind == word && !afterItem[strings.ToUpper(t.text)] {
		name := p.name()
		p.joined = name.text
		if single {
			out = cat("(FROM ", out, ")")
		}
		out = cat(out, " AS ", name)
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
