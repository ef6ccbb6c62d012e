package sqlfuncs

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tpconvert/tpconvert/sqlfuncs/sqltext"
)

// Catalog creates tables, views and macros when a statement first names them, because creating all of them takes
// longer than most queries.
type Catalog struct {
	conn    *sql.Conn
	objects []object
	named   map[string][]int // by lower-case name
	pending int              // objects that do not exist yet
}

// object is a table, view or macro that is created when it is first needed.
type object struct {
	statements []string // CREATE, and perhaps COMMENT ON; nil once it exists
}

// CreateOn makes the catalog create its objects on a connection, beginning with the registration. It needs the connection
// for itself, so queries must run on another.
func (c *Catalog) CreateOn(ctx context.Context, conn *sql.Conn) error {
	c.conn = conn
	return c.Create(ctx, registration)
}

// Add adds an object with the statements that create it.
func (c *Catalog) Add(name string, statements ...string) {
	name = strings.ToLower(name)
	c.named[name] = append(c.named[name], len(c.objects))
	c.objects = append(c.objects, object{statements})
	c.pending++
}

// Create creates the objects that a statement names, and those that they need. Names in quotes count, because macros
// take names of tables as text. A statement such as SHOW TABLES can see objects that it does not name, so it needs
// all of them.
func (c *Catalog) Create(ctx context.Context, statement string) error {
	if c.Complete() {
		return nil
	}
	if looksAround(statement) {
		return c.CreateAll(ctx)
	}
	return c.run(ctx, c.find(statement, nil))
}

// CreateAll creates all objects that do not exist yet.
func (c *Catalog) CreateAll(ctx context.Context) error {
	if c == nil {
		return nil
	}
	var all []int
	for i, o := range c.objects {
		if o.statements != nil {
			all = append(all, i)
		}
	}
	return c.run(ctx, all)
}

// Statements returns the statements that create the objects, in order.
func (c *Catalog) Statements() (all []string) {
	for _, o := range c.objects {
		all = append(all, o.statements...)
	}
	return all
}

// Complete reports whether all objects exist.
func (c *Catalog) Complete() bool { return c == nil || c.pending == 0 }

// find adds the missing objects that a text needs to found.
func (c *Catalog) find(text string, found []int) []int {
	for word := range sqltext.Words(text) {
		for _, i := range c.named[word] {
			if c.objects[i].statements == nil || slices.Contains(found, i) {
				continue
			}
			found = append(found, i)
			found = c.find(c.objects[i].statements[0], found)
		}
	}
	return found
}

// run creates objects in the order of their declaration.
func (c *Catalog) run(ctx context.Context, objects []int) error {
	if len(objects) == 0 {
		return nil
	}
	slices.Sort(objects)
	tx, err := c.conn.BeginTx(ctx, nil) // a commit per statement would double the time
	if err != nil {
		return err
	}
	for _, i := range objects {
		for _, s := range c.objects[i].statements {
			if _, err := tx.ExecContext(ctx, s); err != nil {
				return errors.Join(fmt.Errorf("%s: %w", s, err), tx.Rollback())
			}
		}
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	for _, i := range objects {
		c.objects[i].statements = nil
	}
	c.pending -= len(objects)
	return nil
}

// around are words of statements that need all objects: the catalog's functions and tables, and commands that list
// objects. BEGIN is one because a transaction does not see objects created after its start.
var around = map[string]bool{
	"begin": true, "transaction": true, "show": true, "describe": true, "pragma": true, "export": true, "database": true,
	"information_schema": true, "sqlite_master": true, "sqlite_schema": true,
}

func looksAround(statement string) bool {
	first := true
	for word := range sqltext.Words(statement) {
		if around[word] || first && word == "desc" || strings.HasPrefix(word, "duckdb_") ||
			strings.HasPrefix(word, "pg_") || strings.HasPrefix(word, "pragma_") {
			return true
		}
		first = false
	}
	return false
}
