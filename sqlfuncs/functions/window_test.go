package functions

import (
	"testing"

	"github.com/tpconvert/tpconvert/sqlfuncs/functions/functionstest"
)

const values = `(SELECT 1 AS i, 10 AS x UNION ALL SELECT 2, NULL UNION ALL SELECT 3, 20.5 UNION ALL SELECT 4, 7 UNION ALL SELECT 5, NULL)`

func TestLastNonNull(t *testing.T) {
	functionstest.Check(t, functionstest.NewTables().Open(t, Data{}.define), []functionstest.Test{
		{`SELECT i, last_non_null(x) OVER (ORDER BY i), last_non_null(x) OVER (ORDER BY i ROWS BETWEEN 1 PRECEDING AND CURRENT ROW),
			last_non_null(x) OVER (ORDER BY i ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING) FROM ` + values, `
1 10 10 10
2 10 10 20.5
3 20.5 20.5 7
4 7 7 7
5 7 7 NULL`},
	})
}

func TestPercentiles(t *testing.T) {
	functionstest.Check(t, functionstest.NewTables().Open(t, Data{}.define), []functionstest.Test{
		{`SELECT median(x), percentile(x, 25), percentile_cont(x, 0.25), percentile_disc(x, 0.25), percentile_disc(x, 0.5), median(NULL) FROM ` + values,
			`10.0 8.5 8.5 7.0 10.0 NULL`},
		{`SELECT i, median(x) OVER (ORDER BY i ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM ` + values, `
1 10.0
2 15.25
3 13.75
4 13.75
5 7.0`},
		{`SELECT _percentile(_percentile_values(x), 0) = percentile(x, 0), _percentile(_percentile_values(x), 33) = percentile(x, 33),
			_percentile(_percentile_values(x), 100) = percentile(x, 100), _percentile(_percentile_values(NULL), 50) FROM ` + values, `1 1 1 NULL`},
		{`SELECT _percentile(_percentile_values(x), 101) FROM ` + values, `error: percentile: the fraction is not between 0.0 and 100.0`},
		{`SELECT percentile(x, 101) FROM ` + values, `error: percentile: the fraction is not between 0.0 and 100.0`},
		{`SELECT percentile(x, NULL) FROM ` + values, `error: percentile: the fraction is not between 0.0 and 100.0`},
		{`SELECT percentile(x, i) FROM ` + values, `error: percentile: the fraction is not the same in all rows`},
		{`SELECT percentile_cont(x, 50) FROM ` + values, `error: percentile_cont: the fraction is not between 0.0 and 1.0`},
		{`SELECT percentile(x, '50') FROM ` + values, `10.0`},
		{`SELECT median('a')`, `error: median: a value is no finite number`},
		{`SELECT median(9e999)`, `error: median: a value is no finite number`},
		{`SELECT median(x'00')`, `error: median: a value is no finite number`},
		{`SELECT median(x) FILTER (WHERE 0) FROM ` + values, `NULL`},
	})
}

func TestValueAtMaxTS(t *testing.T) {
	functionstest.Check(t, functionstest.NewTables().Open(t, Data{}.define), []functionstest.Test{
		{`SELECT value_at_max_ts(i, x) FROM ` + values + ` WHERE i IN (1, 2, 4)`, `7`},
		{`SELECT value_at_max_ts(i, x) FROM ` + values + ` WHERE i IN (3, 4)`, `7.0`},
		{`SELECT value_at_max_ts(x, i) FROM (SELECT 5 AS x, 1 AS i UNION ALL SELECT 5, 2 UNION ALL SELECT NULL, 3)`, `2`},
		{`SELECT value_at_max_ts(1, 1) FILTER (WHERE 0)`, `NULL`},
		{`SELECT value_at_max_ts(i, 'a') FROM ` + values, `error: value_at_max_ts: the value is no number`},
		{`SELECT value_at_max_ts(NULL, 1)`, `error: value_at_max_ts: the timestamp is no integer`},
	})
}

func TestInternalLayout(t *testing.T) {
	const slices = `(SELECT 0 AS ts, 10 AS dur UNION ALL SELECT 2, 3 UNION ALL SELECT 4, 0 UNION ALL SELECT 5, 2 UNION ALL SELECT 5, -1
		UNION ALL SELECT 12, 1)`
	const window = `OVER (ORDER BY ts ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)`
	functionstest.Check(t, functionstest.NewTables().Open(t, Data{}.define), []functionstest.Test{
		{`SELECT ts, dur, internal_layout(ts, dur) ` + window + ` FROM ` + slices, `
0 10 0
2 3 1
4 0 2
5 2 1
5 -1 2
12 1 0`},
		{`SELECT internal_layout(ts, dur) OVER (ORDER BY ts DESC ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) FROM ` + slices,
			`error: internal_layout: the window must have ORDER BY ts`},
		{`SELECT internal_layout(ts, dur) OVER (ORDER BY ts) FROM ` + slices, `error: internal_layout: the window must be`},
		{`SELECT internal_layout(ts, dur) FROM ` + slices, `error: internal_layout: the window must be`},
		{`SELECT internal_layout(ts, dur) OVER (ORDER BY ts ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM ` + slices,
			`error: internal_layout: the window must be`},
		{`SELECT internal_layout(-1, 1)`, `error: internal_layout: ts is negative`},
		{`SELECT internal_layout(1, -2)`, `error: internal_layout: dur is less than -1`},
		{`SELECT internal_layout(1, NULL)`, `error: internal_layout: dur is no integer`},
		{`SELECT internal_layout(1, 1), internal_layout(1, 1) FILTER (WHERE 0)`, `0 NULL`},
	})
}
