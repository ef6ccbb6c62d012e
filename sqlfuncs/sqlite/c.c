//go:build cgo && linux && !gosqlite

#include <malloc.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "_cgo_export.h"

// Operators of tests.
enum {
	OP_EQ = SQLITE_INDEX_CONSTRAINT_EQ,
	OP_GT = SQLITE_INDEX_CONSTRAINT_GT,
	OP_LE = SQLITE_INDEX_CONSTRAINT_LE,
	OP_LT = SQLITE_INDEX_CONSTRAINT_LT,
	OP_GE = SQLITE_INDEX_CONSTRAINT_GE,
	OP_NE = SQLITE_INDEX_CONSTRAINT_NE,
	OP_ISNOTNULL = SQLITE_INDEX_CONSTRAINT_ISNOTNULL,
	OP_ISNULL = SQLITE_INDEX_CONSTRAINT_ISNULL,
	OP_IN = 255, // In in Go
};

// Memory. SQLite's allocator gets nothing but a size, so the account of a call is one of the thread.

static __thread account *current;

#define ENTER(a) account *outer = current; current = (a)
#define LEAVE() current = outer

// Each piece of memory has a header.
typedef struct {
	account *of;
	uint64_t n;
} header;

// Requests of less are always served: few callers expect that they fail. If there are too many of them, the interruption
// ends the statement.
enum { MUST_SERVE = 4096 };

// take counts n more bytes of an account, and says whether there may be so many.
static int take(account *a, int64_t n) {
	a->used += n;
	if (n <= 0 || a->used + a->brief <= a->limit) return 1;
	a->exceeded = 1;
	if (a->db) sqlite3_interrupt(a->db);
	if (n < MUST_SERVE) return 1;
	a->used -= n;
	return 0;
}

static void *memory_malloc(int n) {
	account *a = current;
	if (a && !take(a, n)) return NULL;
	header *h = malloc(sizeof *h + n);
	if (!h) {
		if (a) a->used -= n;
		return NULL;
	}
	if (a) a->pieces++;
	h->of = a;
	h->n = n;
	return h + 1;
}

static void forget_piece(account *a) {
	if (--a->pieces == 0) free(a);
}

static void memory_free(void *p) {
	header *h = (header *)p - 1;
	if (h->of) {
		h->of->used -= h->n;
		forget_piece(h->of);
	}
	free(h);
}

static void *memory_realloc(void *p, int n) {
	header *h = (header *)p - 1;
	int64_t more = n - (int64_t)h->n;
	if (h->of && !take(h->of, more)) return NULL;
	header *to = realloc(h, sizeof *h + n);
	if (!to) {
		if (h->of) h->of->used -= more;
		return NULL;
	}
	to->n = n;
	return to + 1;
}

static int memory_size(void *p) { return p ? ((header *)p - 1)->n : 0; }
static int memory_roundup(int n) { return (n + 7) & ~7; }
static int memory_init(void *p) { return SQLITE_OK; }
static void memory_shutdown(void *p) {}

// What statements free is kept for others, up to KEPT_BYTES: new memory of the system has to be cleared first.
enum { KEPT_BYTES = 16 << 20, MAPPED_BYTES = 4 << 20, STEP_BYTES = 1 << 20 };

static void keep_memory(void) {
#ifdef __GLIBC__
	mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
	mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES);
	mallopt(M_TOP_PAD, STEP_BYTES);
#endif
}

int tp_configure(void) {
	keep_memory();
	static const sqlite3_mem_methods methods = {memory_malloc, memory_free, memory_realloc, memory_size, memory_roundup, memory_init, memory_shutdown, NULL};
	int rc = sqlite3_config(SQLITE_CONFIG_MALLOC, &methods);
	if (rc == SQLITE_OK) rc = sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
	return rc == SQLITE_OK ? sqlite3_initialize() : rc;
}

void *tp_malloc(account *a, uint64_t n) {
	ENTER(a);
	void *p = sqlite3_malloc64(n);
	LEAVE();
	return p;
}

// Databases and statements.

static int define_math(sqlite3 *);

// undefine removes the functions of FTS3, which without its modules would read memory that is free.
static int undefine(sqlite3 *db) {
	static const struct {
		const char *name;
		int args;
	} list[] = {{"fts3_tokenizer", 1}, {"fts3_tokenizer", 2}, {"snippet", -1}, {"offsets", 1}, {"matchinfo", 1}, {"matchinfo", 2}, {"optimize", 1}};
	int rc = SQLITE_OK;
	for (size_t i = 0; i < sizeof list / sizeof *list && rc == SQLITE_OK; i++) {
		rc = sqlite3_create_function_v2(db, list[i].name, list[i].args, SQLITE_UTF8, NULL, NULL, NULL, NULL, NULL);
	}
	return rc;
}

