package perfettosql

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tpconvert/tpconvert/sqlfuncs/dataframe"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqltext"
)

// isMacroDefinition reports whether a statement is CREATE [OR REPLACE] PERFETTO MACRO.
func isMacroDefinition(tokens []sqltext.Token) bool {
	r := &reader{tokens: tokens}
	if !r.accept("CREATE") {
		return false
	}
	r.accept("OR", "REPLACE")
	return r.accept("PERFETTO", "MACRO")
}

// createPerfetto runs a statement that begins with CREATE if it is PerfettoSQL's, and reports whether it is.
func (e *Engine) createPerfetto(sql string, tokens []sqltext.Token) (bool, error) {
	c, err := parseCreate(sql, tokens)
	if c == nil || err != nil {
		return false, err
	}
	return true, e.created(c)
}

// create runs a CREATE statement of PerfettoSQL.
func (e *Engine) create(sql string, tokens []sqltext.Token) error {
	c, err := parseCreate(sql, tokens)
	if err != nil {
		return err
	}
	return e.created(c)
}

func (e *Engine) created(c *creation) error {
	switch c.what {
	case "TABLE":
		return e.createTable(c)
	case "VIEW":
		return e.createView(c)
	case "INDEX":
		return e.createIndex(c)
	case "MACRO":
		name := strings.ToLower(c.name)
		if e.macros[name] != nil && !c.replace {
			return sqltext.ErrorAt(c.at, "macro %s exists already", c.name)
		}
		e.macros[name] = c.macro
		return nil
	}
	return e.createFunction(c)
}

// prepare compiles the query in a CREATE statement.
func (e *Engine) prepare(c *creation) (*sqlite.Stmt, error) {
	stmt, rest, err := e.compile(c.body)
	if err != nil {
		return nil, failed(err, c.bodyAt)
	}
	if stmt == nil || stmt.Columns() == 0 || !stmt.ReadOnly() {
		if stmt != nil {
			stmt.Close()
		}
		return nil, sqltext.ErrorAt(c.bodyAt, "CREATE PERFETTO %s %s: want a query", c.what, c.name)
	}
	if strings.TrimSpace(rest) != "" {
		stmt.Close()
		return nil, sqltext.ErrorAt(c.bodyAt+len(c.body)-len(rest), "near %q: syntax error", strings.Fields(rest)[0])
	}
	return stmt, nil
}

// columnNames returns the names of a query's columns, which must suit a table.
func columnNames(c *creation, stmt *sqlite.Stmt) ([]string, error) {
	names := make([]string, stmt.Columns())
	for i := range names {
		name := stmt.Name(i)
		if name == "" || sqltext.IsDigit(name[0]) || strings.ContainsFunc(name, func(r rune) bool { return r > 0x7f || !sqltext.IsWord(byte(r)) }) {
			return nil, sqltext.ErrorAt(c.bodyAt, "CREATE PERFETTO %s %s: column %d needs a name of letters, digits and underscores, not %q", c.what, c.name, i, name)
		}
		if slices.Contains(names[:i], name) {
			return nil, sqltext.ErrorAt(c.bodyAt, "CREATE PERFETTO %s %s: several columns are named %s", c.what, c.name, name)
		}
		names[i] = name
	}
	if !c.declared {
		return names, nil
	}
	for _, a := range c.columns {
		if !slices.Contains(names, a.name) {
			return nil, sqltext.ErrorAt(c.at, "CREATE PERFETTO %s %s: column %s is declared, but the query does not give it", c.what, c.name, a.name)
		}
	}
	for _, name := range names {
		if !slices.ContainsFunc(c.columns, func(a argument) bool { return a.name == name }) {
			return nil, sqltext.ErrorAt(c.at, "CREATE PERFETTO %s %s: the query gives column %s, which is not declared", c.what, c.name, name)
		}
	}
	return names, nil
}

