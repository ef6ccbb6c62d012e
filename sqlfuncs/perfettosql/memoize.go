package perfettosql

import (
	"fmt"

	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
)

// memo remembers the values of a function of one integer, and turns its recursion into a loop: the body is run to find the
// values that it needs, then again when these are known.
type memo struct {
	values  map[int64]any
	state   map[int64]argState // while a recursive call is unrolled, else nil
	first   []int64            // arguments whose needs are not known yet
	finding bool               // the body runs only to find what it needs
}

type argState int

const (
	scheduled argState = iota + 1
	evaluating
	evaluated
)

// memoize makes a function remember its values.
func (e *Engine) memoize(name string) error {
	f := e.functions[key(name, 1)]
	if f == nil {
		return fmt.Errorf("EXPERIMENTAL_MEMOIZE: there is no function %s of one integer made by CREATE PERFETTO FUNCTION", name)
	}
	if f.args[0].typ != longType && f.args[0].typ != boolType {
		return fmt.Errorf("EXPERIMENTAL_MEMOIZE: the argument of %s is not an integer", name)
	}
	f.memo = &memo{values: map[int64]any{}}
	return nil
}

// remembered is call for a function that remembers its values.
func (f *created) remembered(c sqlite.Context, args []sqlite.Value) error {
	m, n := f.memo, args[0].Int()
	if m.state != nil && m.finding {
		if _, known := m.values[n]; !known {
			switch m.state[n] {
			case evaluating:
				return fmt.Errorf("%s(%d) needs its own value", f.name, n)
			case 0:
				m.state[n] = scheduled
				m.first = append(m.first, n)
			}
		}
		return nil // the value does not matter yet
	}
	if _, known := m.values[n]; !known && f.depth > 0 && m.state == nil {
		if err := f.unroll(n); err != nil {
			return err
		}
	}
	if v, known := m.values[n]; known {
		c.Any(v)
		return nil
	}
	return f.evaluate(args, func(v sqlite.Value) {
		m.values[n] = v.Any()
		c.Value(v)
	})
}

// unroll finds the value for an argument, and the values that it needs.
func (f *created) unroll(n int64) error {
	m := f.memo
	m.state, m.first = map[int64]argState{n: scheduled}, []int64{n}
	defer func() { m.state, m.first, m.finding = nil, nil, false }()
	var second []int64
	for len(m.first) > 0 || len(second) > 0 {
		if len(m.first) > 0 {
			n := m.first[0]
			m.first = m.first[1:]
			second = append(second, n)
			m.finding = true
			_ = f.valueOf(n, func(sqlite.Value) {}) // with NULL for what it needs, it may fail
			m.finding = false
			continue
		}
		n := second[len(second)-1]
		second = second[:len(second)-1]
		m.state[n] = evaluating
		err := f.valueOf(n, func(v sqlite.Value) {
			if v.Type() == sqlite.Integer {
				m.state[n] = evaluated
				m.values[n] = v.Int()
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// valueOf runs the body for an argument.
func (f *created) valueOf(n int64, result func(sqlite.Value)) error {
	return f.run(func(stmt *sqlite.Stmt) (bool, error) {
		if i := f.numbers[0]; i > 0 {
			if err := stmt.Bind(int(i), n); err != nil {
				return false, err
			}
		}
		return stmt.Step()
	}, result)
}
