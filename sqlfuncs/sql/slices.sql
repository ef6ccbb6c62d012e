-- _parent is read once for all steps of a recursion, because EXISTS names it a second time: DuckDB forgets MATERIALIZED when it stores a
-- macro. A recursion begins with the slice itself: where it begins with a join, DuckDB 2 takes all slices. DuckDB takes a recursion for
-- larger than any table, and would read all row groups of slice to join with it, but takes a list for small: then it reads those of its
-- ids. The SELECT around keeps DuckDB 1 from reading all columns of them, as it does beside a CTE that is read once.

-- ancestor_slice(id): the slices around a slice, from its parent to its root.
-- Source: Trace Processor's ancestor_slice.
CREATE OR REPLACE MACRO ancestor_slice(id /*!, trace_id */) AS TABLE
SELECT _s.*
FROM (SELECT _id /*!, _trace */ FROM (
    WITH RECURSIVE
    _parent AS (SELECT _p.id AS _child, _p.parent_id AS _above /*!, _p.trace_id AS _trace */ FROM slice AS _p),
    _up AS (
        SELECT _start::BIGINT AS _id, false AS _found /*!, _trace */ FROM (SELECT id AS _start /*!, trace_id AS _trace */) AS _of
        WHERE EXISTS (FROM _parent)
        UNION ALL
        SELECT _above, true /*!, _up._trace */
        FROM _up JOIN _parent ON _child = _up._id /*! AND _parent._trace = _up._trace */)
    SELECT unnest(list(_up) FILTER (_found), recursive := true) FROM _up)) AS _few
JOIN slice AS _s ON _s.id = _few._id /*! AND _s.trace_id = _few._trace */;

-- descendant_slice(id): the slices inside a slice, at any depth. Source: Trace Processor's descendant_slice.
CREATE OR REPLACE MACRO descendant_slice(id /*!, trace_id */) AS TABLE
SELECT _s.*
FROM (SELECT _id /*!, _trace */ FROM (
    WITH RECURSIVE
    _parent AS (SELECT _p.id AS _child, _p.parent_id AS _above /*!, _p.trace_id AS _trace */ FROM slice AS _p),
    _down AS (
        SELECT _start::BIGINT AS _id, false AS _found /*!, _trace */ FROM (SELECT id AS _start /*!, trace_id AS _trace */) AS _of
        WHERE EXISTS (FROM _parent)
        UNION ALL
        SELECT _child, true /*!, _down._trace */
        FROM _down JOIN _parent ON _above = _down._id /*! AND _parent._trace = _down._trace */)
    SELECT unnest(list(_down) FILTER (_found), recursive := true) FROM _down)) AS _few
JOIN slice AS _s ON _s.id = _few._id /*! AND _s.trace_id = _few._trace */;

-- ancestor_slice_by_stack(stack_id): the slices around any slice of that stack, each once.
CREATE OR REPLACE MACRO ancestor_slice_by_stack(stack_id /*!, trace_id */) AS TABLE
SELECT DISTINCT _a.*
FROM (SELECT stack_id AS _stack /*!, trace_id AS _trace */) AS _of
JOIN slice AS _s ON _s.stack_id = _of._stack /*! AND _s.trace_id = _of._trace */
CROSS JOIN LATERAL (FROM ancestor_slice(_s.id /*!, _s.trace_id */)) AS _a;

-- descendant_slice_by_stack(stack_id): the slices inside any slice of that stack, each once.
CREATE OR REPLACE MACRO descendant_slice_by_stack(stack_id /*!, trace_id */) AS TABLE
SELECT DISTINCT _d.*
FROM (SELECT stack_id AS _stack /*!, trace_id AS _trace */) AS _of
JOIN slice AS _s ON _s.stack_id = _of._stack /*! AND _s.trace_id = _of._trace */
CROSS JOIN LATERAL (FROM descendant_slice(_s.id /*!, _s.trace_id */)) AS _d;

-- slice_is_ancestor(ancestor_id, descendant_id): whether one slice's time contains the other's, on the same track and
-- at a lower depth; NULL if either slice does not exist. Source: Trace Processor's slice_is_ancestor.
CREATE OR REPLACE MACRO slice_is_ancestor(ancestor_id, descendant_id /*!, trace_id */) AS (
    SELECT any_value(_a.track_id = _d.track_id AND _a.depth < _d.depth AND _a.ts <= _d.ts
                     AND (_a.dur = -1 OR _a.ts + _a.dur >= _d.ts + _d.dur))
    FROM (SELECT ancestor_id AS _ancestor, descendant_id AS _descendant /*!, trace_id AS _trace */) AS _of
    JOIN slice AS _a ON _a.id = _of._ancestor /*! AND _a.trace_id = _of._trace */
    JOIN slice AS _d ON _d.id = _of._descendant /*! AND _d.trace_id = _of._trace */);

