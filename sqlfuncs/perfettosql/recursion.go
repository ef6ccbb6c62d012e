package perfettosql

import (
	"context"
	"fmt"
	"strings"
)

// Recursion evaluates functions that call themselves, which DuckDB's macros cannot do. They are evaluated by a function of
// the connection for each type in RecursiveTypes: RecursiveFunction(type)(name, site, arguments...). The site numbers the
// calls in the function's own body, or is -1 in other statements.
type Recursion interface {
	// Define adds a function, or replaces one. The body is a query of one value with the parameters $1, $2 and so on.
	Define(name, body string)
}

// RecursiveTypes are the DuckDB types that a function that calls itself can have as its result.
var RecursiveTypes = []string{"BIGINT", "DOUBLE", "VARCHAR", "BLOB"}

// RecursiveFunction returns the name of the function that evaluates calls with results of a type.
func RecursiveFunction(kind string) string { return "_recursive_" + strings.ToLower(kind) }

// recursiveCall returns the start of a call of RecursiveFunction.
func recursiveCall(kind, name string, site int) string {
	return fmt.Sprintf("%s(%s, %d::BIGINT", RecursiveFunction(kind), literal(strings.ToLower(name)), site)
}

// again translates a call of the function whose body is being read.
func (p *parser) again(args []expr, t token) expr {
	call := cat(&piece{text: recursiveCall(p.returns, p.function, p.calls), pos: t.pos})
	p.calls++
	for i, kind := range p.kinds {
		if kind == "VARIANT" {
			p.fail(t, "%s calls itself, so its parameters must have types", p.function)
		}
		call = cat(call, ", (", args[i].whole(), ")::"+kind)
	}
	call = cat(call, ")")
	if p.otherwise != nil { // DuckDB runs queries in all branches of IIF and CASE
		call = cat("CASE WHEN ", p.otherwise, " THEN NULL ELSE ", call, " END")
	}
	return expr{sql: call, class: always(classOfType(p.returns))}
}

// recursion is a function that calls itself.
type recursion struct {
	name, returns string
	value, body   [2]string         // around the body: a query of its value without arguments, and the one of Recursion.Define
	bound         map[string]string // parameters of the query in place of the function's
}

// query returns the query of Recursion.Define. It has the arguments as a row, too, like the body of a macro, but DuckDB would
// apply conditions with columns of that row only after it has called the function for all rows.
func (r *recursion) query(body pieces) string {
	var all pieces
	for _, p := range body {
		if bound := r.bound[p.text]; bound != "" {
			p = &piece{text: bound}
		}
		all = append(all, p)
	}
	return r.body[0] + "\n" + all.String() + "\n" + r.body[1]
}

// returned returns the type of a recursive function's results. SQLite converts no result to the declared type.
func (s *Session) returned(ctx context.Context, t *statement) (string, error) {
	query := t.recursion.value[0] + t.body.line() + t.recursion.value[1]
	switch c := (known{s, ctx}).class(query); {
	case c == unknown, c == ofNull:
		return t.recursion.returns, nil // binding the body fails, or any type fits
	case c == ofReal:
		return "DOUBLE", nil
	case c.number():
		return "BIGINT", nil
	case c == ofText, c == ofBlob:
		return typeNames[c], nil
	}
	return "", &Error{0, t.recursion.name + " calls itself, so its results must have the same type"}
}

// memoize checks the argument of EXPERIMENTAL_MEMOIZE. Results of functions that call themselves are always kept while a
// statement runs.
func (s *Session) memoize(name string) error {
	kinds, ok := s.functions[strings.ToLower(name)]
	switch {
	case !ok || len(kinds) != 1:
		return fmt.Errorf("EXPERIMENTAL_MEMOIZE: there is no function %s with one parameter", name)
	case kinds[0] != "BIGINT":
		return fmt.Errorf("EXPERIMENTAL_MEMOIZE: the parameter of %s must be an integer", name)
	}
	return nil
}
