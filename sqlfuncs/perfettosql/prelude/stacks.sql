-- Profiles of all kinds. Trace Processor has no such views.

-- What profiles say at callsites, by scope (the file, the profiler or the heap) and metric. A sample counts by its weight, which
-- Firefox has, or else as 1.
CREATE PERFETTO VIEW _stack_value AS
SELECT s.source AS scope, ifnull('samples:' || ifnull(timebase.event, own.event), 'samples') AS metric, 'count' AS unit,
       s.utid, NULL AS upid, s.callsite_id, ifnull(s.weight, 1) AS value
FROM dataset_stack_sample AS s
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
