//go:build cgo

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// attacks are statements that try to reach something outside the data, or to change it. OUT is the dataset, DIR a folder
// beside it with other.csv. Statements that end with "-- harmless" may run, but must reach nothing either.
func attacks() []string {
	const log = `enable_logging(storage='file', storage_config={'path': 'OUT'})`
	all := []string{
		// Files.
		"FROM 'DIR/other.csv'", "FROM read_csv('DIR/other.csv')", "FROM read_csv_auto('DIR/other.csv')", "FROM read_text('DIR/other.csv')",
		"FROM read_blob('DIR/other.csv')", "FROM read_json('DIR/other.csv')", "FROM read_ndjson_objects('DIR/other.csv')",
		"FROM read_parquet('DIR/other.parquet')", "FROM sniff_csv('DIR/other.csv')", "FROM read_text('/etc/passwd')",
		"FROM read_text('file:///etc/passwd')", "FROM read_text('/proc/self/environ')", "FROM read_text('OUT/../other.csv')",
		"FROM parquet_metadata('DIR/other.parquet')", "FROM read_duckdb('DIR/x.duckdb')", "SELECT * FROM read_text(['DIR/other.csv'])",
		"FROM read_text('OUT/slice.parquet/../../other.csv')",
		// Writing.
		"COPY slice TO 'OUT/slice.parquet'", "COPY slice TO 'DIR/other.csv'", "COPY (SELECT 1) TO 'OUT/slice.parquet' (OVERWRITE true)",
		"COPY (FROM read_text('DIR/other.csv')) TO 'DIR/new.csv'", "COPY slice FROM 'DIR/other.csv'", "COPY FROM DATABASE dataset TO memory",
		"\u00a0COPY (SELECT 1) TO 'OUT/slice.parquet'", "\ufeffCOPY (SELECT 1) TO 'OUT/slice.parquet'", "\u2003COPY (SELECT 1) TO 'OUT/slice.parquet'",
		"\u3000COPY (SELECT 1) TO 'OUT/slice.parquet'", "\u200bCOPY (SELECT 1) TO 'OUT/slice.parquet'", "/* a */\u00a0COPY (SELECT 1) TO 'OUT/slice.parquet'",
		"/* /* */ */ COPY (SELECT 1) TO 'OUT/slice.parquet'", "-- a\n\u00a0COPY (SELECT 1) TO 'OUT/slice.parquet'", "\v\f\rCOPY (SELECT 1) TO 'OUT/slice.parquet'",
		"COPY\u00a0(SELECT 1)\u00a0TO\u00a0'OUT/slice.parquet'", "CoPy (SELECT 1) tO 'OUT/slice.parquet'", "COPY (SELECT ') TO ''x''' AS a) TO 'OUT/slice.parquet'",
		"COPY (SELECT 1) TO 'OUT/new.csv'", "COPY (SELECT 1) TO 'DIR/out/../out/new.csv'",
		"COPY (SELECT 'p' a, 1 b) TO 'DIR/new' (FORMAT parquet, PARTITION_BY (b), FILENAME_PATTERN '../../x_{i}')",
		`COPY (SELECT 'p' a, 1 b) TO 'DIR/new' (FORMAT parquet, PARTITION_BY (b), FILENAME_PATTERN E'\x2e\x2e/x_{i}')`,
		"COPY (SELECT 1) TO concat('OUT', '/slice.parquet')", "COPY (SELECT 1) TO E'OUT/slice.parquet'", "COPY (SELECT 1) TO $$OUT/slice.parquet$$",
		"WITH a AS (SELECT 1) COPY a TO 'OUT/slice.parquet'", "(COPY (SELECT 1) TO 'OUT/slice.parquet')",
		"EXPLAIN ANALYZE COPY (SELECT 1) TO 'OUT/slice.parquet'", "EXPLAIN (ANALYZE) COPY (SELECT 1) TO 'OUT/slice.parquet'",
		"EXPLAIN /**/ ANALYZE /**/ COPY (SELECT 1) TO 'OUT/slice.parquet'", "\u00a0EXPLAIN ANALYZE COPY (SELECT 1) TO 'OUT/slice.parquet'",
		"EXPORT DATABASE 'OUT/new'", "\u00a0EXPORT DATABASE 'OUT/new'", "IMPORT DATABASE 'DIR'",
		// Databases and extensions.
		"ATTACH 'OUT/new.db'", "\u00a0ATTACH 'OUT/new.db'", "\ufeffATTACH 'OUT/new.db' AS new", "ATTACH ':memory:' AS other", "DETACH dataset",
		"\u00a0DETACH dataset", "ATTACH 'http://127.0.0.1:1/x.db'", "USE system; CREATE TABLE x AS SELECT 1",
		"INSTALL httpfs", "\u00a0INSTALL httpfs", "LOAD httpfs", "\u00a0LOAD 'DIR/other.csv'", "FORCE INSTALL httpfs", "UPDATE EXTENSIONS", "INSTALL x FROM 'DIR'",
		// The network.
		"FROM 'http://127.0.0.1:1/a.parquet'", "FROM read_csv('https://example.com/a.csv')", "FROM read_parquet('s3://bucket/a.parquet')",
		"FROM read_text('hf://datasets/a')",
		// Settings, also those that write files.
		"SET enable_external_access = true", "SET lock_configuration = false", "RESET lock_configuration", "SET GLOBAL enable_external_access = true",
		"\u00a0SET enable_external_access = true", "SET allowed_directories = ['/']", "SET temp_directory = 'OUT'", "SET profiling_output = 'OUT/slice.parquet'",
		"SET enable_profiling = 'json'", "SET log_query_path = 'OUT/log'", "SET home_directory = 'OUT'", "SET secret_directory = 'OUT'",
		"SET autoload_known_extensions = true", "SET custom_extension_repository = 'DIR'", "PRAGMA enable_profiling = 'json'",
		"PRAGMA enable_profiling", "PRAGMA profiling_output = 'OUT/slice.parquet'", "PRAGMA enable_logging", "PRAGMA disable_optimizer",
		"\u00a0PRAGMA enable_profiling", "PRAGMA enable_checkpoint_on_shutdown", "PRAGMA memory_limit = '1TB'", "PRAGMA database_size -- harmless",
		"PRAGMA table_info('x'); PRAGMA enable_profiling",
		// Logging and profiling by functions, called in every way.
		"FROM " + log, "SELECT * FROM " + log, "CALL " + log, "\u00a0CALL " + log, "FROM system.main." + log, `FROM "` + strings.Replace(log, "(", `" (`, 1),
		strings.Replace("FROM "+log, "(", "\u00a0(", 1), strings.Replace("FROM "+log, "(", "/* */(", 1), strings.Replace("FROM "+log, "(", "-- a\n(", 1),
		"FROM " + strings.ToUpper(log[:14]) + log[14:], `FROM U&"\0065nable_logging"` + log[14:], "EXPLAIN ANALYZE FROM " + log,
		"CREATE TABLE x AS FROM " + log, "INSERT INTO slice FROM " + log, "CREATE VIEW v AS FROM " + log + "; FROM v", "CREATE MACRO m() AS TABLE FROM " + log + "; FROM m()",
		"PREPARE p AS FROM " + log + "; EXECUTE p", "SUMMARIZE FROM " + log, "DESCRIBE FROM " + log + " -- harmless", "SELECT (SELECT 1 FROM " + log + ")",
		"PIVOT (FROM " + log + ") ON x", "SELECT 1 UNION ALL FROM " + log, "WITH a AS (FROM " + log + ") FROM a",
		"SET VARIABLE x = (SELECT 1 FROM " + log + ")", "COPY (FROM " + log + ") TO 'DIR/new.csv'",
		"FROM enable_profiling(save_location='OUT/slice.parquet', format='json')", "FROM enable_profile(save_location='OUT/slice.parquet')",
		"SELECT write_log('x')", "SELECT json_serialize_plan('SELECT 1')", "SELECT pg_sleep(1)", "FROM glob('OUT/*')", "FROM read_json('OUT/_tpconvert.json')", "FROM duckdb_logs()", "FROM truncate_duckdb_logs()", "CALL force_checkpoint()", "FROM arrow_scan(1::POINTER, 1::POINTER, 1::POINTER)",
		// SQL from text.
		"FROM query('SELECT 1')", "FROM query('FROM enable_log' || 'ging(storage=''file'', storage_config={''path'': ''OUT''})')", "FROM query/**/('SELECT 1')",
		"FROM \"query\"('SELECT 1')", "FROM query\u00a0('SELECT 1')", "FROM query_table('slice')", "FROM system.main.query('SELECT 1')",
		"FROM relation('FROM enable_log' || 'ging(storage=''file'', storage_config={''path'': ''OUT''})')",
		"FROM relation('FROM que' || 'ry(''FROM enable_log'' || ''ging(storage=''''file'''', storage_config={''''path'''': ''''OUT''''})'')')",
		"FROM relation('FROM relation(''FROM enable_log'' || ''ging(storage=''''file'''', storage_config={''''path'''': ''''OUT''''})'')')",
		"FROM counter_intervals('FROM enable_log' || 'ging' || chr(160) || '(storage=''file'', storage_config={''path'': ''OUT''})')",
		"FROM relation('FROM read_text(''DIR/other.csv'')')", "FROM relation('SELECT 1; COPY (SELECT 1) TO ''OUT/slice.parquet''')",
		"FROM relation('enable_log' || 'ging(storage=''file'', storage_config={''path'': ''OUT''})')",
		"FROM json_execute_serialized_sql(json_serialize_sql('FROM enable_log' || 'ging(storage=''file'', storage_config={''path'': ''OUT''})'))",
		"PREPARE p AS SELECT 1; EXECUTE p", "EXECUTE IMMEDIATE 'SELECT 1'",
		// The environment and secrets.
		"SELECT getenv('HOME')", "CREATE SECRET s (TYPE s3, KEY_ID 'x')", "CREATE PERSISTENT SECRET s (TYPE s3, KEY_ID 'x')", "FROM duckdb_secrets()",
		// The data.
		"DROP VIEW dataset.main.slice; FROM slice -- harmless", "DELETE FROM dataset.main.slice", "UPDATE dataset.main.slice SET dur = 0",
		"CREATE OR REPLACE VIEW dataset.main.slice AS FROM read_text('DIR/other.csv')", "CHECKPOINT", "FORCE CHECKPOINT", "VACUUM FULL -- harmless",
		// Homoglyphs are other words.
		"\u0421OPY (SELECT 1) TO 'OUT/slice.parquet'", "ＣＯＰＹ (SELECT 1) TO 'OUT/slice.parquet'", "FROM enable＿logging()",
	}
	return all
}

