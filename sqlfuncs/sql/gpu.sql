-- _gpu_args: what the args of work on GPUs say, under the names that PyTorch, Nsight Systems, rocpd and XPlane give it.
CREATE OR REPLACE VIEW _gpu_args AS
SELECT arg_set_id /*!, trace_id */,
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
WHERE s.category IN ('cuda_runtime', 'cuda_driver', 'Runtime', 'hip_runtime', 'privateuse1_runtime')
GROUP BY a.int_value /*!, s.trace_id */;

-- gpu_kernel: work on GPUs, whatever profiler saw it: kernels, copies and memory that is set (category: kernel, gpu_memcpy,
-- gpu_memset; on TPUs XLA Ops). kind is computation, communication (kernels of NCCL and RCCL) or memory. ts, dur in ns; device and
-- stream as the profiler numbers them; grid and block as x,y,z, in blocks and threads; bytes and direction (HtoD, DtoH, DtoD, PtoP, HtoH) of
-- copies. launch_id, launch_name, launch_ts and launch_dur are the call that launched it, in slice, and launch_delay is how long
-- after the end of the call the work began, ns, at least 0; NULL if the call is not known.
CREATE OR REPLACE VIEW gpu_kernel AS
SELECT w.*, c.name AS launch_name, c.ts AS launch_ts, c.dur AS launch_dur, CASE WHEN c.dur >= 0 THEN greatest(w.ts - c.ts - c.dur, 0) END AS launch_delay
FROM (
    SELECT s.id, s.ts, s.dur, s.category, s.name,
           CASE WHEN s.category IN ('gpu_memcpy', 'gpu_memset', 'Memcpy', 'Memset') OR regexp_matches(s.name, '^(Memcpy|Memset|dma)') THEN 'memory'
                WHEN regexp_matches(s.name, '^(nccl|rccl|oneccl|mscclpp)', 'i') THEN 'communication'
                ELSE 'computation' END AS kind,
           coalesce(a.device, gpu.gpu) AS device, coalesce(a.stream, g.hw_queue_id) AS stream, coalesce(g.upid, t.upid) AS upid,
           coalesce(nullif(array_to_string(list_transform(list_zip(a.items, a.group_items), lambda x: x[1] // nullif(x[2], 0)), ','), ''), a.grid,
                    nullif(regexp_extract(a.details, 'grid:([0-9,]+)', 1), '')) AS grid,
           coalesce(a.block, nullif(regexp_extract(a.details, 'block:([0-9,]+)', 1), '')) AS block,
           coalesce(a.bytes, nullif(regexp_extract(a.details, 'size:([0-9]+)', 1), '')::BIGINT) AS bytes,
           CASE WHEN s.category NOT IN ('gpu_memcpy', 'Memcpy') THEN NULL
                WHEN regexp_matches(s.name, 'HtoD|H2D|HOST_?TO_?DEVICE|HOST-TO-DEVICE', 'i') THEN 'HtoD'
                WHEN regexp_matches(s.name, 'DtoH|D2H|DEVICE_?TO_?HOST|DEVICE-TO-HOST', 'i') THEN 'DtoH'
                WHEN regexp_matches(s.name, 'PtoP|P2P|PEER.TO.PEER', 'i') THEN 'PtoP'
                WHEN regexp_matches(s.name, 'DtoD|D2D|DEVICE_?TO_?DEVICE|DEVICE-TO-DEVICE', 'i') THEN 'DtoD'
                WHEN regexp_matches(s.name, 'HtoH|H2H|HOST_?TO_?HOST|HOST-TO-HOST', 'i') THEN 'HtoH' END AS direction,
           coalesce(a.correlation, g.submission_id) AS correlation, coalesce(k.id, f.slice_out) AS launch_id, s.arg_set_id /*!, s.trace_id */
    FROM slice AS s
    JOIN track ON track.id = s.track_id /*! AND track.trace_id = s.trace_id */
    LEFT JOIN thread AS t ON t.utid = track.utid /*! AND t.trace_id = s.trace_id */
    LEFT JOIN gpu ON gpu.ugpu = track.ugpu /*! AND gpu.trace_id = s.trace_id */
    LEFT JOIN gpu_slice AS g ON g.id = s.id /*! AND g.trace_id = s.trace_id */
    LEFT JOIN _gpu_args AS a ON a.arg_set_id = s.arg_set_id /*! AND a.trace_id = s.trace_id */
    LEFT JOIN _gpu_call AS k ON k.correlation = a.correlation /*! AND k.trace_id = s.trace_id */
    LEFT JOIN (SELECT slice_in, min(slice_out) AS slice_out /*!, trace_id */ FROM flow GROUP BY ALL) AS f ON f.slice_in = s.id /*! AND f.trace_id = s.trace_id */
    WHERE s.category IN ('kernel', 'gpu_memcpy', 'gpu_memset', 'Kernel', 'Memcpy', 'Memset', 'XLA Ops') AND s.dur >= 0) AS w
LEFT JOIN slice AS c ON c.id = w.launch_id /*! AND c.trace_id = w.trace_id */;

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

-- gpu_busy: how each device spent the time from the begin of its first work (ts) to the end of its last (dur): busy with any work or
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

-- gpu_stream_busy: how much work each stream had (count), and how long it was busy and idle between the begin of its first work (ts) and
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
WHERE category IN ('gpu_memcpy', 'Memcpy')
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

-- gpu_collective: communication on all ranks of a job, in datasets of their traces: the name of the kernel and its number in the order in
-- which each rank ran those of this name; the ranks that have it, the least and greatest duration and the difference (skew), ns. All
-- ranks end it together, so the straggler, which began last, is the one with the least duration.
CREATE OR REPLACE VIEW gpu_collective AS
SELECT name, number, count(*) AS ranks, min(dur) AS min_dur, max(dur) AS max_dur, max(dur) - min(dur) AS skew, arg_min(rank, dur) AS straggler
FROM (SELECT k.name, k.dur, t.rank, row_number() OVER (PARTITION BY k.name /*!, k.trace_id */ ORDER BY k.ts, k.id) AS number
      FROM gpu_kernel AS k JOIN trace AS t ON true /*! AND t.trace_id = k.trace_id */
      WHERE k.kind = 'communication')
GROUP BY name, number;
