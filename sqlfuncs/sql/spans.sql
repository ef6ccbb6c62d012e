-- _query turns a table, view or query, given as text, into the text of a query. A macro must read such a source itself,
-- by query(_query(source)), not through another macro: DuckDB 2 rejects a table macro inside the input of the same
-- macro.
CREATE OR REPLACE MACRO _query(source) AS
    CASE WHEN regexp_matches(source, '(?i)\bu&["'']|\b(DENIED_FUNCTIONS)"?[^!-~]*(\(|/\*|--)')
        THEN error('a source may not call functions that run SQL from text or change settings')
    WHEN regexp_matches(source, '^\s*(\(|(select|from|with|values)\s)', 'i') THEN source ELSE 'FROM ' || source END;

-- relation(source): the rows of a table, view or query given as text: relation('sched'), relation('FROM sched').
CREATE OR REPLACE MACRO relation(source) AS TABLE
FROM query(_query(source));

-- _span_named reports whether a column is named in the partition of a span join or an intersection.
CREATE OR REPLACE MACRO _span_named(name, partition) AS
    coalesce(list_contains(regexp_split_to_array(lower(partition), '\s*,\s*'), lower(name)), false);

-- _span_key reports whether a column is part of the partition.
CREATE OR REPLACE MACRO _span_key(name, partition) AS
    name IN ('_span_all' /*!, 'trace_id' */) OR _span_named(name, partition);

-- _span_side returns one side of a span join. It always has a dur column, even if the source has none.
CREATE OR REPLACE MACRO _span_side(source) AS TABLE
SELECT * REPLACE (ts::BIGINT AS ts, coalesce(dur, 0)::BIGINT AS dur)
FROM (SELECT *, 1 AS _span_all FROM query_table(source)
      UNION ALL BY NAME
      SELECT 0::BIGINT AS dur WHERE false);

-- _span_tiles divides each partition's time on a side into tiles [_span_ts, _span_end): its spans and, if gaps count,
-- the gaps before, between and after them. _span_stop is ts + dur, which is less than _span_end for an unfinished span.
-- _span_rest marks a gap that starts at a span without duration.
CREATE OR REPLACE MACRO _span_tiles(source, side, parts, partition, gaps) AS TABLE
WITH
_span_placed AS (
    SELECT COLUMNS(lambda c: NOT (_span_key(c, partition) OR c IN ('ts', 'dur'))),
           ts AS _span_ts, ts + dur AS _span_stop, ts + greatest(dur, 0) AS _span_end,
           coalesce(lead(ts) OVER (PARTITION BY _span_part ORDER BY ts, dur), 9223372036854775807) AS _span_next
    FROM query_table(side) NATURAL JOIN query_table(parts)),
_span_spans AS (
    SELECT * REPLACE (
        CASE WHEN _span_end <= _span_next THEN _span_end
             ELSE error(format('span join: spans of {} overlap in a partition: one starts at {}, another ends at {}',
                               source, _span_next, _span_end)) END AS _span_end)
    FROM _span_placed),
_span_gaps AS (
    SELECT _span_part, _span_end AS _span_from, _span_next AS _span_to, _span_ts = _span_end AS _span_rest
    FROM _span_spans
    UNION ALL
    SELECT _span_part, -9223372036854775807, coalesce(min(_span_ts), 9223372036854775807), false
    FROM query_table(parts) LEFT JOIN _span_spans USING (_span_part)
    GROUP BY _span_part)
SELECT * EXCLUDE (_span_next), true AS _span_real, false AS _span_rest FROM _span_spans
UNION ALL BY NAME
SELECT _span_part, _span_from AS _span_ts, _span_to AS _span_stop, _span_to AS _span_end, false AS _span_real, _span_rest
FROM _span_gaps
WHERE gaps AND _span_from < _span_to;

-- _span_join is the common part of the three span joins. side_a and side_b name the rows of a and b; gaps_a and gaps_b
-- say whether a side's gaps count.
--
-- 1. Each partition gets a number. A side without the partition column takes part in every partition.
-- 2. Each side is cut into tiles. Spans without duration are points, all other tiles intervals.
-- 3. Of two intervals that overlap, the one that starts later starts inside the other: an ASOF join each way finds
--    all pairs, and the interval around each point. Points meet points of the same time.
CREATE OR REPLACE MACRO _span_join(side_a, side_b, a, b, partition, gaps_a, gaps_b) AS TABLE
WITH
_span_side_a AS (FROM _span_side(side_a)),
_span_side_b AS (FROM _span_side(side_b)),
_span_parts AS MATERIALIZED (
    SELECT *, row_number() OVER () AS _span_part
    FROM (SELECT DISTINCT *
          FROM (SELECT COLUMNS(lambda c: _span_key(c, partition)) FROM _span_side_a
                UNION ALL BY NAME
                SELECT COLUMNS(lambda c: _span_key(c, partition)) FROM _span_side_b)
          -- Raises an error if there is no such column.
          WHERE COLUMNS(lambda c: partition IS NULL OR _span_named(c, partition)) IS NOT NULL)),
