-- Views of the timeline that Trace Processor does not have.

-- An interval that did not end has dur -1. Where time is added up, it lasts until the end of the trace.

CREATE PERFETTO VIEW _lasting_sched AS
SELECT id, ts, iif(dur < 0, max(end_ts - ts, 0), dur) AS dur, cpu, utid FROM sched_slice, trace_bounds;
CREATE PERFETTO VIEW _lasting_state AS
SELECT id, ts, iif(dur < 0, max(end_ts - ts, 0), dur) AS dur, cpu, utid, state, io_wait FROM thread_state, trace_bounds;
CREATE PERFETTO VIEW _lasting_slice AS
SELECT id, ts, iif(dur < 0, max(end_ts - ts, 0), dur) AS dur, dur < 0 AS is_unfinished, track_id, depth, name, category, parent_id, arg_set_id
FROM slice, trace_bounds;

-- Spans, each with its parent, which may be in another service. A span that did not end lasts until the end of the trace.
CREATE PERFETTO VIEW _span AS
SELECT s.id, s.ts, s.ts + s.dur AS ts_end, s.is_unfinished, s.name, k.upid, s.arg_set_id, ifnull(s.parent_id, above.id) AS parent_id
FROM _lasting_slice AS s JOIN process_track AS k ON k.id = s.track_id
LEFT JOIN (SELECT slice_in, min(slice_out) AS id FROM flow WHERE extract_arg(arg_set_id, 'name') = 'parent' GROUP BY slice_in) AS above ON above.slice_in = s.id
WHERE k.type = 'span';

-- The times of a span in which it has no child: its self time.
CREATE PERFETTO VIEW _span_piece AS
WITH span AS MATERIALIZED (SELECT id, ts, ts_end, parent_id FROM _span),
-- A span is left for each child, and for good at its end.
turn AS (
  SELECT p.id, p.ts AS begun, max(c.ts, p.ts) AS left_ts, min(c.ts_end, p.ts_end) AS back_ts
  FROM span AS c JOIN span AS p ON p.id = c.parent_id WHERE c.id <> p.id AND max(c.ts, p.ts) < min(c.ts_end, p.ts_end)
  UNION ALL
  SELECT id, ts, ts_end, ts_end FROM span
),
piece AS (
  SELECT id, left_ts, ifnull(max(back_ts) OVER (PARTITION BY id ORDER BY left_ts, back_ts ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), begun) AS ts
  FROM turn
)
SELECT id AS slice_id, ts, left_ts - ts AS dur FROM piece WHERE ts < left_ts;
