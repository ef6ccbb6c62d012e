package sqlite

import (
	"fmt"
	"strings"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
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

// Flags say what SQLite may assume of a function.
type Flags int32

// Flags of functions.
const (
	Deterministic Flags = lib.SQLITE_DETERMINISTIC // the same arguments give the same result
	DirectOnly    Flags = lib.SQLITE_DIRECTONLY    // not in views
)

// callable is what SQLite's user data of a function points to.
type callable struct {
	db     *DB
	scalar Scalar
	flags  Flags
	begin  func() Aggregate
	args   [][]Value // reused by depth of nested calls
	depth  int
}

// arguments returns the arguments of a call, until release.
func (f *callable) arguments(tls *libc.TLS, argc int32, argv uintptr) []Value {
	if f.depth == len(f.args) {
		f.args = append(f.args, nil)
	}
	a := f.args[f.depth][:0]
	for i := range uintptr(argc) {
		a = append(a, Value{tls, *(*uintptr)(pointer(argv + i*unsafe.Sizeof(argv)))})
	}
	f.args[f.depth] = a
	f.depth++
	return a
}

func (f *callable) release() { f.depth-- }

func called(tls *libc.TLS, ctx uintptr) *callable {
	return (*callable)(pointer(lib.Xsqlite3_user_data(tls, ctx)))
}

// failed reports an error of a function.
func (f *callable) failed(c Context, err error) {
	if err != nil {
		f.db.fail = err
		c.fail(err)
	}
}

var (
	scalarCall = function(func(tls *libc.TLS, ctx uintptr, argc int32, argv uintptr) {
		f, c := called(tls, ctx), Context{tls, ctx}
		args := f.arguments(tls, argc, argv)
		err := f.scalar(c, args)
		f.release()
		f.failed(c, err)
	})
	stepCall = function(func(tls *libc.TLS, ctx uintptr, argc int32, argv uintptr) {
		f, c := called(tls, ctx), Context{tls, ctx}
		args := f.arguments(tls, argc, argv)
		if g := f.group(tls, ctx); g != nil {
			f.db.Use(kept(args))
			f.failed(c, g.Step(args))
		}
		f.release()
	})
	inverseCall = function(func(tls *libc.TLS, ctx uintptr, argc int32, argv uintptr) {
		f, c := called(tls, ctx), Context{tls, ctx}
		args := f.arguments(tls, argc, argv)
		if g := f.group(tls, ctx); g != nil {
			f.failed(c, g.(Window).Inverse(args))
		}
		f.release()
	})
	currentCall = function(func(tls *libc.TLS, ctx uintptr) {
		f, c := called(tls, ctx), Context{tls, ctx}
		if g := f.group(tls, ctx); g != nil {
			f.failed(c, g.(Window).Current(c))
		}
	})
	finalCall = function(func(tls *libc.TLS, ctx uintptr) {
		f, c := called(tls, ctx), Context{tls, ctx}
		id := groupID(tls, ctx)
		if id == nil {
			return
		}
		g, _ := handles.remove(*id).(Aggregate)
		if g == nil {
			g = f.begin()
		}
		f.failed(c, g.Result(c))
	})
	releaseFunction = function(func(_ *libc.TLS, p uintptr) {
		f := (*callable)(pointer(p))
		delete(f.db.kept, f)
	})
)

// kept is about the memory of an aggregate that keeps arguments.
func kept(args []Value) int64 {
	n := int64(0)
	for _, v := range args {
		n += 8
		if t := v.Type(); t == TextOf || t == Blob {
			n += int64(lib.Xsqlite3_value_bytes(v.tls, v.p))
		}
	}
	return n
}

// groupID returns where the number of a group's Aggregate stands. It is nil once the statement has run out of memory.
func groupID(tls *libc.TLS, ctx uintptr) *uintptr {
	return (*uintptr)(pointer(lib.Xsqlite3_aggregate_context(tls, ctx, int32(unsafe.Sizeof(ctx)))))
}

// group returns the Aggregate of a group, or nil as groupID does.
func (f *callable) group(tls *libc.TLS, ctx uintptr) Aggregate {
	id := groupID(tls, ctx)
	if id == nil {
		return nil
	}
	if *id == 0 {
		*id = handles.add(f.begin())
	}
	return handles.get(*id).(Aggregate)
}

// Function defines a function with a number of arguments, -1 for any. It replaces one of the same name and number.
func (d *DB) Function(name string, args int, flags Flags, f Scalar) error {
	return d.define(name, args, flags, &callable{db: d, scalar: f, flags: flags}, scalarCall, 0, 0, 0, 0)
}

// Aggregate defines an aggregate; begin makes one for a group.
func (d *DB) Aggregate(name string, args int, flags Flags, begin func() Aggregate) error {
	return d.define(name, args, flags, &callable{db: d, begin: begin}, 0, stepCall, finalCall, 0, 0)
}

// Window defines an aggregate that is a window function too; begin makes one for a partition.
func (d *DB) Window(name string, args int, flags Flags, begin func() Window) error {
	f := &callable{db: d, begin: func() Aggregate { return begin() }}
	return d.define(name, args, flags, f, 0, stepCall, finalCall, currentCall, inverseCall)
}

// Undefine removes a function.
func (d *DB) Undefine(name string, args int) error {
	p := allocated(d.tls, name)
	defer lib.Xsqlite3_free(d.tls, p)
	if rc := lib.Xsqlite3_create_function_v2(d.tls, d.p, p, int32(args), lib.SQLITE_UTF8, 0, 0, 0, 0, 0); rc != lib.SQLITE_OK {
		return d.error(rc, "")
	}
	return nil
}

func (d *DB) define(name string, args int, flags Flags, f *callable, scalar, step, final, current, inverse uintptr) error {
	p := allocated(d.tls, name)
	defer lib.Xsqlite3_free(d.tls, p)
	d.kept[f] = struct{}{}
	data, n, enc := uintptr(unsafe.Pointer(f)), int32(args), int32(flags)|lib.SQLITE_UTF8
	d.functions[functionKey(name, args)] = f
	var rc int32
	if current != 0 {
		rc = lib.Xsqlite3_create_window_function(d.tls, d.p, p, n, enc, data, step, final, current, inverse, releaseFunction)
	} else {
		rc = lib.Xsqlite3_create_function_v2(d.tls, d.p, p, n, enc, data, scalar, step, final, releaseFunction)
	}
	if rc != lib.SQLITE_OK {
		return d.error(rc, "")
	}
	return nil
}

func functionKey(name string, args int) string {
	return fmt.Sprintf("%s/%d", strings.ToLower(name), args)
}

// Defined reports whether a function of a name and number of arguments was defined in Go.
func (d *DB) Defined(name string, args int) bool { return d.functions[functionKey(name, args)] != nil }

// Alias gives a function that was defined in Go, and gives a value, another name.
func (d *DB) Alias(name, of string, args int) error {
	f := d.functions[functionKey(of, args)]
	if f == nil || f.scalar == nil {
		return fmt.Errorf("there is no function %s of %d arguments", of, args)
	}
	return d.Function(name, args, f.flags, f.scalar)
}