_span_a AS (FROM _span_tiles(a, '_span_side_a', '_span_parts', partition, gaps_a)),
_span_b AS (
    SELECT * RENAME (_span_ts AS _span_ts_b, _span_stop AS _span_stop_b, _span_end AS _span_end_b,
                     _span_real AS _span_real_b, _span_rest AS _span_rest_b, _span_part AS _span_part_b)
    FROM _span_tiles(b, '_span_side_b', '_span_parts', partition, gaps_b)),
_span_pairs AS (
    SELECT _span_a.*, _span_b.*
    FROM _span_a
    ASOF JOIN (FROM _span_b WHERE _span_ts_b < _span_end_b) AS _span_b
        ON _span_part = _span_part_b AND _span_ts >= _span_ts_b
    WHERE _span_ts < _span_end_b
    UNION ALL
    SELECT _span_a.*, _span_b.*
    FROM _span_b
    ASOF JOIN (FROM _span_a WHERE _span_ts < _span_end) AS _span_a
        ON _span_part_b = _span_part AND _span_ts_b >= _span_ts
    WHERE _span_ts_b < _span_end
      AND (_span_ts < _span_ts_b OR (_span_ts_b = _span_end_b AND NOT _span_rest))
    UNION ALL
    SELECT _span_a.*, _span_b.*
    FROM (FROM _span_a WHERE _span_ts = _span_end) AS _span_a
    JOIN (FROM _span_b WHERE _span_ts_b = _span_end_b) AS _span_b
        ON _span_part = _span_part_b AND _span_ts = _span_ts_b)
SELECT greatest(_span_ts, _span_ts_b) AS ts, least(_span_stop, _span_stop_b) - greatest(_span_ts, _span_ts_b) AS dur,
       _span_parts.* EXCLUDE (_span_all, _span_part),
       _span_pairs.* EXCLUDE (_span_part, _span_ts, _span_stop, _span_end, _span_real, _span_rest,
                              _span_part_b, _span_ts_b, _span_stop_b, _span_end_b, _span_real_b, _span_rest_b)
FROM _span_pairs JOIN _span_parts USING (_span_part)
WHERE _span_real OR _span_real_b;

-- span_join(a, b, partition): the overlaps of spans of a and b: ts and dur (ns) of the overlap, the partition, and the
-- other columns of both. a and b are tables, views or queries, as text. A side is partitioned if it has the column
-- partition (NULL: no partition); rows whose partition is NULL are ignored. Within a partition, the spans of a side
-- must not overlap. A span that is unfinished, or has no duration or no dur column, matches what exists at its ts. To
-- join a span join with a third side, give it a name in WITH: DuckDB 2 does not accept a macro inside its own text
-- argument. Source: Trace Processor's SPAN_JOIN.
CREATE OR REPLACE MACRO span_join(a, b, partition) AS TABLE
WITH _span_source_a AS (FROM query(_query(a))), _span_source_b AS (FROM query(_query(b)))
FROM _span_join('_span_source_a', '_span_source_b', a, b, partition, false, false);

-- span_left_join(a, b, partition): span_join, plus the times of a's spans where b has none, with NULL in b's columns.
CREATE OR REPLACE MACRO span_left_join(a, b, partition) AS TABLE
WITH _span_source_a AS (FROM query(_query(a))), _span_source_b AS (FROM query(_query(b)))
FROM _span_join('_span_source_a', '_span_source_b', a, b, partition, false, true);

-- span_outer_join(a, b, partition): span_left_join, plus the times of b's spans where a has none. If only one side is
-- partitioned, the other side's spans appear in each of its partitions, so in none if it is empty.
CREATE OR REPLACE MACRO span_outer_join(a, b, partition) AS TABLE
WITH _span_source_a AS (FROM query(_query(a))), _span_source_b AS (FROM query(_query(b)))
FROM _span_join('_span_source_a', '_span_source_b', a, b, partition, true, true);

