"""Times the queries of Perfetto's UI beside Trace Processor, and prints Markdown.

usage: bench_ui.py [-v] [-runs N] TPCONVERT SHARED FOLDER CHECKOUT [NAME...]

FOLDER has, for each NAME, the recording NAME.json by .ci/ui/record.mjs and the file NAME.trace that was recorded; CHECKOUT
has Perfetto's modules. Ours serves a dataset with Trace Processor's own rows, so that both give the same answers. Each run asks all queries of a recording in turn, over a websocket as the UI does, of a new process of either
program: Trace Processor has loaded the trace before, ours reads most columns when a query first needs them. Times are medians
of the runs. -v lists the queries that take longest here in comparison.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

from server import Server, Websocket


def run(command, queries):
    """Returns the seconds of each query, and the CPU time of all."""
    with Server(*command) as server, Websocket(server) as ui:
        before, times = server.cpu(), []
        for call in queries:
            rows, error, seconds = ui.ask(call["sql"])
            if error and not call.get("error"):
                raise SystemExit(f"{command[0]}: {error}\n{call['sql']}")
            times.append(seconds)
        return times, server.cpu() - before


def median(runs):
    """Returns the medians of all runs: of the sums, of the CPU times, and of each query."""
    times, cpu = zip(*runs)
    return statistics.median(map(sum, times)), statistics.median(cpu), [*map(statistics.median, zip(*times))]


parser = argparse.ArgumentParser()
parser.add_argument("-v", action="store_true")
parser.add_argument("-runs", type=int, default=7)
parser.add_argument("tpconvert")
parser.add_argument("shared", type=pathlib.Path)
parser.add_argument("folder", type=pathlib.Path)
parser.add_argument("checkout")
parser.add_argument("names", nargs="*")
options = parser.parse_args()

print("| dataset | queries | v58, ms | tpconvert, ms | ratio | CPU of v58, ms | here | ratio |\n|" + " --- |" + " ---: |" * 7)
with tempfile.TemporaryDirectory() as datasets:
    for name in options.names or sorted(f.stem for f in options.folder.glob("*.json")):
        queries = json.loads((options.folder / f"{name}.json").read_text())
        peer, trace, dataset = options.shared / "peer/trace_processor_shell", options.folder / f"{name}.trace", f"{datasets}/{name}"
        subprocess.run([sys.executable, ".ci/rows.py", peer, options.tpconvert, trace, dataset], check=True)
        v58 = peer, "server", "http", "--port", "{port}", trace
        ours = options.tpconvert, "serve", "--port", "{port}", "--stdlib", options.checkout, dataset
        runs = [], []
        for _ in range(options.runs):
            for command, of in zip((v58, ours), runs):
                of.append(run(command, queries))
        (a, a_cpu, a_each), (b, b_cpu, b_each) = map(median, runs)
        print(f"| {name} | {len(queries)} | {1000 * a:.0f} | {1000 * b:.0f} | {b / a:.2f} | "
              f"{1000 * a_cpu:.0f} | {1000 * b_cpu:.0f} | {b_cpu / a_cpu:.2f} |", flush=True)
        if options.v:
            for more, x, y, call in sorted(((y - x, x, y, c) for x, y, c in zip(a_each, b_each, queries)), key=lambda of: -of[0])[:12]:
                print(f"    {1000 * x:.1f} ms, here {1000 * y:.1f}: {' '.join(call['sql'].split())[:600]}")
