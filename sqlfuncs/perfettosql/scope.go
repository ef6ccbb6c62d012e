package perfettosql

import (
	"fmt"
	"slices"
	"strings"
)

// catalog answers questions about tables and types by asking DuckDB.
type catalog interface {
	// columns returns the columns of a table or of a table function call, or nil if there is no such table or
	// function.
	columns(from string) []field
	// class returns the class of an expression without columns.
	class(expression string) class
}

// field is a column of a table or query.
type field struct {
	name  string
	class func() class
}

// relation returns the columns of a table or query, or nil if unknown. It may be called only after the
// statement is read.
type relation func() []field

// once calls find once and remembers the columns.
func once(find relation) relation {
	asked := false
	var fields []field
	return func() []field {
		if !asked {
			asked = true
			fields = find()
		}
		return fields
	}
}

// commonTable is a table defined by WITH.
type commonTable struct {
	name      string
	fields    relation
	next      *commonTable
	open      bool // its query is being read
	recursive bool // its query reads it
}

// source is a table in FROM.
type source struct {
	name   string
	fields relation
	merged map[string]bool // columns that USING has merged with those of earlier tables, in lower case
}

func (s *source) field(name string) *field {
	fields := s.fields()
	if strings.EqualFold(name, autoID) && fields != nil {
		return &field{autoID, always(ofLong)}
	}
	i := slices.IndexFunc(fields, func(f field) bool { return strings.EqualFold(f.name, name) })
	if i < 0 {
		return nil
	}
	return &fields[i]
}

// clause is the part of a selection that names a column.
type clause int

const (
	inItems clause = iota
	inJoin
	inTable // a query in FROM, which cannot name columns of its neighbours
	inWhere
	inGroup
	inHaving
	inOrder
)

// reference is a column named in a statement.
type reference struct {
	piece      *piece
	in         *selection
	clause     clause
	visible    int    // number of tables it can refer to
	item       int    // index of the item that names it
	table      string // "" if none is named
	name       string
	quoted     bool // it was quoted, so it is text if there is no such column
	aggregated bool // it is an argument of an aggregate
	term       bool // it is a term of ORDER BY by itself

	resolved bool
	scope    *selection // the selection that has it, nil if none
	sources  []*source  // the tables that have it
	alias    *item      // the item that it names
}

// item is a column of a selection's result, or several if it is a star.
type item struct {
	name  string
	sql   pieces
	class func() class
	ref   *reference // if it is a column
	star  bool
	table string // table of a star, "" for all
}

// resolve finds what a reference names: a column or else an item of the result, in its own selection or an
// enclosing one.
func (r *reference) resolve() {
	if r.resolved {
		return
	}
	r.resolved = true
	hidden := false
	for in := r.in; in != nil; hidden, in = in.place == inTable, in.outer {
		if hidden {
			continue
		}
		open := false // some tables' columns are unknown
		for i, s := range in.sources {
			if in == r.in && i >= r.visible || r.table != "" && !strings.EqualFold(r.table, s.name) {
				continue
			}
			if s.field(r.name) != nil {
				r.sources = append(r.sources, s)
			}
			open = open || s.fields() == nil
		}
		i := -1
		if r.table == "" && (in != r.in || r.clause != inItems) {
			i = slices.IndexFunc(in.items, func(item *item) bool { return strings.EqualFold(item.name, r.name) })
		}
		if i >= 0 && (r.sources == nil || in == r.in && r.term) {
			r.alias = in.items[i]
		}
		if r.sources != nil || r.alias != nil || open {
			r.scope = in
			return
		}
	}
}

func (r *reference) class() class {
	switch r.resolve(); {
	case r.alias != nil:
		return r.alias.class()
	case r.sources != nil:
		return r.sources[0].field(r.name).class()
	case r.scope == nil && r.quoted:
		return ofText
	}
	return unknown
}

// same reports whether two references name the same column.
func (r *reference) same(as *reference) bool {
	r.resolve()
	as.resolve()
	if r.sources == nil || as.sources == nil {
		return strings.EqualFold(r.piece.text, as.piece.text)
	}
	return r.sources[0] == as.sources[0] && strings.EqualFold(r.name, as.name)
}

