// What c.c and the code in Go share.

#pragma once

#include <stddef.h>
#include <stdint.h>

// The C code of SQLite is that of another package. While cgo looks at this one, its functions are not there yet.
#pragma GCC visibility push(default)
#define SQLITE_API __attribute__((weak))
#include "sqlite3.h"
#pragma GCC visibility pop

typedef void (*callback)(sqlite3_context *, int, sqlite3_value **);

// Account is what a database has taken of memory: account in Go.
typedef struct {
	int64_t used, brief, limit;
	int64_t exceeded;
	sqlite3 *db;
	int64_t pieces; // allocations, and 1 while the database is open
} account;

// A cell is a value, packed so that Go reads and writes it without a call.
typedef struct {
	int32_t type;   // SQLite's, or one of those below
	int32_t n;      // bytes of a text or BLOB
	int64_t bits;   // of a number, or an address
	uint64_t value; // the sqlite3_value behind it; the kind of a pointer
} cell;

// Rows are those that a statement has gone through at once.
typedef struct {
	uint64_t cells; // address of the rows, each of n cells
	int32_t n;
	int32_t wanted, got;
	int32_t integers; // texts and BLOBs become integers
	uint64_t bytes, size; // address of room for the texts of all rows but the last, whose texts SQLite has
} rows;

enum { CELL_STATIC = 16, CELL_VALUE, CELL_POINTER, CELL_JSON, CELL_ERROR, CELL_NOMEM };

// A column of a cursor's rows, whose values C reads in memory of Go's that is pinned.
typedef struct {
	int32_t kind;
	int64_t first;         // of a sequence: its value in row 0
	uint64_t data, nulls;  // addresses of the values, and of a bit for each row that is NULL
	uint64_t texts;        // address of the addresses of chunks of texts
	int64_t row;           // of COLUMN_CELL: the count of rows at which it was read
	cell cell;
} column;

enum { COLUMN_UNKNOWN, COLUMN_CELL, COLUMN_SEQUENCE, COLUMN_INT32, COLUMN_INT64, COLUMN_FLOAT, COLUMN_TEXT };

// What a Lookup has found: for integers in ascending order, the row of one of the columns.
typedef struct {
	uint64_t integers, rows, which; // addresses of arrays
	int64_t n;
	int64_t near; // where the last search ended
	column columns[3];
} lookup;

// A test of a column's value.
typedef struct {
	column column;
	int32_t op;
} test;

enum { MOST_PLAN = 64 };

// A cursor is at a row of a list, or of a range if there is no list.
typedef struct cursor {
	sqlite3_vtab_cursor base;
	uint64_t handle;   // of the cursor in Go, or 0
	int64_t at, end;
	uint64_t list;     // address of the numbers of rows
	int64_t more;      // after the end, Go is asked for more rows
	int64_t row;       // counts rows
	uint64_t columns;  // address of an array
	int64_t known;     // number of columns in it
	const char *plan;  // that searches, or NULL
	column search;     // where
	int64_t op;        // how
	uint64_t order;    // address of the numbers of rows by value, or 0 if the values ascend
	uint64_t slots;    // address of a hash table of places in the order + 1, to search for a text, or 0
	uint64_t mask;     // of its slots
	int64_t rows;      // number of rows by value
	int64_t near;      // where the last search ended
	uint64_t tests;    // address of an array, for the other arguments
	int64_t tested;    // number of tests
	int64_t limited;   // whether the last argument is the most rows
	uint64_t passed;   // address of room for rows that pass them
	int32_t number;    // of the plan
	char text[MOST_PLAN]; // of the plan, for which the cursor is kept when it is closed; or ""
	struct cursor *kept;  // another one
} cursor;

typedef struct {
	sqlite3_vtab base;
	uint64_t handle;
	cursor *kept; // closed cursors with plans that search, which a function's statement asks for again and again
} table;

// Reals become texts of so many digits, as in Trace Processor's SQLite.
enum { FP_DIGITS = 15 };

int tp_configure(void);
int tp_open(account *, uint64_t handle, sqlite3 **);
int tp_close(account *, sqlite3 *);
void tp_watch_actions(sqlite3 *, uint64_t handle);
void tp_watch_progress(sqlite3 *, int instructions, uint64_t handle);

int tp_prepare(account *, sqlite3 *, const char *text, size_t n, sqlite3_stmt **, size_t *used);
int tp_step(account *, sqlite3_stmt *, rows *);
int tp_start(account *, sqlite3_stmt *, rows *, const int32_t *parameters, cell **args, int n);
int tp_finish(account *, sqlite3_stmt *);
void tp_reset(account *, sqlite3_stmt *);
void tp_finalize(account *, sqlite3_stmt *);
int tp_bind(account *, sqlite3_stmt *, int i, int type, int64_t bits, const void *bytes, uint64_t n);
int tp_bind_pointer(sqlite3_stmt *, int i, uint64_t handle, const char *kind);
void *tp_malloc(account *, uint64_t);

int tp_define(account *, sqlite3 *, const char *name, int args, int flags, uint64_t handle, int what);
enum { DEFINE_NOTHING, DEFINE_SCALAR, DEFINE_AGGREGATE, DEFINE_GATHERED, DEFINE_WINDOW, DEFINE_LOOKUP };
int tp_define_module(account *, sqlite3 *, const char *name, uint64_t handle, int created);
char *tp_message(const char *text, size_t n);
int tp_next_in(cell *list, cell *item, int first);
int tp_constant(sqlite3_index_info *, int i, cell *);
