-- What profilers recorded.

CREATE PERFETTO VIEW stack_sample AS
SELECT id, ts, source, task_context_id, execution_context_id, callsite_id, session_id
FROM __intrinsic_profiler_sample WHERE callsite_id IS NOT NULL;
CREATE PERFETTO VIEW stack_sample_counter AS
SELECT c.id, s.id AS stack_sample_id, c.track_id, c.value
FROM __intrinsic_profiler_sample AS s
JOIN __intrinsic_profiler_counter_set AS r ON r.counter_set_id = s.counter_set_id
JOIN __intrinsic_counter AS c ON c.id = r.counter_id
WHERE s.callsite_id IS NOT NULL;

-- The samples of a kind of profiler, including those without a call stack.
CREATE PERFETTO VIEW perf_session AS
SELECT id, id AS perf_session_id, cmdline FROM __intrinsic_profiler_session WHERE source = 'linux.perf';
CREATE PERFETTO VIEW perf_sample AS
SELECT s.id, s.ts, task.utid, cpu.cpu, ifnull(execution.cpu_mode, 'unknown') AS cpu_mode, s.callsite_id, s.unwind_error,
       s.session_id AS perf_session_id
FROM __intrinsic_profiler_sample AS s
LEFT JOIN __intrinsic_profiler_task_context AS task ON task.id = s.task_context_id
LEFT JOIN __intrinsic_profiler_execution_context AS execution ON execution.id = s.execution_context_id
LEFT JOIN __intrinsic_cpu AS cpu ON cpu.id = execution.ucpu
WHERE s.source = 'linux.perf';
CREATE PERFETTO VIEW instruments_sample AS
SELECT s.id, s.ts, task.utid, s.callsite_id, cpu.cpu
FROM __intrinsic_profiler_sample AS s
LEFT JOIN __intrinsic_profiler_task_context AS task ON task.id = s.task_context_id
LEFT JOIN __intrinsic_profiler_execution_context AS execution ON execution.id = s.execution_context_id
LEFT JOIN __intrinsic_cpu AS cpu ON cpu.id = execution.ucpu
WHERE s.source = 'instruments';
CREATE PERFETTO VIEW cpu_profile_stack_sample AS
SELECT s.id, s.ts, s.callsite_id, task.utid, ifnull(chrome.process_priority, 0) AS process_priority
FROM __intrinsic_profiler_sample AS s
LEFT JOIN __intrinsic_profiler_task_context AS task ON task.id = s.task_context_id
LEFT JOIN __intrinsic_chrome_stack_sample_extras AS chrome ON chrome.profiler_sample_id = s.id
WHERE s.source NOT IN ('linux.perf', 'instruments');

-- What profiles say at callsites, by scope (the file, the profiler or the heap) and metric. A sample counts by its weight, which
-- Firefox has, or else as 1.
CREATE PERFETTO VIEW _stack_value AS
SELECT s.source AS scope, ifnull('samples:' || ifnull(timebase.event, own.event), 'samples') AS metric, 'count' AS unit,
       task.utid, NULL AS upid, s.callsite_id, ifnull(s.weight, 1) AS value
FROM __intrinsic_profiler_sample AS s
LEFT JOIN __intrinsic_profiler_task_context AS task ON task.id = s.task_context_id
LEFT JOIN (SELECT DISTINCT extract_arg(dimension_arg_set_id, 'perf_session_id') AS session_id, name AS event FROM counter_track
           WHERE type IN ('perf_cpu_counter', 'perf_global_counter') AND extract_arg(source_arg_set_id, 'is_timebase')) AS timebase
    ON timebase.session_id = s.session_id AND s.source = 'linux.perf'
LEFT JOIN stack_sample_event AS own ON own.stack_sample_id = s.id
UNION ALL
SELECT p.scope, p.sample_type_type, p.sample_type_unit, NULL, NULL, s.callsite_id, s.value
FROM aggregate_sample AS s JOIN aggregate_profile AS p ON p.id = s.aggregate_profile_id
UNION ALL
SELECT heap_name, 'alloc_objects', 'count', NULL, upid, callsite_id, count FROM heap_profile_allocation WHERE count > 0
UNION ALL
SELECT heap_name, 'alloc_space', 'bytes', NULL, upid, callsite_id, size FROM heap_profile_allocation WHERE size > 0
UNION ALL
SELECT heap_name, 'inuse_objects', 'count', NULL, upid, callsite_id, count FROM heap_profile_allocation
UNION ALL
SELECT heap_name, 'inuse_space', 'bytes', NULL, upid, callsite_id, size FROM heap_profile_allocation;

-- The functions at frames, as flame graphs name them. Those that were inlined follow each other by symbol_id, the innermost first.
CREATE PERFETTO VIEW _frame_function AS
SELECT frame.id AS frame_id, symbol.id AS symbol_id, CASE WHEN symbol.name = '' THEN '(anonymous)' ELSE
    coalesce(symbol.name, frame.deobfuscated_name, nullif(nullif(frame.name, ''), '[unknown]'),
             iif(mapping.name GLOB '[[]*]*', substr(mapping.name, 1, instr(mapping.name, ']')), NULL),
             '[' || nullif(substr(mapping.name, length(rtrim(mapping.name, replace(mapping.name, '/', ''))) + 1), '') || ']', '[unknown]') END AS name
FROM stack_profile_frame AS frame
LEFT JOIN stack_profile_mapping AS mapping ON mapping.id = frame.mapping
LEFT JOIN stack_profile_symbol AS symbol ON symbol.symbol_set_id = frame.symbol_set_id;

CREATE PERFETTO VIEW process_memory_mappings AS
SELECT id, upid, ts, path_trimmed AS path, aggregate_count, is_deleted, size_kb, rss_kb, anonymous_kb, swap_kb,
       shared_clean_resident_kb AS shared_clean_kb, shared_dirty_resident_kb AS shared_dirty_kb,
       private_clean_resident_kb AS private_clean_kb, private_dirty_kb, locked_kb, proportional_resident_kb AS pss_kb,
       pss_dirty_kb, swap_pss_kb
FROM __intrinsic_profiler_smaps;
