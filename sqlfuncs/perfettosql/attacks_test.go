package perfettosql_test

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tpconvert/tpconvert/sqlfuncs/perfettosql"
)

// TestAttacks checks that statements are refused which would reach files, load code, change the process or its tables, or take
// too much memory.
func TestAttacks(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("TMPDIR", dir)
	t.Setenv("SQLITE_TMPDIR", dir)
	s, err := perfettosql.New(empty(t), perfettosql.Options{Modules: os.DirFS(dir)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	// run runs a statement, and undoes what it leaves behind.
	run := func(sql string) error {
		if err := s.Run(t.Context(), "SAVEPOINT attack", nil); err != nil {
			t.Fatal(err)
		}
		err := s.Run(t.Context(), sql, nil)
		if err := s.Run(t.Context(), "ROLLBACK TO attack; RELEASE attack", nil); err != nil {
			t.Fatalf("after %s: %v", sql, err)
		}
		return err
	}
	attacks := attacks(t)
	if len(attacks) < 150 {
		t.Errorf("only %d attacks", len(attacks))
	}
	for _, sql := range attacks {
		if err := run(sql); err == nil {
			t.Errorf("%s is allowed", sql)
		}
	}
	for _, sql := range []string{"SELECT count(*) FROM sqlite_master", "SELECT count(*) FROM slice", "PRAGMA table_info(slice)"} {
		if err := run(sql); err != nil {
			t.Errorf("after all, %s: %v", sql, err)
		}
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) > 0 {
		t.Errorf("files are left: %v, %v", files, err)
	}
}

//go:embed testdata/attacks.txt
var attackList string

// attacks reads testdata/attacks.txt. A line is a statement, in which \n is a line break.
func attacks(t *testing.T) []string {
	t.Helper()
	var all []string
	for line := range strings.Lines(attackList) {
		line = strings.TrimSuffix(line, "\n")
		if line != "" && !strings.HasPrefix(line, "#") {
			all = append(all, strings.ReplaceAll(line, `\n`, "\n"))
		}
	}
	return all
}

// TestInterrupted checks that statements that take long end after their context not much later than the first.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	const long = "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n) "
	var plain time.Duration
	for _, sql := range []string{
		long + "SELECT count(*) FROM n",
		long + "SELECT max(i) OVER (ORDER BY i) FROM n",
		long + "SELECT DISTINCT i % 10 FROM n",
		"CREATE PERFETTO TABLE t AS " + long + "SELECT i % 10 AS i FROM n",
		"CREATE PERFETTO FUNCTION f(n INT) RETURNS INT AS " + long + "SELECT count(*) FROM n WHERE i > $n; SELECT f(1)",
		"SELECT printf('%.250000000c', 'a') GLOB '*' || replace(printf('%.10000c', 'a'), 'a', 'a*') || 'b'",
		"SELECT printf('%.250000000c', 'a') LIKE '%' || printf('%.30000c', 'a') || 'b%'",
		"SELECT count(*) FROM pragma_function_list AS a, pragma_function_list AS b, pragma_function_list AS c, pragma_function_list AS d",
	} {
		t.Run("", func(t *testing.T) {
			s, err := perfettosql.New(empty(t), perfettosql.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			ctx, stop := context.WithTimeout(t.Context(), time.Second/2)
			defer stop()
			begun := time.Now()
			err = s.Run(ctx, sql, nil)
			took := time.Since(begun)
			plain = cmp.Or(plain, took)
			if took > 20*plain || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %v after %v, the first statement after %v", sql, err, took, plain)
			}
		})
	}
}

// TestLongArguments checks that functions of long texts take no time that grows with the product of their lengths.
func TestLongArguments(t *testing.T) {
	t.Parallel()
	for _, sql := range []string{
		"instr(TEXT, PATTERN)", "length(replace(TEXT, PATTERN, 'c'))", "length(trim(TEXT, 'bcdefgh'))",
		"TEXT GLOB replace(printf('%.12c', 'a'), 'a', '*a') || 'b'",
	} {
		run := func(length int) time.Duration {
			long := strings.NewReplacer("TEXT", fmt.Sprintf("printf('%%.%dc', 'a')", length), "PATTERN", fmt.Sprintf("printf('%%.%dc', 'a') || 'b'", length*2/5))
			begun := time.Now()
			if _, err := rows(t, "SELECT "+long.Replace(sql)); err != nil {
				t.Errorf("%s: %v", sql, err)
			}
			return time.Since(begun)
		}
		short, long := run(5_000_000), run(50_000_000)
		for range 2 { // other tests run beside it
			if long > 40*short {
				short, long = min(short, run(5_000_000)), min(long, run(50_000_000))
			}
		}
		if long > 40*short {
			t.Errorf("%s: %v, with lengths of a tenth %v", sql, long, short)
		}
	}
}
