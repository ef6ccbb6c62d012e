-- _running has the times that threads ran on CPUs, without the idle threads. Threads that are still running at the end
-- run until the end of the trace.
CREATE OR REPLACE VIEW _running AS
SELECT s.ts, _lasting(s.ts, s.dur /*!, s.trace_id */) AS dur, s.cpu, s.ucpu, s.utid /*!, s.trace_id */
FROM sched_slice AS s
JOIN thread AS t ON t.utid = s.utid /*! AND t.trace_id = s.trace_id */
WHERE NOT t.is_idle;

-- cpu_time_per_thread: the runtime (ns) of each thread on CPUs, its number of runs, and percent of the runtime of all
-- threads. Idle threads are left out. Computed from sched_slice, so only for traces with scheduling events.
CREATE OR REPLACE VIEW cpu_time_per_thread AS
SELECT t.utid, t.tid, t.name AS thread_name, p.upid, p.pid, p.name AS process_name, r.runtime, r.runs,
       100 * r.runtime / nullif(sum(r.runtime) OVER (/*! PARTITION BY r.trace_id */), 0) AS percent /*!, r.trace_id */
FROM (SELECT utid, sum(dur)::BIGINT AS runtime, count(*) AS runs /*!, trace_id */ FROM _running GROUP BY utid /*!, trace_id */) AS r
JOIN thread AS t ON t.utid = r.utid /*! AND t.trace_id = r.trace_id */
LEFT JOIN process AS p ON p.upid = t.upid /*! AND p.trace_id = r.trace_id */;

-- cpu_time_per_process: cpu_time_per_thread summed by process, with the number of threads that ran. Threads of unknown
-- processes are in the row without upid.
CREATE OR REPLACE VIEW cpu_time_per_process AS
SELECT upid, pid, process_name, sum(runtime)::BIGINT AS runtime, count(*) AS threads, sum(percent) AS percent /*!, trace_id */
FROM cpu_time_per_thread GROUP BY upid, pid, process_name /*!, trace_id */;

-- cpu_frequency_counters: the intervals in which a CPU had one frequency: ts, dur (ns), freq (kHz), ucpu and cpu.
-- Source: Trace Processor's linux.cpu.frequency.
CREATE OR REPLACE VIEW cpu_frequency_counters AS
SELECT f.id, f.track_id, f.ts, f.dur, f.value::BIGINT AS freq, c.ucpu, k.cpu /*!, f.trace_id */
FROM counter_leading_intervals(
    'SELECT v.* FROM counter AS v JOIN cpu_counter_track AS w ON w.id = v.track_id /*! AND w.trace_id = v.trace_id */
     WHERE w.name = ''cpufreq''') AS f
JOIN cpu_counter_track AS k ON k.id = f.track_id /*! AND k.trace_id = f.trace_id */
JOIN cpu AS c ON c.cpu = k.cpu AND c.machine_id IS NOT DISTINCT FROM k.machine_id /*! AND c.trace_id = f.trace_id */;

-- cpu_time_per_frequency: runtime (ns) of threads on each CPU at each frequency (freq, kHz), without the idle threads,
-- and percent of the CPU's runtime at known frequencies.
CREATE OR REPLACE VIEW cpu_time_per_frequency AS
WITH
_frequency AS (SELECT ts, dur, ucpu, freq /*!, trace_id */ FROM cpu_frequency_counters),
_ran AS (SELECT ts, dur, ucpu, cpu /*!, trace_id */ FROM _running)
SELECT ucpu, cpu, freq, sum(dur)::BIGINT AS runtime,
       100 * sum(dur) / nullif(sum(sum(dur)) OVER (PARTITION BY ucpu /*!, trace_id */), 0) AS percent /*!, trace_id */
FROM _span_join('_ran', '_frequency', 'sched_slice', 'cpu_frequency_counters', 'ucpu', false, false)
GROUP BY ucpu, cpu, freq /*!, trace_id */;

-- sched_time_in_state_for_thread: time_in_state (ns) for each thread and state in thread_state, total_runtime of all
-- the thread's states, and percentage_in_state. The last state lasts until the end of the trace. Source: Trace
-- Processor's sched.time_in_state.
CREATE OR REPLACE VIEW sched_time_in_state_for_thread AS
SELECT utid, sum(time_in_state) OVER _thread::BIGINT AS total_runtime, state, time_in_state,
       100 * time_in_state / nullif(sum(time_in_state) OVER _thread, 0) AS percentage_in_state /*!, trace_id */
FROM (SELECT utid, state, sum(_lasting(ts, dur /*!, trace_id */))::BIGINT AS time_in_state /*!, trace_id */
      FROM thread_state GROUP BY utid, state /*!, trace_id */)
WINDOW _thread AS (PARTITION BY utid /*!, trace_id */);

-- sched_time_in_state_for_thread_in_interval(ts, dur, utid): how a thread spent the time from ts to ts + dur, for
-- example during a slice that took too long: dur (ns) in each state, with io_wait and blocked_function for
-- uninterruptible sleep. Source: Trace Processor's sched.time_in_state.
CREATE OR REPLACE MACRO sched_time_in_state_for_thread_in_interval(ts, dur, utid /*!, trace_id */) AS TABLE
SELECT _s.state, _s.io_wait, _s.blocked_function,
       sum(least(_s.ts + _lasting(_s.ts, _s.dur /*!, _s.trace_id */), _from + _for) - greatest(_s.ts, _from))::BIGINT AS dur
FROM (SELECT ts AS _from, dur AS _for, utid AS _thread /*!, trace_id AS _trace */) AS _of
JOIN thread_state AS _s ON _s.utid = _of._thread /*! AND _s.trace_id = _of._trace */
WHERE _s.ts < _from + _for AND _s.ts + _lasting(_s.ts, _s.dur /*!, _s.trace_id */) > _from
GROUP BY ALL;
