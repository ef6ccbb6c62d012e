"""Compare the views of GPU work with HolisticTraceAnalysis (PyPI), on folders of PyTorch traces, one trace a rank.

    python gpu_hta.py bin/tpconvert FOLDER...

HTA's own rules are applied where they differ: it takes an event for work on a GPU if it has a stream, so
annotations and waits count, too, and its kinds go by its own patterns.
"""

import collections
import decimal
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile

os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"
from hta.common.trace import Trace  # noqa: E402
from hta.trace_analysis import TraceAnalysis  # noqa: E402

# HTA leaves out work that no call within the marked steps launched; the views have all work.
Trace._filter_irrelevant_gpu_kernels = lambda *_: None

LAUNCHES = "'cudaLaunchKernel', 'cudaLaunchKernelExC', 'cudaMemcpyAsync', 'cudaMemsetAsync'"
# Annotations, and kernels that HTA's patterns give another kind, are left out on both sides.
SHARED = r"^(?!nccl.*Kernel).*(Memcpy|Memset|Sync)"


def query(tpconvert, dataset, sql):
    out = subprocess.run([tpconvert, "query", "--format", "json", dataset, sql], check=True, capture_output=True, text=True).stdout
    return json.loads(out)


def rebase(folder, to):
    """Write the traces with times since the first event: HTA's doubles have no ns of times since 1970."""
    for name in sorted(os.listdir(folder)):
        with gzip.open(f"{folder}/{name}") if name.endswith(".gz") else open(f"{folder}/{name}", "rb") as f:
            trace = json.load(f, parse_float=decimal.Decimal)
        first = min(e["ts"] for e in trace["traceEvents"] if e.get("ph") == "X")
        for e in trace["traceEvents"]:
            if "ts" in e:
                e["ts"] = float(decimal.Decimal(e["ts"]) - first)
        with open(f"{to}/{name.removesuffix('.gz')}", "w") as f:
            json.dump(trace, f, default=float)


def compare(tpconvert, folder):
    with tempfile.TemporaryDirectory() as rebased:
        rebase(folder, rebased)
        hta = TraceAnalysis(trace_dir=rebased, include_last_profiler_step=True)
    for rank, frame in hta.t.traces.items():
        categories = hta.t.symbol_table.get_sym_table()
        keep = frame["stream"].eq(-1) | frame["cat"].map(lambda c: categories[c]).isin(["kernel", "gpu_memcpy", "gpu_memset", "Kernel", "Memcpy", "Memset"])
        hta.t.traces[rank] = frame[keep]
    ranks = sorted(hta.t.traces)
    checks = collections.Counter()
    with tempfile.TemporaryDirectory() as dir:
        for rank in ranks:
            out = f"{dir}/{rank}"
            name = os.path.basename(hta.t.trace_files[rank])
            original = next(f for f in os.listdir(folder) if f.removesuffix(".gz") == name)
            subprocess.run([tpconvert, "--quiet", f"{folder}/{original}", out], check=True)

            def check(what, got, want):
                assert abs(got - want) < 1e-3, f"{folder}, rank {rank}, {what}: {got}, HTA has {want}"
                checks[what] += 1

            busy = query(tpconvert, out, "SELECT min(ts) AS first, * FROM gpu_busy GROUP BY ALL")
            if not busy:
                print(f"{folder}, rank {rank}: no work on a GPU")
                continue
            assert len(busy) == 1, f"{len(busy)} devices"
            busy = busy[0]
            want = hta.get_temporal_breakdown(visualize=False).set_index("rank").loc[rank]
            check("kernel_time", busy["dur"] / 1000, want["kernel_time(us)"])
            check("idle_time", busy["idle"] / 1000, want["idle_time(us)"])
            check("compute_time", busy["computation"] / 1000, want["compute_time(us)"])
            check("non_compute_time", busy["non_computation"] / 1000, want["non_compute_time(us)"])
            if busy["communication"]:
                overlap = hta.get_comm_comp_overlap(visualize=False).set_index("rank").loc[rank]
                check("comm_comp_overlap", round(100 * busy["overlap"] / busy["communication"], 2), overlap["comp_comm_overlap_pctg"])

            _, kernels = hta.get_gpu_kernel_breakdown(visualize=False, duration_ratio=1, num_kernels=10**9, include_memory_kernels=True)
            kernels = kernels[kernels["rank"] == rank].set_index("name")
            own = {row["name"]: row for row in query(tpconvert, out, "SELECT name, sum(total_dur) / 1000 AS sum, max(max_dur) / 1000 AS max, min(min_dur) / 1000 AS min, "
                                                     "sum(total_dur) / sum(count) / 1000 AS mean, any_value(stddev_dur) / 1000 AS std FROM gpu_kernel_time GROUP BY name")}
            for name, row in kernels.iterrows():
                for column in ("sum", "max", "min", "mean"):
                    check("kernel " + column, float(own[name][column]), row[column + " (us)"])
                check("kernel std", float(own[name]["std"] or 0), row["stddev"])
            others = {name for name in own if name not in kernels.index}
            assert all(re.match(SHARED, name) for name in others), others

            launches = hta.get_cuda_kernel_launch_stats(ranks=[rank], visualize=False)[rank].set_index("correlation")
            own = query(tpconvert, out, "SELECT correlation, launch_dur / 1000 AS cpu, dur / 1000 AS gpu, launch_delay / 1000 AS delay "
                        f"FROM gpu_kernel WHERE launch_name IN ({LAUNCHES})")
            check("launches", len(own), len(launches))
            for row in own:
                want = launches.loc[row["correlation"]]
                check("cpu_duration", float(row["cpu"]), want["cpu_duration"])
                check("gpu_duration", float(row["gpu"]), want["gpu_duration"])
                check("launch_delay", float(row["delay"]), want["launch_delay"])
    print(folder, f"{len(ranks)} ranks,", sum(checks.values()), "numbers are equal:", dict(checks))


for folder in sys.argv[2:]:
    compare(sys.argv[1], folder)
