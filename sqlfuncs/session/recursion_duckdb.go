//go:build cgo

package session

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/duckdb/duckdb-go/v2"

	"github.com/tpconvert/tpconvert/sqlfuncs/perfettosql"
)

// recursion evaluates functions of PerfettoSQL that call themselves. Their bodies are queries on a connection of its own. A
// call inside a body whose value is not known yet gives NULL; its value is found, and then the body runs again. So a function
// can call itself as deep as it likes without a deep stack.
type recursion struct {
	conn *sql.Conn

	turn sync.Mutex // one call from outside at a time

	mu        sync.Mutex      // guards what follows: DuckDB may run a query in several threads
	ctx       context.Context // of the statement that runs
	functions map[string]*recursive
	missing   []call // of one site, whose values the body that runs needs
	site      site
}

// recursive is a function that calls itself.
type recursive struct {
	name, body string
	stmt       *sql.Stmt               // nil until the first call
	known      map[string]driver.Value // by arguments
}

// call is a call of a function. No other arguments have its key.
type call struct {
	*recursive
	key  string
	args []any
}

// site is a place that calls a function.
type site struct {
	name   string
	number int64
}

func newRecursion(conn *sql.Conn) *recursion {
	return &recursion{conn: conn, ctx: context.Background(), functions: map[string]*recursive{}}
}

// Define is that of perfettosql.Recursion.
func (r *recursion) Define(name, body string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if old := r.functions[name]; old != nil {
		_ = old.close() // nothing was written
	}
	r.functions[name] = &recursive{name: name, body: body}
}

// begin forgets all values, because a statement may have changed what the functions read. The context is that of the next one.
func (r *recursion) begin(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ctx = ctx
	for _, f := range r.functions {
		f.known = nil
	}
}

// forget forgets the functions.
func (r *recursion) forget() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var err error
	for _, f := range r.functions {
		err = errors.Join(err, f.close())
	}
	clear(r.functions)
	return err
}

// Close closes the connection.
func (r *recursion) Close() error { return errors.Join(r.forget(), r.conn.Close()) }

func (f *recursive) close() error {
	if f.stmt == nil {
		return nil
	}
	return f.stmt.Close()
}

// inBody is the key of a mark in the context of bodies.
type inBody struct{}

// call is the function that perfettosql.RecursiveFunction names: of a name, a site and arguments.
func (r *recursion) call(ctx context.Context, row []driver.Value) (any, error) {
	at := site{row[0].(string), row[1].(int64)}
	c := call{key: fmt.Sprintf("%#v", row[2:]), args: values(row[2:])}
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.recursive = r.functions[at.name]; c.recursive == nil {
		return nil, fmt.Errorf("there is no function %s", at.name)
	}
	if v, ok := c.known[c.key]; ok {
		return v, nil
	}
	if ctx.Value(inBody{}) == nil {
		statement := r.ctx
		r.mu.Unlock()
		defer r.mu.Lock()
		return r.value(context.WithValue(statement, inBody{}, true), c)
	}
	// The values of one site do not depend on each other, but whether another site is reached may depend on them.
	if r.missing == nil || at == r.site {
		r.missing, r.site = append(r.missing, c), at
	}
	return nil, nil
}

// maxRecursion is the number of calls that may wait for each other. Trace Processor ends with a full stack at some thousands.
const maxRecursion = 100_000

// value evaluates a call from outside.
func (r *recursion) value(ctx context.Context, outer call) (any, error) {
	r.turn.Lock()
	defer r.turn.Unlock()
	type key struct {
		*recursive
		key string
	}
	calls, waiting := []call{outer}, map[key]bool{}
	for len(calls) > 0 {
		c := calls[len(calls)-1]
		if _, ok := c.known[c.key]; ok {
			calls = calls[:len(calls)-1]
			continue
		}
		v, missing, err := r.run(ctx, c)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case missing == nil && err != nil:
			return nil, fmt.Errorf("%s: %w", c.name, err)
		case missing == nil:
			delete(waiting, key{c.recursive, c.key})
			r.learn(c, v)
			continue
		}
		if waiting[key{c.recursive, c.key}] = true; len(waiting) > maxRecursion {
			return nil, fmt.Errorf("%s calls itself more than %d levels deep", c.name, maxRecursion)
		}
		slices.Reverse(missing) // the first one is evaluated first
		for _, m := range missing {
			if waiting[key{m.recursive, m.key}] {
				return nil, fmt.Errorf("%s calls itself with the same arguments", m.name)
			}
		}
		calls = append(calls, missing...)
	}
	return outer.known[outer.key], nil
}

// learn keeps the value of a call.
func (r *recursion) learn(c call, v driver.Value) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.known == nil {
		c.known = map[string]driver.Value{}
	}
	c.known[c.key] = v
}

// run runs the body of a function. It returns its value, or the calls that it needs.
func (r *recursion) run(ctx context.Context, c call) (v any, missing []call, err error) {
	if c.stmt == nil {
		if c.stmt, err = r.conn.PrepareContext(ctx, c.body); err != nil {
			return nil, nil, err
		}
	}
	err = c.stmt.QueryRowContext(ctx, c.args...).Scan(&v)
	r.mu.Lock()
	defer r.mu.Unlock()
	missing, r.missing = r.missing, nil
	return v, missing, err
}

// addRecursion registers the functions that evaluate calls.
func addRecursion(conn *sql.Conn, calls *recursion) error {
	r := &registry{conn: conn}
	kinds := map[string]duckdb.Type{
		"BIGINT": duckdb.TYPE_BIGINT, "DOUBLE": duckdb.TYPE_DOUBLE, "VARCHAR": duckdb.TYPE_VARCHAR, "BLOB": duckdb.TYPE_BLOB,
	}
	for _, kind := range perfettosql.RecursiveTypes {
		config := taking(r.kind(kinds[kind]), r.kind(duckdb.TYPE_VARCHAR), r.kind(duckdb.TYPE_BIGINT))
		config.VariadicTypeInfo, config.SpecialNullHandling, config.Volatile = r.kind(duckdb.TYPE_ANY), true, true
		r.add(perfettosql.RecursiveFunction(kind), config, calls.call)
	}
	return r.err
}
