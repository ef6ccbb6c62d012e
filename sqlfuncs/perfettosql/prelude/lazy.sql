-- Tables that are made when a statement first names them.

-- 0 to 0 if there is no event.
CREATE TABLE _trace_bounds AS
SELECT ifnull(min(start_ts), 0) AS start_ts, ifnull(max(end_ts), 0) AS end_ts FROM __intrinsic_trace_bounds;
CREATE PERFETTO TABLE _stat_key_to_severity_and_name(key LONG, severity STRING, name STRING) AS
SELECT DISTINCT key, severity, name FROM __intrinsic_stats ORDER BY key;

CREATE PERFETTO TABLE thread_track(id LONG, name STRING, type STRING, parent_id LONG, source_arg_set_id LONG, machine_id LONG,
    utid LONG) AS
SELECT id, name, type, parent_id, source_arg_set_id, machine_id, utid
FROM __intrinsic_track WHERE event_type = 'slice' AND utid IS NOT NULL;
CREATE PERFETTO TABLE process_track(id LONG, name STRING, type STRING, parent_id LONG, source_arg_set_id LONG, machine_id LONG,
    upid LONG) AS
SELECT id, name, type, parent_id, source_arg_set_id, machine_id, upid
FROM __intrinsic_track WHERE event_type = 'slice' AND upid IS NOT NULL;
CREATE PERFETTO TABLE cpu_track(id LONG, name STRING, type STRING, parent_id LONG, source_arg_set_id LONG, machine_id LONG, cpu
    LONG) AS
SELECT id, name, type, parent_id, source_arg_set_id, machine_id, extract_arg(dimension_arg_set_id, 'cpu') AS cpu
FROM __intrinsic_track WHERE event_type = 'slice' AND cpu IS NOT NULL;
CREATE PERFETTO TABLE gpu_track(id LONG, name STRING, type STRING, parent_id LONG, source_arg_set_id LONG, dimension_arg_set_id
    LONG, machine_id LONG, scope STRING, description STRING, context_id LONG) AS
SELECT id, name, type, parent_id, source_arg_set_id, dimension_arg_set_id, machine_id, type AS scope,
       extract_arg(source_arg_set_id, 'description') AS description,
       extract_arg(dimension_arg_set_id, 'context_id') AS context_id
FROM __intrinsic_track
WHERE type IN ('drm_vblank', 'drm_sched_ring', 'drm_fence', 'mali_mcu_state', 'gpu_render_stage', 'vulkan_events', 'gpu_log',
               'graphics_frame_event');

CREATE PERFETTO TABLE thread_state_track(id LONG, name STRING, type STRING, parent_id LONG, source_arg_set_id LONG, machine_id
    LONG, utid LONG) AS
SELECT id, name, type, parent_id, source_arg_set_id, machine_id, utid
FROM __intrinsic_track WHERE event_type = 'state' AND utid IS NOT NULL;
CREATE PERFETTO TABLE process_state_track(id LONG, name STRING, type STRING, parent_id LONG, source_arg_set_id LONG, machine_id
    LONG, upid LONG) AS
SELECT id, name, type, parent_id, source_arg_set_id, machine_id, upid
FROM __intrinsic_track WHERE event_type = 'state' AND upid IS NOT NULL;

CREATE PERFETTO TABLE thread_counter_track(id LONG, name STRING, type STRING, parent_id LONG, source_arg_set_id LONG, machine_id
    LONG, unit STRING, description STRING, utid LONG) AS
SELECT id, name, type, parent_id, source_arg_set_id, machine_id, counter_unit AS unit,
       extract_arg(source_arg_set_id, 'description') AS description, utid
FROM __intrinsic_track WHERE event_type = 'counter' AND utid IS NOT NULL;
CREATE PERFETTO TABLE process_counter_track(id LONG, name STRING, type STRING, parent_id LONG, source_arg_set_id LONG, machine_id
    LONG, unit STRING, description STRING, upid LONG) AS
SELECT id, name, type, parent_id, source_arg_set_id, machine_id, counter_unit AS unit,
       extract_arg(source_arg_set_id, 'description') AS description, upid
FROM __intrinsic_track WHERE event_type = 'counter' AND upid IS NOT NULL;
CREATE PERFETTO TABLE cpu_counter_track(id LONG, name STRING, type STRING, parent_id LONG, source_arg_set_id LONG, machine_id
    LONG, unit STRING, description STRING, cpu LONG) AS
SELECT id, name, type, parent_id, source_arg_set_id, machine_id, unit, description,
       extract_arg(dimension_arg_set_id, 'cpu') AS cpu
FROM counter_track WHERE cpu IS NOT NULL;
CREATE PERFETTO TABLE gpu_counter_track(id LONG, name STRING, type STRING, parent_id LONG, source_arg_set_id LONG, machine_id
    LONG, unit STRING, description STRING, ugpu LONG, gpu_id LONG) AS
SELECT id, name, type, parent_id, source_arg_set_id, machine_id, unit, description,
       extract_arg(dimension_arg_set_id, 'ugpu') AS ugpu, extract_arg(dimension_arg_set_id, 'gpu') AS gpu_id
FROM counter_track WHERE ugpu IS NOT NULL;
CREATE PERFETTO TABLE perf_counter_track(id LONG, name STRING, type STRING, parent_id LONG, source_arg_set_id LONG, machine_id
    LONG, unit STRING, description STRING, perf_session_id LONG, cpu LONG, is_timebase LONG) AS
