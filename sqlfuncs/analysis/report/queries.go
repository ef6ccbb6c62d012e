package report

import "fmt"

// Buckets are the parts of the time in the overview.
const buckets = 2048

// bounds are the time of the trace and the width of a bucket, ns.
var bounds = fmt.Sprintf("bounds AS MATERIALIZED (SELECT start_ts AS first_ts, end_ts AS last_ts, (end_ts - start_ts) / %d + 1 AS width FROM trace_bounds)", buckets)

const facts = `
WITH known AS (SELECT name, str_value, int_value FROM metadata),
jvm AS (SELECT arg_set_id FROM slice WHERE name = 'jdk.JVMInformation' LIMIT 1),
agent AS (SELECT str_value AS name FROM known WHERE name IN ('cr-user-agent', 'json_metadata.user-agent') AND instr(str_value, 'Chrome/') LIMIT 1)
SELECT name, format,
  coalesce((SELECT extract_arg(arg_set_id, 'javaArguments') FROM jvm), (SELECT str_value FROM known WHERE name = 'gecko_meta.product')) AS program,
  coalesce(
    (SELECT substr(version, 1, instr(version, ')')) FROM (SELECT extract_arg(arg_set_id, 'jvmVersion') AS version FROM jvm)),
    (SELECT replace(substr(rest, 1, instr(rest || ' ', ' ') - 1), '/', ' ') FROM (SELECT substr(name, instr(name, 'Chrome/')) AS rest FROM agent))) AS runtime,
  (SELECT group_concat(name, ', ') FROM (SELECT iif(count(*) > 1, count(*) || ' ', '') || name AS name FROM gpu WHERE name IS NOT NULL GROUP BY name)) AS gpus,
  bytes, start_ts, end_ts, (SELECT int_value FROM known WHERE name = 'pprof_duration_nanos') AS recorded_dur,
  strftime('%Y-%m-%d %H:%M:%S', start_unix_ns / 1000000000, 'unixepoch') || ' UTC' AS recorded,
  machine_name, concat_ws(' ', sysname, release, arch) AS system, num_cpus, system_ram_bytes,
  concat_ws(' ', android_device_manufacturer, android_build_fingerprint) AS device, android_sdk_version, rank, world_size, sha256, converter_version
FROM dataset_trace`

// lossesOf are the counts with some of the effects.
func lossesOf(effects string) string {
	return `
SELECT effect, name, sum(value) AS value, description
FROM dataset_stats
WHERE effect IN (` + effects + `) AND value > 0
GROUP BY effect, name, description
ORDER BY instr('lost damaged not_read notice', effect), value DESC, name`
}

// busyOf are the ns of each bucket of the bounds in which spans (lane, ts, dur) ran, and how many ran on at its end. A span adds, from its start
// on, what is left of the bucket and all later ones, and takes that away again from its end on.
func busyOf(bounds, spans, names string) string {
	return `
WITH ` + bounds + `,
span AS (` + spans + `),
edge AS (
  SELECT lane, (ts - first_ts) / width AS bucket, 1 AS running, width - (ts - first_ts) % width AS rest FROM span, bounds
  UNION ALL
  SELECT lane, (min(ts + dur, last_ts) - first_ts) / width, -1, (min(ts + dur, last_ts) - first_ts) % width - width FROM span, bounds
),
busy AS (
  SELECT lane, bucket, sum(sum(running)) OVER lanes AS running,
    sum(rest) + width * (sum(sum(running)) OVER lanes - sum(running)) AS busy
  FROM edge, bounds GROUP BY lane, bucket
  WINDOW lanes AS (PARTITION BY lane ORDER BY bucket)
)` + `
` + names + `
ORDER BY lane, bucket`
}