// fields returns the columns of a selection's result.
func (in *selection) fields() []field {
	fields := []field{}
	for _, item := range in.items {
		if !item.star {
			fields = append(fields, field{item.name, item.class})
			continue
		}
		for _, s := range in.sources {
			if item.table != "" && !strings.EqualFold(item.table, s.name) {
				continue
			}
			columns := s.fields()
			if columns == nil {
				return nil
			}
			for _, f := range columns {
				if item.table != "" || !s.merged[strings.ToLower(f.name)] {
					fields = append(fields, f)
				}
			}
		}
	}
	return fields
}

// united returns the columns of a UNION and the like.
func united(one, other relation) relation {
	return once(func() []field {
		fields, others := slices.Clone(one()), other()
		for i := range min(len(fields), len(others)) {
			was := fields[i].class
			fields[i].class = lazily(func() class {
				c, _ := common(was(), others[i].class())
				return c
			})
		}
		return fields
	})
}

// named renames columns, as far as there are names.
func named(columns relation, names []string) relation {
	return func() []field {
		fields := slices.Clone(columns())
		for i := range min(len(fields), len(names)) {
			fields[i].name = names[i]
		}
		return fields
	}
}

// analyse makes the decisions that need the whole statement. Inner selections come before outer ones.
func (p *parser) analyse() {
	for _, r := range p.references {
		r.settle()
	}
	for _, check := range p.checks {
		check()
	}
	for _, in := range slices.Backward(p.selections) {
		in.inlineAliases()
		in.group(p.references)
		in.moveConditions()
	}
	for _, fill := range slices.Backward(p.fills) { // of inner selections first
		fill()
	}
}

// settle turns a quoted name without a column into text. For a column merged by USING it chooses the first
// table that has it, as SQLite does.
func (r *reference) settle() {
	r.resolve()
	switch {
	case r.quoted && r.scope == nil:
		r.piece.become(literal(r.name))
	case len(r.sources) > 1 && r.scope.merges && r.alias == nil && r.sources[0].name != "": // DuckDB takes the first one too
		r.piece.text = identifier(r.sources[0].name) + "." + identifier(r.name)
	}
}

// using is a USING clause with the table that it joins.
type using struct {
	words   *piece
	columns []string
	joined  *source
	before  []*source
}

// settle names the tables if several earlier ones have a column. SQLite takes the first of them.
func (u using) settle() {
	var conditions []string
	ambiguous := false
	for _, name := range u.columns {
		var having []*source
		for _, s := range u.before {
			if s.field(name) != nil && !s.merged[strings.ToLower(name)] {
				having = append(having, s)
			}
		}
		if having == nil {
			return
		}
		ambiguous = ambiguous || len(having) > 1
		column := identifier(name)
		conditions = append(conditions, identifier(having[0].name)+"."+column+" = "+identifier(u.joined.name)+"."+column)
	}
	if ambiguous {
		u.words.text = " ON (" + strings.Join(conditions, " AND ") + ")"
	}
}

// many reports whether a row of the result represents several rows.
func (in *selection) many() bool { return in.grouped || in.aggregates != nil }

// inlineAliases replaces aliases by their expressions where rows are chosen before grouping, because the
// columns of the item itself may come from any row of the group.
func (in *selection) inlineAliases() {
	if !in.many() {
		return
	}
	for _, r := range in.references {
		if r.alias != nil && r.scope == in && (r.clause == inWhere || r.clause == inJoin) {
			r.piece.text = "(" + r.alias.sql.line() + ")"
		}
	}
}

