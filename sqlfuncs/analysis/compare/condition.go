package compare

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Condition is an expression about a row, such as slice.total > 1.05 && p < 0.01.
type Condition struct {
	expr  ast.Expr
	Names []string // of values that it uses, such as p, which needs a test
	Kinds []string // that it names
}

// errOtherKind ends the evaluation for a row of another kind than the expression is about.
var errOtherKind = errors.New("the row is of another kind")

// ParseCondition reads an expression: numbers, texts, p, effect, diff, kind, name, process and thread; VALUE or KIND.VALUE, which is
// the ratio of a value after to that before; arithmetic, comparisons, &&, || and !.
func ParseCondition(text string) (*Condition, error) {
	expr, err := parser.ParseExpr(text)
	if err != nil {
		return nil, fmt.Errorf("%q is no expression such as slice.total > 1.05 && p < 0.01: %w", text, err)
	}
	c := &Condition{expr: expr}
	ast.Inspect(expr, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			c.Names = append(c.Names, n.Name)
		case *ast.SelectorExpr:
			if kind, ok := n.X.(*ast.Ident); ok && !slices.Contains(c.Kinds, kind.Name) {
				c.Kinds = append(c.Kinds, kind.Name)
			}
			c.Names = append(c.Names, n.Sel.Name)
			return false
		}
		return true
	})
	for _, kind := range Kinds { // finds unknown names and wrong types
		if _, err := c.Holds(&Row{Key: Key{Kind: kind}, P: 1}); err != nil {
			return nil, fmt.Errorf("%q: %w", text, err)
		}
	}
	return c, nil
}

// Holds reports whether the expression is true of a row.
func (c *Condition) Holds(r *Row) (bool, error) {
	v, err := value(c.expr, r)
	if err == errOtherKind {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	holds, ok := v.(bool)
	if !ok {
		return false, errors.New("it is not true or false")
	}
	return holds, nil
}

// value evaluates an expression: to a float64, string or bool. A comparison with what is unknown is false.
func value(e ast.Expr, r *Row) (any, error) {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return value(e.X, r)
	case *ast.BasicLit:
		switch e.Kind {
		case token.INT, token.FLOAT:
			return strconv.ParseFloat(e.Value, 64)
		case token.STRING:
			return strconv.Unquote(e.Value)
		}
	case *ast.Ident:
		return named(e.Name, r)
	case *ast.SelectorExpr:
		kind, ok := e.X.(*ast.Ident)
		switch {
		case !ok:
			return nil, fmt.Errorf("at character %d: want KIND.VALUE, such as slice.total", e.Pos())
		case !slices.Contains(Kinds, kind.Name):
			return nil, fmt.Errorf("there is no kind %s, only %s", kind.Name, strings.Join(Kinds, ", "))
		}
		v, err := named(e.Sel.Name, r)
		if err == nil && kind.Name != r.Kind {
			err = errOtherKind
		}
		return v, err
	case *ast.UnaryExpr:
		x, err := value(e.X, r)
		if err != nil {
			return nil, err
		}
		switch x := x.(type) {
		case bool:
			if e.Op == token.NOT {
				return !x, nil
			}
		case float64:
			if e.Op == token.SUB {
				return -x, nil
			}
		}
	case *ast.BinaryExpr:
		return binary(e, r)
	}
	return nil, fmt.Errorf("at character %d: this is not supported", e.Pos())
}

func binary(e *ast.BinaryExpr, r *Row) (any, error) {
	x, err := value(e.X, r)
	if e.Op == token.LOR && err == errOtherKind { // the other side may be about this kind
		x, err = false, nil
	}
	if err != nil {
		return nil, err
	}
	y, err := value(e.Y, r)
	if e.Op == token.LOR && err == errOtherKind {
		y, err = false, nil
	}
	if err != nil {
		return nil, err
	}
	switch x := x.(type) {
	case bool:
		if y, ok := y.(bool); ok {
			switch e.Op {
			case token.LAND:
				return x && y, nil
			case token.LOR:
				return x || y, nil
			}
		}
	case string:
		if y, ok := y.(string); ok {
			switch e.Op {
			case token.EQL:
				return x == y, nil
			case token.NEQ:
				return x != y, nil
			}
		}
	case float64:
		if y, ok := y.(float64); ok {
			return numeric(e, x, y)
		}
	}
	return nil, fmt.Errorf("at character %d: %s does not work on these", e.OpPos, e.Op)
}

func numeric(e *ast.BinaryExpr, x, y float64) (any, error) {
	switch e.Op {
	case token.LSS:
		return x < y, nil
	case token.LEQ:
		return x <= y, nil
	case token.GTR:
		return x > y, nil
	case token.GEQ:
		return x >= y, nil
	case token.EQL:
		return x == y, nil
	case token.NEQ:
		return x != y && !math.IsNaN(x) && !math.IsNaN(y), nil
	case token.ADD:
		return x + y, nil
	case token.SUB:
		return x - y, nil
	case token.MUL:
		return x * y, nil
	case token.QUO:
		return x / y, nil
	}
	return nil, fmt.Errorf("at character %d: %s does not work on numbers", e.OpPos, e.Op)
}

// named returns what a name stands for.
func named(name string, r *Row) (any, error) {
	switch name {
	case "p":
		return r.P, nil
	case "effect":
		return r.Effect, nil
	case "diff":
		return r.Diff(), nil
	case "kind":
		return r.Kind, nil
	case "name":
		return r.Name, nil
	case "process":
		return r.Process, nil
	case "thread":
		return r.Thread, nil
	}
	i := slices.Index(fieldNames, name)
	if i < 0 {
		return nil, fmt.Errorf("there is no %s, only p, effect, diff, kind, name, process, thread, %s", name, strings.Join(fieldNames, ", "))
	}
	return *fields[i](&r.Is) / *fields[i](&r.Was), nil
}
