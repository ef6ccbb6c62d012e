package sqlite

import "fmt"

// ErrMemory says that a database needs more memory than LimitMemory allows. The error gives the limit in bytes.
type ErrMemory int64

func (e ErrMemory) Error() string {
	return fmt.Sprintf("this needs more memory than a session may take, %d MiB", e>>20)
}

// account counts the memory of a database: SQLite's, and what Go keeps for it. SQLite's own limit is one of the process.
// account in c.h begins like it.
type account struct {
	used     int64 // bytes
	brief    int64 // bytes of Go's that the statement uses
	limit    int64
	exceeded int64 // 1 if it was since the statement began
}

// exceed ends the statement.
func (d *DB) exceed() {
	d.memory.exceeded = 1
	d.interrupt()
}

// LimitMemory sets how many bytes the database may take, with the memory that functions and tables Reserve. A statement
// that needs more fails with ErrMemory.
func (d *DB) LimitMemory(n int64) { d.memory.limit = n }

// Memory returns how many bytes the database takes.
func (d *DB) Memory() int64 { return d.memory.used }

// Reserve counts memory of Go that a table or function keeps, until Release. Beyond the limit it returns an error, and ends
// the statement that runs.
func (d *DB) Reserve(n int64) error {
	a := d.memory
	if a.used += n; n > 0 && a.used+a.brief > a.limit {
		d.exceed()
		return ErrMemory(a.limit)
	}
	return nil
}

// Release takes back what was reserved.
func (d *DB) Release(n int64) { d.memory.used -= n }

// Use counts memory of Go that the statement takes, until the next Begin. Beyond the limit it ends the statement.
func (d *DB) Use(n int64) {
	a := d.memory
	if a.brief += n; a.used+a.brief > a.limit {
		d.exceed()
	}
}

// Begin says that a statement begins: what others used is garbage.
func (d *DB) Begin() { d.memory.brief, d.memory.exceeded = 0, 0 }
