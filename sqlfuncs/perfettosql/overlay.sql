-- SQLite's and Trace Processor's functions that differ from DuckDB's functions of the same name: a call of NAME becomes
-- one of sqlite_NAME.

-- CAST(x AS INTEGER): takes the leading digits of text, and truncates reals towards zero.
CREATE MACRO sqlite_to_integer(x) AS CASE
    WHEN typeof(x) IN ('DOUBLE', 'FLOAT') OR typeof(x) LIKE 'DECIMAL%' THEN TRY_CAST(trunc(TRY_CAST(x AS DOUBLE)) AS BIGINT)
    WHEN typeof(x) IN ('VARCHAR', 'VARIANT', 'BLOB')
    THEN coalesce(TRY_CAST(regexp_extract(x::VARCHAR, '^\s*([+-]?\d+)', 1) AS BIGINT), CASE WHEN x IS NOT NULL THEN 0 END)
    ELSE TRY_CAST(x AS BIGINT) END;

-- CAST(x AS REAL): takes the number at the start of text.
CREATE MACRO sqlite_to_real(x) AS CASE
    WHEN typeof(x) = 'VARCHAR'
    THEN coalesce(TRY_CAST(regexp_extract(x::VARCHAR, '^\s*([+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?)', 1) AS DOUBLE),
                  CASE WHEN x IS NOT NULL THEN 0 END)
    ELSE TRY_CAST(x AS DOUBLE) END;

-- CAST(x AS TEXT): a truth value is 0 or 1; reals have 15 digits and always a fraction, and what is not a number is NULL.
CREATE MACRO sqlite_real_to_text(x) AS CASE
    WHEN isnan(x) THEN NULL
    WHEN isinf(x) THEN CASE WHEN x > 0 THEN 'Inf' ELSE '-Inf' END
    ELSE regexp_replace(printf('%.15g', x + 0), '^(-?\d+)(e|$)', '\1.0\2') END;
CREATE MACRO sqlite_to_text(x) AS CASE
    WHEN typeof(x) = 'BOOLEAN' THEN TRY_CAST(x AS TINYINT)::VARCHAR
    WHEN typeof(x) IN ('DOUBLE', 'FLOAT') THEN sqlite_real_to_text(TRY_CAST(x AS DOUBLE))
    ELSE x::VARCHAR END;

-- A sort key that puts numbers first, then text that is not a number.
CREATE MACRO sqlite_key(x) AS CASE WHEN x IS NOT NULL THEN
    row(coalesce(TRY_CAST(x AS DOUBLE), 'inf'), coalesce(TRY_CAST(x AS HUGEINT), 0), CASE WHEN TRY_CAST(x AS DOUBLE) IS NULL THEN x::VARCHAR ELSE '' END) END;

CREATE MACRO sqlite_substr(x, start) AS substring(x::VARCHAR, sqlite_to_integer(start)),
(x, start, length) AS CASE
    WHEN length < 0 THEN substring(x::VARCHAR, (CASE WHEN start < 0 THEN length(x::VARCHAR) + 1 + start ELSE start END + length)::BIGINT, -length)
    WHEN start < -length(x::VARCHAR) THEN substring(x::VARCHAR, 1, greatest(0, length + start + length(x::VARCHAR))::BIGINT)
    ELSE substring(x::VARCHAR, start::BIGINT, length::BIGINT) END;
CREATE MACRO sqlite_substring(x, start) AS sqlite_substr(x, start), (x, start, length) AS sqlite_substr(x, start, length);
CREATE MACRO sqlite_instr(x, y) AS strpos(x::VARCHAR, y::VARCHAR);
CREATE MACRO sqlite_replace(x, y, z) AS replace(x::VARCHAR, y::VARCHAR, z::VARCHAR);
CREATE MACRO sqlite_upper(x) AS upper(x::VARCHAR);
CREATE MACRO sqlite_lower(x) AS lower(x::VARCHAR);
CREATE MACRO sqlite_trim(x) AS trim(x::VARCHAR), (x, y) AS trim(x::VARCHAR, y::VARCHAR);
CREATE MACRO sqlite_ltrim(x) AS ltrim(x::VARCHAR), (x, y) AS ltrim(x::VARCHAR, y::VARCHAR);
CREATE MACRO sqlite_rtrim(x) AS rtrim(x::VARCHAR), (x, y) AS rtrim(x::VARCHAR, y::VARCHAR);
CREATE MACRO sqlite_length(x) AS CASE WHEN typeof(x) = 'BLOB' THEN octet_length(TRY_CAST(x AS BLOB)) ELSE length(x::VARCHAR) END;
CREATE MACRO sqlite_octet_length(x) AS CASE WHEN typeof(x) = 'BLOB' THEN octet_length(TRY_CAST(x AS BLOB)) ELSE strlen(sqlite_to_text(x)) END;
CREATE MACRO zeroblob(n) AS repeat('\x00'::BLOB, n);
CREATE MACRO "like"(pattern, x) AS x::VARCHAR ILIKE pattern::VARCHAR;
CREATE MACRO sqlite_char(a) AS chr(a::INTEGER), (a, b) AS chr(a::INTEGER) || chr(b::INTEGER),
(a, b, c) AS chr(a::INTEGER) || chr(b::INTEGER) || chr(c::INTEGER);
CREATE MACRO sqlite_unicode(x) AS unicode(x::VARCHAR);
CREATE MACRO sqlite_hex(x) AS coalesce(CASE WHEN typeof(x) = 'BLOB' THEN hex(TRY_CAST(x AS BLOB)) ELSE hex(x::VARCHAR) END, '');
CREATE MACRO _sqlite_class(type) AS CASE
    WHEN type IN ('DOUBLE', 'FLOAT') OR type LIKE 'DECIMAL%' THEN 'real'
    WHEN type = 'VARCHAR' THEN 'text'
    WHEN type = 'BLOB' THEN 'blob'
    ELSE 'integer' END;
CREATE MACRO sqlite_typeof(x) AS CASE
    WHEN x IS NULL THEN 'null'
    WHEN typeof(x) = 'VARIANT' THEN _sqlite_class(variant_typeof(x::VARIANT))
    ELSE _sqlite_class(typeof(x)) END;