-- _interval_starts pairs each interval of a side with the others that start within it, or strictly later than its start
-- if strictly is set. The others are numbered by start, so those within are a range of numbers, whose ends two ASOF
-- joins find. _upto is the number of intervals that start no later.
CREATE OR REPLACE MACRO _interval_starts(side, others, strictly) AS TABLE
WITH
_numbered AS MATERIALIZED (
    SELECT _row, _from, row_number() OVER (ORDER BY _from) AS _number, count(*) OVER (ORDER BY _from) AS _upto
    FROM query_table(others)),
_ranged AS (
    SELECT _x._row, coalesce(_before._upto, 0) + 1 AS _first, _last._upto AS _last
    FROM query_table(side) AS _x
    ASOF LEFT JOIN _numbered AS _before ON _x._from + strictly::BIGINT > _before._from
    ASOF JOIN _numbered AS _last ON _x._to > _last._from)
SELECT _in._row, _numbered._row AS _other
FROM (SELECT _row, unnest(range(_first, _last + 1)) AS _number FROM _ranged) AS _in
JOIN _numbered USING (_number);

-- _interval_reach returns the length of an interval; one without duration counts as 1 ns at its ts.
CREATE OR REPLACE MACRO _interval_reach(ts, dur) AS
    CASE WHEN dur >= 0 THEN greatest(dur, 1)
         ELSE error(format('interval intersection: the interval at {} has no end', ts)) END;

-- _interval_side returns one side of an intersection. It raises an error if the partition column is missing.
CREATE OR REPLACE MACRO _interval_side(source, partition) AS TABLE
SELECT * REPLACE (coalesce(dur, 0) AS dur), 1 AS _span_all FROM query_table(source)
WHERE COLUMNS(lambda c: partition IS NULL OR _span_named(c, partition)) IS NULL OR true;

-- interval_intersect(a, b, partition): all pairs of an interval of a and one of b that share time within a partition:
-- ts and dur (ns) of the shared time, the partition, id_0 and id_1. Unlike in a span join, the intervals of a side may
-- overlap. a and b are tables, views or queries, as text, with id, ts and dur. partition is NULL, a column of both, or
-- several as 'cpu, utid'. An interval without duration shares time with what exists at its ts. NULL is a partition like
-- any other. An id can be of any type, so the result can be intersected again, with a list of its ids as id. Source:
-- Trace Processor's interval_intersect.
CREATE OR REPLACE MACRO interval_intersect(a, b, partition) AS TABLE
WITH
_given_a AS (FROM query(_query(a))),
_given_b AS (FROM query(_query(b))),
_source_a AS (FROM _interval_side('_given_a', partition)),
_source_b AS (
    SELECT COLUMNS(lambda c: _span_key(c, partition)) FROM _source_a WHERE false -- the same columns in the same order
    UNION ALL BY NAME
    FROM _interval_side('_given_b', partition)),
_interval_a AS MATERIALIZED (
    SELECT *, row_number() OVER () AS _row, row(*COLUMNS(lambda c: _span_key(c, partition))) AS _key FROM _source_a),
_interval_b AS MATERIALIZED (
    SELECT *, row_number() OVER () AS _row, row(*COLUMNS(lambda c: _span_key(c, partition))) AS _key FROM _source_b),
_interval_parts AS MATERIALIZED (SELECT _key, row_number() OVER () AS _part FROM _interval_a GROUP BY _key),
-- _from and _to place the partitions one after the other.
_placed_a AS (
    SELECT _row, _part * 18446744073709551616::HUGEINT + ts AS _from, _from + _interval_reach(ts, dur) AS _to
    FROM _interval_a JOIN _interval_parts USING (_key)),
_placed_b AS (
    SELECT _row, _part * 18446744073709551616::HUGEINT + ts AS _from, _from + _interval_reach(ts, dur) AS _to
    FROM _interval_b JOIN _interval_parts USING (_key)),
_interval_pairs AS (
    SELECT _row AS _row_a, _other AS _row_b FROM _interval_starts('_placed_a', '_placed_b', false)
    UNION ALL
    SELECT _other, _row FROM _interval_starts('_placed_b', '_placed_a', true))
SELECT greatest(_a.ts, _b.ts) AS ts, least(_a.ts + _a.dur, _b.ts + _b.dur) - greatest(_a.ts, _b.ts) AS dur,
       _a.* EXCLUDE (id, ts, dur, _row, _span_all), _a.id AS id_0, _b.id AS id_1
FROM _interval_pairs
JOIN (SELECT id, ts, dur, _row, COLUMNS(lambda c: _span_key(c, partition)) FROM _interval_a) AS _a ON _a._row = _row_a
JOIN _interval_b AS _b ON _b._row = _row_b;
