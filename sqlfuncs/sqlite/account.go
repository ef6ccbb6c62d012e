package sqlite

import (
	"fmt"
	"maps"
	"math"
	"sync"
	"sync/atomic"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// ErrMemory says that a database needs more memory than LimitMemory allows. The error gives the limit in bytes.
type ErrMemory int64

func (e ErrMemory) Error() string {
	return fmt.Sprintf("this needs more memory than a session may take, %d MiB", e>>20)
}

// account counts the memory of a database: SQLite's, and what Go keeps for it. SQLite's own limit is one of the process.
type account struct {
	db       *DB
	used     int64 // bytes
	brief    int64 // bytes of Go's that the statement uses
	limit    int64
	exceeded bool // since the statement began
}

// mustServe is the size of requests, in bytes, that are always served: few callers expect that they fail. If there are too
// many of them, the interruption ends the statement.
const mustServe = 4096

// take counts n more bytes, and reports whether there may be so many.
func (a *account) take(n int64) bool {
	a.used += n
	if n <= 0 || a.used+a.brief <= a.limit {
		return true
	}
	a.exceed()
	if n < mustServe {
		return true
	}
	a.used -= n
	return false
}

// exceed ends the statement.
func (a *account) exceed() {
	a.exceeded = true
	if a.db.p != 0 {
		lib.Xsqlite3_interrupt(a.db.tls, a.db.p)
	}
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
		a.exceed()
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
		a.exceed()
	}
}

// Begin says that a statement begins: what others used is garbage.
func (d *DB) Begin() { d.memory.brief, d.memory.exceeded = 0, false }

// accounts are those of the open databases, by the thread that SQLite thinks it runs on: allocators get nothing else. Each
// map is never changed.
var accounts = struct {
	of atomic.Pointer[map[*libc.TLS]*account]
	mu sync.Mutex
}{}

func accountOf(tls *libc.TLS) *account {
	if of := accounts.of.Load(); of != nil {
		return (*of)[tls]
	}
	return nil
}

// changeAccounts replaces the map of accounts.
func changeAccounts(change func(map[*libc.TLS]*account)) {
	accounts.mu.Lock()
	defer accounts.mu.Unlock()
	next := map[*libc.TLS]*account{}
	if of := accounts.of.Load(); of != nil {
		next = maps.Clone(*of)
	}
	change(next)
	accounts.of.Store(&next)
}

func openAccount(d *DB) {
	d.memory = &account{db: d, limit: math.MaxInt64}
	changeAccounts(func(of map[*libc.TLS]*account) { of[d.tls] = d.memory })
}

func (a *account) close() {
	changeAccounts(func(of map[*libc.TLS]*account) { delete(of, a.db.tls) })
}

// allocator are SQLite's own functions for memory.
var allocator struct {
	malloc  func(*libc.TLS, int32) uintptr
	realloc func(*libc.TLS, uintptr, int32) uintptr
	free    func(*libc.TLS, uintptr)
	size    func(*libc.TLS, uintptr) int32
}

func countedMalloc(tls *libc.TLS, n int32) uintptr {
	a := accountOf(tls)
	if a == nil {
		return allocator.malloc(tls, n)
	}
	if !a.take(int64(n)) {
		return 0
	}
	p := allocator.malloc(tls, n)
	if p == 0 {
		a.used -= int64(n)
	}
	return p
}

func countedRealloc(tls *libc.TLS, p uintptr, n int32) uintptr {
	a := accountOf(tls)
	if a == nil {
		return allocator.realloc(tls, p, n)
	}
	more := int64(n) - int64(allocator.size(tls, p))
	if !a.take(more) {
		return 0
	}
	q := allocator.realloc(tls, p, n)
	if q == 0 {
		a.used -= more
	}
	return q
}

func countedFree(tls *libc.TLS, p uintptr) {
	if a := accountOf(tls); a != nil {
		a.used -= int64(allocator.size(tls, p))
	}
	allocator.free(tls, p)
}

// countMemory makes SQLite count memory. It must be called before all that allocates.
func countMemory(tls *libc.TLS) {
	methods := tls.Alloc(int(unsafe.Sizeof(lib.Tsqlite3_mem_methods{})))
	defer tls.Free(int(unsafe.Sizeof(lib.Tsqlite3_mem_methods{})))
	list := tls.Alloc(8)
	defer tls.Free(8)
	configure := func(option int32) {
		if rc := lib.Xsqlite3_config(tls, option, libc.VaList(list, methods)); rc != lib.SQLITE_OK {
			panic(fmt.Sprintf("sqlite: configuring memory: code %d", rc))
		}
	}
	configure(lib.SQLITE_CONFIG_GETMALLOC)
	m := (*lib.Tsqlite3_mem_methods)(pointer(methods))
	allocator.malloc = funcAt[func(*libc.TLS, int32) uintptr](m.FxMalloc)
	allocator.realloc = funcAt[func(*libc.TLS, uintptr, int32) uintptr](m.FxRealloc)
	allocator.free = funcAt[func(*libc.TLS, uintptr)](m.FxFree)
	allocator.size = funcAt[func(*libc.TLS, uintptr) int32](m.FxSize)
	m.FxMalloc, m.FxRealloc, m.FxFree = function(countedMalloc), function(countedRealloc), function(countedFree)
	configure(lib.SQLITE_CONFIG_MALLOC)
}