-- What hash reads of a value: its type and the value.
CREATE MACRO _hash_part(x) AS CASE WHEN sqlite_typeof(x) = 'text' THEN 't' ELSE 'i' END || x::VARCHAR;
CREATE MACRO _hash(parts) AS _fnv(flatten(list_transform(parts,
    lambda part: CASE WHEN part[1] = 't' THEN _hash_bytes(part[2:]) ELSE _hash_bytes(part[2:]::BIGINT) END)));
CREATE MACRO sqlite_iif(c, x) AS CASE WHEN c THEN x END, (c, x, y) AS CASE WHEN c THEN x ELSE y END;
CREATE MACRO sqlite_if(c, x) AS CASE WHEN c THEN x END, (c, x, y) AS CASE WHEN c THEN x ELSE y END;
CREATE MACRO likelihood(x, probability) AS x;
CREATE MACRO sqlite_likely(x) AS x;
CREATE MACRO sqlite_unlikely(x) AS x;
-- Not quantile_cont, which rounds differently.
CREATE MACRO _interpolated(sorted, place) AS sorted[floor(place)::BIGINT + 1]
    + (sorted[least(floor(place)::BIGINT + 2, len(sorted))] - sorted[floor(place)::BIGINT + 1]) * (place - floor(place));
CREATE MACRO percentile(x, p) AS _interpolated(list_sort(list(x::DOUBLE) FILTER (x IS NOT NULL)), p / 100.0 * (count(x) - 1));
CREATE MACRO _fraction(x) AS CASE WHEN x BETWEEN 0 AND 1 THEN x ELSE error('the fraction is not between 0 and 1') END;
CREATE MACRO percentile_cont(x, fraction) AS
    _interpolated(list_sort(list(x::DOUBLE) FILTER (x IS NOT NULL)), _fraction(fraction) * (count(x) - 1));
CREATE MACRO percentile_disc(x, fraction) AS
    list_sort(list(x::DOUBLE) FILTER (x IS NOT NULL))[floor(_fraction(fraction) * (count(x) - 1))::BIGINT + 1];
CREATE MACRO sqlite_value_at_max_ts(ts, value) AS arg_max(value, ts);
CREATE MACRO sqlite_total(x) AS coalesce(sum(x)::DOUBLE, 0.0);
CREATE MACRO sqlite_max(a, b) AS CASE WHEN a IS NOT NULL AND b IS NOT NULL THEN greatest(a, b) END,
(a, b, c) AS CASE WHEN a IS NOT NULL AND b IS NOT NULL AND c IS NOT NULL THEN greatest(a, b, c) END,
(a, b, c, d) AS CASE WHEN a IS NOT NULL AND b IS NOT NULL AND c IS NOT NULL AND d IS NOT NULL THEN greatest(a, b, c, d) END,
(a, b, c, d, e) AS CASE WHEN a IS NOT NULL AND b IS NOT NULL AND c IS NOT NULL AND d IS NOT NULL AND e IS NOT NULL THEN greatest(a, b, c, d, e) END;
CREATE MACRO sqlite_min(a, b) AS CASE WHEN a IS NOT NULL AND b IS NOT NULL THEN least(a, b) END,
(a, b, c) AS CASE WHEN a IS NOT NULL AND b IS NOT NULL AND c IS NOT NULL THEN least(a, b, c) END,
(a, b, c, d) AS CASE WHEN a IS NOT NULL AND b IS NOT NULL AND c IS NOT NULL AND d IS NOT NULL THEN least(a, b, c, d) END,
(a, b, c, d, e) AS CASE WHEN a IS NOT NULL AND b IS NOT NULL AND c IS NOT NULL AND d IS NOT NULL AND e IS NOT NULL THEN least(a, b, c, d, e) END;

CREATE MACRO sqlite_round(x) AS round(x::DOUBLE, 0), (x, digits) AS round(x::DOUBLE, digits::INTEGER);
CREATE MACRO sqlite_ceil(x BIGINT) AS x, (x DOUBLE) AS ceil(x), (x VARCHAR) AS ceil(TRY_CAST(x AS DOUBLE));
CREATE MACRO sqlite_ceiling(x BIGINT) AS x, (x DOUBLE) AS ceil(x), (x VARCHAR) AS ceil(TRY_CAST(x AS DOUBLE));
CREATE MACRO sqlite_floor(x BIGINT) AS x, (x DOUBLE) AS floor(x), (x VARCHAR) AS floor(TRY_CAST(x AS DOUBLE));
CREATE MACRO sqlite_trunc(x BIGINT) AS x, (x DOUBLE) AS trunc(x), (x VARCHAR) AS trunc(TRY_CAST(x AS DOUBLE));
CREATE MACRO sqlite_mod(x, y) AS CASE WHEN TRY_CAST(y AS DOUBLE) <> 0 THEN TRY_CAST(x AS DOUBLE) % TRY_CAST(y AS DOUBLE) END;
CREATE MACRO sqlite_exp(x) AS exp(TRY_CAST(x AS DOUBLE));
CREATE MACRO sqlite_ln(x) AS CASE WHEN TRY_CAST(x AS DOUBLE) > 0 THEN ln(TRY_CAST(x AS DOUBLE)) END;
CREATE MACRO sqlite_log(x) AS CASE WHEN TRY_CAST(x AS DOUBLE) > 0 THEN log10(TRY_CAST(x AS DOUBLE)) END,
(base, x) AS CASE WHEN TRY_CAST(x AS DOUBLE) > 0 AND TRY_CAST(base AS DOUBLE) > 0
    THEN ln(TRY_CAST(x AS DOUBLE)) / ln(TRY_CAST(base AS DOUBLE)) END;
CREATE MACRO sqlite_sqrt(x) AS CASE WHEN TRY_CAST(x AS DOUBLE) >= 0 THEN sqrt(TRY_CAST(x AS DOUBLE)) END;
CREATE MACRO sqlite_unhex(x) AS ('0x' || regexp_extract(x::VARCHAR, '([0-9a-fA-F]+)\W*$', 1))::BIGINT;
CREATE MACRO sqlite_regexp(pattern, x) AS regexp_matches(x::VARCHAR, pattern),
(pattern, x, flags) AS CASE WHEN flags LIKE '%i' THEN regexp_matches(x::VARCHAR, pattern, 'i')
    ELSE regexp_matches(x::VARCHAR, pattern) END;
