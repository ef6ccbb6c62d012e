"""Times PerfettoSQL beside Trace Processor's, each as a server over HTTP, and prints Markdown.

usage: bench_sql.py TPCONVERT TRACEGEN SHARED [SIZE]

Heavy queries run on a generated JSON trace of SIZE (default 1GB, 4.6 million slices), seven times each, by CPU time; 200
small ones on a recorded trace, by time. Ours serves the dataset of the trace, and reads most columns when a query first needs them: a first,
unmeasured run of each query does that. Trace Processor has loaded the trace before.
"""

import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

from server import Server, result

SETUP = """
CREATE PERFETTO TABLE names AS SELECT DISTINCT name FROM slice WHERE dur > 1000
CREATE PERFETTO TABLE named AS SELECT DISTINCT track_id, name FROM slice
CREATE PERFETTO TABLE longs AS SELECT id FROM slice WHERE dur > 100000
CREATE VIEW outermost AS SELECT ts, dur, track_id, name FROM slice WHERE depth = 0 AND dur > 0
CREATE VIEW inner_slice AS SELECT ts, dur, track_id, name AS inner_name FROM slice WHERE depth = 2 AND dur > 0
CREATE VIRTUAL TABLE both USING SPAN_JOIN(outermost PARTITIONED track_id, inner_slice PARTITIONED track_id)
""".strip().splitlines()

AGGREGATE = "(SELECT __intrinsic_interval_tree_intervals_agg(id, ts, dur, 'track_id', track_id) FROM slice WHERE dur > 0%s)"
INTERSECT = f"""SELECT count(*), sum(c1) FROM __intrinsic_table_ptr(__intrinsic_interval_intersect(
{AGGREGATE % ""}, {AGGREGATE % " AND depth = 0"}, 'track_id')) WHERE __intrinsic_table_ptr_bind(c0, 'ts') AND __intrinsic_table_ptr_bind(c1, 'dur')"""

HEAVY = [*"""
SELECT count(*), sum(dur) FROM slice
SELECT name, count(*) AS n, sum(dur) FROM slice GROUP BY name ORDER BY n DESC LIMIT 10
SELECT track_id, count(*), max(dur) FROM slice GROUP BY track_id
SELECT depth, avg(dur) FROM slice GROUP BY depth
SELECT count(*) FROM slice WHERE dur > 100000 AND name GLOB '*Task*'
SELECT t.name, count(*) FROM slice JOIN thread_track AS k ON slice.track_id = k.id JOIN thread AS t USING (utid) GROUP BY 1
SELECT * FROM slice ORDER BY dur DESC LIMIT 100
SELECT count(DISTINCT name) FROM slice
SELECT count(*) FROM (SELECT lead(ts) OVER (PARTITION BY track_id ORDER BY ts) - ts AS gap FROM slice) WHERE gap > 1000
SELECT count(*) FROM slice AS a JOIN slice AS b ON a.parent_id = b.id WHERE a.dur * 2 > b.dur
SELECT count(extract_arg(arg_set_id, 'args.data.frame')) FROM slice
SELECT count(extract_arg(arg_set_id, 'args.data.frame')), sum(extract_arg(arg_set_id, 'args.bytes')) FROM slice
SELECT count(*), sum(int_value) FROM slice JOIN args USING (arg_set_id) WHERE key = 'args.bytes'
SELECT count(*) FROM slice WHERE dur > 100000 AND name LIKE '%task%'
SELECT count(*) FROM slice JOIN names USING (name)
SELECT count(*) FROM slice AS s JOIN named AS n ON s.track_id = n.track_id AND s.name = n.name
SELECT count(*), sum(dur) FROM both
SELECT count(*) FROM longs, ancestor_slice(longs.id)
""".strip().splitlines(), INTERSECT]


def small():
    r = random.Random(1)
    for i in range(40):
        yield f"SELECT name, ts, dur FROM slice WHERE id = {r.randrange(5000)}"
        yield f"SELECT count(*), sum(dur) FROM slice WHERE track_id = {r.randrange(50)}"
        yield f"SELECT s.name, t.name FROM slice AS s JOIN thread_track AS k ON s.track_id = k.id JOIN thread AS t USING (utid) WHERE s.id < {r.randrange(10, 100)}"
        yield f"SELECT key, display_value FROM args WHERE arg_set_id = {r.randrange(1, 800)}"
        yield f"SELECT name, count(*) FROM slice WHERE ts > {r.randrange(10**9)} GROUP BY name ORDER BY 2 DESC LIMIT 5"


def ask(server, sql):
    """Returns the seconds of a query, which must not fail."""
    answer, seconds = server.ask(sql)
    if error := result(answer)[1]:
        sys.exit(f"{sql}: {error}")
    return seconds


def servers(tpconvert, shell, trace, dataset):
    yield Server(shell, "server", "http", "--port", "{port}", trace)
    yield Server(tpconvert, "serve", "--port", "{port}", dataset)


def main():
    tpconvert, tracegen, shared, size = *map(pathlib.Path, sys.argv[1:4]), (sys.argv[4:] or ["1GB"])[0]
    shell = shared / "peer/trace_processor_shell"
    if not shell.exists():
        print("PERFETTOSQL IS NOT TIMED: there is no", shell)
        return
    recorded = pathlib.Path(__file__).parent.parent / "testdata/chromium.json.gz"
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        subprocess.run([tpconvert, "-q", recorded, folder / "small"], check=True)
        times, starts = [[], []], [[], []]
        for _ in range(7):
            for i, server in enumerate(servers(tpconvert, shell, recorded, folder / "small")):
                with server:
                    starts[i].append(server.started)
                    times[i].append(sum(ask(server, sql) for sql in small()))
        print("| queries | v58, ms | tpconvert, ms | ratio |\n| --- | ---: | ---: | ---: |")

        def row(name, *of):
            a, b = map(statistics.median, of)
            print(f"| {name} | {1000 * a:.0f} | {1000 * b:.0f} | {b / a:.2f} |", flush=True)
            return b / a

        row("from the start of the process to the first answer (v58 loads the trace)", *starts)
        row("200 small ones", *times)
        subprocess.run([tracegen, "--format", "json", "--size", size, folder / "large.json"], check=True)
        subprocess.run([tpconvert, "-q", folder / "large.json", folder / "large"], check=True)
        v58, ours = servers(tpconvert, shell, folder / "large.json", folder / "large")
        with v58, ours:
            totals = [0, 0]
            for sql in SETUP:
                ask(v58, sql)
                ask(ours, sql)
            for sql in HEAVY:
                of = []
                for i, server in enumerate((v58, ours)):
                    ask(server, sql)
                    before = server.cpu()
                    for _ in range(7):
                        ask(server, sql)
                    of.append([(server.cpu() - before) / 7])  # of each run it would be too coarse
                    totals[i] += of[-1][0]
                row(f"`{' '.join(sql.split())}`", *of)
            row("all of these", *([t] for t in totals))
            print(f"\nPeak memory: v58 {v58.memory()} MiB, tpconvert {ours.memory()} MiB.")


main()
