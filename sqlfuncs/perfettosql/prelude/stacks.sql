-- Profiles of all kinds. Trace Processor has no such views.

-- The measures of profiles without times. Times are in nanoseconds, of which a unit of the file has scale.
CREATE PERFETTO VIEW _profile_measure AS
WITH time_unit(unit, ns) AS (
    VALUES ('s', 1e9), ('sec', 1e9), ('second', 1e9), ('seconds', 1e9), ('ms', 1e6), ('millisecond', 1e6), ('milliseconds', 1e6),
           ('us', 1e3), ('microsecond', 1e3), ('microseconds', 1e3), ('ns', 1), ('nanosecond', 1), ('nanoseconds', 1))
SELECT p.id, p.scope, p.sample_type_type AS metric, iif(time_unit.ns IS NULL, p.sample_type_unit, 'nanoseconds') AS unit,
       ifnull(time_unit.ns, 1) AS scale, ifnull(p.is_default, 0) AS is_default
FROM dataset_aggregate_profile AS p
LEFT JOIN time_unit ON time_unit.unit = p.sample_type_unit;

-- The events that sessions of Linux perf sample, each with the tracks of its values. has_period: the values are the sums of the
-- samples' periods, as in perf.data. In Perfetto's traces they also count what was not sampled.
CREATE PERFETTO VIEW _perf_event AS
SELECT t.track_id, t.event, t.session_id, CASE p.timebase_unit WHEN 'ns' THEN 'nanoseconds' ELSE ifnull(p.timebase_unit, 'count') END AS unit,
       t.is_timebase, p.cmdline IS NOT NULL OR NOT EXISTS (SELECT 1 FROM __intrinsic_trace_file WHERE trace_type = 'proto') AS has_period
FROM (SELECT id AS track_id, name AS event, extract_arg(dimension_arg_set_id, 'perf_session_id') AS session_id,
             ifnull(extract_arg(source_arg_set_id, 'is_timebase'), 0) AS is_timebase
      FROM counter_track WHERE type IN ('perf_cpu_counter', 'perf_global_counter')) AS t
LEFT JOIN __intrinsic_profiler_session AS p ON p.id = t.session_id;

-- The rows of stack_sample_event. JFR's execution samples of threads that did not run are an event of their own.
CREATE PERFETTO VIEW _own_event AS
SELECT id, stack_sample_id AS sample_id, period,
       event || iif(event GLOB '*.ExecutionSample' AND thread_state NOT IN ('STATE_RUNNABLE', 'STATE_DEFAULT'), ':' || thread_state, '') AS event
FROM stack_sample_event;

-- The events of samples, with their periods. place is their order: as JDK Mission Control does, JFR's samples of running code
-- come first.
CREATE PERFETTO VIEW _sample_event AS
SELECT s.id AS sample_id, period.session_id AS place, period.event, period.unit, period.period
FROM (SELECT v.counter_set_id, e.event, e.session_id, e.unit,
             iif(e.has_period, c.value - ifnull(lag(c.value) OVER (PARTITION BY c.track_id ORDER BY c.id), 0), NULL) AS period
      FROM __intrinsic_profiler_counter_set AS v
      JOIN __intrinsic_counter AS c ON c.id = v.counter_id
      JOIN (SELECT * FROM _perf_event WHERE has_period OR is_timebase) AS e ON e.track_id = c.track_id) AS period
JOIN dataset_stack_sample AS s ON s.counter_set_id = period.counter_set_id
WHERE s.source = 'linux.perf'
UNION ALL
SELECT sample_id,
       CASE WHEN event GLOB '*.CPUTimeSample' THEN -2 WHEN event GLOB '*.ExecutionSample' THEN -1 ELSE min(id) OVER (PARTITION BY event) END,
       event, iif(event = 'time' OR event GLOB 'cpu-clock*' OR event GLOB 'task-clock*' OR event GLOB '*.CPUTimeSample', 'nanoseconds', 'count'), period
FROM _own_event;

-- What profiles say at callsites, by scope (the file, the profiler or the heap) and metric; place is the order of the metrics, and
-- is_default the one that the format's own tool shows, if the file has one. Times are in nanoseconds. Samples with events are
-- measured by the periods of each event and by their number, or their weight, which Firefox has.
CREATE PERFETTO VIEW _stack_value AS
SELECT 'profile' AS kind, p.scope, p.id AS place, p.is_default, p.metric, p.unit, NULL AS ts, NULL AS utid, NULL AS upid, s.callsite_id,
       s.value * p.scale AS value
FROM aggregate_sample AS s JOIN _profile_measure AS p ON p.id = s.aggregate_profile_id
UNION ALL
SELECT 'samples', s.source, 2 * e.place, 0, e.event, e.unit, s.ts, s.utid, s.upid, s.callsite_id, e.period
FROM _sample_event AS e JOIN dataset_stack_sample AS s ON s.id = e.sample_id
WHERE s.callsite_id IS NOT NULL AND e.period IS NOT NULL
UNION ALL
SELECT 'samples', s.source, 2 * coalesce(timebase.session_id, own.place, 0) + 1, 0,
       ifnull('samples:' || coalesce(timebase.event, nullif(own.event, 'time')), 'samples'),
       'count', s.ts, s.utid, s.upid, s.callsite_id, ifnull(s.weight, 1)
FROM dataset_stack_sample AS s
LEFT JOIN (SELECT DISTINCT session_id, event FROM _perf_event WHERE is_timebase) AS timebase
    ON timebase.session_id = s.session_id AND s.source = 'linux.perf'
LEFT JOIN (SELECT * FROM _sample_event) AS own ON own.sample_id = s.id AND s.source <> 'linux.perf'
WHERE s.callsite_id IS NOT NULL
UNION ALL
SELECT 'heap', heap_name, 0, 0, 'alloc_objects', 'count', ts, NULL, upid, callsite_id, count FROM heap_profile_allocation WHERE count > 0
UNION ALL
SELECT 'heap', heap_name, 1, 0, 'alloc_space', 'bytes', ts, NULL, upid, callsite_id, size FROM heap_profile_allocation WHERE size > 0
UNION ALL
SELECT 'heap', heap_name, 2, 0, 'inuse_objects', 'count', ts, NULL, upid, callsite_id, count FROM heap_profile_allocation
UNION ALL
SELECT 'heap', heap_name, 3, 1, 'inuse_space', 'bytes', ts, NULL, upid, callsite_id, size FROM heap_profile_allocation;

-- The functions at frames, as flame graphs name them. Those that were inlined follow each other by symbol_id, the innermost first.
CREATE PERFETTO VIEW _frame_function AS
SELECT frame.id AS frame_id, symbol.id AS symbol_id, CASE WHEN symbol.name = '' THEN '(anonymous)' ELSE
    coalesce(symbol.name, frame.deobfuscated_name, nullif(nullif(frame.name, ''), '[unknown]'),
             iif(mapping.name GLOB '[[]*]*', substr(mapping.name, 1, instr(mapping.name, ']')), NULL),
             '[' || nullif(substr(mapping.name, length(rtrim(mapping.name, replace(mapping.name, '/', ''))) + 1), '') || ']', '[unknown]') END AS name
FROM stack_profile_frame AS frame
LEFT JOIN stack_profile_mapping AS mapping ON mapping.id = frame.mapping
LEFT JOIN stack_profile_symbol AS symbol ON symbol.symbol_set_id = frame.symbol_set_id;