const (
	cpuNames    = "SELECT lane, 'CPU ' || lane AS name, NULL AS process, bucket, busy, running FROM busy"
	threadNames = `SELECT lane, coalesce(thread.name, 'thread ' || thread.tid) AS name, coalesce(process.name, 'process ' || process.pid) AS process, bucket, busy, running
FROM busy JOIN thread ON thread.utid = lane LEFT JOIN process USING (upid)`
	trackNames = "SELECT lane, track.name, NULL AS process, bucket, busy, running FROM busy JOIN track ON track.id = lane"
)

// The lanes of the overview.
var (
	cpus = busyOf(bounds, `
  SELECT cpu AS lane, ts, dur FROM _lasting_sched JOIN thread USING (utid) WHERE dur > 0 AND NOT coalesce(is_idle, 0) AND cpu < 128`, cpuNames)
	running = busyOf(bounds, `
  SELECT utid AS lane, ts, dur FROM _lasting_sched WHERE dur > 0 AND utid IN (
    SELECT utid FROM _lasting_sched JOIN thread USING (utid) WHERE dur > 0 AND NOT coalesce(is_idle, 0)
    GROUP BY utid ORDER BY sum(dur) DESC, utid LIMIT 24)`, threadNames)
	inSlices = busyOf(bounds, `
  SELECT utid AS lane, ts, dur FROM _lasting_slice JOIN thread_track AS k ON k.id = track_id WHERE depth = 0 AND dur > 0 AND utid IN (
    SELECT utid FROM _lasting_slice JOIN thread_track AS k ON k.id = track_id WHERE depth = 0 AND dur > 0
    GROUP BY utid ORDER BY sum(dur) DESC, utid LIMIT 24)`, threadNames)
	gpus = busyOf(bounds, `
  SELECT track_id AS lane, ts, dur FROM gpu_slice WHERE depth = 0 AND dur > 0 AND track_id IN (
    SELECT track_id FROM gpu_slice WHERE depth = 0 AND dur > 0 GROUP BY track_id ORDER BY sum(dur) DESC, track_id LIMIT 16)`, trackNames)
	samples = `
WITH ` + bounds + `,
sample AS (
  SELECT utid, ts FROM perf_sample UNION ALL SELECT utid, ts FROM cpu_profile_stack_sample UNION ALL SELECT utid, ts FROM instruments_sample
),
busy AS (
  SELECT utid AS lane, (ts - first_ts) / width AS bucket, count(*) AS busy, 0 AS running FROM sample, bounds
  WHERE utid IN (SELECT utid FROM sample GROUP BY utid ORDER BY count(*) DESC, utid LIMIT 24)
  GROUP BY lane, bucket
)
` + threadNames + `
ORDER BY lane, bucket`
)

const longest = `
SELECT s.name, s.dur, s.ts, t.name AS thread_name, p.name AS process_name, s.category
FROM (SELECT * FROM slice WHERE dur > 0 ORDER BY dur DESC, id LIMIT 20) AS s
LEFT JOIN thread_track AS k ON k.id = s.track_id LEFT JOIN thread AS t USING (utid)
LEFT JOIN process_track AS o ON o.id = s.track_id LEFT JOIN process AS p ON p.upid = coalesce(t.upid, o.upid)
ORDER BY s.dur DESC, s.id`

const threads = `
SELECT t.name AS thread_name, p.name AS process_name, count(*) AS count, sum(s.dur) AS dur
FROM _lasting_slice AS s JOIN thread_track AS k ON k.id = s.track_id JOIN thread AS t USING (utid) LEFT JOIN process AS p USING (upid)
WHERE s.depth = 0
GROUP BY utid HAVING sum(s.dur) > 0
ORDER BY 4 DESC, utid`

// cpuByProcess is the CPU time of each process. One without a name has that of its main thread.
const cpuByProcess = `
SELECT sum(s.dur) AS running_dur, p.pid,
  coalesce(p.name, (SELECT name FROM thread AS m WHERE m.upid = p.upid AND m.is_main_thread), 'process ' || p.pid, t.name, 'thread ' || t.tid) AS process_name
FROM _lasting_sched AS s JOIN thread AS t USING (utid) LEFT JOIN process AS p USING (upid)
WHERE NOT coalesce(t.is_idle, 0)
GROUP BY coalesce(p.upid, -1 - t.utid)
ORDER BY running_dur DESC, process_name`