// attacked is a dataset beside other files, which attacks must neither read nor change.
type attacked struct{ dir, out, before string }

func newAttacked(t *testing.T) attacked {
	t.Helper()
	dir := dataset(t, goodTrace)
	out := filepath.Join(dir, "out")
	if err := os.WriteFile(filepath.Join(dir, "other.csv"), []byte("secret\n7\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	slices, err := os.ReadFile(filepath.Join(out, "slice.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "other.parquet"), slices, 0o666); err != nil {
		t.Fatal(err)
	}
	return attacked{dir, out, filesBelow(t, dir)}
}

// attack checks what one of attacks did. The function runs it, and returns the rows and whether it succeeded.
func (a attacked) attack(t *testing.T, attack string, run func(sql string) (string, bool)) {
	t.Helper()
	written, done := run(strings.NewReplacer("OUT", a.out, "DIR", a.dir).Replace(attack))
	if done && !strings.HasSuffix(attack, "-- harmless") {
		t.Errorf("%q succeeded", attack)
	}
	if strings.Contains(written, "secret") || strings.Contains(written, "root:") {
		t.Errorf("%q read %q", attack, written)
	}
	if after := filesBelow(t, a.dir); after != a.before {
		t.Fatalf("%q changed files from\n%s\nto\n%s", attack, a.before, after)
	}
}

