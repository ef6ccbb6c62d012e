package perfettosql

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"github.com/tpconvert/tpconvert/sqlfuncs/sqltext"
)

//go:embed prelude/*.sql
var prelude embed.FS

// predefined is a statement of the prelude.
type predefined struct {
	sql   string
	names map[string]bool // all in a function, in lower case
	made  *creation       // by CREATE PERFETTO, or nil
	waits string          // the lower-case name of the table or view that it makes, once a statement names that; "" if it is run at once
}

// statements are those of the prelude, in order.
var statements = sync.OnceValues(func() (all []predefined, err error) {
	paths, err := fs.Glob(prelude, "prelude/*.sql")
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		source, err := fs.ReadFile(prelude, path)
		if err != nil {
			return nil, err
		}
		statements, err := sqltext.Split(string(source))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		for _, one := range statements {
			p, err := newPredefined(one.Text)
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", path, strings.SplitN(one.Text, "\n", 2)[0], err)
			}
			all = append(all, p)
		}
	}
	return all, nil
})

func newPredefined(sql string) (p predefined, err error) {
	tokens, err := sqltext.Tokenize(sql)
	if err != nil {
		return p, err
	}
	p.sql = sql
	if p.made, err = parseCreate(sql, tokens); err != nil {
		return p, err
	}
	switch {
	case p.made == nil:
		p.waits = strings.ToLower(tokens[2].Text) // CREATE TABLE name
	case p.made.what == "VIEW":
		p.waits, p.sql = strings.ToLower(p.made.name), "CREATE VIEW "+sqltext.QuoteName(p.made.name)+" AS "+p.made.body
	case p.made.what == "TABLE":
		p.waits = strings.ToLower(p.made.name)
	default:
		p.made.replace = true // some names are defined in Go too
		p.names = map[string]bool{}
		for _, t := range tokens {
			p.names[strings.ToLower(t.Text)] = true
		}
	}
	return p, nil
}

// wait keeps a statement until another one names the table or view that it makes.
func (e *Engine) wait(name, sql string) {
	e.lazy[name] = sql
	e.waits = append(e.waits, name)
}

// runPrelude defines the functions and macros that every engine has. Its tables and views wait.
func (e *Engine) runPrelude() error {
	all, err := statements()
	if err != nil {
		return err
	}
	for _, p := range all {
		if p.waits != "" {
			e.wait(p.waits, p.sql)
		}
	}
	for _, p := range all {
		if p.waits == "" {
			if err := e.predefine(p); err != nil {
				return fmt.Errorf("%s: %w", p.made.name, err)
			}
		}
	}
	return nil
}

// predefine defines a function or macro of the prelude. The queries of functions are compiled when they are first used.
func (e *Engine) predefine(p predefined) error {
	c := *p.made
	if c.what != "FUNCTION" || c.body == "" {
		return e.created(&c)
	}
	name := strings.ToLower(c.name)
	for other := range p.names {
		if _, waits := e.lazy[other]; other != name && (waits || e.needs[other] != nil) {
			e.needs[name] = append(e.needs[name], other)
		}
	}
	return e.addFunction(&created{engine: e, name: c.name, args: c.args, sql: c.body})
}

// listing are names in statements that see all tables and views: the lists of them, and ALTER. After BEGIN, ROLLBACK would take back
// what was defined in between.
var listing = map[string]bool{
	"sqlite_master": true, "sqlite_schema": true, "table_list": true, "pragma_table_list": true, "alter": true, "begin": true, "savepoint": true,
}

// defineNamed runs the statements that define what a statement names, also in text.
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
		if listing[name] {
			for _, name := range e.waits {
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

// defineLazy defines what waits under a name, or what a function of the prelude needs.
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