int tp_open(account *a, uint64_t handle, sqlite3 **to) {
	ENTER(a);
	int rc = sqlite3_open_v2(":memory:", to, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
	a->db = *to;
	if (rc == SQLITE_OK) {
		sqlite3_extended_result_codes(*to, 1);
		sqlite3_drop_modules(*to, NULL);
		rc = undefine(*to);
	}
	if (rc == SQLITE_OK) rc = sqlite3_db_config(*to, SQLITE_DBCONFIG_FP_DIGITS, FP_DIGITS, (int *)NULL);
	if (rc == SQLITE_OK) rc = define_math(*to);
	LEAVE();
	return rc;
}

int tp_close(account *a, sqlite3 *db) {
	a->db = NULL;
	ENTER(a);
	int rc = sqlite3_close_v2(db);
	LEAVE();
	forget_piece(a);
	return rc;
}

static int authorize(void *handle, int action, const char *first, const char *second, const char *database, const char *trigger) {
	return goAuthorize((uintptr_t)handle, action, (char *)first, (char *)second);
}

void tp_watch_actions(sqlite3 *db, uint64_t handle) { sqlite3_set_authorizer(db, authorize, (void *)handle); }

static int progress(void *handle) {
	goProgress((uintptr_t)handle);
	return 0;
}

void tp_watch_progress(sqlite3 *db, int instructions, uint64_t handle) {
	sqlite3_progress_handler(db, instructions, instructions ? progress : NULL, (void *)handle);
}

int tp_prepare(account *a, sqlite3 *db, const char *text, size_t n, sqlite3_stmt **to, size_t *used) {
	const char *tail = text;
	ENTER(a);
	int rc = sqlite3_prepare_v2(db, text, n, to, &tail);
	LEAVE();
	*used = tail - text;
	return rc;
}

// pack makes a cell of a value.
static void pack(cell *c, sqlite3_value *v) {
	c->value = (uintptr_t)v;
	switch (c->type = sqlite3_value_type(v)) {
	case SQLITE_INTEGER:
		c->bits = sqlite3_value_int64(v);
		break;
	case SQLITE_FLOAT: {
		double d = sqlite3_value_double(v);
		memcpy(&c->bits, &d, sizeof d);
		break;
	}
	case SQLITE_TEXT:
	case SQLITE_BLOB: // the call of the other type would convert the value
		c->bits = (intptr_t)(c->type == SQLITE_TEXT ? sqlite3_value_text(v) : sqlite3_value_blob(v));
		c->n = c->bits ? sqlite3_value_bytes(v) : 0;
	}
}

// keep copies the texts of a row to the room at p, and returns the room that is left, or NULL if there is too little.
static char *keep(cell *row, int n, char *p, const char *end) {
	int64_t size = 0;
	for (int i = 0; i < n; i++) {
		if (row[i].type == SQLITE_TEXT || row[i].type == SQLITE_BLOB) size += row[i].n;
	}
	if (size > end - p) return NULL;
	for (int i = 0; i < n; i++) {
		row[i].value = 0;
		if (row[i].type == SQLITE_TEXT || row[i].type == SQLITE_BLOB) {
			memcpy(p, (void *)row[i].bits, row[i].n);
			row[i].bits = (intptr_t)p;
			p += row[i].n;
		}
	}
	return p;
}

#ifndef CLOCK_MONOTONIC_COARSE
#define CLOCK_MONOTONIC_COARSE CLOCK_MONOTONIC
#endif

static int64_t now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

enum { SOON = 2000000 }; // ns within which rows go on together

// tp_step goes to the next row, and on to as many as are wanted.
int tp_step(account *a, sqlite3_stmt *s, rows *r) {
	cell *row = (cell *)r->cells;
	char *free = (char *)r->bytes;
	const char *end = free + r->size;
	int64_t until = r->wanted > 1 ? now() + SOON : 0;
	int rc;
	r->got = 0;
	ENTER(a);
	for (;;) {
		rc = sqlite3_step(s);
		if (rc != SQLITE_ROW) break;
		for (int i = 0; i < r->n; i++) {
			sqlite3_value *v = sqlite3_column_value(s, i);
			pack(&row[i], v);
			if (r->integers && (row[i].type == SQLITE_TEXT || row[i].type == SQLITE_BLOB)) {
				row[i].type = SQLITE_INTEGER;
				row[i].bits = sqlite3_value_int64(v);
			}
		}
		if (++r->got == r->wanted || now() > until || !(free = keep(row, r->n, free, end))) break;
		row += r->n;
	}
	LEAVE();
	return rc;
}

// tp_start runs a statement from its beginning, with arguments.
int tp_start(account *a, sqlite3_stmt *s, rows *r, const int32_t *parameters, cell **args, int n) {
	int rc = SQLITE_OK;
	ENTER(a);
	sqlite3_reset(s);
	for (int i = 0; i < n && rc == SQLITE_OK; i++) {
		if (!parameters[i]) continue;
		if (args[i]->type == SQLITE_INTEGER) {
			rc = sqlite3_bind_int64(s, parameters[i], args[i]->bits);
		} else {
			rc = sqlite3_bind_value(s, parameters[i], (sqlite3_value *)args[i]->value);
		}
	}
	LEAVE();
	return rc == SQLITE_OK ? tp_step(a, s, r) : rc;
}

// tp_finish looks for another row, and resets the statement.
int tp_finish(account *a, sqlite3_stmt *s) {
	ENTER(a);
	int rc = sqlite3_step(s);
	if (rc == SQLITE_ROW || rc == SQLITE_DONE) sqlite3_reset(s);
	LEAVE();
	return rc;
}

void tp_reset(account *a, sqlite3_stmt *s) {
	ENTER(a);
	sqlite3_reset(s);
	LEAVE();
}

void tp_finalize(account *a, sqlite3_stmt *s) {
	ENTER(a);
	sqlite3_finalize(s);
	LEAVE();
}

static void forget(void *handle) { goForget((uintptr_t)handle); }

int tp_bind(account *a, sqlite3_stmt *s, int i, int type, int64_t bits, const void *bytes, uint64_t n) {
	int rc = SQLITE_ERROR;
	double d;
	ENTER(a);
	switch (type) {
	case SQLITE_INTEGER:
		rc = sqlite3_bind_int64(s, i, bits);
		break;
	case SQLITE_FLOAT:
		memcpy(&d, &bits, sizeof d);
		rc = sqlite3_bind_double(s, i, d);
		break;
	case SQLITE_TEXT:
		rc = sqlite3_bind_text64(s, i, n ? bytes : "", n, SQLITE_TRANSIENT, SQLITE_UTF8);
		break;
	case SQLITE_BLOB:
		rc = sqlite3_bind_blob64(s, i, n ? bytes : "", n, SQLITE_TRANSIENT);
		break;
	case SQLITE_NULL:
		rc = sqlite3_bind_null(s, i);
		break;
	case CELL_VALUE:
		rc = sqlite3_bind_value(s, i, (sqlite3_value *)bits);
	}
	LEAVE();
	return rc;
}

int tp_bind_pointer(sqlite3_stmt *s, int i, uint64_t handle, const char *kind) {
	return sqlite3_bind_pointer(s, i, (void *)handle, kind, forget);
}

// Functions.

static void give(sqlite3_context *ctx, const cell *c) {
	void *p = (void *)(intptr_t)c->bits;
	double d;
	switch (c->type) {
	case SQLITE_INTEGER:
		sqlite3_result_int64(ctx, c->bits);
		break;
	case SQLITE_FLOAT:
		memcpy(&d, &c->bits, sizeof d);
		sqlite3_result_double(ctx, d);
		break;
	case SQLITE_TEXT:
		sqlite3_result_text64(ctx, c->n ? p : "", c->n, SQLITE_TRANSIENT, SQLITE_UTF8);
		break;
	case SQLITE_BLOB:
		sqlite3_result_blob64(ctx, c->n ? p : "", c->n, SQLITE_TRANSIENT);
		break;
	case CELL_STATIC:
		sqlite3_result_text64(ctx, p, c->n, NULL, SQLITE_UTF8_ZT);
		break;
	case CELL_JSON:
		sqlite3_result_text64(ctx, c->n ? p : "", c->n, SQLITE_TRANSIENT, SQLITE_UTF8);
		sqlite3_result_subtype(ctx, 'J');
		break;
	case CELL_POINTER:
		sqlite3_result_pointer(ctx, p, (const char *)c->value, forget);
		break;
	case CELL_ERROR:
		sqlite3_result_error(ctx, p, c->n);
		break;
	case CELL_NOMEM:
		sqlite3_result_error_nomem(ctx);
	}
}

// Most calls have few arguments, and calls that lead to each other share a small stack.
enum { LOCAL_ARGS = 16 };

// packed returns cells of arguments, in the caller's own if they fit; NULL if there may not be so much memory.
static cell *packed(cell *local, int argc, sqlite3_value **argv) {
	cell *args = argc <= LOCAL_ARGS ? local : sqlite3_malloc64(argc * sizeof *args);
	for (int i = 0; args && i < argc; i++) pack(&args[i], argv[i]);
	return args;
}

static void unpack(const cell *local, cell *args) {
	if (args != local) sqlite3_free(args);
}

#define PACK(argc, argv) \
	cell local[LOCAL_ARGS], *args = packed(local, argc, argv), result = {args ? SQLITE_NULL : CELL_NOMEM}

static void call_scalar(sqlite3_context *ctx, int argc, sqlite3_value **argv) {
	PACK(argc, argv);
	if (args) goScalar((uintptr_t)sqlite3_user_data(ctx), argc, args, &result);
	unpack(local, args);
	give(ctx, &result);
}

// simple says whether a pattern is short and has at most two stars, and else only ASCII letters that stand for themselves.
static int simple(const char *p, int n) {
	int stars = 0;
	if (!p || n > 256) return 0;
	for (int i = 0; i < n; i++) {
		if (p[i] == '*') {
			stars++;
		} else if (!p[i] || (p[i] & 0x80) || p[i] == '?' || p[i] == '[') {
			return 0;
		}
	}
	return stars <= 2;
}

// simple_like is simple for a pattern of LIKE.
static int simple_like(const char *p, int n) {
	int signs = 0;
	if (!p || n > 256) return 0;
	for (int i = 0; i < n; i++) {
		if (p[i] == '%') {
			signs++;
		} else if (!p[i] || (p[i] & 0x80) || p[i] == '_') {
			return 0;
		}
	}
	return signs <= 2;
}

// call_glob is GLOB for what cannot take long and is asked most. Go's can be interrupted.
static void call_glob(sqlite3_context *ctx, int argc, sqlite3_value **argv) {
	if (sqlite3_value_type(argv[0]) == SQLITE_TEXT && sqlite3_value_type(argv[1]) == SQLITE_TEXT) {
		const char *pattern = (const char *)sqlite3_value_text(argv[0]), *text = (const char *)sqlite3_value_text(argv[1]);
		int n = sqlite3_value_bytes(argv[1]);
		if (simple(pattern, sqlite3_value_bytes(argv[0])) && text && n < 1024 && !memchr(text, 0, n)) {
			sqlite3_result_int64(ctx, sqlite3_strglob(pattern, text) == 0);
			return;
		}
	}
	call_scalar(ctx, argc, argv);
}

static const uint64_t basis = 0xcbf29ce484222325, prime = 0x100000001b3; // of FNV-1a

// hash_bytes continues a hash.
static uint64_t hash_bytes(uint64_t h, const void *p, int n) {
	for (const unsigned char *at = p, *end = at + n; at < end; at++) h = (h ^ *at) * prime;
	return h;
}

// call_hash is FNV-1a of integers and texts, of which flame graphs ask for each row. Go's has the error for others.
static void call_hash(sqlite3_context *ctx, int argc, sqlite3_value **argv) {
	uint64_t h = basis;
	for (int i = 0; i < argc; i++) {
		cell c;
		pack(&c, argv[i]);
		if (c.type == SQLITE_INTEGER) {
			for (int at = 0; at < 64; at += 8) h = (h ^ ((uint64_t)c.bits >> at & 0xff)) * prime;
		} else if (c.type == SQLITE_TEXT && c.bits) {
			h = hash_bytes(h, (void *)c.bits, c.n);
		} else {
			call_scalar(ctx, argc, argv);
			return;
		}
	}
	sqlite3_result_int64(ctx, h);
}

// call_exp and call_ln are those of C, as in Trace Processor: Go's may differ in the last bit.
static void call_exp(sqlite3_context *ctx, int argc, sqlite3_value **argv) {
	int type = sqlite3_value_numeric_type(argv[0]);
	if (type == SQLITE_INTEGER || type == SQLITE_FLOAT) sqlite3_result_double(ctx, exp(sqlite3_value_double(argv[0])));
}

static void call_ln(sqlite3_context *ctx, int argc, sqlite3_value **argv) {
	int type = sqlite3_value_numeric_type(argv[0]);
	double x = sqlite3_value_double(argv[0]);
	if ((type == SQLITE_INTEGER || type == SQLITE_FLOAT) && x > 0) sqlite3_result_double(ctx, log(x));
}

// is_null says whether a column has no value in a row.
static int is_null(const column *c, int64_t row) {
	return c->nulls && ((const uint64_t *)c->nulls)[row >> 6] >> (row & 63) & 1;
}

// integer is the value of a column of integers.
static int64_t integer(const column *c, int64_t row) {
	switch (c->kind) {
	case COLUMN_INT32:
		return ((const int32_t *)c->data)[row];
	case COLUMN_INT64:
		return ((const int64_t *)c->data)[row];
	}
	return c->first + row;
}

typedef struct {
	const char *p;
	int64_t n;
} text;

enum { CHUNK_BITS = 8 }; // chunkBits in Go

// text_at is the value of a column of texts.
static const text *text_at(const column *c, int64_t row) {
	uint32_t id = ((const uint32_t *)c->data)[row];
	return ((const text *const *)c->texts)[id >> CHUNK_BITS] + (id & ((1 << CHUNK_BITS) - 1));
}

// give_value makes a column's value the result.
static void give_value(sqlite3_context *ctx, const column *c, int64_t row) {
	if (is_null(c, row)) return;
	switch (c->kind) {
	case COLUMN_FLOAT:
		sqlite3_result_double(ctx, ((const double *)c->data)[row]);
		break;
	case COLUMN_TEXT: {
		const text *t = text_at(c, row);
		sqlite3_result_text64(ctx, t->p, t->n, NULL, SQLITE_UTF8_ZT);
		break;
	}
	default:
		sqlite3_result_int64(ctx, integer(c, row));
	}
}

// known_row returns the place of an integer in a lookup, or -1.
static int64_t known_row(lookup *l, uint32_t x) {
	const uint32_t *of = (const uint32_t *)l->integers;
	int64_t from = 0, to = l->n;
	if (l->near < to) { // statements mostly ask in ascending order
		if (of[l->near] == x) return l->near;
		if (of[l->near] < x) {
			int64_t step = 1;
			from = l->near + 1;
			while (from + step < to && of[from + step] < x) from += step, step *= 2;
			if (from + step < to) to = from + step + 1;
		} else {
			to = l->near;
		}
	}
	while (from < to) {
		int64_t middle = from + (to - from) / 2;
		if (of[middle] < x) {
			from = middle + 1;
		} else {
			to = middle;
		}
	}
	l->near = from;
	return from < l->n && of[from] == x ? from : -1;
}

// call_lookup asks Go for what is known about a text when it sees for the second time that it is a constant.
static void call_lookup(sqlite3_context *ctx, int argc, sqlite3_value **argv) {
	static char seen;
	if (sqlite3_value_type(argv[0]) == SQLITE_NULL) return;
	if (sqlite3_value_type(argv[0]) != SQLITE_INTEGER || sqlite3_value_type(argv[1]) != SQLITE_TEXT) {
		call_scalar(ctx, argc, argv);
		return;
	}
	lookup *l = sqlite3_get_auxdata(ctx, 1);
	if (l == (lookup *)&seen) {
		l = goLookup((uintptr_t)sqlite3_user_data(ctx), (char *)sqlite3_value_text(argv[1]), sqlite3_value_bytes(argv[1]));
		if (l) sqlite3_set_auxdata(ctx, 1, l, NULL);
	} else if (!l) {
		sqlite3_set_auxdata(ctx, 1, &seen, NULL);
	}
	if (!l || l == (lookup *)&seen) {
		call_scalar(ctx, argc, argv);
		return;
	}
	int64_t at = known_row(l, (uint32_t)sqlite3_value_int64(argv[0]));
	if (at >= 0) give_value(ctx, &l->columns[((const uint8_t *)l->which)[at]], ((const uint32_t *)l->rows)[at]);
}

// call_like is LIKE for what cannot take long. Go's can be interrupted.
static void call_like(sqlite3_context *ctx, int argc, sqlite3_value **argv) {
	if (sqlite3_value_type(argv[0]) == SQLITE_TEXT && sqlite3_value_type(argv[1]) == SQLITE_TEXT) {
		const char *pattern = (const char *)sqlite3_value_text(argv[0]), *of = (const char *)sqlite3_value_text(argv[1]);
		int n = sqlite3_value_bytes(argv[1]);
		if (simple_like(pattern, sqlite3_value_bytes(argv[0])) && of && n < 1024 && !memchr(of, 0, n)) {
			sqlite3_result_int64(ctx, sqlite3_strlike(pattern, of, 0) == 0);
			return;
		}
	}
	call_scalar(ctx, argc, argv);
}

// quick returns what computes a function in C as far as it can, or calls Go.
static callback quick(const char *name, int args) {
	if (args == 2 && !strcmp(name, "glob")) return call_glob;
	if (args == 2 && !strcmp(name, "like")) return call_like;
	if (args == 1 && (!strcmp(name, "exp") || !strcmp(name, "__intrinsic_exp"))) return call_exp;
	if (args == 1 && (!strcmp(name, "ln") || !strcmp(name, "__intrinsic_ln"))) return call_ln;
	return args == -1 && !strcmp(name, "hash") ? call_hash : call_scalar;
}

// A group of an aggregate: its handle in Go, and rows that Go has not seen yet.
typedef struct {
	uint64_t handle;
	cell *rows; // each of argc cells
	cell *texts; // copies of the texts in the rows, one for each argument
	int32_t n, argc;
} group;

enum { GATHERED = 64 }; // rows

// group_of returns the group of a call. It is NULL once the statement has run out of memory.
static group *group_of(sqlite3_context *ctx) { return sqlite3_aggregate_context(ctx, sizeof(group)); }

static void call_step(sqlite3_context *ctx, int argc, sqlite3_value **argv) {
	group *g = group_of(ctx);
	if (!g) return;
	PACK(argc, argv);
	if (args) g->handle = goStep((uintptr_t)sqlite3_user_data(ctx), g->handle, 1, argc, args, &result);
	unpack(local, args);
	give(ctx, &result);
}

// pass gives Go the rows of a group that it has not seen, and says whether it took them.
static int pass(sqlite3_context *ctx, group *g) {
	cell result = {SQLITE_NULL};
	if (g->n) g->handle = goStep((uintptr_t)sqlite3_user_data(ctx), g->handle, g->n, g->argc, g->rows, &result);
	g->n = 0;
	if (result.type == SQLITE_NULL) return 1;
	give(ctx, &result);
	return 0;
}

// keep_text keeps a text for an argument, and says whether it could.
static int keep_text(sqlite3_context *ctx, cell *kept, sqlite3_value *v) {
	sqlite3_value_free((sqlite3_value *)kept->value);
	memset(kept, 0, sizeof *kept);
	sqlite3_value *copy = sqlite3_value_dup(v);
	if (copy) {
		pack(kept, copy);
	} else {
		sqlite3_result_error_nomem(ctx);
	}
	return copy != NULL;
}

// gather makes room for rows of a group, and says whether there is some. The first row of a group is not kept, as there may be many
// groups of one row.
static int gather(group *g, int argc) {
	if (!g->handle || g->rows) return g->rows != NULL;
	g->rows = sqlite3_malloc64(argc * (GATHERED + 1) * sizeof(cell));
	if (!g->rows) return 0;
	g->argc = argc;
	g->texts = g->rows + GATHERED * argc;
	memset(g->texts, 0, argc * sizeof *g->texts);
	return 1;
}

// call_gather is call_step that keeps rows, so that Go is called once for many. Texts have to be the same in all of them, such as the
// name of a column.
static void call_gather(sqlite3_context *ctx, int argc, sqlite3_value **argv) {
	group *g = group_of(ctx);
	if (!g) return;
	if (!gather(g, argc)) {
		call_step(ctx, argc, argv);
		return;
	}
	cell *row = g->rows + g->n * argc;
	for (int i = 0; i < argc; i++) {
		cell *c = &row[i], *kept = &g->texts[i];
		pack(c, argv[i]);
		c->value = 0;
		if (c->type == SQLITE_BLOB) {
			if (pass(ctx, g)) call_step(ctx, argc, argv);
			return;
		}
		if (c->type != SQLITE_TEXT) continue;
		if (!kept->value || c->n != kept->n || memcmp((void *)c->bits, (void *)kept->bits, c->n)) {
			if (!pass(ctx, g)) return; // those before have the other text
			memmove(g->rows, row, i * sizeof *row);
			row = g->rows;
			if (!keep_text(ctx, kept, argv[i])) return;
		}
		row[i] = *kept;
	}
	if (++g->n == GATHERED) pass(ctx, g);
}

static void call_inverse(sqlite3_context *ctx, int argc, sqlite3_value **argv) {
	group *g = group_of(ctx);
	if (!g) return;
	PACK(argc, argv);
	if (args) goInverse((uintptr_t)sqlite3_user_data(ctx), g->handle, argc, args, &result);
	unpack(local, args);
	give(ctx, &result);
}

static void call_current(sqlite3_context *ctx) {
	group *g = group_of(ctx);
	if (!g) return;
	cell result = {SQLITE_NULL};
	g->handle = goCurrent((uintptr_t)sqlite3_user_data(ctx), g->handle, &result);
	give(ctx, &result);
}

static void call_final(sqlite3_context *ctx) {
	group *g = group_of(ctx);
	if (!g) return;
	cell result = {SQLITE_NULL};
	int complete = pass(ctx, g);
	goFinal((uintptr_t)sqlite3_user_data(ctx), g->handle, &result);
	for (int i = 0; g->rows && i < g->argc; i++) sqlite3_value_free((sqlite3_value *)g->texts[i].value);
	sqlite3_free(g->rows);
	memset(g, 0, sizeof *g);
	if (complete) {
		give(ctx, &result);
	} else if (result.type == CELL_POINTER) {
		forget((void *)result.bits);
	}
}

int tp_define(account *a, sqlite3 *db, const char *name, int args, int flags, uint64_t handle, int what) {
	void *data = (void *)handle;
	int rc;
	ENTER(a);
	switch (what) {
	case DEFINE_NOTHING:
		rc = sqlite3_create_function_v2(db, name, args, SQLITE_UTF8, NULL, NULL, NULL, NULL, NULL);
		break;
	case DEFINE_SCALAR:
		rc = sqlite3_create_function_v2(db, name, args, flags | SQLITE_UTF8, data, quick(name, args), NULL, NULL, forget);
		break;
	case DEFINE_LOOKUP:
		rc = sqlite3_create_function_v2(db, name, args, flags | SQLITE_UTF8, data, call_lookup, NULL, NULL, forget);
		break;
	case DEFINE_AGGREGATE:
	case DEFINE_GATHERED:
		rc = sqlite3_create_function_v2(db, name, args, flags | SQLITE_UTF8, data, NULL, what == DEFINE_GATHERED ? call_gather : call_step, call_final, forget);
		break;
	default:
		rc = sqlite3_create_window_function(db, name, args, flags | SQLITE_UTF8, data, call_step, call_final, call_current, call_inverse, forget);
	}
	LEAVE();
	return rc;
}

// Virtual tables.

static int make_table(void *data, int create, int argc, const char *const *argv, sqlite3_vtab **to, char **message) {
	table *t = sqlite3_malloc64(sizeof *t);
	if (!t) return SQLITE_NOMEM;
	memset(t, 0, sizeof *t);
	int rc = goConnect((uintptr_t)data, create, argc, (char **)argv, &t->handle, message);
	if (rc != SQLITE_OK) {
		sqlite3_free(t);
		return rc;
	}
	*to = &t->base;
	return SQLITE_OK;
}

static int x_create(sqlite3 *db, void *data, int argc, const char *const *argv, sqlite3_vtab **to, char **message) {
	return make_table(data, 1, argc, argv, to, message);
}

// x_reconnect differs from x_create, for otherwise SQLite had a table under the module's name too.
static int x_reconnect(sqlite3 *db, void *data, int argc, const char *const *argv, sqlite3_vtab **to, char **message) {
	return make_table(data, 1, argc, argv, to, message);
}

static int x_connect(sqlite3 *db, void *data, int argc, const char *const *argv, sqlite3_vtab **to, char **message) {
	return make_table(data, 0, argc, argv, to, message);
}

static void close_cursor(cursor *c) {
	if (c->handle) goClose(c);
	sqlite3_free(c);
}

static int x_disconnect(sqlite3_vtab *p) {
	table *t = (table *)p;
	for (cursor *c = t->kept, *next; c; c = next) {
		next = c->kept;
		close_cursor(c);
	}
	goForget(t->handle);
	sqlite3_free(t);
	return SQLITE_OK;
}

static int x_destroy(sqlite3_vtab *t) {
	goDestroy(((table *)t)->handle);
	return x_disconnect(t);
}

static int x_best_index(sqlite3_vtab *t, sqlite3_index_info *info) {
	return goBest(((table *)t)->handle, info, &t->zErrMsg);
}

static int x_open(sqlite3_vtab *t, sqlite3_vtab_cursor **to) {
	cursor *c = sqlite3_malloc64(sizeof *c);
	if (!c) return SQLITE_NOMEM;
	memset(c, 0, sizeof *c);
	*to = &c->base;
	return SQLITE_OK;
}

enum { MOST_KEPT = 8 }; // cursors of a table

static int x_close(sqlite3_vtab_cursor *p) {
	cursor *c = (cursor *)p;
	table *t = (table *)p->pVtab;
	if (!c->plan || !c->text[0]) {
		close_cursor(c);
		return SQLITE_OK;
	}
	c->kept = t->kept;
	t->kept = c;
	for (int n = 1; c->kept; c = c->kept) {
		if (n++ == MOST_KEPT) { // the one that was kept first
			close_cursor(c->kept);
			c->kept = NULL;
			break;
		}
	}
	return SQLITE_OK;
}

// take_kept makes a new cursor one that was kept for a plan, and says whether there was one.
static int take_kept(cursor *c, int number, const char *plan) {
	for (cursor **at = &((table *)c->base.pVtab)->kept; *at; at = &(*at)->kept) {
		cursor *k = *at;
		if (k->number == number && !strcmp(k->text, plan)) {
			*at = k->kept;
			*c = *k;
			c->plan = plan;
			sqlite3_free(k);
			return 1;
		}
	}
	return 0;
}

static int open_cursor(cursor *c, int number, const char *plan) {
	if (plan && take_kept(c, number, plan)) return SQLITE_OK;
	sqlite3_vtab *t = c->base.pVtab;
	return goOpen(((table *)t)->handle, c, &t->zErrMsg);
}

// value_at is a value in the order of the search.
static int64_t value_at(const cursor *c, int64_t place) {
	int64_t row = c->order ? ((const uint32_t *)c->order)[place] : place;
	switch (c->search.kind) {
	case COLUMN_INT32:
		return ((const int32_t *)c->search.data)[row];
	case COLUMN_TEXT:
		return ((const uint32_t *)c->search.data)[row];
	}
	return ((const int64_t *)c->search.data)[row];
}

// below says whether the value at a place is below x or, if above is set, not above it.
static int below(const cursor *c, int64_t place, int64_t x, int above) {
	int64_t v = value_at(c, place);
	return v < x || (above && v == x);
}

// bound returns the place of the first row whose value is not below x or, if above is set, not above it. It looks in growing steps
// from where the last search ended, because joins often search for one value after the other.
static int64_t bound(const cursor *c, int64_t x, int above) {
	int64_t from = 0, to = c->rows, near = c->near, step = 1;
	if (near < to && below(c, near, x, above)) {
		for (from = near + 1; step <= to - from && below(c, from + step - 1, x, above); step *= 2) from += step;
		if (step <= to - from) to = from + step - 1;
	} else if (near <= to) {
		for (to = near; step <= to && !below(c, to - step, x, above); step *= 2) to -= step;
		if (step <= to) from = to - step + 1;
	}
	while (from < to) {
		int64_t middle = from + (to - from) / 2;
		if (below(c, middle, x, above)) {
			from = middle + 1;
		} else {
			to = middle;
		}
	}
	return from;
}

// place is bound in a sequence.
static int64_t place(const cursor *c, int64_t x, int above) {
	if (x < c->search.first) return 0;
	uint64_t row = (uint64_t)x - (uint64_t)c->search.first;
	return row >= (uint64_t)c->rows ? c->rows : (int64_t)row + above;
}

// first returns the place of the first row with a value. In the args of a trace, that is the value itself.
static int64_t first(const cursor *c, int64_t x) {
	if (c->search.kind == COLUMN_SEQUENCE) return place(c, x, 0);
	if (x >= 0 && x < c->rows && value_at(c, x) == x && (x == 0 || value_at(c, x - 1) < x)) return x;
	return bound(c, x, 0);
}

// search goes to the rows that compare with a value.
static void search(cursor *c, int64_t x) {
	int64_t (*find)(const cursor *, int64_t, int) = c->search.kind == COLUMN_SEQUENCE ? place : bound;
	c->list = c->order;
	c->at = c->more = 0;
	c->end = c->rows;
	if (c->op == OP_GE || c->op == OP_GT) c->near = c->at = find(c, x, c->op == OP_GT);
	if (c->op == OP_EQ) c->near = c->at = first(c, x);
	if (c->op == OP_EQ || c->op == OP_LE || c->op == OP_LT) c->near = c->end = find(c, x, c->op != OP_LT);
}

// is_text says whether a row has a text.
static int is_text(const column *c, int64_t row, const char *p, int n) {
	const text *of = text_at(c, row);
	return of->n == n && !memcmp(of->p, p, n);
}

// search_text goes to the rows that have a text.
static void search_text(cursor *c, const char *p, int n) {
	const uint32_t *slots = (const uint32_t *)c->slots;
	c->list = c->order;
	c->at = c->end = c->more = 0;
	for (uint64_t i = hash_bytes(basis, p, n);; i++) {
		uint32_t slot = slots[i & c->mask];
		if (!slot) return;
		if (is_text(&c->search, ((const uint32_t *)c->order)[slot - 1], p, n)) {
			c->near = c->at = slot - 1;
			c->end = bound(c, value_at(c, c->at), 1);
			return;
		}
	}
}

// An operand is what a test compares with.
typedef struct {
	int64_t x;
	const char *p; // a text of n bytes
	int n;
	sqlite3_value *list; // of OP_IN
} operand;

// read_operand says whether a value can be an operand of a test.
static int read_operand(operand *to, const test *t, sqlite3_value *v) {
	if (t->op == OP_ISNULL || t->op == OP_ISNOTNULL) return 1;
	if (t->op == OP_IN) {
		to->list = v;
		return 1;
	}
	if (sqlite3_value_type(v) != (t->column.kind == COLUMN_TEXT ? SQLITE_TEXT : SQLITE_INTEGER)) return 0;
	if (t->column.kind == COLUMN_TEXT) {
		to->p = (const char *)sqlite3_value_text(v);
		to->n = sqlite3_value_bytes(v);
		return to->p != NULL;
	}
	to->x = sqlite3_value_int64(v);
	return 1;
}

// listed says whether the value of a row is one of a list.
static int listed(const column *c, int64_t row, sqlite3_value *list) {
	sqlite3_value *v;
	for (int rc = sqlite3_vtab_in_first(list, &v); rc == SQLITE_OK; rc = sqlite3_vtab_in_next(list, &v)) {
		int type = sqlite3_value_type(v);
		if (c->kind == COLUMN_TEXT) {
			if (type == SQLITE_TEXT && is_text(c, row, (const char *)sqlite3_value_text(v), sqlite3_value_bytes(v))) return 1;
		} else if (type == SQLITE_INTEGER || type == SQLITE_FLOAT) {
			int64_t x = sqlite3_value_int64(v);
			if (integer(c, row) == x && (type == SQLITE_INTEGER || (sqlite3_value_double(v) == (double)x && (double)x < 0x1p63))) return 1;
		}
	}
	return 0;
}

// passes says whether a row passes a test.
static int passes(const test *t, int64_t row, const operand *with) {
	int null = is_null(&t->column, row);
	if (t->op == OP_ISNULL || null) return t->op == OP_ISNULL && null;
	if (t->op == OP_ISNOTNULL) return 1;
	if (t->op == OP_IN) return listed(&t->column, row, with->list);
	if (t->column.kind == COLUMN_TEXT) return is_text(&t->column, row, with->p, with->n) == (t->op == OP_EQ);
	int64_t v = integer(&t->column, row);
	switch (t->op) {
	case OP_EQ:
		return v == with->x;
	case OP_NE:
		return v != with->x;
	case OP_LT:
		return v < with->x;
	case OP_LE:
		return v <= with->x;
	case OP_GT:
		return v > with->x;
	}
	return v >= with->x;
}

enum { MOST_TESTED = 1024, MOST_LISTED = 16 }; // rows, of which Go may read fewer; that are looked for in a list, which Go makes a table

// searched carries out a plan that searches, and says whether it could.
static int searched(cursor *c, int argc, sqlite3_value **argv) {
	const test *tests = (const test *)c->tests;
	operand with[LOCAL_ARGS];
	int64_t most = INT64_MAX, tested = MOST_TESTED;
	if (argc != 1 + c->tested + c->limited || argc > LOCAL_ARGS) return 0;
	if (c->limited) {
		argc--;
		most = sqlite3_value_int64(argv[argc]);
		if (sqlite3_value_type(argv[argc]) != SQLITE_INTEGER || most < 0) return 0;
	}
	for (int i = 0; i < argc; i++) {
		int op = i ? tests[i - 1].op : c->op;
		if (op == OP_IN) tested = MOST_LISTED;
		if (op != OP_ISNULL && op != OP_ISNOTNULL && op != OP_IN && sqlite3_value_type(argv[i]) == SQLITE_NULL) { // nothing compares with it
			c->at = c->end = c->more = 0;
			return 1;
		}
		if (i ? !read_operand(&with[i], &tests[i - 1], argv[i]) : sqlite3_value_type(argv[0]) != (c->slots ? SQLITE_TEXT : SQLITE_INTEGER)) return 0;
	}
	if (c->slots) {
		const char *p = (const char *)sqlite3_value_text(argv[0]);
		if (!p) return 0;
		search_text(c, p, sqlite3_value_bytes(argv[0]));
	} else {
		search(c, sqlite3_value_int64(argv[0]));
	}
	if (argc == 1 && c->end - c->at > most) c->end = c->at + most;
	if (c->at >= c->end || argc == 1) return 1;
	if (c->end - c->at > tested) return 0;
	if (!c->passed && !(c->passed = (uintptr_t)malloc(MOST_TESTED * sizeof(uint32_t)))) return 0;
	uint32_t *passed = (uint32_t *)c->passed;
	int64_t n = 0;
	for (; c->at < c->end && n < most; c->at++) {
		int64_t row = c->list ? ((const uint32_t *)c->list)[c->at] : c->at;
		int all = 1;
		for (int i = 1; i < argc && all; i++) all = passes(&tests[i - 1], row, &with[i]);
		passed[n] = row;
		n += all;
	}
	c->list = c->passed;
	c->at = 0;
	c->end = n;
	return 1;
}

static int x_filter(sqlite3_vtab_cursor *p, int number, const char *plan, int argc, sqlite3_value **argv) {
	cursor *c = (cursor *)p;
	if (!c->handle) {
		int rc = open_cursor(c, number, plan);
		if (rc != SQLITE_OK) return rc;
	}
	c->row++;
	if (plan && plan == c->plan && searched(c, argc, argv)) return SQLITE_OK;
	cell local[LOCAL_ARGS], *args = packed(local, argc, argv);
	if (!args) return SQLITE_NOMEM;
	int rc = goFilter(c, number, (char *)plan, argc, args);
	unpack(local, args);
	c->text[0] = 0;
	if (rc != SQLITE_OK) c->plan = NULL;
	if (c->plan && strlen(plan) < sizeof c->text) {
		c->number = number;
		strcpy(c->text, plan);
	}
	return rc;
}

static int x_next(sqlite3_vtab_cursor *p) {
	cursor *c = (cursor *)p;
	c->row++;
	if (++c->at < c->end || !c->more) return SQLITE_OK;
	return goNext(c);
}

static int x_eof(sqlite3_vtab_cursor *p) { return ((cursor *)p)->at >= ((cursor *)p)->end; }

enum { AHEAD = 16 }; // rows

// value_address is that of a value of a column, or NULL if it has none.
static const void *value_address(const column *c, int64_t row) {
	switch (c->kind) {
	case COLUMN_INT32:
	case COLUMN_TEXT:
		return (const uint32_t *)c->data + row;
	case COLUMN_INT64:
	case COLUMN_FLOAT:
		return (const int64_t *)c->data + row;
	}
	return NULL;
}

static int x_column(sqlite3_vtab_cursor *p, sqlite3_context *ctx, int i) {
	cursor *c = (cursor *)p;
	column *col = (column *)c->columns + i;
	if (i >= c->known || col->kind == COLUMN_UNKNOWN || (col->kind == COLUMN_CELL && col->row != c->row)) {
		int rc = goColumn(c, i);
		if (rc != SQLITE_OK) return rc;
		col = (column *)c->columns + i;
	}
	if (col->kind == COLUMN_CELL) {
		give(ctx, &col->cell);
		return SQLITE_OK;
	}
	if (!c->list) {
		give_value(ctx, col, c->at);
		return SQLITE_OK;
	}
	const uint32_t *row = (const uint32_t *)c->list + c->at;
	if (c->at + AHEAD < c->end) __builtin_prefetch(value_address(col, row[AHEAD])); // rows of a sorted list are far from each other
	give_value(ctx, col, *row);
	return SQLITE_OK;
}

static int x_rowid(sqlite3_vtab_cursor *c, sqlite3_int64 *to) { return goRowid((cursor *)c, (int64_t *)to); }

static void is_true(sqlite3_context *ctx, int argc, sqlite3_value **argv) { sqlite3_result_int64(ctx, 1); }

static int x_find_function(sqlite3_vtab *t, int args, const char *name, callback *to, void **data) {
	int op = goOverload(((table *)t)->handle, (char *)name);
	if (op) *to = is_true;
	return op;
}

#define METHODS(create, connect) { \
	.xCreate = create, .xConnect = connect, .xBestIndex = x_best_index, .xDisconnect = x_disconnect, .xDestroy = x_destroy, \
	.xOpen = x_open, .xClose = x_close, .xFilter = x_filter, .xNext = x_next, .xEof = x_eof, .xColumn = x_column, .xRowid = x_rowid, \
	.xFindFunction = x_find_function \
}

