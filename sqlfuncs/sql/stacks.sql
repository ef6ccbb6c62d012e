-- _frame_function has the functions of each frame: the function itself and those inlined into it, whose symbol_ids are
-- lower. Code whose function is not known has the name of its file in brackets, as in perf and pprof. Functions without
-- a name are called as JavaScript's tools call them.
CREATE OR REPLACE VIEW _frame_function AS
SELECT frame_id, CASE WHEN NOT is_known THEN file_label WHEN name = '' THEN '(anonymous)' ELSE name END AS name,
       CASE WHEN rel_pc = 0 OR file_label = '[unknown]' THEN file_label
            ELSE format('{}+0x{:x}]', file_label[:-2], rel_pc) END AS address,
       mapping_name, source_file, line_number, inlined, symbol_id, is_known /*!, trace_id */
FROM (SELECT f.id AS frame_id, f.rel_pc,
             coalesce(nullif(regexp_extract(m.name, '^\[[^\]]+\]'), ''), '[' || nullif(regexp_extract(m.name, '[^/]*$'), '') || ']', '[unknown]') AS file_label,
             coalesce(s.name, f.deobfuscated_name, f.name, '') AS name, m.name AS mapping_name,
             s.source_file, s.line_number, coalesce(s.inlined, false) AS inlined, s.id AS symbol_id,
             s.id IS NOT NULL OR coalesce(f.deobfuscated_name, f.name, '') NOT IN ('', '[unknown]') AS is_known /*!, f.trace_id */
      FROM stack_profile_frame AS f
      LEFT JOIN stack_profile_symbol AS s ON s.symbol_set_id = f.symbol_set_id /*! AND s.trace_id = f.trace_id */
      LEFT JOIN stack_profile_mapping AS m ON m.id = f.mapping /*! AND m.trace_id = f.trace_id */);

-- frame_name: a name for each row of stack_profile_frame, even where its own name is empty: id, name (with the functions
-- inlined into it, from the outermost: f;g; that of the file if the function is not known, as in flamegraph and pprof:
-- [libc.so.6]), address, by which another tool finds the function ([libc.so.6+0x1234]), and mapping_name.
CREATE OR REPLACE VIEW frame_name AS
SELECT frame_id AS id, string_agg(name, ';' ORDER BY symbol_id DESC) AS name, any_value(address) AS address,
       any_value(mapping_name) AS mapping_name /*!, trace_id */
FROM _frame_function GROUP BY frame_id /*!, trace_id */;

-- callstack_frames(callsite_id): the functions of a callstack: position (from the root), callsite_id, name,
-- mapping_name, source_file, line_number, inlined.
CREATE OR REPLACE MACRO callstack_frames(callsite_id /*!, trace_id */) AS TABLE
WITH RECURSIVE _up AS (
    SELECT callsite_id AS _id /*!, trace_id AS _trace */
    UNION ALL
    SELECT _c.parent_id /*!, _trace */
    FROM _up JOIN stack_profile_callsite AS _c ON _c.id = _up._id /*! AND _c.trace_id = _up._trace */
    WHERE _c.parent_id IS NOT NULL)
SELECT row_number() OVER (ORDER BY _c.depth, _f.symbol_id DESC) - 1 AS position, _c.id AS callsite_id, _f.name,
       _f.mapping_name, _f.source_file, _f.line_number, _f.inlined /*!, _trace AS trace_id */
FROM _up
JOIN stack_profile_callsite AS _c ON _c.id = _up._id /*! AND _c.trace_id = _up._trace */
JOIN _frame_function AS _f ON _f.frame_id = _c.frame_id /*! AND _f.trace_id = _up._trace */;

-- callstack(callsite_id): the names of a callstack's functions from the root, as text: main;run;read.
CREATE OR REPLACE MACRO callstack(callsite_id /*!, trace_id */) AS (
    SELECT string_agg(name, ';' ORDER BY position) FROM callstack_frames(callsite_id /*!, trace_id */));

-- callstack_list(callsite_id): the names of a callstack's functions from the root, as a list.
CREATE OR REPLACE MACRO callstack_list(callsite_id /*!, trace_id */) AS (
    SELECT list(name ORDER BY position) FROM callstack_frames(callsite_id /*!, trace_id */));

