"""Times the converter beside Trace Processor v58's export to Arrow, each in turn, and prints Markdown: large generated traces and
repeated real ones, recorded traces of at least 0.8 MB, and all traces in one run against one process each.

usage: bench_peer.py CONVERTER TRACEGEN SHARED [SIZE [RUNS]]
"""

import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

GENERATED = "json", "track-event", "ftrace-proto", "ftrace"
# Traces whose events are repeated.
REPEATED = {
    "PyTorch": "chrome-json/AMD-AGI__TraceLens__profile_trace_rank_0.json.gz",
    "Chrome": "chrome-json/GoogleChrome__lighthouse__trace.json.gz",
}
SMALLEST = 800_000  # bytes of a recorded trace


def run(*command):
    """Returns seconds, seconds of CPU time, and peak memory in MiB."""
    begun = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return time.monotonic() - begun, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


class Bench:
    def __init__(self, converter, shared, folder, runs):
        self.converter, self.shared, self.folder, self.runs = converter, shared, folder, runs
        self.shell = [shared / "peer/trace_processor_shell", "export", "arrow_tar", "-o", folder / "out.tar"]

    def pair(self, trace):
        """Returns the medians for a trace: v58's and the converter's."""
        theirs, ours = [], []
        for _ in range(self.runs):
            theirs.append(run(*self.shell, trace))
            shutil.rmtree(self.folder / "out", ignore_errors=True)
            ours.append(run(self.converter, "--quiet", trace, self.folder / "out"))
        return [[statistics.median(column) for column in zip(*runs)] for runs in (theirs, ours)]

    def large(self, name, trace):
        theirs, ours = self.pair(trace)
        cells = [f"{s:.2f} | {cpu:.1f} | {memory:,.0f}" for s, cpu, memory in (theirs, ours)]
        faster, cpu, memory = theirs[0] / ours[0], ours[1] / theirs[1], ours[2] / theirs[2]
        print(f"| {name} | {' | '.join(cells)} | {faster:.2f} | {cpu:.2f} | {memory:.2f} |", flush=True)
        return faster

    def recorded(self, traces):
        ratios = {}
        for trace in traces:
            theirs, ours = self.pair(trace)
            ratios[trace] = theirs[0] / ours[0], ours[2] / theirs[2]
        print("\n| recorded traces | number | speedup | worst | highest memory |\n| --- | ---: | ---: | ---: | ---: |")
        for kind in sorted({trace.parent.name for trace in traces}):
            self.row(kind, [ratio for trace, ratio in ratios.items() if trace.parent.name == kind])
        self.row("all", list(ratios.values()))
        slowest = min(ratios, key=lambda trace: ratios[trace][0])
        print(f"\nThe worst: {slowest.name}", flush=True)

    def row(self, kind, ratios):
        faster, memory = zip(*ratios)
        print(f"| {kind} | {len(faster)} | {statistics.geometric_mean(faster):.2f} | {min(faster):.2f} | {max(memory):.2f} |", flush=True)


def main(converter, tracegen, shared, size="400MB", runs="5"):
    converter, tracegen, shared = os.path.abspath(converter), os.path.abspath(tracegen), pathlib.Path(shared).resolve()
    for part in "peer", "conformance":
        if subprocess.run([".ci/need", f"the comparison with Trace Processor's {part}", shared / part]).returncode:
            return
    traces = sorted(path for path in (shared / "conformance/traces").glob("*/*") if path.is_file())
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        bench = Bench(converter, shared, folder, int(runs))
        print(f"| {size} | v58, s | CPU, s | MiB | tpconvert, s | CPU, s | MiB | speedup | CPU | memory |")
        print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
        trace, seed, faster = folder / "trace", folder / "seed.json", []
        for kind in GENERATED:
            subprocess.run([tracegen, "--format", kind, "--size", size, trace], check=True)
            os.sync()  # or the trace would be written to disk while it is converted
            faster.append(bench.large(kind, trace))
        for name, path in REPEATED.items():
            with seed.open("wb") as unpacked:  # by another process, because its own memory would count as that of those it starts
                subprocess.run(["gzip", "-dc", shared / "conformance/traces" / path], stdout=unpacked, check=True)
            subprocess.run([tracegen, "--repeat", seed, "--size", size, trace], check=True)
            os.sync()
            faster.append(bench.large(f"{name}, repeated", trace))
        trace.unlink()
        print(f"\nGeometric mean: {statistics.geometric_mean(faster):.2f} times as fast.")
        bench.recorded([path for path in traces if path.stat().st_size >= SMALLEST])
        theirs = sum(run(*bench.shell, path)[0] for path in traces)  # a trace may be refused
        ours = run(converter, "--quiet", *traces, folder / "all")[0]
    print(f"\nAll {len(traces)} traces: v58, one process each, takes {theirs:.1f} s; tpconvert in one run takes {ours:.1f} s, "
          f"{theirs / ours:.2f} times as fast.")


main(*sys.argv[1:])