SELECT id, name, type, parent_id, source_arg_set_id, machine_id, unit, description,
       extract_arg(dimension_arg_set_id, 'perf_session_id') AS perf_session_id,
       extract_arg(dimension_arg_set_id, 'cpu') AS cpu,
       extract_arg(source_arg_set_id, 'is_timebase') AS is_timebase
FROM counter_track WHERE type IN ('perf_cpu_counter', 'perf_global_counter');

CREATE PERFETTO TABLE expected_frame_timeline_slice(id LONG, ts LONG, dur LONG, track_id LONG, category STRING, name STRING, depth
    LONG, parent_id LONG, arg_set_id LONG, display_frame_token LONG, surface_frame_token LONG, upid LONG, layer_name STRING) AS
SELECT s.id, s.ts, s.dur, s.track_id, s.category, s.name, s.depth, s.parent_id, s.arg_set_id,
       extract_arg(s.arg_set_id, 'Display frame token') AS display_frame_token,
       extract_arg(s.arg_set_id, 'Surface frame token') AS surface_frame_token,
       t.upid,
       extract_arg(s.arg_set_id, 'Layer name') AS layer_name
FROM __intrinsic_slice AS s JOIN __intrinsic_track AS t ON s.track_id = t.id
WHERE t.type = 'android_expected_frame_timeline'
ORDER BY s.id;
CREATE PERFETTO TABLE actual_frame_timeline_slice(id LONG, ts LONG, dur LONG, track_id LONG, category STRING, name STRING, depth
    LONG, parent_id LONG, arg_set_id LONG, display_frame_token LONG, surface_frame_token LONG, upid LONG, layer_name STRING,
    present_type STRING, on_time_finish LONG, gpu_composition LONG, jank_type STRING, jank_severity_type STRING, prediction_type
    STRING, jank_tag STRING, jank_tag_experimental STRING, jank_score DOUBLE, latched_unsignaled_count LONG,
    addressable_unsignaled_latch_count LONG, latched_fence_state STRING) AS
SELECT s.id, s.ts, s.dur, s.track_id, s.category, s.name, s.depth, s.parent_id, s.arg_set_id,
       extract_arg(s.arg_set_id, 'Display frame token') AS display_frame_token,
       extract_arg(s.arg_set_id, 'Surface frame token') AS surface_frame_token,
       t.upid,
       extract_arg(s.arg_set_id, 'Layer name') AS layer_name,
       extract_arg(s.arg_set_id, 'Present type') AS present_type,
       extract_arg(s.arg_set_id, 'On time finish') AS on_time_finish,
       extract_arg(s.arg_set_id, 'GPU composition') AS gpu_composition,
       extract_arg(s.arg_set_id, 'Jank type') AS jank_type,
       extract_arg(s.arg_set_id, 'Jank severity type') AS jank_severity_type,
       extract_arg(s.arg_set_id, 'Prediction type') AS prediction_type,
       extract_arg(s.arg_set_id, 'Jank tag') AS jank_tag,
       extract_arg(s.arg_set_id, 'Jank tag (experimental)') AS jank_tag_experimental,
       extract_arg(s.arg_set_id, 'Jank Severity Score') AS jank_score,
       extract_arg(s.arg_set_id, 'Latched unsignaled count') AS latched_unsignaled_count,
       extract_arg(s.arg_set_id, 'Addressable unsignaled latch count') AS addressable_unsignaled_latch_count,
       extract_arg(s.arg_set_id, 'Latched fence state') AS latched_fence_state
FROM __intrinsic_slice AS s JOIN __intrinsic_track AS t ON s.track_id = t.id
WHERE t.type = 'android_actual_frame_timeline'
ORDER BY s.id;

-- Of what profilers recorded, the part that samples with a call stack refer to.
CREATE PERFETTO TABLE stack_sample_session(id LONG, source STRING, timebase_unit STRING, cmdline STRING) AS
SELECT * FROM __intrinsic_profiler_session WHERE id IN (SELECT session_id FROM stack_sample);
CREATE PERFETTO TABLE stack_sample_task_context(id LONG, upid LONG, utid LONG, async_context_id LONG) AS
SELECT * FROM __intrinsic_profiler_task_context WHERE id IN (SELECT task_context_id FROM stack_sample);
CREATE PERFETTO TABLE stack_sample_execution_context(id LONG, ucpu LONG, cpu_mode STRING) AS
SELECT * FROM __intrinsic_profiler_execution_context WHERE id IN (SELECT execution_context_id FROM stack_sample);
CREATE PERFETTO TABLE stack_sample_async_context(id LONG, name STRING, kind STRING, parent_id LONG) AS
WITH RECURSIVE used(id) AS (
    SELECT async_context_id FROM stack_sample_task_context
    UNION
    SELECT a.parent_id FROM used JOIN __intrinsic_profiler_async_context AS a USING (id))
SELECT * FROM __intrinsic_profiler_async_context WHERE id IN used;
CREATE PERFETTO TABLE stack_sample_counter_track(id LONG, name STRING, type STRING, parent_id LONG, source_arg_set_id LONG,
    machine_id LONG, unit STRING, description STRING, session_id LONG, cpu LONG, is_timebase LONG) AS
SELECT id, name, type, parent_id, source_arg_set_id, machine_id, unit, description,
       ifnull(extract_arg(dimension_arg_set_id, 'session_id'), extract_arg(dimension_arg_set_id, 'perf_session_id')) AS session_id,
       extract_arg(dimension_arg_set_id, 'cpu') AS cpu,
       extract_arg(source_arg_set_id, 'is_timebase') AS is_timebase
FROM counter_track WHERE id IN (SELECT track_id FROM stack_sample_counter);
