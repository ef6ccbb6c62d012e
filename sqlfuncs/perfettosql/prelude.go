package perfettosql

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"

	"github.com/tpconvert/tpconvert/sqlfuncs/sqltext"
)

//go:embed prelude/*.sql
var prelude embed.FS

// lazyPrelude is the file of statements that run when a statement first names what they define.
const lazyPrelude = "prelude/lazy.sql"

// runPrelude defines what every engine has. Its queries are compiled when they are first used.
func (e *Engine) runPrelude() error {
	paths, err := fs.Glob(prelude, "prelude/*.sql")
	if err != nil {
		return err
	}
	if err := e.db.Exec("BEGIN"); err != nil {
		return err
	}
	for _, path := range append([]string{lazyPrelude}, paths...) {
		source, err := fs.ReadFile(prelude, path)
		if err != nil {
			return err
		}
		statements, err := sqltext.Split(string(source))
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		for _, one := range statements {
			if err := e.predefine(one.Text, path == lazyPrelude); err != nil {
				return fmt.Errorf("%s: %s: %w", path, strings.SplitN(one.Text, "\n", 2)[0], err)
			}
		}
	}
	return e.db.Exec("COMMIT")
}

// predefine runs a statement of the prelude, or keeps it until its object is named.
func (e *Engine) predefine(sql string, lazy bool) error {
	tokens, err := sqltext.Tokenize(sql)
	if err != nil {
		return err
	}
	c, err := parseCreate(sql, tokens)
	switch {
	case err != nil:
		return err
	case lazy:
		name := tokens[2].Text // CREATE TABLE name
		if c != nil {
			name = c.name
		}
		e.lazy[strings.ToLower(name)] = sql
		return nil
	case c == nil:
		return e.db.Exec(sql)
	case c.body != "":
		for _, t := range tokens {
			name := strings.ToLower(t.Text)
			if _, ok := e.lazy[name]; ok || e.needs[name] != nil {
				e.needs[strings.ToLower(c.name)] = append(e.needs[strings.ToLower(c.name)], name)
			}
		}
	}
	switch {
	case c.what == "VIEW":
		return e.db.Exec("CREATE VIEW " + sqltext.QuoteName(c.name) + " AS " + c.body)
	case c.what == "FUNCTION" && c.body != "":
		return e.addFunction(&created{engine: e, name: c.name, args: c.args, sql: c.body})
	}
	c.replace = true // some names are defined in Go too
	return e.created(c)
}

// defineNamed runs the statements of the lazy prelude that define what a statement names, also in text.
func (e *Engine) defineNamed(tokens []sqltext.Token) error {
	if len(e.lazy) == 0 {
		return nil
	}
	for _, t := range tokens {
		if t.Kind != sqltext.Word && t.Kind != sqltext.Quoted && t.Kind != sqltext.Text {
			continue
		}
		name := strings.ToLower(t.Text)
		if t.Kind == sqltext.Text && strings.ContainsAny(name, " (\n") {
			if inner, err := sqltext.Tokenize(t.Text); err == nil {
				if err := e.defineNamed(inner); err != nil {
					return err
				}
			}
			continue
		}
		if name == "sqlite_master" || name == "sqlite_schema" || name == "alter" { // ALTER looks at all views
			for name := range e.lazy {
				if err := e.defineLazy(name); err != nil {
					return err
				}
			}
		}
		if err := e.defineLazy(name); err != nil {
			return err
		}
	}
	return nil
}

// defineLazy defines an object of the lazy prelude, or what an object of the prelude needs.
func (e *Engine) defineLazy(name string) error {
	for _, needed := range e.needs[name] {
		if err := e.defineLazy(needed); err != nil {
			return err
		}
	}
	sql, ok := e.lazy[name]
	if !ok {
		return nil
	}
	delete(e.lazy, name)
	if err := e.run(sql, nil, false); err != nil { // it was interrupted
		e.lazy[name] = sql
		return err
	}
	return nil
}
