-- DuckDB 1.4 rejects a macro with the argument trace_id over views that name the column without its table.

-- _gpu_args: what the args of work on GPUs say, under the names that PyTorch, Nsight Systems, rocpd and XPlane give it.
CREATE OR REPLACE VIEW _gpu_args AS
SELECT arg_set_id /*!, args.trace_id */,
       any_value(int_value) FILTER (flat_key = 'args.device') AS device,
       any_value(int_value) FILTER (flat_key = 'args.stream') AS stream,
       any_value(int_value) FILTER (flat_key = 'args.correlation') AS correlation,
       any_value(int_value) FILTER (flat_key IN ('args.bytes', 'args.Bytes', 'bytes', 'size')) AS bytes,
       string_agg(int_value, ',' ORDER BY id) FILTER (flat_key IN ('args.grid', 'gridX', 'gridY', 'gridZ')) AS grid,
       string_agg(int_value, ',' ORDER BY id)
           FILTER (flat_key IN ('args.block', 'blockX', 'blockY', 'blockZ', 'workgroup_size_x', 'workgroup_size_y', 'workgroup_size_z')) AS block,
       list(int_value ORDER BY id) FILTER (flat_key IN ('grid_size_x', 'grid_size_y', 'grid_size_z')) AS items,
       list(int_value ORDER BY id) FILTER (flat_key IN ('workgroup_size_x', 'workgroup_size_y', 'workgroup_size_z')) AS group_items,
       any_value(string_value) FILTER (flat_key IN ('kernel_details', 'memcpy_details', 'memset_details')) AS details
FROM args
GROUP BY ALL;

-- _gpu_call: the calls that may launch work on GPUs, by correlation id; of several with the same id, the first.
CREATE OR REPLACE VIEW _gpu_call AS
SELECT arg_min(s.id, s.ts) AS id, a.int_value AS correlation /*!, s.trace_id */
FROM slice AS s
JOIN args AS a ON a.arg_set_id = s.arg_set_id AND a.flat_key = 'args.correlation' /*! AND a.trace_id = s.trace_id */
WHERE _gpu_is_call(s.category)
GROUP BY a.int_value /*!, s.trace_id */;

-- _gpu_hip_copy: the bytes that a call of HIP copies. Older traces of ROCm have them only there.
CREATE OR REPLACE VIEW _gpu_hip_copy AS
SELECT arg_set_id, any_value(try_cast(string_value AS BIGINT)) AS size /*!, args.trace_id */
FROM args
WHERE flat_key = 'args.size'
GROUP BY ALL;

-- gpu_kernel: work on GPUs, from any profiler: kernels, copies and memory that is set (category: kernel, gpu_memcpy,
-- gpu_memset; on TPUs XLA Ops). kind is computation, communication (kernels of NCCL and RCCL) or memory. ts, dur in ns; device and
-- stream as the profiler numbers them; grid and block as x,y,z, in blocks and threads; bytes and direction (HtoD, DtoH, DtoD, PtoP, HtoH, other) of
-- copies. launch_id, launch_name, launch_ts and launch_dur are the call that launched it, in slice, and launch_delay is how long
-- after the end of the call the work began, ns, at least 0; NULL if the call is not known.
CREATE OR REPLACE VIEW gpu_kernel AS
SELECT w.* REPLACE (CASE WHEN w.category = 'gpu_memcpy' THEN coalesce(w.bytes, h.size) ELSE w.bytes END AS bytes), c.name AS launch_name, c.ts AS launch_ts, c.dur AS launch_dur,
       CASE WHEN c.dur >= 0 THEN greatest(w.ts - c.ts - c.dur, 0) END AS launch_delay