static const sqlite3_module created_module = METHODS(x_create, x_reconnect), eponymous_module = METHODS(NULL, x_connect);

int tp_define_module(account *a, sqlite3 *db, const char *name, uint64_t handle, int created) {
	ENTER(a);
	int rc = sqlite3_create_module_v2(db, name, created ? &created_module : &eponymous_module, (void *)handle, forget);
	LEAVE();
	return rc;
}

// message returns a text as SQLite wants messages.
char *tp_message(const char *text, size_t n) {
	char *p = sqlite3_malloc64(n + 1);
	if (p) {
		memcpy(p, text, n);
		p[n] = 0;
	}
	return p;
}

int tp_next_in(cell *list, cell *item, int first) {
	sqlite3_value *of = (sqlite3_value *)list->value, *v = NULL;
	int rc = first ? sqlite3_vtab_in_first(of, &v) : sqlite3_vtab_in_next(of, &v);
	if (rc == SQLITE_OK) pack(item, v);
	return rc;
}

int tp_constant(sqlite3_index_info *info, int i, cell *to) {
	sqlite3_value *v = NULL;
	if (sqlite3_vtab_rhs_value(info, i, &v) != SQLITE_OK || !v) return 0;
	pack(to, v);
	return 1;
}

// SQLite's own mathematical functions, with which the C code is not built: https://sqlite.org/lang_mathfunc.html.

