"""Time the whole command on generated traces of each kind, and DuckDB at
converting the JSON trace's events from newline-delimited JSON to zstd Parquet.

usage: bench.py CONVERTER TRACEGEN [JSON_SIZE [SIZE [RUNS]]]
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

# The throughput, MB/s, that the whole command must reach on two cores.
BARS = {"ftrace-proto": 60, "track-event": 80, "ftrace": 100, "fuchsia": 150}
# Limits for JSON: the time as a multiple of DuckDB's, and the memory in MiB.
JSON_RATIO, JSON_MEMORY = 2.5, 600

SHRED = """
import duckdb, sys
duckdb.sql("SET preserve_insertion_order = false")
duckdb.sql(f"COPY (FROM read_ndjson('{sys.argv[1]}')) TO '{sys.argv[2]}' (FORMAT parquet, COMPRESSION zstd)")
"""


def timed(*command):
    """Runs a command; returns its seconds, its seconds of user CPU time, and its output."""
    begun = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return time.monotonic() - begun, usage.ru_utime, output


class Bench:
    def __init__(self, converter, tracegen, runs, folder):
        self.converter, self.tracegen, self.runs, self.folder = converter, tracegen, runs, folder

    def generate(self, kind, size):
        trace = self.folder / kind
        subprocess.run([self.tracegen, "--format", kind, "--size", size, trace], check=True)
        os.sync()  # or the trace would be written to disk while it is converted
        return trace

    def convert(self, trace):
        seconds, user, out = timed(self.converter, "--json", "--force", trace, self.folder / "out")
        return seconds, user, json.loads(out)["peak_memory_bytes"] / 2**20

    def shred(self, lines):
        return timed(sys.executable, "-c", SHRED, lines, self.folder / "shredded.parquet")[0]

    def report(self, trace, runs, bar):
        """Prints the runs of a trace's conversion; returns their median in seconds."""
        seconds, user, memory = zip(*runs)
        median = statistics.median(seconds)
        speed = trace.stat().st_size / 1e6 / median
        print(f"{trace.name:13} {median:7.1f} s {speed:6.0f} MB/s {statistics.median(user):7.1f} s of CPU {max(memory):6.0f} MiB   bar: {bar}", flush=True)
        return median

    def kind(self, kind, size):
        trace = self.generate(kind, size)
        self.report(trace, [self.convert(trace) for _ in range(self.runs)], f"{BARS[kind]} MB/s")
        trace.unlink()

    def json(self, size):
        trace, lines = self.generate("json", size), self.generate("ndjson", size)
        ours, theirs = zip(*((self.convert(trace), self.shred(lines)) for _ in range(self.runs)))
        seconds = self.report(trace, ours, f"{JSON_MEMORY} MiB, {JSON_RATIO} times DuckDB")
        duckdb = statistics.median(theirs)
        print(f"{'duckdb':13} {duckdb:7.1f} s, json takes {seconds / duckdb:.2f} times that", flush=True)
        trace.unlink()
        lines.unlink()


def main(converter, tracegen, json_size="1GB", size="500MB", runs="3"):
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(converter, tracegen, int(runs), pathlib.Path(folder))
        bench.json(json_size)
        for kind in BARS:
            bench.kind(kind, size)


main(*sys.argv[1:])
