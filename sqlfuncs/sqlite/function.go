package sqlite

import (
	"fmt"
	"strings"
)

// Scalar is a function in Go. Args are valid during the call.
type Scalar func(c Context, args []Value) error

// Aggregate collects the rows of a group.
type Aggregate interface {
	Step(args []Value) error
	// Result is called once, at the end of the group.
	Result(c Context) error
}

// Window is an Aggregate that also works over a moving window.
type Window interface {
	Aggregate
	// Current gives the value for the rows that are in the window.
	Current(c Context) error
	// Inverse takes out the oldest row.
	Inverse(args []Value) error
}

// callable is a function as SQLite's user data has it.
type callable struct {
	db     *DB
	scalar Scalar
	find   func(text string) (*Found, error) // of a Lookup
	lookups
	flags  Flags
	begin  func() Aggregate
	window bool
	args   [][]Value // reused by depth of nested calls
	depth  int
}

// failed reports an error of a function.
func (f *callable) failed(c Context, err error) {
	if err != nil {
		f.db.fail = err
		c.fail(err)
	}
}

// place returns room for the arguments of a call, until release.
func (f *callable) place() *[]Value {
	if f.depth == len(f.args) {
		f.args = append(f.args, nil)
	}
	p := &f.args[f.depth]
	*p = (*p)[:0]
	f.depth++
	return p
}

func (f *callable) release() { f.depth-- }

func (f *callable) call(c Context, args []Value) {
	err := f.scalar(c, args)
	f.release()
	f.failed(c, err)
}

// step adds rows to a group, whose handle it returns. The handle of a new group is 0.
func (f *callable) step(c Context, group uintptr, rows int, args []Value) uintptr {
	if group == 0 {
		group = handles.add(f.begin())
	}
	f.db.Use(kept(args))
	a, n := handles.get(group).(Aggregate), len(args)/rows
	for ; rows > 0; rows-- {
		if err := a.Step(args[:n]); err != nil {
			f.failed(c, err)
			break
		}
		args = args[n:]
	}
	f.release()
	return group
}

func (f *callable) inverse(c Context, group uintptr, args []Value) {
	if w, ok := handles.get(group).(Window); ok {
		f.failed(c, w.Inverse(args))
	}
	f.release()
}

func (f *callable) current(c Context, group uintptr) uintptr {
	if group == 0 {
		group = handles.add(f.begin())
	}
	f.failed(c, handles.get(group).(Window).Current(c))
	return group
}

func (f *callable) final(c Context, group uintptr) {
	g, _ := handles.remove(group).(Aggregate)
	if g == nil {
		g = f.begin()
	}
	f.failed(c, g.Result(c))
}

// kept is about the memory of an aggregate that keeps arguments.
func kept(args []Value) int64 {
	n := int64(0)
	for _, v := range args {
		n += 8 + v.size()
	}
	return n
}

// Function defines a function with a number of arguments, -1 for any. It replaces one of the same name and number.
func (d *DB) Function(name string, args int, flags Flags, f Scalar) error {
	return d.add(name, args, &callable{db: d, scalar: f, flags: flags})
}

// Aggregate defines an aggregate; begin makes one for a group.
func (d *DB) Aggregate(name string, args int, flags Flags, begin func() Aggregate) error {
	return d.add(name, args, &callable{db: d, begin: begin, flags: flags})
}

// Window defines an aggregate that is a window function too; begin makes one for a partition.
func (d *DB) Window(name string, args int, flags Flags, begin func() Window) error {
	return d.add(name, args, &callable{db: d, begin: func() Aggregate { return begin() }, flags: flags, window: true})
}

// Undefine removes a function.
func (d *DB) Undefine(name string, args int) error {
	if code := d.define(name, args, nil); code != codeOK {
		return d.error(code, "")
	}
	return nil
}

func (d *DB) add(name string, args int, f *callable) error {
	d.functions[functionKey(name, args)] = f
	if code := d.define(name, args, f); code != codeOK {
		return d.error(code, "")
	}
	return nil
}

func functionKey(name string, args int) string {
	return fmt.Sprintf("%s/%d", strings.ToLower(name), args)
}

// Defined reports whether a function of a name and number of arguments was defined in Go.
func (d *DB) Defined(name string, args int) bool { return d.functions[functionKey(name, args)] != nil }

// Alias gives a function that was defined in Go, and gives a value, another name.
func (d *DB) Alias(name, existing string, args int) error {
	f := d.functions[functionKey(existing, args)]
	if f == nil || f.scalar == nil {
		return fmt.Errorf("there is no function %s of %d arguments", existing, args)
	}
	return d.Function(name, args, f.flags, f.scalar)
}
