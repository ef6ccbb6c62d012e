// The part of DuckDB's stable C API for extensions, version v1.2.0, that is used here.
//
// DuckDB hands an extension a table of functions, whose order never changes. Only the used ones are declared, each with its place
// in the table. Handles of DuckDB are void *, those of Go, which it keeps for us, are uintptr_t.

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct extension_access {
	void (*set_error)(void *info, const char *text);
	void **(*get_database)(void *info);
	void **(*get_api)(void *info, const char *version);
};

struct query_result {
	uint64_t counts[3];
	void *columns;
	char *error;
	void *data;
};

enum { BOOLEAN = 1, INTEGER = 4, BIGINT = 5, DOUBLE = 11, VARCHAR = 17, BLOB = 18, LIST = 24, ANY = 34 };

enum { FUNCTIONS = 274 }; // of the table, of which the rest is not used
extern void *duckdb_api[FUNCTIONS];

#define API(place, result, name, parameters, arguments) \
	static inline result duckdb_##name parameters { return ((result(*) parameters)duckdb_api[place])arguments; }

API(3, int, connect, (void *database, void **connection), (database, connection))
API(6, void, disconnect, (void **connection), (connection))
API(13, int, query, (void *connection, const char *sql, struct query_result *to), (connection, sql, to))
API(14, void, destroy_result, (struct query_result *result), (result))
API(21, const char *, result_error, (struct query_result *result), (result))
API(25, void, free, (void *memory), (memory))
API(26, uint64_t, vector_size, (void), ())

API(92, void, destroy_value, (void **value), (value))
API(118, bool, get_bool, (void *value), (value))
API(125, int64_t, get_int64, (void *value), (value))
API(136, void *, get_value_type, (void *value), (value))
API(142, char *, get_varchar, (void *value), (value))
API(149, bool, is_null_value, (void *value), (value))
API(151, uint64_t, get_list_size, (void *list), (list))
API(152, void *, get_list_child, (void *list, uint64_t i), (list, i))
API(156, void *, create_logical_type, (int type), (type))
API(159, void *, create_list_type, (void *of), (of))
API(166, int, get_type_id, (void *type), (type))
API(184, void, destroy_logical_type, (void **type), (type))

API(190, void *, data_chunk_get_vector, (void *chunk, uint64_t column), (chunk, column))
API(192, void, data_chunk_set_size, (void *chunk, uint64_t rows), (chunk, rows))
API(194, void *, vector_get_data, (void *vector), (vector))
API(195, uint64_t *, vector_get_validity, (void *vector), (vector))
API(196, void, vector_ensure_validity_writable, (void *vector), (vector))
API(198, void, vector_assign_string_element_len, (void *vector, uint64_t row, const char *text, uint64_t size), (vector, row, text, size))

API(242, void *, create_table_function, (void), ())
API(243, void, destroy_table_function, (void **function), (function))
API(244, void, table_function_set_name, (void *function, const char *name), (function, name))
API(245, void, table_function_add_parameter, (void *function, void *type), (function, type))
API(246, void, table_function_add_named_parameter, (void *function, const char *name, void *type), (function, name, type))
API(247, void, table_function_set_extra_info, (void *function, uintptr_t info, void (*drop)(uintptr_t)), (function, info, drop))
API(248, void, table_function_set_bind, (void *function, void (*bind)(void *)), (function, bind))
API(249, void, table_function_set_init, (void *function, void (*init)(void *)), (function, init))
API(250, void, table_function_set_local_init, (void *function, void (*init)(void *)), (function, init))
API(251, void, table_function_set_function, (void *function, void (*scan)(void *, void *)), (function, scan))
API(252, void, table_function_supports_projection_pushdown, (void *function, bool supports), (function, supports))
API(253, int, register_table_function, (void *connection, void *function), (connection, function))

API(254, uintptr_t, bind_get_extra_info, (void *info), (info))
API(255, void, bind_add_result_column, (void *info, const char *name, void *type), (info, name, type))
API(257, void *, bind_get_parameter, (void *info, uint64_t i), (info, i))
API(258, void *, bind_get_named_parameter, (void *info, const char *name), (info, name))
API(259, void, bind_set_bind_data, (void *info, uintptr_t data, void (*drop)(uintptr_t)), (info, data, drop))
API(260, void, bind_set_cardinality, (void *info, uint64_t rows, bool exact), (info, rows, exact))
API(261, void, bind_set_error, (void *info, const char *text), (info, text))
API(263, uintptr_t, init_get_bind_data, (void *info), (info))
API(264, void, init_set_init_data, (void *info, uintptr_t data, void (*drop)(uintptr_t)), (info, data, drop))
API(265, uint64_t, init_get_column_count, (void *info), (info))
API(266, uint64_t, init_get_column_index, (void *info, uint64_t i), (info, i))
API(267, void, init_set_max_threads, (void *info, uint64_t threads), (info, threads))
API(268, void, init_set_error, (void *info, const char *text), (info, text))
API(271, uintptr_t, function_get_init_data, (void *info), (info))
API(272, uintptr_t, function_get_local_init_data, (void *info), (info))
API(273, void, function_set_error, (void *info, const char *text), (info, text))

// What DuckDB calls: the exported functions of Go.
void tpconvert_drop(uintptr_t data);
void tpconvert_bind(void *info);
void tpconvert_init(void *info);
void tpconvert_init_local(void *info);
void tpconvert_scan(void *info, void *chunk);

// set_callbacks makes DuckDB call them for a table function.
static inline void set_callbacks(void *function, uintptr_t info)
{
	duckdb_table_function_set_extra_info(function, info, tpconvert_drop);
	duckdb_table_function_set_bind(function, tpconvert_bind);
	duckdb_table_function_set_init(function, tpconvert_init);
	duckdb_table_function_set_local_init(function, tpconvert_init_local);
	duckdb_table_function_set_function(function, tpconvert_scan);
}

static inline void bind_set_data(void *info, uintptr_t data) { duckdb_bind_set_bind_data(info, data, tpconvert_drop); }
static inline void init_set_data(void *info, uintptr_t data) { duckdb_init_set_init_data(info, data, tpconvert_drop); }

// open_api copies the table, which DuckDB drops. It returns the database that loads the extension, or NULL after an error.
static inline void *open_api(void *info, struct extension_access *access)
{
	void **api = access->get_api(info, "v1.2.0"), **database = api ? access->get_database(info) : 0;
	if (!database)
		return 0;
	memcpy(duckdb_api, api, sizeof duckdb_api);
	return *database;
}

static inline void load_failed(void *info, struct extension_access *access, const char *text) { access->set_error(info, text); }
