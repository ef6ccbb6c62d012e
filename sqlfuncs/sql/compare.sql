-- compare_slices(a, b): compares two sets of slices by name. a and b are tables, views or queries, as text, with name
-- and dur. They can be from two traces ('FROM slice WHERE trace_id = ''t_1'''), times, threads or datasets. Columns for
-- each set: count, dur (ns, the sum), p50 and p95 of dur, with the suffixes _a, _b and _diff (b minus a). Unfinished
-- slices (dur -1) are left out.
CREATE OR REPLACE MACRO compare_slices(a, b) AS TABLE
WITH
_given_a AS (FROM query(_query(a))),
_given_b AS (FROM query(_query(b))),
_both AS (
    SELECT name, dur, true AS _in_a FROM _given_a WHERE dur >= 0
    UNION ALL
    SELECT name, dur, false FROM _given_b WHERE dur >= 0),
_by_name AS (
    SELECT name, count(*) FILTER (_in_a) AS count_a, count(*) FILTER (NOT _in_a) AS count_b,
           coalesce(sum(dur) FILTER (_in_a), 0)::BIGINT AS dur_a, coalesce(sum(dur) FILTER (NOT _in_a), 0)::BIGINT AS dur_b,
           quantile_cont(dur, 0.5) FILTER (_in_a) AS p50_a, quantile_cont(dur, 0.5) FILTER (NOT _in_a) AS p50_b,
           quantile_cont(dur, 0.95) FILTER (_in_a) AS p95_a, quantile_cont(dur, 0.95) FILTER (NOT _in_a) AS p95_b
    FROM _both GROUP BY name)
SELECT name, count_a, count_b, count_b - count_a AS count_diff, dur_a, dur_b, dur_b - dur_a AS dur_diff,
       p50_a, p50_b, p50_b - p50_a AS p50_diff, p95_a, p95_b, p95_b - p95_a AS p95_diff
FROM _by_name;

-- compare_profiles(a, b, metric := NULL): compares two sets of samples by stack. a and b are samples as for flamegraph.
-- Columns: stack (main;run;read), value_a and value_b, value_diff (b minus a), and percent_a and percent_b of all
-- samples of the set.
CREATE OR REPLACE MACRO compare_profiles(a, b, metric := NULL) AS TABLE
WITH
_given_a AS (FROM query(_query(a))),
_given_b AS (FROM query(_query(b))),
_both AS (
    SELECT *, true AS _in_a FROM _profile_samples('_given_a', NULL, metric)
    UNION ALL BY NAME
    SELECT *, false AS _in_a FROM _profile_samples('_given_b', NULL, metric)),
_by_callsite AS (
    SELECT callsite_id, coalesce(sum(value) FILTER (_in_a), 0) AS _a, coalesce(sum(value) FILTER (NOT _in_a), 0) AS _b /*!, trace_id */
    FROM _both GROUP BY callsite_id /*!, trace_id */),
_by_stack AS (
    SELECT callstack(callsite_id /*!, trace_id */) AS stack, sum(_a) AS value_a, sum(_b) AS value_b FROM _by_callsite GROUP BY ALL)
SELECT stack, value_a, value_b, value_b - value_a AS value_diff,
       100 * value_a / nullif(sum(value_a) OVER (), 0) AS percent_a, 100 * value_b / nullif(sum(value_b) OVER (), 0) AS percent_b
FROM _by_stack;