-- The first group if the pattern has one and it matches, else the whole match.
CREATE MACRO sqlite_regexp_extract(x, pattern) AS CASE
    WHEN NOT regexp_matches(x::VARCHAR, pattern) THEN NULL
    WHEN regexp_matches(replace(pattern, '\(', ''), '\((\?P?<|[^?])')
    THEN coalesce(nullif(regexp_extract(x::VARCHAR, pattern, 1), ''), regexp_extract(x::VARCHAR, pattern))
    ELSE regexp_extract(x::VARCHAR, pattern) END;
CREATE MACRO sqlite_regexp_replace_simple(x, pattern, to_text) AS regexp_replace(x::VARCHAR, pattern, to_text, 'g');
CREATE MACRO sqlite_str_split(x, delimiter, field) AS str_split(x::VARCHAR, delimiter::VARCHAR, field);
CREATE MACRO sqlite_reverse(x) AS reverse(x::VARCHAR);
CREATE MACRO sqlite_strftime(format, x) AS strftime(x::TIMESTAMP, format);

-- Replaces hexadecimal numbers of at least this many digits by <num>. They must follow 0x, or contain a decimal digit
-- and start either with one, or at the start, or after a character that is not a letter. A mark keeps the place of 0x.
CREATE MACRO __intrinsic_strip_hex(name, least) AS replace(array_to_string(list_transform(
    regexp_extract_all(regexp_replace(name, '0([xX])', '0\1' || chr(1), 'g'),
                       '^[0-9a-fA-F]+|[^0-9a-zA-Z][0-9a-fA-F]*|[0-9][0-9a-fA-F]*|[a-zA-Z]'),
    lambda part: CASE
        WHEN regexp_matches(part, '^[0-9a-zA-Z]') AND regexp_matches(part, '[0-9]') AND length(part) >= least THEN '<num>'
        WHEN NOT regexp_matches(part, '^[0-9a-zA-Z]') AND (part[1] = chr(1) OR regexp_matches(part, '[0-9]'))
            AND length(part) > least THEN part[1] || '<num>'
        ELSE part END), ''), chr(1), '');

CREATE MACRO __intrinsic_arg_set_to_json(arg_set) AS CASE WHEN arg_set IS NOT NULL THEN coalesce((
    SELECT _args_json(list(key ORDER BY id), list(coalesce(value_type, 'null') ORDER BY id), list(coalesce(display_value, '') ORDER BY id))
    FROM args WHERE arg_set_id = arg_set), '{}') END;

CREATE MACRO experimental_ancestor_stack_profile_callsite(callsite) AS TABLE
WITH RECURSIVE _above AS (
    SELECT parent_id FROM dataset.stack_profile_callsite WHERE id = callsite
    UNION ALL
    SELECT c.parent_id FROM dataset.stack_profile_callsite AS c JOIN _above ON c.id = _above.parent_id)
SELECT c.id, c.depth, c.parent_id, c.frame_id FROM dataset.stack_profile_callsite AS c JOIN _above ON c.id = _above.parent_id;

CREATE MACRO __intrinsic_zstd_compress(x) AS _zstd_compress(CASE sqlite_typeof(x)
    WHEN 'text' THEN encode(x::VARCHAR)
    WHEN 'blob' THEN TRY_CAST(x AS BLOB)
    WHEN 'null' THEN NULL
    ELSE error('__intrinsic_zstd_compress: want text or a BLOB') END);

-- The first value of a counter of this name in a sample.
CREATE MACRO __intrinsic_perf_counter_for_sample(sample, counter_name) AS CASE
    WHEN sample IS NULL THEN NULL
    WHEN sample NOT BETWEEN 0 AND (SELECT count(*) FROM dataset.stack_sample) - 1
        THEN error('__intrinsic_perf_counter_for_sample: there is no sample ' || sample::VARCHAR)
    ELSE (SELECT arg_min(c.value, p.id)
          FROM (SELECT sample AS _sample, counter_name AS _name) AS _of
          JOIN dataset.stack_sample AS s ON s.id = _sample
          JOIN dataset.profiler_counter_set AS p ON p.counter_set_id = s.counter_set_id
          JOIN dataset.counter AS c ON c.id = p.counter_id
          JOIN dataset.track AS t ON t.id = c.track_id AND t.name = _name) END;

-- Functions of JSON give numbers, truth as 0 and 1, text, and NULL for null. Types are those of DuckDB.
CREATE MACRO _json_type(type, x) AS CASE
    WHEN type = 'BOOLEAN' THEN x::VARCHAR
    WHEN type = 'VARCHAR' THEN 'text'
    WHEN type = 'DOUBLE' THEN CASE WHEN regexp_matches(x::VARCHAR, '[.eE]') THEN 'real' ELSE 'integer' END
    WHEN type LIKE '%INT' THEN 'integer'
    ELSE lower(type) END;
CREATE MACRO sqlite_json_type(x) AS _json_type(json_type(x), x),
(x, path) AS _json_type(json_type(x, path), json_extract(x, path));
CREATE MACRO _json_value(type, x) AS CASE
    WHEN type = 'NULL' THEN NULL
    WHEN type = 'BOOLEAN' THEN (x::VARCHAR = 'true')::BIGINT::VARIANT
    WHEN type = 'VARCHAR' THEN (x ->> '$')::VARIANT
    WHEN type = 'DOUBLE' THEN x::VARCHAR::DOUBLE::VARIANT
    WHEN type LIKE '%INT' THEN coalesce(TRY_CAST(x::VARCHAR AS BIGINT)::VARIANT, x::VARCHAR::DOUBLE::VARIANT)
    ELSE x::VARCHAR::VARIANT END;
CREATE MACRO sqlite_json_extract(x, path) AS _json_value(json_type(x, path), json_extract(x, path));
CREATE MACRO _json_path(key) AS CASE
    WHEN typeof(key) IN ('BIGINT', 'INTEGER') THEN '$[' || CASE WHEN key::VARCHAR LIKE '-%' THEN '#' ELSE '' END || key || ']'
    WHEN key::VARCHAR LIKE '$%' THEN key::VARCHAR
    ELSE '$."' || key || '"' END;
CREATE MACRO _json_key(key, fullkey) AS CASE WHEN fullkey LIKE '%]' THEN key::BIGINT::VARIANT ELSE key::VARIANT END;
CREATE MACRO _json_atom(type, x) AS CASE WHEN type NOT IN ('OBJECT', 'ARRAY') THEN _json_value(type, x) END;
CREATE MACRO json_each(x) AS TABLE
SELECT _json_key(key, fullkey) AS key, _json_value(type, value) AS value, _json_type(type, value) AS type, _json_atom(type, value) AS atom,
    id::BIGINT AS id, parent::BIGINT AS parent, fullkey, path