FROM (
    SELECT s.id, s.ts, s.dur, s.category, s.name,
           _gpu_kind(s.category, s.name) AS kind,
           coalesce(a.device, gpu.gpu) AS device, coalesce(a.stream, g.hw_queue_id) AS stream, coalesce(g.upid, t.upid) AS upid,
           coalesce(nullif(array_to_string(list_transform(list_zip(a.items, a.group_items), lambda x: x[1] // nullif(x[2], 0)), ','), ''), a.grid,
                    nullif(regexp_extract(a.details, 'grid:([0-9,]+)', 1), '')) AS grid,
           coalesce(a.block, nullif(regexp_extract(a.details, 'block:([0-9,]+)', 1), '')) AS block,
           coalesce(a.bytes, nullif(regexp_extract(a.details, 'size:([0-9]+)', 1), '')::BIGINT) AS bytes,
           _gpu_direction(s.category, s.name) AS direction,
           coalesce(a.correlation, g.submission_id) AS correlation, coalesce(k.id, f.slice_out) AS launch_id, s.arg_set_id /*!, s.trace_id */
    FROM slice AS s
    JOIN track ON track.id = s.track_id /*! AND track.trace_id = s.trace_id */
    LEFT JOIN thread AS t ON t.utid = track.utid /*! AND t.trace_id = s.trace_id */
    LEFT JOIN gpu ON gpu.ugpu = track.ugpu /*! AND gpu.trace_id = s.trace_id */
    LEFT JOIN gpu_slice AS g ON g.id = s.id /*! AND g.trace_id = s.trace_id */
    LEFT JOIN _gpu_args AS a ON a.arg_set_id = s.arg_set_id /*! AND a.trace_id = s.trace_id */
    LEFT JOIN _gpu_call AS k ON k.correlation = a.correlation /*! AND k.trace_id = s.trace_id */
    LEFT JOIN (SELECT slice_in, min(slice_out) AS slice_out /*!, flow.trace_id */ FROM flow GROUP BY ALL) AS f ON f.slice_in = s.id /*! AND f.trace_id = s.trace_id */
    WHERE _gpu_is_work(s.category) AND s.dur >= 0) AS w
LEFT JOIN slice AS c ON c.id = w.launch_id /*! AND c.trace_id = w.trace_id */
LEFT JOIN _gpu_hip_copy AS h ON h.arg_set_id = c.arg_set_id /*! AND h.trace_id = c.trace_id */;

-- gpu_kernel_time: how often kernels and other work of each name ran, by device and kind; the sum, mean, least and greatest
-- duration and its standard deviation, ns.
CREATE OR REPLACE VIEW gpu_kernel_time AS
SELECT device, kind, name, count(*) AS count, sum(dur)::BIGINT AS total_dur, avg(dur) AS mean_dur, min(dur) AS min_dur, max(dur) AS max_dur,
       stddev_samp(dur) AS stddev_dur /*!, trace_id */
FROM gpu_kernel
GROUP BY ALL;

-- _gpu_time: the times at which the work of each device and stream begins and ends, with how much of each kind runs from then on and until when.
CREATE OR REPLACE VIEW _gpu_time AS
SELECT device, stream, ts, ts + dur AS ts_end, kind = 'computation' AS computes, kind = 'communication' AS communicates /*!, trace_id */
FROM gpu_kernel;

-- _gpu_sweep: _gpu_time as moments at which something begins or ends, and what runs from each to the next.
CREATE OR REPLACE VIEW _gpu_sweep AS
SELECT device, ts, lead(ts) OVER moments - ts AS dur, sum(running) OVER moments AS running, sum(computes) OVER moments AS computing,
       sum(communicates) OVER moments AS communicating /*!, trace_id */
FROM (SELECT device, ts, 1 AS running, computes::INT AS computes, communicates::INT AS communicates /*!, trace_id */ FROM _gpu_time
      UNION ALL
      SELECT device, ts_end, -1, -computes::INT, -communicates::INT /*!, trace_id */ FROM _gpu_time)
WINDOW moments AS (PARTITION BY device /*!, trace_id */ ORDER BY ts ROWS UNBOUNDED PRECEDING);

-- gpu_busy: how each device spent the time from the start of its first work (ts) to the end of its last (dur): busy with any work or
-- idle; with computation; with other work only (non_computation); with communication; and with both computation and communication
-- (overlap). All in ns.
CREATE OR REPLACE VIEW gpu_busy AS
SELECT device, min(ts) AS ts, sum(dur)::BIGINT AS dur,
       coalesce(sum(dur) FILTER (running > 0), 0)::BIGINT AS busy, coalesce(sum(dur) FILTER (running = 0), 0)::BIGINT AS idle,
       coalesce(sum(dur) FILTER (computing > 0), 0)::BIGINT AS computation,
       coalesce(sum(dur) FILTER (running > 0 AND computing = 0), 0)::BIGINT AS non_computation,
       coalesce(sum(dur) FILTER (communicating > 0), 0)::BIGINT AS communication,
       coalesce(sum(dur) FILTER (computing > 0 AND communicating > 0), 0)::BIGINT AS overlap /*!, trace_id */
FROM _gpu_sweep
GROUP BY ALL;

-- gpu_stream_busy: how much work each stream had (count), and how long it was busy and idle between the start of its first work (ts) and
-- the end of its last (dur), ns.
CREATE OR REPLACE VIEW gpu_stream_busy AS
SELECT device, stream, count(*) AS count, min(ts) AS ts, max(ts_end) - min(ts) AS dur,
       sum(greatest(ts_end - greatest(ts, coalesce(reached, ts)), 0))::BIGINT AS busy,
       max(ts_end) - min(ts) - sum(greatest(ts_end - greatest(ts, coalesce(reached, ts)), 0))::BIGINT AS idle /*!, trace_id */
FROM (SELECT *, max(ts_end) OVER (PARTITION BY device, stream /*!, trace_id */ ORDER BY ts, ts_end
                                  ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached
      FROM _gpu_time)
GROUP BY ALL;

-- gpu_copy: the copies of each direction and device: count, bytes, duration in ns, and the bandwidth in GB/s (10^9 bytes).
CREATE OR REPLACE VIEW gpu_copy AS
SELECT device, direction, count(*) AS count, sum(bytes)::BIGINT AS bytes, sum(dur)::BIGINT AS total_dur, sum(bytes) / nullif(sum(dur), 0) AS gb_per_s /*!, trace_id */
FROM gpu_kernel
WHERE direction IS NOT NULL
GROUP BY ALL;

-- gpu_step: the steps of training that PyTorch's profiler marks (ProfilerStep#), with the work that begins in them on all devices: ts and
-- dur in ns, count and total_dur of the work, and how much of that is communication.
CREATE OR REPLACE VIEW gpu_step AS
SELECT s.id, s.name, s.ts, s.dur, count(k.id) AS count, coalesce(sum(k.dur), 0)::BIGINT AS total_dur,
       coalesce(sum(k.dur) FILTER (k.kind = 'communication'), 0)::BIGINT AS communication /*!, s.trace_id */
FROM slice AS s
LEFT JOIN gpu_kernel AS k ON k.ts >= s.ts AND k.ts < s.ts + s.dur /*! AND k.trace_id = s.trace_id */
WHERE s.name LIKE 'ProfilerStep#%' AND s.category = 'user_annotation'
GROUP BY ALL;

-- gpu_memory: what PyTorch's allocator says after each allocation and release, with profile_memory: ts in ns; device; bytes of the change;
-- allocated and reserved, the bytes of all so far.
CREATE OR REPLACE VIEW gpu_memory AS
SELECT s.id, s.ts,
       any_value(a.int_value) FILTER (a.flat_key = 'args.Device Type') AS device_type,
       any_value(a.int_value) FILTER (a.flat_key = 'args.Device Id') AS device,
       any_value(a.int_value) FILTER (a.flat_key = 'args.Bytes') AS bytes,
       any_value(a.int_value) FILTER (a.flat_key = 'args.Total Allocated') AS allocated,
       any_value(a.int_value) FILTER (a.flat_key = 'args.Total Reserved') AS reserved /*!, s.trace_id */
FROM slice AS s
JOIN args AS a ON a.arg_set_id = s.arg_set_id /*! AND a.trace_id = s.trace_id */
WHERE s.name = '[memory]'
GROUP BY ALL;

-- gpu_rank: gpu_busy with the rank of the process in its job and the number of ranks (world_size), for datasets of the traces of all
-- ranks. slowest_step is the duration in ns of the longest step that PyTorch's profiler marks, if any.
CREATE OR REPLACE VIEW gpu_rank AS
SELECT t.rank, t.world_size, b.*, s.slowest_step
FROM gpu_busy AS b
JOIN trace AS t ON true /*! AND t.trace_id = b.trace_id */
LEFT JOIN (SELECT max(dur) AS slowest_step /*!, trace_id */ FROM slice WHERE name LIKE 'ProfilerStep#%' AND category = 'user_annotation' GROUP BY ALL) AS s
    ON true /*! AND s.trace_id = b.trace_id */;

-- gpu_arrival: communication of each rank of a job, in datasets of their traces: id, ts and dur (ns) in gpu_kernel, the rank, the step that
-- PyTorch's profiler marks in which it started, and what makes it the same collective on all ranks: the name of the kernel, the name and ranks
-- of the process group, as PyTorch has them in its traces (NULL if they are not there), and its number in the order in which each rank ran
-- those. All ranks end a collective together, so waited is how much longer it took than on the rank that came last, ns.
CREATE OR REPLACE VIEW gpu_arrival AS
SELECT *, dur - min(dur) OVER (PARTITION BY name, number, process_group, group_ranks) AS waited
FROM (SELECT k.id, k.name, row_number() OVER (PARTITION BY k.name, g.process_group, g.group_ranks /*!, k.trace_id */ ORDER BY k.ts, k.id) AS number,
             g.process_group, g.group_ranks, t.rank, CASE WHEN k.ts < s.ts + s.dur THEN s.name END AS step, k.ts, k.dur /*!, k.trace_id */
      FROM gpu_kernel AS k
      JOIN trace AS t ON true /*! AND t.trace_id = k.trace_id */
      LEFT JOIN (SELECT arg_set_id /*!, trace_id */, any_value(string_value) FILTER (flat_key = 'args.Process Group Name') AS process_group,
                        trim(string_agg(coalesce(string_value, int_value::VARCHAR), ', ' ORDER BY id) FILTER (flat_key = 'args.Process Group Ranks'), '[]') AS group_ranks
                 FROM args
                 WHERE flat_key IN ('args.Process Group Name', 'args.Process Group Ranks')
                 GROUP BY ALL) AS g ON g.arg_set_id = k.arg_set_id /*! AND g.trace_id = k.trace_id */
      ASOF LEFT JOIN (FROM slice WHERE name LIKE 'ProfilerStep#%' AND category = 'user_annotation') AS s ON s.ts <= k.ts /*! AND s.trace_id = k.trace_id */
      WHERE k.kind = 'communication');

-- gpu_collective: the collectives of gpu_arrival: how many ranks have it, the least and greatest duration and their difference (skew), ns, and
-- the straggler, the rank that came last (the lowest if there are several; NULL if all came together), with the step in which it did.
CREATE OR REPLACE VIEW gpu_collective AS
SELECT name, number, count(*) AS ranks, min(dur) AS min_dur, max(dur) AS max_dur, max(dur) - min(dur) AS skew, CASE WHEN max(dur) > min(dur) THEN arg_min_null(rank, (dur, rank)) END AS straggler,
       process_group, group_ranks, arg_min_null(step, (dur, rank)) AS step
FROM gpu_arrival
GROUP BY name, number, process_group, group_ranks;

-- gpu_straggler: for each rank, how many collectives of several ranks it took part in, how often it came last, the total skew of the
-- collectives where it did, and how long it waited for others in total, ns.
CREATE OR REPLACE VIEW gpu_straggler AS
SELECT a.rank, count(*) AS count, count(*) FILTER (c.straggler = a.rank) AS last,
       coalesce(sum(c.skew) FILTER (c.straggler = a.rank), 0)::BIGINT AS last_skew, sum(a.waited)::BIGINT AS waited
FROM gpu_arrival AS a
JOIN gpu_collective AS c ON c.name = a.name AND c.number = a.number AND c.process_group IS NOT DISTINCT FROM a.process_group
                        AND c.group_ranks IS NOT DISTINCT FROM a.group_ranks
WHERE c.ranks > 1
GROUP BY a.rank;

-- gpu_critical_path(step): what a step spent its time on, from its start to its end or to that of the last work launched in it: parts without
-- gaps or overlaps (ts, dur in ns), found backward from the end. Each part is the one that ended last of those that the next part waited for.
-- step is the id of a slice of the CPU, such as PyTorch's ProfilerStep#. kind is cpu (id: the innermost slice at that time, NULL for none),
-- launch (from the call, id, to its work), computation, communication and memory (id: the work), gap (between two works of a stream), wait
-- (until a stream goes on after an event of another; only traces with PyTorch's cuda_sync events have those), sync (from the end of the work
-- to that of the call, id, that waited for it) or earlier (while the stream was busy with work that the step did not launch).
CREATE OR REPLACE MACRO gpu_critical_path(step /*!, trace_id */) AS TABLE
-- Rows of the trace alone, so that only its files are read. The condition has another name, because the argument may itself be a column.
WITH RECURSIVE _slice AS NOT MATERIALIZED (
    FROM (SELECT _s.id, _s.ts, _s.dur, _s.name, _s.track_id, _s.parent_id, _s.depth, _s.arg_set_id /*!, _s.trace_id AS _trace */ FROM slice AS _s) /*! WHERE _trace = trace_id */),
_track AS NOT MATERIALIZED (FROM (SELECT _t.id, _t.utid /*!, _t.trace_id AS _trace */ FROM thread_track AS _t) /*! WHERE _trace = trace_id */),
_kernel AS NOT MATERIALIZED (
    FROM (SELECT _k.id, _k.ts, _k.dur, _k.kind, _k.device, _k.stream, _k.launch_id, _k.launch_ts /*!, _k.trace_id AS _trace */ FROM gpu_kernel AS _k) /*! WHERE _trace = trace_id */),
_launch AS NOT MATERIALIZED (FROM (SELECT _c.id, _c.correlation /*!, _c.trace_id AS _trace */ FROM _gpu_call AS _c) /*! WHERE _trace = trace_id */),
_arg AS NOT MATERIALIZED (FROM (SELECT _a.arg_set_id, _a.flat_key, _a.int_value /*!, _a.trace_id AS _trace */ FROM args AS _a) /*! WHERE _trace = trace_id */),
_step AS MATERIALIZED (
    SELECT _s.ts AS _from, _s.ts + _s.dur AS _to, _t.utid AS _utid
    FROM (SELECT step AS _id) AS _of
    JOIN _slice AS _s ON _s.id = _of._id
    LEFT JOIN _track AS _t ON _t.id = _s.track_id),
_call AS MATERIALIZED (
    SELECT _s.id, _s.ts, _s.ts + _s.dur AS _end, _s.name, _t.utid
    FROM _step
    JOIN _slice AS _s ON _s.ts BETWEEN _from AND _to AND _s.dur >= 0
    JOIN _track AS _t ON _t.id = _s.track_id
    WHERE regexp_matches(_s.name, '^(cuda|cu|hip)[A-Z]')),
-- The thread of the step and its end. A slice of another kind, such as that of the whole profile, ends with its last call.
_main AS MATERIALIZED (
    SELECT CASE WHEN coalesce(bool_or(_c.utid = _utid), count(_c.id) = 0) THEN any_value(_utid) ELSE arg_max(_c.utid, _c._end) END AS _utid,
           CASE WHEN coalesce(bool_or(_c.utid = _utid), count(_c.id) = 0) THEN any_value(_to) ELSE max(_c._end) END AS _to
    FROM _step LEFT JOIN _call AS _c ON true),
_work AS MATERIALIZED (
    SELECT _k.*, _t.utid
    FROM (SELECT _k.id, _k.ts, _k.dur, _k.ts + _k.dur AS _end, _k.kind, _k.device, _k.stream, _k.launch_id, _k.launch_ts,
                 lag(_k.id) OVER _in_stream AS _before, lag(_k.ts + _k.dur) OVER _in_stream AS _before_end, lag(_k.launch_ts) OVER _in_stream AS _before_launch
          FROM _kernel AS _k
          WINDOW _in_stream AS (PARTITION BY _k.device, _k.stream ORDER BY _k.ts, _k.id)) AS _k
    JOIN _step ON _k.launch_ts BETWEEN _from AND _to
    JOIN _slice AS _c ON _c.id = _k.launch_id
    JOIN _track AS _t ON _t.id = _c.track_id),
-- The last work before an event was recorded in one stream, and the first work after another stream was told to wait for it.
_wait AS (
    SELECT _k.id, arg_max(_e.id, _e._end) AS _awaited, max(_e._end) AS _awaited_end
    FROM (SELECT any_value(_a.int_value) FILTER (_a.flat_key = 'args.correlation') AS _correlation,
                 any_value(_a.int_value) FILTER (_a.flat_key = 'args.device') AS _device,
                 any_value(_a.int_value) FILTER (_a.flat_key = 'args.stream') AS _stream,
                 any_value(_a.int_value) FILTER (_a.flat_key = 'args.wait_on_stream') AS _source,
                 any_value(_a.int_value) FILTER (_a.flat_key = 'args.wait_on_cuda_event_record_corr_id') AS _event
          FROM _slice AS _s JOIN _arg AS _a ON _a.arg_set_id = _s.arg_set_id
          WHERE _s.name = 'Stream Wait Event' GROUP BY _s.id) AS _w
    JOIN _launch AS _g ON _g.correlation = _w._correlation
    JOIN _launch AS _h ON _h.correlation = _w._event
    JOIN _call AS _waits ON _waits.id = _g.id
    JOIN _call AS _records ON _records.id = _h.id
    ASOF JOIN _work AS _e ON _e.device = _w._device AND _e.stream = _w._source AND _e.launch_ts <= _records.ts
    ASOF JOIN _work AS _k ON _k.device = _w._device AND _k.stream = _w._stream AND _k.launch_ts >= _waits.ts
    GROUP BY _k.id),
_node AS MATERIALIZED (
    SELECT _w.*, CASE WHEN _awaited_end <= _w.ts AND _awaited_end > greatest(_before_end, launch_ts) THEN 'wait'
                      WHEN _before_end IS NULL OR _before_end < launch_ts THEN 'launch'
                      WHEN _before_launch >= _from THEN 'gap' ELSE 'earlier' END AS _why, _awaited, _awaited_end
    FROM _work AS _w CROSS JOIN _step LEFT JOIN _wait ON _wait.id = _w.id),
-- The calls that work kept from returning.
_sync AS MATERIALIZED (
    SELECT _c.id, _c.utid, _c._end AS _until, arg_max(_k.id, _k._end) AS _work, max(_k._end) AS _work_end
    FROM _call AS _c
    JOIN _work AS _k ON _k._end > _c.ts AND _k._end <= _c._end AND (contains(_c.name, 'Synchronize') OR contains(_c.name, 'Memcpy') AND _k.launch_id = _c.id)
    GROUP BY ALL),
-- What the CPU did up to a launch, or up to the end, since such a call.
_stretch AS MATERIALIZED (
    SELECT _m.id, _m._at, _m.utid, arg_max(_s.id, _s._until) AS _call, max(_s._until) AS _until, arg_max(_s._work, _s._until) AS _work,
           arg_max(_s._work_end, _s._until) AS _work_end
    FROM (SELECT _n.id, _n.launch_ts AS _at, _n.utid FROM _node AS _n WHERE _why = 'launch' UNION ALL SELECT NULL, _to, _utid FROM _main) AS _m
    CROSS JOIN _main
    LEFT JOIN _sync AS _s ON _s._until <= _m._at AND _s.utid IN (_m.utid, _main._utid)
    GROUP BY _m.id, _m._at, _m.utid),
_chain AS (
    SELECT CASE WHEN _last._end >= _to THEN _last._id ELSE _s._work END AS _id, CASE WHEN _last._end >= _to THEN _last._end ELSE _s._work_end END AS _at,
           _last._end >= _to AS _on_gpu
    FROM _main, (SELECT arg_max(_w.id, _w._end) AS _id, max(_w._end) AS _end FROM _work AS _w) AS _last, (FROM _stretch AS _s WHERE _s.id IS NULL) AS _s
    UNION
    SELECT CASE _n._why WHEN 'wait' THEN _n._awaited WHEN 'gap' THEN _n._before WHEN 'launch' THEN _s._work END,
           CASE _n._why WHEN 'wait' THEN _n._awaited_end WHEN 'gap' THEN least(_n._before_end, _n.ts) WHEN 'launch' THEN _s._work_end END, NULL
    FROM _chain AS _c JOIN _node AS _n ON _n.id = _c._id LEFT JOIN _stretch AS _s ON _s.id = _n.id),
_path AS MATERIALIZED (SELECT _n.*, _c._at FROM _chain AS _c JOIN _node AS _n ON _n.id = _c._id),
_cpu AS MATERIALIZED (
    SELECT coalesce(_s._until, _from) AS _since, _s._at, _s.utid, _s._call, _s._work_end
    FROM _step
    CROSS JOIN (SELECT bool_or(_c._on_gpu) AS _on_gpu FROM _chain AS _c)
    CROSS JOIN _stretch AS _s
    LEFT JOIN (SELECT DISTINCT _p.id FROM _path AS _p WHERE _p._why = 'launch') AS _p ON _p.id = _s.id
    WHERE _p.id IS NOT NULL OR _s.id IS NULL AND _on_gpu IS NOT TRUE),
_thread AS MATERIALIZED (SELECT _c.utid FROM _cpu AS _c UNION SELECT _utid FROM _main),
-- The innermost slice of each thread over time.
_edge AS (
    SELECT _t.utid, _x._ts, _x._innermost, _x._starts, _x._depth
    FROM _step
    JOIN _slice AS _s ON _s.ts < _to AND _s.ts + _s.dur > _from AND _s.dur > 0
    JOIN _track AS _t ON _t.id = _s.track_id
    CROSS JOIN LATERAL (VALUES (_s.ts, _s.id, true, _s.depth), (_s.ts + _s.dur, _s.parent_id, false, -_s.depth)) AS _x(_ts, _innermost, _starts, _depth)
    WHERE _t.utid IN (FROM _thread)
    UNION ALL
    SELECT _t.utid, -9223372036854775807, NULL, false, 0 FROM _thread AS _t),
_leaf AS MATERIALIZED (
    FROM (SELECT _e.utid, _e._ts, coalesce(lead(_e._ts) OVER (PARTITION BY _e.utid ORDER BY _e._ts, _e._starts, _e._depth), _to) AS _end, _e._innermost
          FROM _edge AS _e, _step)
    WHERE _end > _ts),
_part AS MATERIALIZED (
    SELECT greatest(_c._since, _l._ts) AS _ts, least(_c._at, _l._end) AS _end, _c.utid, _l._innermost
    FROM _cpu AS _c JOIN _leaf AS _l ON _l.utid = _c.utid AND _l._ts < _c._at AND _l._end > _c._since)
SELECT _r._ts AS ts, _r._end - _r._ts AS dur, _r._kind AS kind, _r._id AS id, _s.name, _r._utid AS utid, _r._device AS device, _r._stream AS stream
FROM (
    SELECT _p.ts AS _ts, _p._at AS _end, _p.kind AS _kind, _p.id AS _id, NULL::BIGINT AS _utid, _p.device AS _device, _p.stream AS _stream FROM _path AS _p
    UNION ALL
    SELECT CASE _why WHEN 'wait' THEN _awaited_end WHEN 'gap' THEN least(_before_end, _p.ts) WHEN 'launch' THEN _p.launch_ts ELSE _from END,
           _p.ts, _why, CASE WHEN _why = 'launch' THEN _p.launch_id END, NULL, _p.device, _p.stream
    FROM _path AS _p, _step
    UNION ALL
    SELECT _work_end, _since, 'sync', _call, _c.utid, NULL, NULL FROM _cpu AS _c WHERE _call IS NOT NULL
    UNION ALL
    SELECT _p._ts, _p._end, 'cpu', _innermost, _p.utid, NULL, NULL FROM _part AS _p, _main WHERE _innermost IS NOT NULL OR _p.utid = _utid
    UNION ALL
    -- While the launching thread has nothing to do, the thread of the step does what comes before.
    SELECT greatest(_p._ts, _l._ts), least(_p._end, _l._end), 'cpu', _l._innermost, _l.utid, NULL, NULL
    FROM _part AS _p CROSS JOIN _main JOIN _leaf AS _l ON _l.utid = _utid AND _l._ts < _p._end AND _l._end > _p._ts
    WHERE _p._innermost IS NULL AND _p.utid <> _utid) AS _r
JOIN (SELECT _n.id, _n.name FROM _slice AS _n UNION ALL SELECT NULL, NULL) AS _s ON _s.id IS NOT DISTINCT FROM _r._id
WHERE _r._end > _r._ts;