-- _perf_event has the events that sessions of Linux perf sample, each with the tracks of its values. has_period: the values
-- are the sums of the samples' periods, as in perf.data. In Perfetto's traces they also count what was not sampled.
CREATE OR REPLACE VIEW _perf_event AS
SELECT * FROM (
    SELECT t.id AS track_id, t.name AS event, d.int_value AS session_id,
           CASE p.timebase_unit WHEN 'ns' THEN 'nanoseconds' ELSE coalesce(p.timebase_unit, 'count') END AS unit,
           p.cmdline IS NOT NULL OR NOT EXISTS (FROM trace_file AS f WHERE f.trace_type = 'proto' /*! AND f.trace_id = t.trace_id */) AS has_period,
           coalesce(b.int_value, 0) = 1 AS is_timebase /*!, t.trace_id */
    FROM counter_track AS t
    JOIN args AS d ON d.arg_set_id = t.dimension_arg_set_id AND d.key = 'perf_session_id' /*! AND d.trace_id = t.trace_id */
    LEFT JOIN args AS b ON b.arg_set_id = t.source_arg_set_id AND b.key = 'is_timebase' /*! AND b.trace_id = t.trace_id */
    LEFT JOIN profiler_session AS p ON p.id = d.int_value /*! AND p.trace_id = t.trace_id */
    WHERE t.classification IN ('perf_cpu_counter', 'perf_global_counter'))
WHERE has_period OR is_timebase;

-- _perf_session has the event of each session of Linux perf.
CREATE OR REPLACE VIEW _perf_session AS
SELECT session_id, any_value(event) AS event /*!, trace_id */ FROM _perf_event GROUP BY session_id /*!, trace_id */;

-- _perf_period has the events of the samples of Linux perf with their periods.
CREATE OR REPLACE VIEW _perf_period AS
SELECT v.counter_set_id, e.event, e.session_id, e.unit,
       CASE WHEN e.has_period THEN c.value - coalesce(lag(c.value) OVER (PARTITION BY c.track_id /*!, c.trace_id */ ORDER BY c.id), 0) END AS period
       /*!, c.trace_id */
FROM profiler_counter_set AS v
JOIN counter AS c ON c.id = v.counter_id /*! AND c.trace_id = v.trace_id */
JOIN _perf_event AS e ON e.track_id = c.track_id /*! AND e.trace_id = c.trace_id */;

-- _profile_measure has the measures of profiles without times. Times are in nanoseconds, of which a unit of the file has scale.
CREATE OR REPLACE VIEW _profile_measure AS
SELECT p.id, p.scope, p.sample_type_type AS metric, CASE WHEN u.ns IS NULL THEN p.sample_type_unit ELSE 'nanoseconds' END AS unit,
       coalesce(u.ns, 1)::DOUBLE AS scale, coalesce(p.is_default, false) AS is_default /*!, p.trace_id */
FROM aggregate_profile AS p
LEFT JOIN (VALUES ('s', 1e9), ('sec', 1e9), ('second', 1e9), ('seconds', 1e9), ('ms', 1e6), ('millisecond', 1e6), ('milliseconds', 1e6),
                  ('us', 1e3), ('microsecond', 1e3), ('microseconds', 1e3), ('ns', 1), ('nanosecond', 1), ('nanoseconds', 1)) AS u(unit, ns)
    ON u.unit = p.sample_type_unit;

-- _own_event has the rows of stack_sample_event. JFR's execution samples of threads that did not run are an event of their own.
CREATE OR REPLACE VIEW _own_event AS
SELECT id, stack_sample_id AS sample_id, period,
       event || CASE WHEN event LIKE '%.ExecutionSample' AND thread_state NOT IN ('STATE_RUNNABLE', 'STATE_DEFAULT') THEN ':' || thread_state ELSE '' END AS event /*!, trace_id */
FROM stack_sample_event;

