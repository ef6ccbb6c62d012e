package sqlitefile

import "strings"

// parse finds the columns in the text of CREATE TABLE.
func (t *Table) parse(sql []byte) {
	d := definitions{table: t}
	depth := 0
	for token, rest := next(string(sql)); token != ""; token, rest = next(rest) {
		switch token {
		case "(":
			if depth++; depth == 1 {
				continue
			}
		case ")":
			if depth--; depth == 0 {
				d.end()
				if strings.Contains(strings.ToUpper(rest), "WITHOUT") {
					t.root = withoutRowID
				}
				return
			}
		case ",":
			if depth == 1 {
				d.end()
				continue
			}
		}
		if depth > 0 {
			d.tokens = append(d.tokens, token)
		}
	}
}

// definitions are the columns and constraints of a table.
type definitions struct {
	table   *Table
	integer []bool   // the columns of type INTEGER
	tokens  []string // of the current one
}

func (d *definitions) is(i int, word string) bool {
	return i < len(d.tokens) && strings.EqualFold(d.tokens[i], word)
}

// end adds a column. A primary key of type INTEGER is another name for the row's id.
func (d *definitions) end() {
	t, key := d.table, 0
	for key < len(d.tokens) && !(d.is(key, "PRIMARY") && d.is(key+1, "KEY")) {
		key++
	}
	switch {
	case len(d.tokens) == 0:
	case d.is(0, "CONSTRAINT"), d.is(0, "PRIMARY"), d.is(0, "UNIQUE"), d.is(0, "CHECK"), d.is(0, "FOREIGN"):
		if key+3 < len(d.tokens) && d.is(key+4, ")") {
			if i := t.Column(unquote(d.tokens[key+3])); i >= 0 && d.integer[i] {
				t.rowid = i
			}
		}
	default:
		if d.is(1, "INTEGER") && key < len(d.tokens) && !d.is(key+2, "DESC") {
			t.rowid = len(t.Columns)
		}
		if len(d.tokens) > 1 && !d.is(1, "CONSTRAINT") && strings.Contains(strings.ToUpper(d.tokens[1]), "INT") { // as SQLite finds integers
			t.integers = append(t.integers, len(t.Columns))
		}
		t.Columns = append(t.Columns, unquote(d.tokens[0]))
		d.integer = append(d.integer, d.is(1, "INTEGER"))
	}
	d.tokens = d.tokens[:0]
}

// withoutRowID stands for the root of a table WITHOUT ROWID, which is stored as an index.
const withoutRowID = 1<<32 - 1

// next returns the first token of a text of SQL and what follows it. White space and comments are no tokens.
func next(sql string) (token, rest string) {
	for {
		sql = strings.TrimLeft(sql, " \t\r\n\f")
		switch {
		case sql == "":
			return "", ""
		case strings.HasPrefix(sql, "--"):
			_, sql, _ = strings.Cut(sql, "\n")
			continue
		case strings.HasPrefix(sql, "/*"):
			_, sql, _ = strings.Cut(sql[2:], "*/")
			continue
		}
		break
	}
	end := 1
	switch c := sql[0]; {
	case c == '"' || c == '`' || c == '\'' || c == '[':
		if c == '[' {
			c = ']'
		}
		for end < len(sql) && (sql[end] != c || c != ']' && end+1 < len(sql) && sql[end+1] == c) {
			if sql[end] == c {
				end++
			}
			end++
		}
		end = min(end+1, len(sql))
	case strings.IndexByte("(),", c) < 0:
		if end = strings.IndexAny(sql, " \t\r\n\f(),\"`'["); end <= 0 {
			end = len(sql)
		}
	}
	return sql[:end], sql[end:]
}

func unquote(name string) string {
	if len(name) < 2 || strings.IndexByte("\"`'[", name[0]) < 0 {
		return name
	}
	quote := name[len(name)-1:]
	return strings.ReplaceAll(name[1:len(name)-1], quote+quote, quote)
}