// TestAttacks runs attacks on query. None may read or write anything outside the data.
func TestAttacks(t *testing.T) {
	t.Parallel()
	all := attacks()
	if len(all) < 100 {
		t.Errorf("%d attacks", len(all))
	}
	const parts = 4 // at once
	for part := range parts {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			a := newAttacked(t)
			for i := part; i < len(all); i += parts {
				a.attack(t, all[i], func(sql string) (string, bool) {
					got := tpconvert(t, a.dir, "query", a.out, sql)
					return got.stdout, got.code == exitDone
				})
			}
		})
	}
}

// allAttacks are attacks and those on PerfettoSQL.
func allAttacks(t *testing.T) []string {
	t.Helper()
	perfetto, err := os.ReadFile("../../sqlfuncs/perfettosql/testdata/attacks.txt")
	if err != nil {
		t.Fatal(err)
	}
	all := attacks()
	for line := range strings.Lines(string(perfetto)) {
		if line = strings.TrimSuffix(line, "\n"); line != "" && line[0] != '#' {
			all = append(all, strings.ReplaceAll(line, `\n`, "\n"))
		}
	}
	return all
}

// TestMCPAttacks runs all attacks on the server for agents. None may change what the next call sees.
func TestMCPAttacks(t *testing.T) {
	t.Parallel()
	a := newAttacked(t)
	agent := newAgent(t, a.dir, "--query-time", "10s", a.out)
	const objects = `{"sql": "SELECT name FROM sqlite_master UNION ALL SELECT name FROM slice ORDER BY 1"}`
	want, _ := agent.call("query", objects)
	for i, attack := range allAttacks(t) {
		a.attack(t, attack, func(sql string) (string, bool) {
			rows, ok := agent.call("query", asJSON(map[string]any{"sql": sql}))
			if !ok { // the error shows the SQL
				rows = ""
			}
			return rows, ok
		})
		if i%10 > 0 {
			continue
		}
		if got, ok := agent.call("query", objects); !ok || got != want {
			t.Fatalf("after %q or those before it: %s", attack, got)
		}
	}
}