-- flat_slice: the deepest slice of each track at each time: slice_id, ts and dur (ns) of the piece, track_id, depth,
-- category, name. An unfinished slice lasts until the end of the trace; a slice without duration has no piece. Source:
-- Trace Processor's flattened slices.
CREATE OR REPLACE VIEW flat_slice AS
WITH
lasting AS (
    SELECT *, ts + _lasting(ts, dur /*!, trace_id */) AS ts_end
    FROM slice WHERE dur <> 0),
-- A slice is left for each child and resumed where the child ends; its pieces are in between.
turn AS (
    SELECT id, ts AS from_ts, NULL AS to_ts /*!, trace_id */ FROM lasting
    UNION ALL
    SELECT parent_id, ts_end, ts /*!, trace_id */ FROM lasting WHERE parent_id IS NOT NULL),
piece AS (
    SELECT id, from_ts, lead(to_ts) OVER (PARTITION BY id /*!, trace_id */ ORDER BY from_ts, to_ts NULLS FIRST) AS to_ts
           /*!, trace_id */
    FROM turn)
SELECT s.id AS slice_id, from_ts AS ts, coalesce(to_ts, s.ts_end) - from_ts AS dur, s.track_id, s.depth, s.category, s.name
       /*!, s.trace_id */
FROM piece JOIN lasting AS s ON s.id = piece.id /*! AND s.trace_id = piece.trace_id */
WHERE from_ts < coalesce(to_ts, s.ts_end);

-- _span: the spans of distributed traces, each with its parent, which may be in another service. A span that did not end lasts
-- until the end of the trace.
CREATE OR REPLACE VIEW _span AS
SELECT s.id, s.ts, s.ts + _lasting(s.ts, s.dur /*!, s.trace_id */) AS ts_end, s.name, coalesce(s.parent_id, above.id) AS parent_id /*!, s.trace_id */
FROM slice AS s
JOIN process_track AS k ON k.id = s.track_id AND k.classification = 'span' /*! AND k.trace_id = s.trace_id */
LEFT JOIN (
    SELECT f.slice_in, min(f.slice_out) AS id /*!, f.trace_id */
    FROM flow AS f JOIN args AS a ON a.arg_set_id = f.arg_set_id AND a.key = 'name' AND a.string_value = 'parent' /*! AND a.trace_id = f.trace_id */
    GROUP BY ALL) AS above ON above.slice_in = s.id /*! AND above.trace_id = s.trace_id */;

-- _span_piece: the times of a span in which it has no child.
CREATE OR REPLACE VIEW _span_piece AS
WITH
-- A span is left for each child, and for good at its end.
turn AS (
    SELECT p.id, p.ts AS begun, greatest(c.ts, p.ts) AS left_ts, least(c.ts_end, p.ts_end) AS back_ts /*!, p.trace_id */
    FROM _span AS c JOIN _span AS p ON p.id = c.parent_id /*! AND p.trace_id = c.trace_id */
    WHERE c.id <> p.id AND greatest(c.ts, p.ts) < least(c.ts_end, p.ts_end)
    UNION ALL
    SELECT id, ts, ts_end, ts_end /*!, trace_id */ FROM _span),
piece AS (
    SELECT id, left_ts, coalesce(max(back_ts) OVER (PARTITION BY id /*!, trace_id */ ORDER BY left_ts, back_ts ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), begun) AS ts
           /*!, trace_id */
    FROM turn)
SELECT id AS slice_id, ts, left_ts - ts AS dur /*!, trace_id */ FROM piece WHERE ts < left_ts;

-- _slice_piece: the pieces of slices that are not spans, in flat_slice.
CREATE OR REPLACE VIEW _slice_piece AS
SELECT f.* FROM flat_slice AS f
ANTI JOIN process_track AS k ON k.id = f.track_id AND k.classification = 'span' /*! AND k.trace_id = f.trace_id */;

-- slice_self_dur: self_dur (ns) is a slice's dur without that of its children: the sum of its pieces in flat_slice,
-- where an unfinished slice lasts until the end of the trace. The children of a span of a distributed trace may be in other services,
-- and overlap: self_dur is the time in which none of them ran. Source: Trace Processor's slices.self_dur.
CREATE OR REPLACE VIEW slice_self_dur AS
SELECT slice.id, coalesce(own.dur, 0) AS self_dur /*!, trace_id */
FROM slice
LEFT JOIN (
    SELECT slice_id AS id, sum(dur)::BIGINT AS dur /*!, trace_id */
    FROM (SELECT slice_id, dur /*!, trace_id */ FROM _slice_piece UNION ALL SELECT slice_id, dur /*!, trace_id */ FROM _span_piece)
    GROUP BY ALL) AS own
    USING (id /*!, trace_id */);
