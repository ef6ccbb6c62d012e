-- Work on GPUs, whatever profiler saw it, when its communication began, and what steps waited for: DuckDB's gpu_kernel, gpu_arrival and gpu_critical_path.
INCLUDE PERFETTO MODULE tpconvert.gpu_words;

-- The calls that may launch work, by correlation id; of several with the same id, the first.
CREATE PERFETTO TABLE _gpu_call AS
SELECT correlation, id, min(ts) AS ts
FROM (SELECT id, ts, extract_arg(arg_set_id, 'args.correlation') AS correlation FROM slice WHERE _gpu_is_call!(category))
WHERE correlation IS NOT NULL
GROUP BY correlation;

CREATE PERFETTO TABLE gpu_kernel AS
WITH stream AS MATERIALIZED (
    SELECT t.id, gpu.gpu AS device, extract_arg(t.dimension_arg_set_id, 'stream_id') AS stream
    FROM track AS t LEFT JOIN gpu ON gpu.ugpu = extract_arg(t.dimension_arg_set_id, 'ugpu')),
first_flow AS (SELECT slice_in, min(slice_out) AS slice_out FROM flow GROUP BY slice_in),
work AS (
    SELECT s.id, s.ts, s.dur, s.category, s.name, _gpu_kind!(s.category, s.name) AS kind,
           coalesce(extract_arg(s.arg_set_id, 'args.device'), t.device) AS device,
           coalesce(extract_arg(s.arg_set_id, 'args.stream'), t.stream) AS stream,
           coalesce(extract_arg(s.arg_set_id, 'args.bytes'), extract_arg(s.arg_set_id, 'bytes'), extract_arg(s.arg_set_id, 'size')) AS bytes,
           _gpu_direction!(s.category, s.name) AS direction,
           extract_arg(s.arg_set_id, 'args.correlation') AS correlation, s.arg_set_id
    FROM slice AS s JOIN stream AS t ON t.id = s.track_id
    WHERE _gpu_is_work!(s.category) AND s.dur >= 0)
SELECT w.id, w.ts, w.dur, w.category, w.name, w.kind, w.device, w.stream,
       coalesce(w.bytes, iif(w.category = 'gpu_memcpy', CAST(extract_arg(c.arg_set_id, 'args.size') AS LONG), NULL)) AS bytes, w.direction, w.correlation,
       c.id AS launch_id, c.name AS launch_name, c.ts AS launch_ts, c.dur AS launch_dur,
       iif(c.dur >= 0, max(w.ts - c.ts - c.dur, 0), NULL) AS launch_delay, w.arg_set_id
FROM work AS w
LEFT JOIN _gpu_call AS k ON k.correlation = w.correlation
LEFT JOIN first_flow AS f ON f.slice_in = w.id
LEFT JOIN slice AS c ON c.id = coalesce(k.id, f.slice_out)
ORDER BY w.ts, w.id;

-- How much work of all kinds, computation and communication a device does at once, for dur from ts on.
CREATE PERFETTO VIEW _gpu_sweep AS
WITH edge AS (
    SELECT device, ts, 1 AS runs, kind = 'computation' AS computes, kind = 'communication' AS communicates FROM gpu_kernel
    UNION ALL
    SELECT device, ts + dur, -1, -(kind = 'computation'), -(kind = 'communication') FROM gpu_kernel),
moment AS (
    SELECT device, ts, lead(ts) OVER moments - ts AS dur, sum(runs) OVER moments AS running, sum(computes) OVER moments AS computing,
           sum(communicates) OVER moments AS communicating
    FROM edge
    WINDOW moments AS (PARTITION BY device ORDER BY ts ROWS UNBOUNDED PRECEDING))
SELECT * FROM moment WHERE dur > 0;

-- What the trace of a rank knows of gpu_arrival.
CREATE PERFETTO TABLE gpu_arrival AS
WITH step AS MATERIALIZED (
    SELECT ts, dur, name FROM slice WHERE name GLOB 'ProfilerStep#*' AND category = 'user_annotation'),
process_group AS MATERIALIZED (
    SELECT arg_set_id, max(string_value) FILTER (WHERE flat_key = 'args.Process Group Name') AS name,
           trim(group_concat(coalesce(string_value, int_value), ', ' ORDER BY id) FILTER (WHERE flat_key = 'args.Process Group Ranks'), '[]') AS ranks
    FROM args
    WHERE flat_key IN ('args.Process Group Name', 'args.Process Group Ranks')
    GROUP BY arg_set_id)
SELECT k.id, k.name, row_number() OVER (PARTITION BY k.name, g.name, g.ranks ORDER BY k.ts, k.id) AS number,
       g.name AS process_group, g.ranks AS group_ranks, (SELECT int_value FROM metadata WHERE name = 'rank') AS rank,
       (SELECT iif(k.ts < s.ts + s.dur, s.name, NULL) FROM step AS s WHERE s.ts <= k.ts ORDER BY s.ts DESC LIMIT 1) AS step, k.ts, k.dur
FROM gpu_kernel AS k
LEFT JOIN process_group AS g USING (arg_set_id)
WHERE k.kind = 'communication';

-- The calls by which a stream was told to wait for an event of another (source), and those that recorded the events. Only PyTorch's
-- cuda_sync events have these.
CREATE PERFETTO TABLE _gpu_wait AS
SELECT waits.ts AS waits_ts, records.ts AS records_ts,
       extract_arg(s.arg_set_id, 'args.device') AS device, extract_arg(s.arg_set_id, 'args.stream') AS stream,
       extract_arg(s.arg_set_id, 'args.wait_on_stream') AS source
FROM slice AS s
JOIN _gpu_call AS waits ON waits.correlation = extract_arg(s.arg_set_id, 'args.correlation')
JOIN _gpu_call AS records ON records.correlation = extract_arg(s.arg_set_id, 'args.wait_on_cuda_event_record_corr_id')
WHERE s.name = 'Stream Wait Event'
ORDER BY waits.ts;

CREATE PERFETTO FUNCTION gpu_critical_path(step LONG)
RETURNS TABLE(ts LONG, dur LONG, kind STRING, id LONG, name STRING, utid LONG, device LONG, stream LONG) AS
SELECT ts, dur, kind, id, name, utid, device, stream FROM __intrinsic_gpu_critical_path($step);
