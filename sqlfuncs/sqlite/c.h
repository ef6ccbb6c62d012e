// What sqlite3.c and the code in Go share. The declarations of SQLite are those that are used here; see
// https://sqlite.org/c3ref for what they mean.

#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct sqlite3 sqlite3;
typedef struct sqlite3_stmt sqlite3_stmt;
typedef struct sqlite3_value sqlite3_value;
typedef struct sqlite3_context sqlite3_context;
typedef struct sqlite3_index_info sqlite3_index_info;
typedef struct sqlite3_module sqlite3_module;

typedef struct sqlite3_vtab {
	const sqlite3_module *module;
	int references;
	char *message;
} sqlite3_vtab;

typedef struct sqlite3_vtab_cursor {
	sqlite3_vtab *table;
} sqlite3_vtab_cursor;

// The C code of SQLite is that of another package. While cgo looks at this one, its functions are not there yet.
#pragma GCC visibility push(default)
#define SQLITE __attribute__((weak))
SQLITE int sqlite3_initialize(void);
SQLITE int sqlite3_config(int, ...);
SQLITE int sqlite3_db_config(sqlite3 *, int, ...);
SQLITE int sqlite3_open_v2(const char *, sqlite3 **, int, const char *);
SQLITE int sqlite3_close_v2(sqlite3 *);
SQLITE int sqlite3_extended_result_codes(sqlite3 *, int);
SQLITE int sqlite3_drop_modules(sqlite3 *, const char **);
SQLITE void sqlite3_interrupt(sqlite3 *);
SQLITE int sqlite3_is_interrupted(sqlite3 *);
SQLITE int sqlite3_limit(sqlite3 *, int, int);
SQLITE int sqlite3_set_authorizer(sqlite3 *, int (*)(void *, int, const char *, const char *, const char *, const char *), void *);
SQLITE void sqlite3_progress_handler(sqlite3 *, int, int (*)(void *), void *);
SQLITE const char *sqlite3_errmsg(sqlite3 *);
SQLITE int sqlite3_error_offset(sqlite3 *);
SQLITE int sqlite3_strglob(const char *, const char *);
SQLITE void *sqlite3_malloc64(uint64_t);
SQLITE void sqlite3_free(void *);

SQLITE int sqlite3_prepare_v2(sqlite3 *, const char *, int, sqlite3_stmt **, const char **);
SQLITE int sqlite3_step(sqlite3_stmt *);
SQLITE int sqlite3_reset(sqlite3_stmt *);
SQLITE int sqlite3_finalize(sqlite3_stmt *);
SQLITE int sqlite3_stmt_readonly(sqlite3_stmt *);
SQLITE int sqlite3_column_count(sqlite3_stmt *);
SQLITE const char *sqlite3_column_name(sqlite3_stmt *, int);
SQLITE const char *sqlite3_column_decltype(sqlite3_stmt *, int);
SQLITE sqlite3_value *sqlite3_column_value(sqlite3_stmt *, int);
SQLITE int sqlite3_bind_parameter_count(sqlite3_stmt *);
SQLITE int sqlite3_bind_parameter_index(sqlite3_stmt *, const char *);
SQLITE const char *sqlite3_bind_parameter_name(sqlite3_stmt *, int);
SQLITE int sqlite3_bind_null(sqlite3_stmt *, int);
SQLITE int sqlite3_bind_int64(sqlite3_stmt *, int, int64_t);
SQLITE int sqlite3_bind_double(sqlite3_stmt *, int, double);
SQLITE int sqlite3_bind_text64(sqlite3_stmt *, int, const char *, uint64_t, void (*)(void *), unsigned char);
SQLITE int sqlite3_bind_blob64(sqlite3_stmt *, int, const void *, uint64_t, void (*)(void *));
SQLITE int sqlite3_bind_value(sqlite3_stmt *, int, const sqlite3_value *);
SQLITE int sqlite3_bind_pointer(sqlite3_stmt *, int, void *, const char *, void (*)(void *));

SQLITE int sqlite3_value_type(sqlite3_value *);
SQLITE int sqlite3_value_numeric_type(sqlite3_value *);
SQLITE int64_t sqlite3_value_int64(sqlite3_value *);
SQLITE double sqlite3_value_double(sqlite3_value *);
SQLITE const unsigned char *sqlite3_value_text(sqlite3_value *);
SQLITE const void *sqlite3_value_blob(sqlite3_value *);
SQLITE int sqlite3_value_bytes(sqlite3_value *);
SQLITE void *sqlite3_value_pointer(sqlite3_value *, const char *);
SQLITE unsigned int sqlite3_value_subtype(sqlite3_value *);
SQLITE sqlite3_value *sqlite3_value_dup(const sqlite3_value *);
SQLITE void sqlite3_value_free(sqlite3_value *);

SQLITE void *sqlite3_user_data(sqlite3_context *);
SQLITE void *sqlite3_get_auxdata(sqlite3_context *, int);
SQLITE void sqlite3_set_auxdata(sqlite3_context *, int, void *, void (*)(void *));
SQLITE int sqlite3_strlike(const char *, const char *, unsigned int);
SQLITE void *sqlite3_aggregate_context(sqlite3_context *, int);
SQLITE void sqlite3_result_int64(sqlite3_context *, int64_t);
SQLITE void sqlite3_result_double(sqlite3_context *, double);
SQLITE void sqlite3_result_text64(sqlite3_context *, const char *, uint64_t, void (*)(void *), unsigned char);
SQLITE void sqlite3_result_blob64(sqlite3_context *, const void *, uint64_t, void (*)(void *));
SQLITE void sqlite3_result_pointer(sqlite3_context *, void *, const char *, void (*)(void *));
SQLITE void sqlite3_result_subtype(sqlite3_context *, unsigned int);
SQLITE void sqlite3_result_error(sqlite3_context *, const char *, int);
SQLITE void sqlite3_result_error_nomem(sqlite3_context *);

typedef void (*callback)(sqlite3_context *, int, sqlite3_value **);
SQLITE int sqlite3_create_function_v2(sqlite3 *, const char *, int, int, void *, callback, callback, void (*)(sqlite3_context *), void (*)(void *));
SQLITE int sqlite3_create_window_function(sqlite3 *, const char *, int, int, void *, callback, void (*)(sqlite3_context *), void (*)(sqlite3_context *), callback, void (*)(void *));
SQLITE int sqlite3_create_module_v2(sqlite3 *, const char *, const sqlite3_module *, void *, void (*)(void *));
SQLITE int sqlite3_declare_vtab(sqlite3 *, const char *);
SQLITE int sqlite3_vtab_in(sqlite3_index_info *, int, int);
SQLITE int sqlite3_vtab_in_first(sqlite3_value *, sqlite3_value **);
SQLITE int sqlite3_vtab_in_next(sqlite3_value *, sqlite3_value **);
SQLITE int sqlite3_vtab_rhs_value(sqlite3_index_info *, int, sqlite3_value **);
SQLITE int sqlite3_vtab_distinct(sqlite3_index_info *);
#pragma GCC visibility pop

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