func (e *Engine) createTable(c *creation) error {
	stmt, err := e.prepare(c)
	if err != nil {
		return err
	}
	defer stmt.Close()
	names, err := columnNames(c, stmt)
	if err != nil {
		return err
	}
	kinds := map[int]dataframe.Kind{}
	for _, a := range c.columns {
		kind, ok := a.typ.kind()
		if !ok {
			return sqltext.ErrorAt(c.at, "CREATE PERFETTO TABLE %s: a table cannot have a column of type %s", c.name, a.typ)
		}
		kinds[slices.Index(names, a.name)] = kind
	}
	rows := dataframe.NewCollector(e.pool, names, kinds)
	stmt.ReadAhead()
	for {
		more, err := stmt.Step()
		if err != nil {
			return failed(err, c.bodyAt)
		}
		if !more {
			break
		}
		if err := rows.Add(stmt); err != nil {
			return sqltext.ErrorAt(c.bodyAt, "CREATE PERFETTO TABLE %s: %v", c.name, err)
		}
	}
	stmt.Close()
	f := rows.Frame()
	f.Number("_auto_id")
	return e.addTable(c.name, c.replace, c.at, f)
}

// addTable makes a frame a table.
func (e *Engine) addTable(name string, replace bool, at int, f *dataframe.Frame) error {
	e.pending = f
	defer func() { e.pending = nil }()
	return failed(e.replacing("TABLE", name, replace, fmt.Sprintf("CREATE VIRTUAL TABLE %s USING %s", sqltext.QuoteName(name), frameModule)), at)
}

// replacing runs a statement that creates an object, in place of the one of its name if replace is set. If it fails, the old
// object stays.
func (e *Engine) replacing(what, name string, replace bool, create string) error {
	if !replace {
		return e.db.Exec(create)
	}
	old := e.tables[strings.ToLower(name)]
	if err := e.db.Exec("SAVEPOINT replacing; DROP " + what + " IF EXISTS " + sqltext.QuoteName(name) + ";" + create + "; RELEASE replacing"); err != nil {
		_ = e.db.Exec("ROLLBACK TO replacing; RELEASE replacing")
		if old != nil {
			e.tables[strings.ToLower(name)] = old
		}
		return err
	}
	return nil
}

func (e *Engine) createView(c *creation) error {
	stmt, err := e.prepare(c)
	if err != nil {
		return err
	}
	defer stmt.Close()
	if c.declared {
		if _, err := columnNames(c, stmt); err != nil {
			return err
		}
	}
	stmt.Close()
	return failed(e.replacing("VIEW", c.name, c.replace, "CREATE VIEW "+sqltext.QuoteName(c.name)+" AS "+c.body), c.at)
}

func (e *Engine) createIndex(c *creation) error {
	for name, f := range e.tables {
		if f.HasIndex(c.name) {
			if !c.replace {
				return sqltext.ErrorAt(c.at, "index %s exists already, of table %s", c.name, name)
			}
			f.DropIndex(c.name)
		}
	}
	f := e.tables[strings.ToLower(c.on)]
	if f == nil {
		return sqltext.ErrorAt(c.at, "CREATE PERFETTO INDEX %s: there is no table %s of CREATE PERFETTO TABLE", c.name, c.on)
	}
	x := &dataframe.Index{Name: c.name}
	for _, column := range c.indexed {
		i := slices.IndexFunc(f.Columns, func(c *dataframe.Column) bool { return c.Name == column })
		if i < 0 {
			return sqltext.ErrorAt(c.at, "CREATE PERFETTO INDEX %s: table %s has no column %s", c.name, c.on, column)
		}
		x.Columns = append(x.Columns, i)
	}
	return f.AddIndex(x)
}

// drop runs DROP PERFETTO INDEX name.
func (e *Engine) drop(sql string, tokens []sqltext.Token) error {
	r := &reader{source: sql, tokens: tokens}
	if !r.accept("DROP", "PERFETTO", "INDEX") {
		r.at = 2
		return r.unexpected()
	}
	name, err := r.name()
	if err != nil {
		return err
	}
	for _, f := range e.tables {
		if f.DropIndex(name.Text) {
			return nil
		}
	}
	return sqltext.ErrorAt(name.Pos, "there is no index %s", name.Text)
}
