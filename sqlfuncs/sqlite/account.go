package sqlite

import (
	"fmt"
	"runtime/debug"
	"sync/atomic"
)

// ErrMemory says that a database needs more memory than LimitMemory allows. The error gives the limit in bytes.
type ErrMemory int64

func (e ErrMemory) Error() string {
	return fmt.Sprintf("this needs more memory than a session may take, %d MiB", e>>20)
}

// ErrPool says that databases together need more memory than a Pool has. The error gives its size in bytes.
type ErrPool int64

func (e ErrPool) Error() string {
	return fmt.Sprintf("this needs more memory than others leave of the %d MiB that all sessions may take; try again later", e>>20)
}

// Pool is memory that several databases share. Each may take as much as all of them leave, so that some is always left.
type Pool struct {
	size int64
	used atomic.Int64
}

// NewPool returns a pool of so many bytes.
func NewPool(size int64) *Pool { return &Pool{size: size} }

// Used is how many bytes databases take, as of when they last ran a statement.
func (p *Pool) Used() int64 { return p.used.Load() }

// ReturnMemory gives the system the memory that closed databases have taken.
func ReturnMemory() {
	debug.FreeOSMemory()
	trim()
}

// account counts the memory of a database: SQLite's, and what Go keeps for it. SQLite's own limit is one of the process.
// account in c.h begins like it.
type account struct {
	used     int64 // bytes
	brief    int64 // bytes of Go's that the statement uses
	limit    int64
	exceeded int64 // since the statement began: overLimit, overPool, or 0
}

const (
	overLimit = 1
	overPool  = 2
)

// exceed ends the statement.
func (d *DB) exceed(what int64) {
	d.memory.exceeded = what
	d.interrupt()
}

// ShareMemory counts the database's memory in a pool, too. A statement that needs more than the pool has left fails with ErrPool.
func (d *DB) ShareMemory(p *Pool) { d.pool = p }

// settle tells the pool what the database takes now, and reports whether that is more than before and than what is left.
func (d *DB) settle() (over bool) {
	if d.pool == nil {
		return false
	}
	now := d.memory.used + d.memory.brief
	left := d.pool.size - d.pool.used.Add(now-d.settled)
	over = now > d.settled && now > left
	d.settled = now
	return over
}

// LimitMemory sets how many bytes the database may take, with the memory that functions and tables Reserve. A statement
// that needs more fails with ErrMemory.
func (d *DB) LimitMemory(n int64) { d.memory.limit = n }

// Memory returns how many bytes the database takes.
func (d *DB) Memory() int64 { return d.memory.used }

// Reserve counts memory of Go that a table or function keeps, until Release. Beyond a limit it returns an error, and ends
// the statement that runs.
func (d *DB) Reserve(n int64) error {
	d.memory.used += n
	return d.check(n)
}

// Release takes back what was reserved.
func (d *DB) Release(n int64) { d.memory.used -= n }

// Use counts memory of Go that the statement takes, until the next Begin. Beyond a limit it ends the statement.
func (d *DB) Use(n int64) {
	d.memory.brief += n
	_ = d.check(n)
}

// check ends the statement if n bytes more are too many.
func (d *DB) check(n int64) error {
	switch a := d.memory; {
	case n <= 0:
		return nil
	case a.used+a.brief > a.limit:
		d.exceed(overLimit)
	case d.settle():
		d.exceed(overPool)
	default:
		return nil
	}
	return d.exceeded()
}

// exceeded returns the error of a statement that needs too much memory, or nil.
func (d *DB) exceeded() error {
	switch d.memory.exceeded {
	case overLimit:
		return ErrMemory(d.memory.limit)
	case overPool:
		return ErrPool(d.pool.size)
	}
	return nil
}

// Begin says that a statement begins: what others used is garbage.
func (d *DB) Begin() {
	d.memory.brief, d.memory.exceeded = 0, 0
	d.settle()
}
