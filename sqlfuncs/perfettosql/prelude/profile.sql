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
WHERE s.source IN ('chrome', 'legacy_v8', 'gecko', 'simpleperf', 'perf_text', 'go_trace', 'nsys', 'jfr', 'nettrace', 'trace_event');

CREATE PERFETTO VIEW process_memory_mappings AS
SELECT id, upid, ts, path_trimmed AS path, aggregate_count, is_deleted, size_kb, rss_kb, anonymous_kb, swap_kb,
       shared_clean_resident_kb AS shared_clean_kb, shared_dirty_resident_kb AS shared_dirty_kb,
       private_clean_resident_kb AS private_clean_kb, private_dirty_kb, locked_kb, proportional_resident_kb AS pss_kb,
       pss_dirty_kb, swap_pss_kb
FROM __intrinsic_profiler_smaps;