FROM system.main.json_each(x);
CREATE MACRO json_tree(x) AS TABLE
SELECT _json_key(key, fullkey) AS key, _json_value(type, value) AS value, _json_type(type, value) AS type, _json_atom(type, value) AS atom,
    id::BIGINT AS id, parent::BIGINT AS parent, fullkey, path
FROM system.main.json_tree(x);

-- Stacks. Ids are the numbers of rows.
CREATE MACRO _row_id(x, rows, of) AS CASE
    WHEN x IS NULL THEN NULL
    WHEN sqlite_typeof(x) <> 'integer' THEN error(of || ' must be an integer')
    WHEN TRY_CAST(x AS BIGINT) < 0 OR TRY_CAST(x AS BIGINT) >= rows THEN error(of || ' ' || x::VARCHAR || ' does not exist')
    ELSE TRY_CAST(x AS BIGINT) END;
CREATE MACRO _callsite(x) AS _row_id(x, (SELECT count(*) FROM dataset.stack_profile_callsite), 'STACK_FROM_STACK_PROFILE_CALLSITE: callsite_id');
CREATE MACRO stack_from_stack_profile_callsite(x) AS _stack_of_row(2, _callsite(x)),
(x, annotate) AS _stack_of_row(CASE
    WHEN annotate IS NULL THEN NULL
    WHEN sqlite_typeof(annotate) <> 'integer' THEN error('STACK_FROM_STACK_PROFILE_CALLSITE: annotate must be an integer')
    WHEN TRY_CAST(annotate AS BIGINT) = 0 THEN 2
    ELSE 3 END, _callsite(x));
CREATE MACRO stack_from_stack_profile_frame(x) AS _stack_of_row(4,
    _row_id(x, (SELECT count(*) FROM dataset.stack_profile_frame), 'STACK_FROM_STACK_PROFILE_FRAME: frame_id'));

-- The elements of an array on a Java heap, NULL if there is no such array.
CREATE MACRO _heap_array(x) AS CASE
    WHEN x IS NULL THEN NULL
    WHEN sqlite_typeof(x) <> 'integer' THEN error('__intrinsic_heap_graph_array: array_data_id must be an integer')
    WHEN NOT EXISTS (FROM dataset.heap_graph_array)
        AND TRY_CAST(x AS BIGINT) BETWEEN 0 AND (SELECT max(array_data_id) FROM dataset.heap_graph_object_data)
        THEN error('the dataset has no table heap_graph_array: convert the trace again')
    ELSE TRY_CAST(x AS BIGINT) END;
CREATE MACRO __intrinsic_heap_graph_array(x) AS CASE WHEN _heap_array(x) >= 0 THEN (
    SELECT data FROM dataset.heap_graph_array WHERE id = TRY_CAST(x AS BIGINT)) END;
CREATE MACRO __intrinsic_heap_graph_array_json(x) AS CASE WHEN _heap_array(x) >= 0 THEN (
    SELECT _elements_json(o.array_element_type, a.data)
    FROM dataset.heap_graph_array AS a JOIN dataset.heap_graph_object_data AS o ON o.array_data_id = a.id
    WHERE a.id = TRY_CAST(x AS BIGINT)) END;

CREATE MACRO experimental_annotated_callstack(callsite) AS TABLE
WITH RECURSIVE _stack AS (
    SELECT id, depth, parent_id, frame_id FROM dataset.stack_profile_callsite
    WHERE id = _row_id(callsite, (SELECT count(*) FROM dataset.stack_profile_callsite), 'experimental_annotated_callstack: callsite_id')
    UNION ALL
    SELECT c.id, c.depth, c.parent_id, c.frame_id FROM dataset.stack_profile_callsite AS c JOIN _stack ON c.id = _stack.parent_id),
_annotated AS (
    SELECT _stack_annotations(list(coalesce(f.name, '') ORDER BY s.depth), list(coalesce(m.name, '') ORDER BY s.depth)) AS _texts
    FROM _stack AS s JOIN dataset.stack_profile_frame AS f ON f.id = s.frame_id JOIN dataset.stack_profile_mapping AS m ON m.id = f.mapping)
SELECT _stack.*, nullif(_texts[depth + 1], '') AS annotation FROM _stack, _annotated ORDER BY depth DESC;

-- A row of EXPERIMENTAL_PROFILE.
CREATE MACRO _profile_sample(x, of, values_of) AS struct_pack(
    stack := CASE WHEN sqlite_typeof(x) = 'blob' THEN TRY_CAST(x AS BLOB) ELSE error('EXPERIMENTAL_PROFILE: the stack must be a BLOB') END,
    types := of, numbers := values_of);
CREATE MACRO _profile_text(x) AS CASE WHEN sqlite_typeof(x) = 'text' THEN x::VARCHAR END;
CREATE MACRO _profile_value(x) AS CASE WHEN sqlite_typeof(x) = 'integer' THEN TRY_CAST(x AS BIGINT)
    ELSE error('EXPERIMENTAL_PROFILE: values must be integers') END;

-- Functions of table pointers. A pointer is the name of a query here.

-- NULL counts as 0.
CREATE MACRO __intrinsic_counter_intervals(kind, until, counters) AS TABLE FROM counter_leading_intervals(
    'SELECT coalesce(id, 0) AS id, ts, coalesce(track_id, 0) AS track_id, coalesce(value, 0)::DOUBLE AS value FROM (' || _query(counters) || ')');
CREATE MACRO __intrinsic_interval_create(starts, ends) AS TABLE
SELECT s.ts, e.ts - s.ts AS dur FROM relation(starts) AS s ASOF JOIN relation(ends) AS e ON s.ts < e.ts;

-- Both return the tree of a breadth-first search. If several of the nearest nodes lead to a node, its parent is the one
-- with the least id.
CREATE MACRO __intrinsic_bfs(graph, starts) AS TABLE
WITH RECURSIVE _reached(node_id, parent_node_id) USING KEY (node_id) AS (
    SELECT DISTINCT node_id::BIGINT, NULL::BIGINT FROM query_table(starts)
    UNION
    SELECT _e.dest_node_id::BIGINT, min(_e.source_node_id)::BIGINT
    FROM _reached AS _r JOIN query_table(graph) AS _e ON _e.source_node_id = _r.node_id
    WHERE _e.dest_node_id NOT IN (SELECT _k.node_id FROM recurring._reached AS _k)
    GROUP BY _e.dest_node_id)
