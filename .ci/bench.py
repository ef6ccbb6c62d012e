"""Time the whole command on generated JSON, and DuckDB at shredding the same
events from newline-delimited JSON to zstd Parquet, in turn.

usage: bench.py CONVERTER TRACEGEN [SIZE] [RUNS]
"""

import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

SHRED = """
import duckdb, sys
duckdb.sql("SET preserve_insertion_order = false")
duckdb.sql(f"COPY (FROM read_ndjson('{sys.argv[1]}')) TO '{sys.argv[2]}' (FORMAT parquet, COMPRESSION zstd)")
"""


def timed(*command):
    begun = time.monotonic()
    out = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    return time.monotonic() - begun, out


def main(converter, tracegen, size="1GB", runs="3"):
    with tempfile.TemporaryDirectory() as tmp:
        tmp = pathlib.Path(tmp)
        trace, lines = tmp / "trace.json", tmp / "trace.ndjson"
        subprocess.run([tracegen, "--size", size, trace], check=True)
        subprocess.run([tracegen, "--size", size, "--ndjson", lines], check=True)
        ours, theirs, peaks = [], [], []
        for _ in range(int(runs)):
            seconds, out = timed(converter, "--json", "--force", trace, tmp / "out")
            ours.append(seconds)
            peaks.append(json.loads(out)["peak_memory_bytes"])
            theirs.append(timed(sys.executable, "-c", SHRED, lines, tmp / "shredded.parquet")[0])
        ours, theirs = statistics.median(ours), statistics.median(theirs)
        print(f"tpconvert {ours:.1f} s, {trace.stat().st_size / 1e6 / ours:.0f} MB/s, peak memory {max(peaks) >> 20} MiB")
        print(f"duckdb    {theirs:.1f} s, {lines.stat().st_size / 1e6 / theirs:.0f} MB/s")
        print(f"ratio     {ours / theirs:.2f}")


main(*sys.argv[1:])
