-- Slices, tracks, counters, and what was scheduled. Where there is a column ucpu, cpu is the same: unique across machines.

CREATE PERFETTO VIEW slice AS SELECT *, category AS cat, id AS slice_id FROM __intrinsic_slice;
CREATE PERFETTO VIEW slices AS SELECT * FROM slice;
CREATE PERFETTO VIEW instant AS SELECT ts, track_id, name, arg_set_id FROM __intrinsic_slice WHERE dur = 0;

CREATE PERFETTO VIEW track AS
SELECT id, name, type, dimension_arg_set_id, parent_id, source_arg_set_id, machine_id, track_group_id FROM __intrinsic_track;
CREATE PERFETTO VIEW state_track AS
SELECT id, name, parent_id, type, dimension_arg_set_id, source_arg_set_id, machine_id
FROM __intrinsic_track WHERE event_type = 'state';
CREATE PERFETTO VIEW counter_track AS
SELECT id, name, parent_id, type, dimension_arg_set_id, source_arg_set_id, machine_id, counter_unit AS unit,
       extract_arg(source_arg_set_id, 'description') AS description
FROM __intrinsic_track WHERE event_type = 'counter';
CREATE PERFETTO VIEW counters AS
SELECT c.*, t.name, t.counter_unit AS unit
FROM __intrinsic_counter AS c JOIN __intrinsic_track AS t ON c.track_id = t.id
WHERE t.event_type = 'counter'
ORDER BY ts;

CREATE PERFETTO VIEW frame_slice AS
SELECT s.id, s.ts, s.dur, s.track_id, s.category, s.name, s.depth, s.parent_id, s.arg_set_id,
       extract_arg(s.arg_set_id, 'layer_name') AS layer_name,
       extract_arg(s.arg_set_id, 'frame_number') AS frame_number,
       extract_arg(s.arg_set_id, 'queue_to_acquire_time') AS queue_to_acquire_time,
       extract_arg(s.arg_set_id, 'acquire_to_latch_time') AS acquire_to_latch_time,
       extract_arg(s.arg_set_id, 'latch_to_present_time') AS latch_to_present_time
FROM __intrinsic_slice AS s JOIN __intrinsic_track AS t ON s.track_id = t.id
WHERE t.type = 'graphics_frame_event';
CREATE PERFETTO VIEW gpu_slice AS
SELECT s.id, s.ts, s.dur, s.track_id, s.category, s.name, s.depth, s.parent_id, s.arg_set_id,
       extract_arg(s.arg_set_id, 'context_id') AS context_id,
       extract_arg(s.arg_set_id, 'render_target') AS render_target,
       extract_arg(s.arg_set_id, 'render_target_name') AS render_target_name,
       extract_arg(s.arg_set_id, 'render_pass') AS render_pass,
       extract_arg(s.arg_set_id, 'render_pass_name') AS render_pass_name,
       extract_arg(s.arg_set_id, 'command_buffer') AS command_buffer,
       extract_arg(s.arg_set_id, 'command_buffer_name') AS command_buffer_name,
       extract_arg(s.arg_set_id, 'frame_id') AS frame_id,
       extract_arg(s.arg_set_id, 'submission_id') AS submission_id,
       extract_arg(s.arg_set_id, 'hw_queue_id') AS hw_queue_id,
       extract_arg(s.arg_set_id, 'upid') AS upid,
       extract_arg(s.arg_set_id, 'render_subpasses') AS render_subpasses,
       extract_arg(s.arg_set_id, 'render_stage_category') AS render_stage_category
FROM __intrinsic_slice AS s JOIN __intrinsic_track AS t ON s.track_id = t.id
WHERE t.type IN ('gpu_render_stage', 'vulkan_events', 'gpu_log');

CREATE PERFETTO VIEW sched AS
SELECT id, ts, dur, ucpu AS cpu, utid, end_state, priority, ucpu, ts + dur AS ts_end FROM __intrinsic_sched_slice;
CREATE PERFETTO VIEW sched_slice AS
SELECT id, ts, dur, ucpu AS cpu, utid, end_state, priority, ucpu FROM __intrinsic_sched_slice;
CREATE PERFETTO VIEW thread_state AS
SELECT id, ts, dur, ucpu AS cpu, utid, state, io_wait, blocked_function, waker_utid, waker_id, irq_context, ucpu
FROM __intrinsic_thread_state;
CREATE PERFETTO VIEW ftrace_event AS
SELECT id, ts, name, ucpu AS cpu, utid, arg_set_id, common_flags, ucpu FROM __intrinsic_ftrace_event;
CREATE PERFETTO VIEW raw AS SELECT * FROM ftrace_event;
CREATE PERFETTO VIEW android_logs AS
SELECT id, ts, utid, prio, tag, msg FROM __intrinsic_logs WHERE log_source = 'android_logcat';

CREATE PERFETTO VIEW args AS
SELECT *,
       CASE
           WHEN value_type IN ('string', 'json') THEN string_value
           WHEN value_type = 'int' THEN CAST(int_value AS TEXT)
           WHEN value_type = 'uint' THEN printf('%u', int_value)
           WHEN value_type = 'pointer' THEN printf('0x%x', int_value)
           WHEN value_type = 'real' THEN CAST(real_value AS TEXT)
           WHEN value_type = 'bool' THEN iif(int_value, 'true', 'false')
       END AS display_value
FROM __intrinsic_args;

-- An interval that did not end has dur -1. Where time is added up, it lasts until the end of the trace. Trace Processor has no such views.

CREATE PERFETTO VIEW _lasting_sched AS
SELECT id, ts, iif(dur < 0, max(end_ts - ts, 0), dur) AS dur, cpu, utid FROM sched_slice, trace_bounds;
CREATE PERFETTO VIEW _lasting_state AS
SELECT id, ts, iif(dur < 0, max(end_ts - ts, 0), dur) AS dur, cpu, utid, state, io_wait FROM thread_state, trace_bounds;
CREATE PERFETTO VIEW _lasting_slice AS
SELECT id, ts, iif(dur < 0, max(end_ts - ts, 0), dur) AS dur, dur < 0 AS is_unfinished, track_id, depth, name, category, parent_id, arg_set_id
FROM slice, trace_bounds;

-- Spans of distributed traces. Trace Processor has no such views.

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