FROM _reached;
CREATE MACRO __intrinsic_dfs(graph, starts) AS TABLE FROM __intrinsic_bfs(graph, starts);

-- Span joins as in v58, which accepts overlapping spans within a partition. A cursor moves over the spans of each side
-- in order of ts; the cursor whose span ends first advances. A pair is in the result if both cursors were at it at the
-- same time and its spans overlap. So the first of several overlapping spans gets the other side's spans, and the later
-- ones get the rest.

-- _cursor_steps returns the stops of a side's cursor: its spans and, if gaps count, the gaps before, between and after
-- them. _end is where a span ends for the cursor; an unfinished span ends where it starts. _reach is the end that the
-- cursor has passed; at the same time, gaps are passed before spans.
CREATE MACRO _cursor_steps(side, parts, partition, gaps) AS TABLE
WITH
_placed AS (
    SELECT COLUMNS(lambda c: c NOT IN ('ts', 'dur', '_all') AND lower(c) IS DISTINCT FROM lower(partition)),
           ts AS _ts, ts + dur AS _stop, ts + CASE WHEN dur = -1 THEN 0 ELSE dur END AS _end, true AS _real,
           2 * row_number() OVER _in_part AS _order, lead(ts) OVER _in_part AS _next
    FROM query_table(side) NATURAL JOIN query_table(parts)
    WINDOW _in_part AS (PARTITION BY _part ORDER BY ts, _row)),
_gaps AS (
    SELECT _part, _end AS _ts, coalesce(_next, 9223372036854775807) AS _stop, _order + 1 AS _order FROM _placed
    UNION ALL
    SELECT _part, -9223372036854775807, coalesce(min(_ts), 9223372036854775807), 1
    FROM query_table(parts) LEFT JOIN _placed USING (_part) GROUP BY _part),
_stops AS (
    SELECT * EXCLUDE (_next) FROM _placed
    UNION ALL BY NAME
    SELECT *, CASE WHEN _stop - _ts::HUGEINT = -1 THEN _ts ELSE _stop END AS _end, false AS _real
    FROM _gaps WHERE gaps AND _ts <> _stop)
SELECT * EXCLUDE (_order, _row), row_number() OVER _in_part AS _step,
       max(2 * _end::HUGEINT + _real::INTEGER) OVER _in_part AS _reach
FROM _stops WINDOW _in_part AS (PARTITION BY _part ORDER BY _order);

CREATE MACRO _join_spans(a, b, partition, gaps_a, gaps_b) AS TABLE
WITH
_side_a AS (
    SELECT * REPLACE (ts::BIGINT AS ts, coalesce(dur, 0)::BIGINT AS dur), 1 AS _all, row_number() OVER () AS _row
    FROM (FROM relation(a) UNION ALL BY NAME SELECT 0::BIGINT AS dur WHERE false)),
_side_b AS (
    SELECT * REPLACE (ts::BIGINT AS ts, coalesce(dur, 0)::BIGINT AS dur), 1 AS _all, row_number() OVER () AS _row
    FROM (FROM relation(b) UNION ALL BY NAME SELECT 0::BIGINT AS dur WHERE false)),
_parts AS MATERIALIZED (
    SELECT *, row_number() OVER () AS _part
    FROM (SELECT DISTINCT *
          FROM (SELECT COLUMNS(lambda c: c = '_all' OR coalesce(lower(c) = lower(partition), false)) FROM _side_a
                UNION ALL BY NAME
                SELECT COLUMNS(lambda c: c = '_all' OR coalesce(lower(c) = lower(partition), false)) FROM _side_b)
          -- Raises an error if there is no such column.
          WHERE COLUMNS(lambda c: partition IS NULL OR lower(c) = lower(partition)) IS NOT NULL)),
_a AS MATERIALIZED (FROM _cursor_steps('_side_a', '_parts', partition, gaps_a)),
_b AS MATERIALIZED (
    SELECT * RENAME (_part AS _part_b, _ts AS _ts_b, _stop AS _stop_b, _end AS _end_b, _real AS _real_b, _step AS _step_b,
                     _reach AS _reach_b)
    FROM _cursor_steps('_side_b', '_parts', partition, gaps_b)),
_last AS (SELECT _part_b, max(_step_b) AS _last FROM _b GROUP BY _part_b),
-- The position of b's cursor when a's cursor leaves a step.
_left AS (
    SELECT _part, _step, _f._step_b AS _at
    FROM _a ASOF LEFT JOIN (SELECT _part_b, _reach_b, min(_step_b) AS _step_b FROM _b GROUP BY ALL) AS _f
        ON _part = _f._part_b AND _reach < _f._reach_b),
_met AS (
    SELECT _part, _step, unnest(range(_from, coalesce(_at, _last) + 1)) AS _with
    FROM (SELECT *, CASE WHEN _step = 1 THEN 1 ELSE lag(_at) OVER (PARTITION BY _part ORDER BY _step) END AS _from FROM _left)
    JOIN _last ON _part = _part_b
    WHERE _from IS NOT NULL)
SELECT greatest(_ts, _ts_b) AS ts, least(_stop, _stop_b) - greatest(_ts, _ts_b) AS dur,
       _parts.* EXCLUDE (_all, _part),
       _a.* EXCLUDE (_part, _ts, _stop, _end, _real, _step, _reach),
       _b.* EXCLUDE (_part_b, _ts_b, _stop_b, _end_b, _real_b, _step_b, _reach_b)
FROM _met
JOIN _a ON _a._part = _met._part AND _a._step = _met._step
JOIN _b ON _part_b = _met._part AND _step_b = _with
JOIN _parts ON _parts._part = _met._part
WHERE (_real OR _real_b)
  AND (_ts = _ts_b AND _real AND _real_b OR _ts >= _ts_b AND _ts < _end_b OR _ts_b >= _ts AND _ts_b < _end);

-- Tables as in v58, if the dataset's tables differ.

