"""Measure the peak memory of converting traces that name very many things, or
large ones, and print the table for docs/memory.md.

usage: bench_memory.py CONVERTER TRACEGEN [COUNT,... [KIND...]]
"""

import os
import pathlib
import subprocess
import sys
import tempfile

MEMORY = 128  # MiB, the default of --memory
# Kinds of traces with their own counts, because they have large texts.
TEXTS = {"large-names": 10, "large-args": 1000, "screenshots": 2000}
KINDS = [
    "sequences", "processes", "thread-names", "open-on-threads", "open-slices", "async-ids-ended", "async-ids",
    "track-uuids", "counter-tracks", "names", "interned-names", "arg-keys", "flows", "pprof-locations",
]
# The limit of the peak, MiB.
BARS = {100_000: MEMORY + 64, 5_000_000: 1.2 * 1024}
TEXT_BAR = MEMORY + 200


def peak(converter, trace, out):
    """Returns the peak resident memory, MiB, and whether the trace was converted."""
    process = subprocess.Popen([converter, "--quiet", "--force", trace, out])
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_maxrss / 1024, process.returncode == 0


def main(converter, tracegen, counts="100000,5000000", *kinds):
    counts, missed = [int(n) for n in counts.split(",")], 0
    print("| trace | number | bytes | peak, MiB | |\n| --- | ---: | ---: | ---: | --- |")
    for kind in kinds or [*TEXTS, *KINDS]:
        for count in [TEXTS[kind]] if kind in TEXTS else counts:
            bar = TEXT_BAR if kind in TEXTS else BARS.get(count)
            with tempfile.TemporaryDirectory() as folder:
                trace = pathlib.Path(folder) / kind
                subprocess.run([tracegen, "--format", kind, "--count", str(count), trace], check=True)
                mib, converted = peak(converter, trace, pathlib.Path(folder) / "out")
                note = "" if converted else "FAILED"
                if bar and mib > bar:
                    note += f"above {bar:.0f}"
                missed += note != ""
                print(f"| {kind} | {count:,} | {trace.stat().st_size:,} | {mib:.0f} | {note} |", flush=True)
    if missed:
        sys.exit(f"{missed} peaks are outside their bounds")


main(*sys.argv[1:])