-- _sample_event has the events of the samples of Linux perf, perf script, simpleperf, JFR and V8, with their periods. place is
-- their order: as JDK Mission Control does, JFR's samples of running code come first.
CREATE OR REPLACE VIEW _sample_event AS
SELECT s.id AS sample_id, v.session_id AS place, v.event, v.unit, v.period /*!, s.trace_id */
FROM stack_sample AS s
JOIN _perf_period AS v ON v.counter_set_id = s.counter_set_id /*! AND v.trace_id = s.trace_id */
WHERE s.source = 'linux.perf'
UNION ALL
SELECT e.sample_id,
       CASE WHEN e.event LIKE '%.CPUTimeSample' THEN -2 WHEN e.event LIKE '%.ExecutionSample' THEN -1
            ELSE min(e.id) OVER (PARTITION BY e.event /*!, e.trace_id */) END, e.event,
       CASE WHEN regexp_matches(e.event, '^((cpu|task)-clock(:|$)|time$|.*\.CPUTimeSample$)') THEN 'nanoseconds' ELSE 'count' END,
       e.period /*!, e.trace_id */
FROM _own_event AS e;

-- perf_event_sample: the samples of Linux perf, perf script and simpleperf with their event: id of the sample in stack_sample,
-- ts (ns), utid, tid and thread_name, upid, pid and process_name, cpu, event and its unit, period (how many events the sample
-- stands for; NULL in Perfetto's traces, which do not have it), callsite_id, and stack (main;run;read). A sample that read a
-- group of events has a row for each. profile_top('perf_event_sample', metric := 'cycles') has the numbers of perf report; perf_sample
-- instead counts each sample as 1.
CREATE OR REPLACE VIEW perf_event_sample AS
SELECT s.id, s.ts, s.utid, t.tid, t.name AS thread_name, coalesce(s.upid, t.upid) AS upid, p.pid, p.name AS process_name, s.cpu,
       v.event, v.unit, v.period, s.callsite_id, callstack(s.callsite_id /*!, s.trace_id */) AS stack /*!, s.trace_id */
FROM stack_sample AS s
LEFT JOIN _sample_event AS v ON v.sample_id = s.id /*! AND v.trace_id = s.trace_id */
LEFT JOIN thread AS t ON t.id = s.utid /*! AND t.trace_id = s.trace_id */
LEFT JOIN process AS p ON p.id = coalesce(s.upid, t.upid) /*! AND p.trace_id = s.trace_id */
WHERE s.source IN ('linux.perf', 'perf_text', 'simpleperf');

-- _profile_samples returns the samples counted by flamegraph and similar macros: callsite_id and value of the samples
-- in source. Of aggregate_sample, only the given profile and metric count, and of Linux perf's samples the given event.
-- Raises an error if several are left, because their sum means nothing.
CREATE OR REPLACE MACRO _profile_samples(source, profile, metric) AS TABLE
WITH
_counted AS (
    FROM query_table(source)
    UNION ALL BY NAME
    SELECT 1 AS value, NULL::BIGINT AS aggregate_profile_id, NULL::VARCHAR AS event, NULL::DOUBLE AS period,
           NULL::BIGINT AS perf_session_id, NULL::BIGINT AS session_id, NULL::BIGINT AS weight WHERE false),
_measured AS (
    SELECT _s.callsite_id, coalesce(_s.value, _s.period, _s.weight, 1)::DOUBLE AS value, _p.scope AS _scope,
           coalesce(_p.sample_type_type, _s.event, _e.event) AS _metric /*!, _s.trace_id */
    FROM _counted AS _s
    LEFT JOIN aggregate_profile AS _p ON _p.id = _s.aggregate_profile_id /*! AND _p.trace_id = _s.trace_id */
    LEFT JOIN _perf_session AS _e ON _e.session_id = coalesce(_s.perf_session_id, _s.session_id) /*! AND _e.trace_id = _s.trace_id */),
_chosen AS (
    FROM _measured WHERE coalesce(_scope = profile, profile IS NULL) AND coalesce(_metric = metric, metric IS NULL)),
_checked AS (
    SELECT CASE
        WHEN count(DISTINCT _metric) > 1 OR max(_profiles) > 1
        THEN error(format('the samples are of {}: name one of them, as by metric := ''{}''{}',
                          string_agg(DISTINCT _metric || coalesce(' of ' || _scope, ''), ', '), min(_metric),
                          coalesce(format(', profile := ''{}''', min(_scope)), '')))
        WHEN count(*) = 0 AND coalesce(profile, metric) IS NOT NULL
        THEN error(format('there are no samples of metric {} in profile {}', coalesce(metric, '?'), coalesce(profile, '?')))
        ELSE true END AS _sound
    FROM (SELECT _scope, _metric, count(*) OVER (/*! PARTITION BY trace_id */) AS _profiles
          FROM (SELECT DISTINCT _scope, _metric /*!, trace_id */ FROM _chosen)))
SELECT callsite_id, value /*!, trace_id */ FROM _chosen WHERE (SELECT _sound FROM _checked);

-- flamegraph(samples, profile := NULL, metric := NULL): the callsites of samples, which is a table, view or query, as
-- text (such as 'perf_sample'), with callsite_id and, unless each sample counts as 1, value. Columns: id, parent_id and
-- depth of the callsite, its name (with the functions inlined into it, from the outermost: f;g) and mapping_name,
-- self_value of the samples at the callsite itself, and cumulative_value, which includes those below it, in the unit of
-- value. If aggregate_sample has several profiles (scope of aggregate_profile) or metrics (sample_type_type), or Linux perf
-- several events, name one: flamegraph('aggregate_sample', metric := 'alloc_space').
CREATE OR REPLACE MACRO flamegraph(samples, profile := NULL, metric := NULL) AS TABLE
WITH RECURSIVE
_given AS (FROM query(_query(samples))),
_sample AS (FROM _profile_samples('_given', profile, metric)),
_up AS (
    SELECT callsite_id AS _id, sum(value) AS _value, true AS _self /*!, trace_id AS _trace */
    FROM _sample WHERE callsite_id IS NOT NULL GROUP BY callsite_id /*!, trace_id */
    UNION ALL
    SELECT _c.parent_id, _value, false /*!, _trace */
    FROM _up JOIN stack_profile_callsite AS _c ON _c.id = _up._id /*! AND _c.trace_id = _up._trace */
    WHERE _c.parent_id IS NOT NULL),
_total AS (
    SELECT _id, coalesce(sum(_value) FILTER (_self), 0) AS _own, sum(_value) AS _all /*!, _trace */
    FROM _up GROUP BY _id /*!, _trace */)
SELECT _c.id, _c.parent_id, _c.depth, _name.name, _name.mapping_name, _own AS self_value, _all AS cumulative_value
       /*!, _trace AS trace_id */
FROM _total
JOIN stack_profile_callsite AS _c ON _c.id = _total._id /*! AND _c.trace_id = _total._trace */
JOIN frame_name AS _name ON _name.id = _c.frame_id /*! AND _name.trace_id = _total._trace */;

-- profile_top(samples, profile := NULL, metric := NULL): the functions of samples, given as for flamegraph, with the
-- numbers of pprof -top: name, self_value (flat) of the samples in the function itself, cumulative_value, which
-- includes those below it and counts each sample once, and both as self_percent and cumulative_percent of all samples,
-- including those without a stack.
CREATE OR REPLACE MACRO profile_top(samples, profile := NULL, metric := NULL) AS TABLE
WITH RECURSIVE
_given AS (FROM query(_query(samples))),
_sample AS (
    SELECT callsite_id AS _leaf, sum(value) AS _value, sum(sum(value)) OVER (/*! PARTITION BY trace_id */) AS _all
           /*!, trace_id AS _trace */
    FROM _profile_samples('_given', profile, metric) GROUP BY callsite_id /*!, trace_id */),
_up AS (
    SELECT _leaf, _leaf AS _id /*!, _trace */ FROM _sample WHERE _leaf IS NOT NULL
    UNION ALL
    SELECT _leaf, _c.parent_id /*!, _trace */
    FROM _up JOIN stack_profile_callsite AS _c ON _c.id = _up._id /*! AND _c.trace_id = _up._trace */
    WHERE _c.parent_id IS NOT NULL),
_function AS (
    SELECT frame_id, name, coalesce(symbol_id = min(symbol_id) OVER (PARTITION BY frame_id /*!, trace_id */), true) AS _innermost
           /*!, trace_id */
    FROM _frame_function),
_on_stack AS (
    SELECT _leaf, _f.name, bool_or(_id = _leaf AND _f._innermost) AS _self /*!, _trace */
    FROM _up
    JOIN stack_profile_callsite AS _c ON _c.id = _up._id /*! AND _c.trace_id = _up._trace */
    JOIN _function AS _f ON _f.frame_id = _c.frame_id /*! AND _f.trace_id = _up._trace */
    GROUP BY _leaf, _f.name /*!, _trace */),
_top AS (
    SELECT name, coalesce(sum(_value) FILTER (_self), 0) AS self_value, sum(_value) AS cumulative_value,
           any_value(_all) AS _all /*!, _trace AS trace_id */
    FROM _on_stack JOIN _sample USING (_leaf /*!, _trace */) GROUP BY name /*!, _trace */)
SELECT name, self_value, 100 * self_value / nullif(_all, 0) AS self_percent, cumulative_value,
       100 * cumulative_value / nullif(_all, 0) AS cumulative_percent /*!, trace_id */
FROM _top;

-- _stack_value has the values that a flame graph can show: values at call stacks. Each has a scope, which is a
-- profile's file, a profiler or a heap, and a metric; place is the order of the metrics, and is_default the one that the format's
-- own tool shows, if the file has one. Times are in nanoseconds. Samples with events are measured by the periods of each
-- event and by their number.
CREATE OR REPLACE VIEW _stack_value AS
SELECT 'profile' AS kind, p.scope, p.id AS place, p.is_default, p.metric, p.unit, NULL::BIGINT AS ts,
       NULL::BIGINT AS utid, NULL::BIGINT AS upid, s.callsite_id, s.value * p.scale AS value /*!, s.trace_id */
FROM aggregate_sample AS s
JOIN _profile_measure AS p ON p.id = s.aggregate_profile_id /*! AND p.trace_id = s.trace_id */
UNION ALL
SELECT 'samples', s.source, 2 * v.place, false, v.event, v.unit, s.ts, s.utid, coalesce(s.upid, t.upid), s.callsite_id, v.period /*!, s.trace_id */
FROM stack_sample AS s
JOIN _sample_event AS v ON v.sample_id = s.id /*! AND v.trace_id = s.trace_id */
LEFT JOIN thread AS t ON t.id = s.utid /*! AND t.trace_id = s.trace_id */
WHERE s.callsite_id IS NOT NULL AND v.period IS NOT NULL
UNION ALL
SELECT 'samples', s.source, 2 * coalesce(e.session_id, v.place, 0) + 1, false,
       CASE WHEN (SELECT count(DISTINCT event) FROM (SELECT event /*!, trace_id */ FROM _perf_session UNION SELECT event /*!, trace_id */ FROM _own_event) AS o
                  /*! WHERE o.trace_id = s.trace_id */) > 1
            THEN coalesce('samples:' || coalesce(e.event, v.event), 'samples') ELSE 'samples' END,
       'count', s.ts, s.utid, coalesce(s.upid, t.upid), s.callsite_id, coalesce(s.weight, 1) /*!, s.trace_id */
FROM stack_sample AS s
LEFT JOIN _perf_session AS e ON e.session_id = s.session_id AND s.source = 'linux.perf' /*! AND e.trace_id = s.trace_id */
-- A condition on s alone beside the equality would make DuckDB compare all samples with all.
LEFT JOIN _sample_event AS v ON v.sample_id = CASE WHEN s.source <> 'linux.perf' THEN s.id END /*! AND v.trace_id = s.trace_id */
LEFT JOIN thread AS t ON t.id = s.utid /*! AND t.trace_id = s.trace_id */
WHERE s.callsite_id IS NOT NULL
UNION ALL
SELECT 'heap', coalesce(a.heap_name, 'heap'), m.place, m.metric = 'inuse_space', m.metric, m.unit, a.ts, NULL, a.upid, a.callsite_id,
       CASE m.place WHEN 0 THEN greatest(a.count, 0) WHEN 1 THEN greatest(a.size, 0) WHEN 2 THEN a.count ELSE a.size END
       /*!, a.trace_id */
FROM heap_profile_allocation AS a
CROSS JOIN (VALUES (0, 'alloc_objects', 'count'), (1, 'alloc_space', 'bytes'), (2, 'inuse_objects', 'count'),
                   (3, 'inuse_space', 'bytes')) AS m(place, metric, unit);

-- _profile_fact has what pprof profiles say of themselves, by the scope of the profile.
CREATE OR REPLACE VIEW _profile_fact AS
SELECT f.name AS scope, m.name, m.int_value, m.str_value, m.id /*!, m.trace_id */
FROM metadata AS m
JOIN trace_file AS f ON f.id = m.local_trace_id /*! AND f.trace_id = m.trace_id */
WHERE m.name LIKE 'pprof\_%' ESCAPE '\';
