"""Check that the CPU time of a conversion grows with the number of things in the trace, and not with its square.

usage: growth.py CONVERTER TRACEGEN short|long [KIND...]

Converts traces of one kind of thing with 1, 2 and 4 times as many of it (short: 1 and 4 times), and makes flame graphs of
some. Fails if four times as many take more than GROWTH times the CPU time, or more memory than the limit, or if a
command fails.
"""

import os
import pathlib
import resource
import subprocess
import sys
import tempfile

GROWTH = 4.8
# Seconds of CPU that do not count: what is shorter is mostly start-up and noise.
FLOOR = {"short": 0.06, "long": 0.3}
COUNT = {"short": 6_000, "long": 50_000}
TIMES = {"short": (1, 4), "long": (1, 2, 4)}
TRIES = 3  # the best counts
TIMEOUT = 120  # seconds of CPU
# MiB: the default of --memory, and what docs/memory.md allows in addition.
MEMORY = 128 + 64
MEMORY_OF_THING = 1 / 1024
# Traces with large texts; bench_memory.py measures them.
TEXTS = {"large-names", "large-args", "screenshots"}
# Kinds whose things cost more, such as a plane with a process and a thread, or a sample that pprof's library reads: a divisor of their number.
COSTLY = {"tar-members": 10, "zip-members": 10, "ctf-streams": 10, "gecko-threads": 2, "proto-clock-chain": 4, "xplane-planes": 4,
          "gperftools-heap": 4}
# Kinds of which a flame graph is made, too, and the MiB that DuckDB may take for it.
FLAMEGRAPHS = ["perftext-samples"]
MEMORY_OF_SQL = 512


def run(*command):
    """Returns CPU seconds, the peak memory in MiB and the exit code."""
    limit = lambda: resource.setrlimit(resource.RLIMIT_CPU, (TIMEOUT, TIMEOUT))
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, preexec_fn=limit)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, process.returncode


class Kind:
    """Conversions of traces of a kind."""

    sql, more = 0, 1  # MiB of DuckDB, and how many times as many things

    def __init__(self, name, size, converter, tracegen, folder):
        self.name, self.size, self.converter, self.folder = name, size, converter, folder
        self.counts = [self.more * COUNT[size] * times // COSTLY.get(name, 1) for times in TIMES[size]]
        self.traces = [folder / f"{name}-{count}" for count in self.counts]
        for count, trace in zip(self.counts, self.traces):
            subprocess.run([tracegen, "--format", name, "--count", str(count), trace], check=True)
        self.seconds, self.mib, self.code = [float("inf")] * len(self.counts), 0, 0

    def run(self, trace):
        return run(self.converter, "--quiet", "--force", "-j1", trace, self.folder / "out")

    def measure(self):
        for i, trace in enumerate(self.traces):
            seconds, mib, code = self.run(trace)
            self.seconds[i], self.mib, self.code = min(self.seconds[i], seconds), max(self.mib, mib), self.code or code
            if code:
                return

    def growth(self):
        return self.seconds[-1] / max(self.seconds[0], FLOOR[self.size])

    def note(self):
        notes = []
        if self.code:
            notes.append(f"exit code {self.code}")
        if self.growth() > GROWTH:
            notes.append(f"grows by more than {GROWTH}")
        limit = MEMORY + self.sql + self.counts[-1] * MEMORY_OF_THING
        if self.mib > limit:
            notes.append(f"above {limit:.0f} MiB")
        return ", ".join(notes)


class FlameGraph(Kind):
    """Flame graphs of the datasets of a kind's traces."""

    sql, more = MEMORY_OF_SQL, 2  # fewer samples take no longer than DuckDB's start

    def __init__(self, name, *others):
        super().__init__(name, *others)
        self.name = f"{name}, flame graph"
        for trace in self.traces:
            subprocess.run([self.converter, "--quiet", trace, f"{trace}.dataset"], check=True)

    def run(self, trace):
        return run(self.converter, "flamegraph", f"{trace}.dataset", "--force", "--output", self.folder / "out.pb.gz")


def main(converter, tracegen, size, *kinds):
    listed = subprocess.run([tracegen], check=True, stdout=subprocess.PIPE, text=True).stdout.split()
    failed = 0
    print("| trace | number | CPU, s | growth | peak, MiB | |\n| --- | ---: | ---: | ---: | ---: | --- |")
    measured = [(Kind, name) for name in kinds or listed if name in kinds or name not in TEXTS]
    for of, name in measured + [(FlameGraph, name) for name in FLAMEGRAPHS if name in (kinds or listed)]:
        with tempfile.TemporaryDirectory() as folder:
            kind = of(name, size, converter, tracegen, pathlib.Path(folder))
            for _ in range(TRIES):
                kind.measure()
                if kind.code or kind.growth() <= GROWTH:
                    break
            failed += kind.note() != ""
            times = ", ".join(f"{seconds:.2f}" for seconds in kind.seconds)
            print(f"| {kind.name} | {kind.counts[0]:,} | {times} | {kind.growth():.1f} | {kind.mib:.0f} | {kind.note()} |", flush=True)
    if failed:
        sys.exit(f"{failed} kinds are outside their bounds")


main(*sys.argv[1:])
