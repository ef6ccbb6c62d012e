package sqlfuncs

import "strings"

// DeniedFunctions matches the names of DuckDB's functions that SQL on a dataset may not call. A session refuses them in
// statements, and the macro _query in the text of sources.
const DeniedFunctions = `query|query_table|json_execute_serialized_sql|(?:en|dis)able_\w+|truncate_duckdb_logs|write_log|arrow_scan\w*|seq_scan|read_duckdb|\w*checkpoint|getenv|import_database|copy_database|verify_\w+|check_peg_parser|sleep_ms`

// deniedMark stands for DeniedFunctions in the SQL of macros.
const deniedMark = "DENIED_FUNCTIONS"

func withDenied(sql string) string { return strings.ReplaceAll(sql, deniedMark, DeniedFunctions) }