static int number(sqlite3_value *v) {
	int t = sqlite3_value_numeric_type(v);
	return t == SQLITE_INTEGER || t == SQLITE_FLOAT;
}

static void call_math(sqlite3_context *ctx, int argc, sqlite3_value **argv) {
	double (*f)(double) = (double (*)(double))sqlite3_user_data(ctx);
	if (number(argv[0])) sqlite3_result_double(ctx, f(sqlite3_value_double(argv[0])));
}

static void call_math2(sqlite3_context *ctx, int argc, sqlite3_value **argv) {
	double (*f)(double, double) = (double (*)(double, double))sqlite3_user_data(ctx);
	if (number(argv[0]) && number(argv[1])) sqlite3_result_double(ctx, f(sqlite3_value_double(argv[0]), sqlite3_value_double(argv[1])));
}

// call_round is call_math for functions that leave integers as they are.
static void call_round(sqlite3_context *ctx, int argc, sqlite3_value **argv) {
	if (sqlite3_value_numeric_type(argv[0]) == SQLITE_INTEGER) {
		sqlite3_result_int64(ctx, sqlite3_value_int64(argv[0]));
	} else {
		call_math(ctx, argc, argv);
	}
}

// call_log is log(x), to base 10, and log(base, x).
static void call_log(sqlite3_context *ctx, int argc, sqlite3_value **argv) {
	if (!number(argv[0])) return;
	double base = sqlite3_value_double(argv[0]), x = sqlite3_value_double(argv[argc - 1]);
	if (x <= 0) return;
	if (argc == 1) {
		sqlite3_result_double(ctx, log10(x));
		return;
	}
	if (base > 0 && log(base) > 0) sqlite3_result_double(ctx, log(x) / log(base));
}

