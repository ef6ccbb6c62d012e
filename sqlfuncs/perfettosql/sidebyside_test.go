package perfettosql_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
)

// TestSideBySide runs sessions in several goroutines, as the clients of a server do.
func TestSideBySide(t *testing.T) {
	t.Parallel()
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := range 5 {
				got, err := rows(t, fmt.Sprintf(`CREATE PERFETTO TABLE t AS
					WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) SELECT i, 'text ' || (i * %d) AS s FROM n;
					CREATE PERFETTO FUNCTION f(i INT) RETURNS STRING AS SELECT s FROM t WHERE i = $i;
					SELECT count(DISTINCT s), f(7) FROM t WHERE s GLOB '*t*[0-9]' AND replace(s, 'text', 'x') LIKE 'X %%'`, i*10+n+1))
				if want := []string{fmt.Sprintf("20001 | 'text %d'", 7*(i*10+n+1))}; err != nil || !slices.Equal(got, want) {
					t.Errorf("session %d: %q, %v", i, got, err)
				}
			}
		})
	}
	all.Wait()
}