// TestServeAttacks runs all attacks on serve. None may outlive its client.
func TestServeAttacks(t *testing.T) {
	t.Parallel()
	all := allAttacks(t)
	a := newAttacked(t)
	url, _, end := serveCommand(t, a.dir, a.out)
	began := time.Now()
	post(t, url+"/restore_initial_tables", nil)
	want := ask(t, url, "SELECT name FROM sqlite_master UNION ALL SELECT name FROM slice ORDER BY 1")
	for _, attack := range all {
		a.attack(t, attack, func(sql string) (string, bool) {
			got := ask(t, url, sql)
			return strings.Join(got.rows, "\n"), got.failed == ""
		})
		post(t, url+"/restore_initial_tables", nil)
		if got := ask(t, url, "SELECT name FROM sqlite_master UNION ALL SELECT name FROM slice ORDER BY 1"); got.failed != "" || !slices.Equal(got.rows, want.rows) {
			t.Fatalf("after %q: %+v", attack, got)
		}
	}
	if attacked, took := time.Since(began), end(); took > attacked/4 {
		t.Errorf("the server ended after %v, attacks of %v", took, attacked)
	}
}

// What SQL on a dataset needs stays allowed.
func TestAllowedSQL(t *testing.T) {
	t.Parallel()
	dir := dataset(t, goodTrace)
	for _, sql := range []string{
		"SELECT name FROM slice WHERE name = 'query' OR name LIKE 'COPY%'", "SELECT name FROM slice WHERE name = 'read_text (2)' -- query()",
		"CREATE TABLE x AS SELECT upper(name), sum(dur) OVER (), list_transform([1], lambda a: a + 1) FROM slice",
		"FROM read_parquet('out/slice.parquet')", "FROM relation('slice')", "PIVOT slice ON name USING sum(dur)",
		"EXPLAIN ANALYZE FROM slice", "PRAGMA table_info('slice')", "PRAGMA version", "SHOW TABLES", "DESCRIBE slice", "SUMMARIZE slice",
		"CREATE TABLE x AS FROM slice; INSERT INTO x FROM slice; UPDATE x SET dur = 1; DELETE FROM x; DROP TABLE x",
		"CREATE MACRO m(a) AS a + 1; SELECT m(1)", "CREATE VIEW v AS FROM slice; FROM v", "SET VARIABLE x = 1; SELECT getvariable('x')",
		"BEGIN; CREATE TABLE y (i INT); ROLLBACK", "SELECT\u00a01",
	} {
		if got := tpconvert(t, dir, "query", "out", sql); got.code != exitDone {
			t.Errorf("%q: exit code %d, %s", sql, got.code, got.stderr)
		}
	}
}