// unfinished counts the slices that did not end.
const unfinished = "SELECT count(*) FROM slice WHERE dur < 0"

// states are how long threads were in each state: those that ran or waited most, sleep aside.
const states = `
WITH spent AS MATERIALIZED (
  SELECT utid, state || CASE io_wait WHEN 1 THEN ' (I/O)' ELSE '' END AS state, sum(dur) AS dur
  FROM _lasting_state GROUP BY 1, 2
),
top AS MATERIALIZED (
  SELECT utid, sum(iif(state IN ('S', 'I'), 0, dur)) AS active
  FROM spent JOIN thread USING (utid) WHERE NOT coalesce(is_idle, 0) GROUP BY utid ORDER BY active DESC, utid LIMIT 25
)
SELECT t.name AS thread_name, p.name AS process_name, spent.state, spent.dur, utid
FROM top JOIN spent USING (utid) JOIN thread AS t USING (utid) LEFT JOIN process AS p USING (upid)
ORDER BY top.active DESC, utid, spent.dur DESC`

// counters are the ranges of counters over time: of memory, and others with the most values.
var counters = `
WITH ` + bounds + `,
chosen AS MATERIALIZED (
  SELECT t.id, t.name, t.unit, t.name GLOB 'mem.*' OR t.unit = 'bytes' AS memory, count(*) AS count
  FROM counter_track AS t JOIN counter AS c ON c.track_id = t.id
  GROUP BY t.id HAVING min(c.value) < max(c.value)
),
ranked AS MATERIALIZED (
  SELECT *, row_number() OVER (PARTITION BY memory ORDER BY count DESC, id) AS place FROM chosen
)
SELECT t.name AS counter_name, coalesce(p.name, 'CPU ' || cpu.cpu) AS of, t.unit, t.id, (c.ts - first_ts) / (width * 16) AS bucket,
  min(c.value) AS least, max(c.value) AS greatest
FROM ranked AS t JOIN counter AS c ON c.track_id = t.id, bounds
LEFT JOIN process_counter_track AS k ON k.id = t.id LEFT JOIN process AS p USING (upid)
LEFT JOIN cpu_counter_track AS cpu ON cpu.id = t.id
WHERE t.place <= 15
GROUP BY t.id, bucket
ORDER BY t.memory DESC, t.place, bucket`

// places are the files of functions, the first by name, with the lines in it that stacks name.
const places = `
WITH place AS (
  SELECT f.name, s.source_file, min(nullif(s.line_number, 0)) AS first, max(s.line_number) AS last
  FROM (SELECT DISTINCT symbol_id, name FROM _frame_function) AS f JOIN stack_profile_symbol AS s ON s.id = f.symbol_id
  WHERE s.source_file <> '' GROUP BY f.name, s.source_file
)
SELECT name, min(source_file), first, last, count(*) - 1 FROM place GROUP BY name`

// heapClasses are the classes of the last dump of each process, and what of it nothing reaches.
const heapClasses = `
INCLUDE PERFETTO MODULE tpconvert.heap;
SELECT h.retained_bytes, h.retained_objects, h.bytes, h.count, h.class, process.name AS process_name
FROM (
  SELECT * FROM heap_class
  UNION ALL
  SELECT upid, graph_sample_ts, '(unreachable)', count(*), sum(self_size), NULL, NULL FROM heap_graph_object WHERE NOT reachable GROUP BY 1, 2
) AS h JOIN (SELECT upid, max(graph_sample_ts) AS graph_sample_ts FROM heap_graph_object GROUP BY 1) AS last USING (upid, graph_sample_ts)
LEFT JOIN process USING (upid)
ORDER BY h.retained_bytes DESC, h.class`