CREATE VIEW trace_bounds AS
SELECT coalesce(max(start_ts), 0) AS start_ts, coalesce(max(end_ts), 0) AS end_ts FROM dataset.trace_bounds;
CREATE VIEW slice AS SELECT * EXCLUDE (type), category AS cat, id AS slice_id FROM dataset.slice;
CREATE VIEW slices AS FROM slice;
CREATE VIEW gpu_slice AS SELECT * EXCLUDE (type, stack_id, parent_stack_id) FROM dataset.gpu_slice;
CREATE VIEW frame_slice AS SELECT * EXCLUDE (type, stack_id, parent_stack_id) FROM dataset.frame_slice;
CREATE VIEW expected_frame_timeline_slice AS
SELECT * EXCLUDE (type, stack_id, parent_stack_id) FROM dataset.expected_frame_timeline_slice;
CREATE VIEW actual_frame_timeline_slice AS
SELECT * EXCLUDE (type, stack_id, parent_stack_id) FROM dataset.actual_frame_timeline_slice;
CREATE VIEW ftrace_event AS SELECT * EXCLUDE (type) REPLACE (ucpu AS cpu) FROM dataset.ftrace_event;
CREATE VIEW chrome_raw AS SELECT * EXCLUDE (type) FROM dataset.chrome_raw;
CREATE VIEW flow AS SELECT * RENAME (local_trace_id AS trace_id) FROM dataset.flow;
CREATE VIEW trace_diagnostics AS SELECT * RENAME (local_trace_id AS trace_id) FROM dataset.trace_diagnostics;
CREATE VIEW raw AS SELECT * EXCLUDE (type) FROM dataset.raw;
-- In these views, cpu is unique across machines.
CREATE VIEW sched AS SELECT * REPLACE (ucpu AS cpu) FROM dataset.sched;
CREATE VIEW sched_slice AS SELECT * REPLACE (ucpu AS cpu) FROM dataset.sched_slice;
CREATE VIEW thread_state AS SELECT * REPLACE (ucpu AS cpu) FROM dataset.thread_state;
CREATE VIEW args AS SELECT *, CASE value_type
    WHEN 'int' THEN int_value::VARCHAR
    WHEN 'uint' THEN CASE WHEN int_value < 0 THEN (int_value + 18446744073709551616::HUGEINT)::VARCHAR ELSE int_value::VARCHAR END
    WHEN 'real' THEN sqlite_real_to_text(real_value)
    WHEN 'pointer' THEN printf('0x%x', int_value)
    WHEN 'bool' THEN CASE WHEN int_value <> 0 THEN 'true' ELSE 'false' END
    ELSE string_value END AS display_value
FROM dataset.args;
-- Facts added by the converter are not in the trace.
CREATE VIEW metadata AS SELECT * RENAME (local_trace_id AS trace_id) FROM dataset.metadata WHERE name IS DISTINCT FROM 'converter_version';
-- Stats without an index are listed even if they are 0.
CREATE VIEW stats AS
SELECT id, name, key, idx, severity, source, value, coalesce(description, '') AS description, machine_id, local_trace_id AS trace_id
FROM dataset.stats
UNION ALL BY NAME
SELECT (SELECT count(*) FROM dataset.stats) + row_number() OVER () - 1 AS id, name, key, severity, source, 0 AS value, '' AS description,
       CASE WHEN NOT of_all THEN 0 END AS machine_id, CASE WHEN NOT of_all THEN 1 END AS trace_id
FROM (SELECT *, name IN ('clock_sync_cache_miss', 'deobfuscate_location_parse_error', 'extra_parsing_descriptors_error',
          'guess_trace_type_duration_ns', 'heap_graph_invalid_string_id', 'heap_graph_malformed_packet', 'heap_graph_missing_packet',
          'heap_graph_non_finalized_graph', 'invalid_clock_snapshots', 'parse_trace_duration_ns', 'sorter_push_event_out_of_order',
          'trace_sorter_negative_timestamp_dropped') AS of_all FROM _unindexed_stat) WHERE name NOT IN (SELECT s.name FROM dataset.stats AS s);
CREATE VIEW logs AS FROM dataset.android_logs;
CREATE VIEW android_logs AS SELECT id, ts, utid, prio, tag, msg FROM logs WHERE log_source = 'android_logcat';
CREATE VIEW cpu_available_frequencies AS SELECT id, ucpu AS cpu, freq, ucpu FROM dataset.cpu_freq;
CREATE VIEW machine AS
SELECT *, CASE WHEN raw_id = 0 THEN 0 ELSE count_if(raw_id <> 0) OVER (ORDER BY id) END AS label_index FROM dataset.machine;
CREATE VIEW import_log AS SELECT * RENAME (local_trace_id AS trace_id) FROM dataset.import_log;
CREATE VIEW _linux_interrupt_mapping AS SELECT id, irq_id, name, machine_id FROM dataset.linux_interrupt_mapping;
CREATE VIEW __intrinsic_trace_import_logs AS FROM import_log;
CREATE VIEW _trace_import_logs AS SELECT id, trace_id, ts, byte_offset, severity, name, arg_set_id FROM import_log;
CREATE VIEW _stat_key_to_severity_and_name AS SELECT DISTINCT key, severity, name FROM dataset.stats ORDER BY key;
CREATE VIEW perf_session AS
SELECT id, id AS perf_session_id, cmdline FROM dataset.profiler_session WHERE source = 'linux.perf';
CREATE VIEW process_memory_mappings AS
SELECT id, upid, ts, path_trimmed AS path, aggregate_count, is_deleted, size_kb, rss_kb, anonymous_kb, swap_kb,
       shared_clean_resident_kb AS shared_clean_kb, shared_dirty_resident_kb AS shared_dirty_kb,
       private_clean_resident_kb AS private_clean_kb, private_dirty_kb, locked_kb,
       proportional_resident_kb AS pss_kb, pss_dirty_kb, swap_pss_kb
FROM dataset.profiler_smaps;
CREATE VIEW trace_metrics AS SELECT NULL::VARCHAR AS name WHERE false;

