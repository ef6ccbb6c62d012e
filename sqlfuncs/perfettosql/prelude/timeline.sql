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