static double positive_log10(double x) { return x > 0 ? log10(x) : NAN; }
static double positive_log2(double x) { return x > 0 ? log2(x) : NAN; }
static double to_degrees(double x) { return x * (180 / M_PI); }
static double to_radians(double x) { return x * (M_PI / 180); }
static void call_pi(sqlite3_context *ctx, int argc, sqlite3_value **argv) { sqlite3_result_double(ctx, M_PI); }

static int define_math(sqlite3 *db) {
	static const struct {
		const char *name;
		int args;
		callback call;
		void *f;
	} list[] = {
		{"acos", 1, call_math, acos}, {"acosh", 1, call_math, acosh}, {"asin", 1, call_math, asin}, {"asinh", 1, call_math, asinh},
		{"atan", 1, call_math, atan}, {"atan2", 2, call_math2, atan2}, {"atanh", 1, call_math, atanh}, {"ceil", 1, call_round, ceil},
		{"ceiling", 1, call_round, ceil}, {"cos", 1, call_math, cos}, {"cosh", 1, call_math, cosh}, {"degrees", 1, call_math, to_degrees},
		{"floor", 1, call_round, floor}, {"log", 1, call_log}, {"log", 2, call_log}, {"log10", 1, call_math, positive_log10},
		{"log2", 1, call_math, positive_log2}, {"mod", 2, call_math2, fmod}, {"pi", 0, call_pi}, {"pow", 2, call_math2, pow},
		{"power", 2, call_math2, pow}, {"radians", 1, call_math, to_radians}, {"sin", 1, call_math, sin}, {"sinh", 1, call_math, sinh},
		{"tan", 1, call_math, tan}, {"tanh", 1, call_math, tanh}, {"trunc", 1, call_round, trunc},
	};
	int rc = SQLITE_OK;
	for (size_t i = 0; i < sizeof list / sizeof *list && rc == SQLITE_OK; i++) {
		rc = sqlite3_create_function_v2(db, list[i].name, list[i].args, SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, list[i].f, list[i].call, NULL, NULL, NULL);
	}
	return rc;
}