-- A sample's contexts are columns of the sample. Equal ones are one context, numbered by its first sample.
CREATE VIEW __intrinsic_profiler_task_context AS
SELECT row_number() OVER (ORDER BY min(id)) - 1 AS id, utid, upid, async_context_id FROM dataset.stack_sample
WHERE coalesce(utid, upid, async_context_id) IS NOT NULL GROUP BY utid, upid, async_context_id ORDER BY id;
CREATE VIEW __intrinsic_profiler_execution_context AS
SELECT row_number() OVER (ORDER BY min(id)) - 1 AS id, ucpu, cpu_mode FROM dataset.stack_sample
WHERE ucpu IS NOT NULL OR cpu_mode IS NOT NULL GROUP BY ucpu, cpu_mode ORDER BY id;
CREATE VIEW __intrinsic_profiler_sample AS
SELECT s.*, t.id AS task_context_id, e.id AS execution_context_id
FROM dataset.stack_sample AS s
LEFT JOIN __intrinsic_profiler_task_context AS t
    ON (t.utid, t.upid, t.async_context_id) IS NOT DISTINCT FROM (s.utid, s.upid, s.async_context_id)
LEFT JOIN __intrinsic_profiler_execution_context AS e ON (e.ucpu, e.cpu_mode) IS NOT DISTINCT FROM (s.ucpu, s.cpu_mode);
CREATE VIEW stack_sample AS
SELECT id, ts, source, session_id, callsite_id, task_context_id, execution_context_id
FROM __intrinsic_profiler_sample WHERE callsite_id IS NOT NULL;
CREATE VIEW stack_sample_task_context AS
FROM __intrinsic_profiler_task_context WHERE id IN (SELECT task_context_id FROM stack_sample);
CREATE VIEW stack_sample_execution_context AS
FROM __intrinsic_profiler_execution_context WHERE id IN (SELECT execution_context_id FROM stack_sample);
CREATE VIEW stack_sample_session AS
FROM dataset.profiler_session WHERE id IN (SELECT session_id FROM stack_sample);
CREATE VIEW stack_sample_async_context AS FROM dataset.profiler_async_context;
CREATE VIEW stack_sample_counter AS
SELECT c.id, s.id AS stack_sample_id, c.track_id, c.value
FROM dataset.stack_sample AS s
JOIN dataset.profiler_counter_set AS p USING (counter_set_id)
JOIN dataset.counter AS c ON c.id = p.counter_id
WHERE s.callsite_id IS NOT NULL;

CREATE VIEW __intrinsic_track AS SELECT * EXCLUDE (type) RENAME (classification AS type) FROM dataset.track;
CREATE VIEW track AS
SELECT * EXCLUDE (type, event_type, counter_unit, utid, upid, cpu, ugpu) RENAME (classification AS type)
FROM dataset.track;
CREATE VIEW thread_track AS
SELECT * EXCLUDE (type, event_type, counter_unit, track_group_id, upid, cpu, ugpu) RENAME (classification AS type)
FROM dataset.thread_track;
CREATE VIEW process_track AS
SELECT * EXCLUDE (type, event_type, counter_unit, track_group_id, utid, cpu, ugpu) RENAME (classification AS type)
FROM dataset.process_track;
CREATE VIEW cpu_track AS
SELECT * EXCLUDE (type, event_type, counter_unit, track_group_id, utid, upid, ugpu) RENAME (classification AS type)
FROM dataset.cpu_track;
CREATE VIEW state_track AS
SELECT * EXCLUDE (type, event_type, counter_unit, track_group_id, utid, upid, cpu, ugpu) RENAME (classification AS type)
FROM dataset.state_track;
CREATE VIEW thread_state_track AS
SELECT * EXCLUDE (type, event_type, counter_unit, track_group_id, upid, cpu, ugpu) RENAME (classification AS type)
FROM dataset.thread_state_track;
CREATE VIEW process_state_track AS
SELECT * EXCLUDE (type, event_type, counter_unit, track_group_id, utid, cpu, ugpu) RENAME (classification AS type)
FROM dataset.process_state_track;
CREATE VIEW gpu_track AS
SELECT * EXCLUDE (type, event_type, counter_unit, track_group_id, utid, upid, cpu, ugpu) RENAME (classification AS type),
       extract_arg_str(source_arg_set_id, 'description') AS description, classification AS scope,
       extract_arg_int(dimension_arg_set_id, 'context_id') AS context_id
FROM dataset.gpu_track;
CREATE VIEW counter_track AS
SELECT * EXCLUDE (type, event_type, counter_unit, track_group_id, utid, upid, cpu, ugpu) RENAME (classification AS type),
       extract_arg_str(source_arg_set_id, 'description') AS description
FROM dataset.counter_track;
CREATE VIEW thread_counter_track AS
SELECT * EXCLUDE (type, event_type, counter_unit, track_group_id, upid, cpu, ugpu) RENAME (classification AS type),
       extract_arg_str(source_arg_set_id, 'description') AS description
FROM dataset.thread_counter_track;
CREATE VIEW process_counter_track AS
SELECT * EXCLUDE (type, event_type, counter_unit, track_group_id, utid, cpu, ugpu) RENAME (classification AS type),
       extract_arg_str(source_arg_set_id, 'description') AS description
FROM dataset.process_counter_track;
CREATE VIEW cpu_counter_track AS
SELECT * EXCLUDE (type, event_type, counter_unit, track_group_id, utid, upid, ugpu) RENAME (classification AS type),
       extract_arg_str(source_arg_set_id, 'description') AS description
FROM dataset.cpu_counter_track;
CREATE VIEW gpu_counter_track AS
SELECT * EXCLUDE (type, event_type, counter_unit, track_group_id, utid, upid, cpu) RENAME (classification AS type),
       extract_arg_str(source_arg_set_id, 'description') AS description, extract_arg_int(dimension_arg_set_id, 'gpu') AS gpu_id
FROM dataset.gpu_counter_track;
CREATE VIEW perf_counter_track AS
SELECT * EXCLUDE (type, event_type, counter_unit, track_group_id, utid, upid, ugpu) RENAME (classification AS type),
       extract_arg_str(source_arg_set_id, 'description') AS description,
       extract_arg_int(dimension_arg_set_id, 'perf_session_id') AS perf_session_id,
       extract_arg_int(source_arg_set_id, 'is_timebase') AS is_timebase
FROM dataset.perf_counter_track;
CREATE VIEW stack_sample_counter_track AS
SELECT id, name, type, parent_id, source_arg_set_id, machine_id, unit, description,
       coalesce(extract_arg_int(dimension_arg_set_id, 'session_id'),
                extract_arg_int(dimension_arg_set_id, 'perf_session_id')) AS session_id,
       extract_arg_int(dimension_arg_set_id, 'cpu') AS cpu,
       extract_arg_int(source_arg_set_id, 'is_timebase') AS is_timebase