// group takes columns that are not keys from one row of the group.
func (in *selection) group(all []*reference) {
	if !in.many() {
		return
	}
	keys := map[int]bool{} // items
	for _, key := range in.keys {
		if key.ordinal > 0 {
			keys[key.ordinal-1] = true
		}
		for i, item := range in.items {
			if key.ref != nil && key.ref.sources == nil && key.ref.alias == item || key.text == item.sql.String() {
				keys[i] = true
			}
		}
	}
	for i, item := range in.items {
		if item.star {
			item.sql[0].name = `\0` // each column keeps its own name
			item.sql[0].become(in.any("COLUMNS(" + item.sql[0].text + ")"))
			keys[i] = true
		}
	}
	isKey := func(r *reference) bool {
		return slices.ContainsFunc(in.keys, func(k groupKey) bool { return k.ref != nil && r.same(k.ref) })
	}
	for _, r := range all {
		q := in.part(r.in)
		if q == nil || r.scope != in || r.sources == nil || r.aggregated || q.aggregated || isKey(r) {
			continue
		}
		if (q.place == inItems && !keys[q.item] || q.place == inHaving || q.place == inOrder) && in.extreme().meansSame(r.in, all) {
			r.piece.become(in.any(r.piece.text))
		}
	}
	for _, r := range in.references {
		r.resolve()
		switch {
		case r.aggregated, r.clause != inItems && r.clause != inHaving && r.clause != inOrder, r.clause == inItems && keys[r.item],
			r.alias != nil, r.scope != in, isKey(r):
		case strings.EqualFold(r.name, autoID): // the first row, which queries with LIMIT 1 find, too
			r.piece.become("min(" + r.piece.text + ")")
		default:
			r.piece.become(in.any(r.piece.text))
		}
	}
}

// part returns the direct child of this selection that is, or contains, other, or nil if other is elsewhere.
func (in *selection) part(other *selection) *selection {
	for ; other != nil; other = other.outer {
		if other.outer == in {
			return other
		}
	}
	return nil
}

// extreme returns the call of min or max that chooses the row of a group, or nil if there is none. Of several
// calls SQLite uses the last.
func (in *selection) extreme() *aggregate {
	for _, a := range slices.Backward(in.aggregates) {
		if a.name == "min" || a.name == "max" {
			return a
		}
	}
	return nil
}

// meansSame reports whether the columns that the call names are also those that they name inside of a selection below. No call
// names none.
func (a *aggregate) meansSame(inside *selection, all []*reference) bool {
	if a == nil {
		return true
	}
	for _, r := range all {
		if !slices.Contains(a.value, r.piece) && !slices.Contains(a.filter, r.piece) {
			continue
		}
		for in := inside; in != nil && in != r.in; in = in.outer {
			for _, s := range in.sources {
				hides := r.table == "" && (s.fields() == nil || s.field(r.name) != nil)
				if hides || r.table != "" && strings.EqualFold(s.name, r.table) {
					return false
				}
			}
		}
	}
	return true
}

// any returns a column of one row of a group: the row with the least or greatest value if there is a min or
// max, else the first. If all values are NULL, SQLite takes the last row of the group.
func (in *selection) any(column string) string {
	a := in.extreme()
	if a == nil {
		return "first(" + column + ")"
	}
	value, fallback := a.value.line(), "first"
	if a.filter != nil {
		value = "CASE WHEN " + a.filter.line() + " THEN " + value + " END"
	} else if in.grouped {
		fallback = "last"
	}
	// Not count(value) = 0: DuckDB fails when that is in an argument of a subquery.
	return fmt.Sprintf("CASE WHEN %s(%s) IS NULL THEN %s(%s) ELSE arg_%[1]s_null(%[4]s, %[2]s) END", a.name, value, fallback, column)
}

// onCondition is the condition of an inner join.
type onCondition struct {
	words      *piece // the words before it
	sql        pieces
	references []*reference
	joined     int // number of tables up to the joined one
}

// moveConditions moves conditions that refer to a table joined later to WHERE.
func (in *selection) moveConditions() {
	var moved []string
	for _, on := range in.conditions {
		if !slices.ContainsFunc(on.references, func(r *reference) bool {
			return r.scope == in && r.sources != nil && slices.Index(in.sources, r.sources[0]) >= on.joined
		}) {
			continue
		}
		moved = append(moved, "("+on.sql.line()+")")
		for _, piece := range on.sql {
			piece.text = ""
		}
		on.words.text = " ON true"
	}
	if moved != nil {
		in.where.text = " WHERE " + strings.Join(moved, " AND ")
		if in.chosen {
			in.where.text += " AND ("
			in.whereEnd.text = ")"
		}
	}
}
