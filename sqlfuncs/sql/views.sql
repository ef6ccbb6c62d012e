-- slices: slice, with category and id also under their older names cat and slice_id.
CREATE OR REPLACE VIEW slices AS SELECT *, category AS cat, id AS slice_id FROM slice;

-- instant: the slices without duration. ts in ns.
CREATE OR REPLACE VIEW instant AS
SELECT ts, track_id, name, arg_set_id /*!, trace_id */ FROM slice WHERE dur = 0;

-- sched: sched_slice with ts_end. ts, dur and ts_end in ns.
CREATE OR REPLACE VIEW sched AS
SELECT id, ts, dur, cpu, utid, end_state, priority, ucpu, ts + dur AS ts_end /*!, trace_id */ FROM sched_slice;

-- raw: every event of ftrace_event and of chrome_raw.
CREATE OR REPLACE VIEW raw AS
FROM ftrace_event UNION ALL BY NAME FROM chrome_raw;

-- perf_sample: the samples of perf and of traced_perf, including those without a callstack. ts in ns.
CREATE OR REPLACE VIEW perf_sample AS
SELECT id, ts, utid, cpu, coalesce(cpu_mode, 'unknown') AS cpu_mode, callsite_id, unwind_error,
       session_id AS perf_session_id /*!, trace_id */
FROM stack_sample
WHERE source = 'linux.perf';

-- cpu_profile_stack_sample: the samples of all profilers except Linux perf and Instruments, which have views of their own. ts in ns.
-- event: what a sample is of, if the profiler says so; perf_event_sample has its period, too.
CREATE OR REPLACE VIEW cpu_profile_stack_sample AS
SELECT s.id, s.ts, s.callsite_id, s.utid, coalesce(x.process_priority, 0) AS process_priority, e.event /*!, s.trace_id */
FROM stack_sample AS s
LEFT JOIN stack_sample_event AS e ON e.stack_sample_id = s.id /*! AND e.trace_id = s.trace_id */
LEFT JOIN chrome_stack_sample_extras AS x ON x.profiler_sample_id = s.id /*! AND x.trace_id = s.trace_id */
WHERE s.source NOT IN ('linux.perf', 'instruments');

-- instruments_sample: the samples of Apple's Instruments. ts in ns.
CREATE OR REPLACE VIEW instruments_sample AS
SELECT id, ts, utid, callsite_id, cpu /*!, trace_id */ FROM stack_sample WHERE source = 'instruments';

-- counters: counter with the name and unit of its track. ts in ns.
CREATE OR REPLACE VIEW counters AS
SELECT c.*, t.name, t.unit
FROM counter AS c JOIN counter_track AS t ON c.track_id = t.id /*! AND c.trace_id = t.trace_id */;

-- process_title: the processes, with a title that tells those of the same name apart if the trace does: python3 (GPU 2). label
-- is what the trace says a process does, such as PyTorch's GPU 2 or the page of a browser's tab; NULL if it does not say.
CREATE OR REPLACE VIEW process_title AS
SELECT id, upid, pid, name, label, coalesce(nullif(name, '') || ' (' || label || ')', label, name) AS title /*!, trace_id */
FROM (SELECT p.id, p.upid, p.pid, p.name, string_agg(a.string_value, ', ' ORDER BY a.id) AS label /*!, p.trace_id */
      FROM process AS p
      LEFT JOIN args AS a ON a.arg_set_id = p.arg_set_id AND a.flat_key = 'chrome.process_label' /*! AND a.trace_id = p.trace_id */
      GROUP BY ALL);

-- thread_slice: the slices of thread tracks, with thread and process. ts, dur and the thread's CPU time in ns. An
-- unfinished slice lasts until the end of the trace and has is_unfinished set; in slice, its dur is -1.
CREATE OR REPLACE VIEW thread_slice AS
SELECT s.id, s.ts, _lasting(s.ts, s.dur /*!, s.trace_id */) AS dur, s.category, s.name, s.track_id, tt.name AS track_name, t.name AS thread_name, t.utid, t.tid,
       t.is_main_thread, p.name AS process_name, p.upid, p.pid, s.depth, s.parent_id, s.arg_set_id, s.thread_ts,
       s.thread_dur, s.dur = -1 AS is_unfinished /*!, s.trace_id */
FROM slice AS s
JOIN thread_track AS tt ON tt.id = s.track_id /*! AND tt.trace_id = s.trace_id */
JOIN thread AS t ON t.utid = tt.utid /*! AND t.trace_id = s.trace_id */
LEFT JOIN process AS p ON p.upid = t.upid /*! AND p.trace_id = s.trace_id */;

-- process_slice: the slices of process tracks, with process. ts and dur in ns; unfinished slices are as in
-- thread_slice.
CREATE OR REPLACE VIEW process_slice AS
SELECT s.id, s.ts, _lasting(s.ts, s.dur /*!, s.trace_id */) AS dur, s.category, s.name, s.track_id, pt.name AS track_name, p.name AS process_name, p.upid, p.pid,
       s.depth, s.parent_id, s.arg_set_id, s.thread_ts, s.thread_dur,
       s.dur = -1 AS is_unfinished /*!, s.trace_id */
FROM slice AS s
JOIN process_track AS pt ON pt.id = s.track_id /*! AND pt.trace_id = s.trace_id */
JOIN process AS p ON p.upid = pt.upid /*! AND p.trace_id = s.trace_id */;

-- thread_or_process_slice: thread_slice and process_slice; the latter has no thread.
CREATE OR REPLACE VIEW thread_or_process_slice AS
SELECT id, ts, dur, category, name, track_id, track_name, thread_name, utid, tid, process_name, upid, pid, depth,
       parent_id, arg_set_id, is_unfinished /*!, trace_id */
FROM thread_slice
UNION ALL BY NAME
SELECT * EXCLUDE (thread_ts, thread_dur) FROM process_slice;