FROM counter_track WHERE id IN (SELECT track_id FROM stack_sample_counter);
CREATE VIEW counters AS SELECT c.*, t.name, t.unit FROM dataset.counter AS c JOIN counter_track AS t ON c.track_id = t.id;

CREATE MACRO _metadata_value(name, machine_id) AS (
    SELECT arg_min(CASE WHEN str_value IS NOT NULL THEN str_value::VARIANT ELSE int_value::VARIANT END, id)
    FROM (SELECT name AS _name, machine_id AS _machine) AS _of JOIN metadata AS _m
    ON _m.name = _of._name AND _m.machine_id IS NOT DISTINCT FROM coalesce(_of._machine, _m.machine_id));
CREATE MACRO extract_metadata(name) AS _metadata_value(name, NULL);
CREATE MACRO extract_metadata_for_trace(trace_id, name) AS (
    SELECT arg_min(CASE WHEN str_value IS NOT NULL THEN str_value::VARIANT ELSE int_value::VARIANT END, id)
    FROM (SELECT name AS _name, trace_id AS _trace) AS _of JOIN metadata AS _m ON _m.name = _of._name AND _m.trace_id = _of._trace);
CREATE MACRO extract_metadata_for_machine(machine_id, name) AS _metadata_value(name, machine_id);

-- The user ids of Android's system, from 1000 on.
CREATE MACRO _system_user(app) AS CASE
    WHEN app BETWEEN 1000 AND 1093 THEN 'AID_' || [
    'SYSTEM_USER', 'RADIO', 'BLUETOOTH', 'GRAPHICS', 'INPUT', 'AUDIO', 'CAMERA', 'LOG', 'COMPASS', 'MOUNT', 'WIFI',
    'ADB', 'INSTALL', 'MEDIA', 'DHCP', 'SDCARD_RW', 'VPN', 'KEYSTORE', 'USB', 'DRM', 'MDNSR', 'GPS', 'UNUSED1',
    'MEDIA_RW', 'MTP', 'UNUSED2', 'DRMRPC', 'NFC', 'SDCARD_R', 'CLAT', 'LOOP_RADIO', 'MEDIA_DRM', 'PACKAGE_INFO',
    'SDCARD_PICS', 'SDCARD_AV', 'SDCARD_ALL', 'LOGD', 'SHARED_RELRO', 'DBUS', 'TLSDATE', 'MEDIA_EX', 'AUDIOSERVER',
    'METRICS_COLL', 'METRICSD', 'WEBSERV', 'DEBUGGERD', 'MEDIA_CODEC', 'CAMERASERVER', 'FIREWALL', 'TRUNKS',
    'NVRAM', 'DNS', 'DNS_TETHER', 'WEBVIEW_ZYGOTE', 'VEHICLE_NETWORK', 'MEDIA_AUDIO', 'MEDIA_VIDEO', 'MEDIA_IMAGE',
    'TOMBSTONED', 'MEDIA_OBB', 'ESE', 'OTA_UPDATE', 'AUTOMOTIVE_EVS', 'LOWPAN', 'HSM', 'RESERVED_DISK', 'STATSD',
    'INCIDENTD', 'SECURE_ELEMENT', 'LMKD', 'LLKD', 'IORAPD', 'GPU_SERVICE', 'NETWORK_STACK', 'GSID',
    'FSVERITY_CERT', 'CREDSTORE', 'EXTERNAL_STORAGE', 'EXT_DATA_RW', 'EXT_OBB_RW', 'CONTEXT_HUB', 'VIRTMANAGER',
    'ARTD', 'UWB', 'THREAD_NETWORK', 'DICED', 'DMESGD', 'JC_WEAVER', 'JC_STRONGBOX', 'JC_IDENTITYCRED',
    'SDK_SANDBOX', 'SECURITY_LOG_WRITER', 'PRNG_SEEDER', 'UPROBESTATS'][app - 999]
    WHEN app = 0 THEN 'AID_ROOT' WHEN app = 2000 THEN 'AID_SHELL' WHEN app = 2001 THEN 'AID_CACHE'
    WHEN app = 2002 THEN 'AID_DIAG' WHEN app = 9999 THEN 'AID_NOBODY'
    WHEN app BETWEEN 50000 AND 59999 THEN 'SHARED_GID' WHEN app >= 90000 THEN 'ISOLATED_UID'
END;
-- Several packages may have one user id: that of GMS comes first, those of providers last.
CREATE MACRO _package_of(_uid) AS coalesce(
    CASE WHEN _uid % 100000 >= 10000 THEN (
        SELECT nullif(arg_min(package_name, id - 1000000000 * CASE
            WHEN starts_with(package_name, 'com.android.providers.') THEN 0 WHEN package_name = 'com.google.android.gms' THEN 2 ELSE 1
        END), '') FROM dataset.package_list WHERE uid = _uid % 100000
    ) END,
    _system_user(_uid % 100000), 'uid=' || _uid);
CREATE MACRO _intrinsic_package_lookup(_any_uid) AS CASE WHEN _any_uid IS NOT NULL THEN _package_of(_any_uid::BIGINT & 4294967295) END;

-- Unfinished slices have dur -1.
CREATE VIEW thread_slice AS
SELECT * EXCLUDE (is_unfinished) REPLACE (CASE WHEN is_unfinished THEN -1 ELSE dur END AS dur) FROM dataset.thread_slice;
CREATE VIEW process_slice AS
SELECT * EXCLUDE (is_unfinished) REPLACE (CASE WHEN is_unfinished THEN -1 ELSE dur END AS dur) FROM dataset.process_slice;
CREATE VIEW thread_or_process_slice AS
SELECT * EXCLUDE (is_unfinished) REPLACE (CASE WHEN is_unfinished THEN -1 ELSE dur END AS dur) FROM dataset.thread_or_process_slice;

-- A table that the UI asks for when it opens a trace. Nothing fills it.
CREATE VIEW __intrinsic_video_frames AS
SELECT NULL::BIGINT AS id, NULL::BIGINT AS ts, NULL::BIGINT AS display_id, NULL::VARCHAR AS display_name, NULL::VARCHAR AS codec_string,
       NULL::BIGINT AS frame_number, NULL::VARCHAR AS codec, NULL::BIGINT AS is_key_frame, NULL::BIGINT AS pts_us, NULL::BIGINT AS is_config
WHERE false;
