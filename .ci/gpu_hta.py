"""Compare the views of GPU work with HolisticTraceAnalysis (PyPI), on PyTorch's traces: each of PATHS is one, a folder
of those of a job, one a rank, or the file that TraceLens's TraceFusion made of them, which is taken apart.

    python gpu_hta.py bin/tpconvert PATHS...

HTA's own rules are applied where they differ: it takes an event for work on a GPU if it has a stream, so
annotations and waits count, too, and its kinds go by its own patterns. It knows the calls of CUDA only, so those of HIP get
their names. If TraceLens can be imported, its GPU timeline is compared, too, but that it takes memory that is set for
computation, and what it says about the collectives of several ranks. What summarize says about late ranks is compared with the traces.
"""

import collections
import contextlib
import decimal
import gzip
import json
import logging
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import warnings

os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"
from hta.common.trace import Trace  # noqa: E402
from hta.trace_analysis import TraceAnalysis  # noqa: E402

try:
    from TraceLens.NcclAnalyser.nccl_analyser import NcclAnalyser
    from TraceLens.TreePerf.gpu_event_analyser import GPUEventAnalyser
except ImportError:
    GPUEventAnalyser = None

logging.disable(logging.WARNING)
warnings.simplefilter("ignore")

# HTA leaves out work that no call within the marked steps launched; the views have all work.
Trace._filter_irrelevant_gpu_kernels = lambda *_: None

HIP = {name: "cudaLaunchKernel" for name in ("hipLaunchKernel", "hipExtLaunchKernel", "hipModuleLaunchKernel", "hipExtModuleLaunchKernel")}
HIP |= {"hipMemcpyAsync": "cudaMemcpyAsync", "hipMemsetAsync": "cudaMemsetAsync"}
LAUNCHES = tuple({"cudaLaunchKernelExC", *HIP, *HIP.values()})
# Annotations, and kernels that HTA's patterns give another kind, are left out on both sides.
SHARED = r"^(?!nccl.*Kernel).*(Memcpy|Memset|Sync)"


def query(tpconvert, dataset, sql):
    out = subprocess.run([tpconvert, "query", "--format", "json", dataset, sql], check=True, capture_output=True, text=True).stdout
    return json.loads(out)


def read(path):
    with gzip.open(path) if path.suffix == ".gz" else open(path, "rb") as f:
        return f.read()


def take_apart(path, to):
    """Write the trace of each rank of a fused one, whose events have the rank and what the ids were; none of another."""
    content = read(path)
    ranks = collections.defaultdict(list)
    for e in json.loads(content)["traceEvents"] if b'"pid_raw"' in content else []:
        args = e.get("args", {})
        if "rank" in args:
            ranks[args.pop("rank")].append(e)
        e.update({key: args.pop(key + "_raw") for key in ("id", "pid") if key + "_raw" in args})
        args.update({key.removesuffix("_raw"): args.pop(key) for key in list(args) if key.endswith("_raw")})
    for rank, events in ranks.items():
        trace = {"distributedInfo": {"rank": rank, "world_size": len(ranks)}, "traceEvents": events}
        (to / f"rank{rank:03}.json").write_text(json.dumps(trace))


def rebase(path, to, rank):
    """Write the trace with times since the first event, because HTA's doubles have no ns of times since 1970, and with a
    rank if it has none, because HTA leaves out such traces."""
    trace = json.loads(read(path), parse_float=decimal.Decimal)
    first = min(e["ts"] for e in trace["traceEvents"] if e.get("ph") == "X")
    for e in trace["traceEvents"]:
        if e.get("cat") == "cuda_runtime":
            e["name"] = HIP.get(e["name"], e["name"])
        if "ts" in e:
            e["ts"] = float(decimal.Decimal(e["ts"]) - first)
    if not any("rank" in (trace.get(key) or {}) for key in ("distributedInfo", "nccl")):
        trace["distributedInfo"] = {"rank": 1000 + rank}
    with open(to / path.name.removesuffix(".gz"), "w") as f:
        json.dump(trace, f, default=float)


def tracelens(tpconvert, out, where, file, busy, check):
    """Compare TraceLens's timeline of the GPU, and the time of all work by kind."""
    with open(file) as f:
        events = [e for e in json.load(f)["traceEvents"] if e.get("ph") == "X"]
    for i, e in enumerate(events):
        e["UID"] = i
    analyser = GPUEventAnalyser(events)
    lists = analyser.get_gpu_event_lists()
    if not any(lists.values()):
        print(f"{file}: TraceLens does not know its categories, such as Kernel of old traces")
        return
    sets = [e for e in lists["computation"] if e["cat"] == "gpu_memset"]
    lists["computation"] = [e for e in lists["computation"] if e["cat"] != "gpu_memset"]
    lists["memcpy"] += sets
    want = analyser.compute_metrics_dict(lists)
    exposed = busy["communication"] - busy["overlap"]
    for name, got in {"computation_time": busy["computation"], "exposed_comm_time": exposed, "exposed_memcpy_time": busy["busy"] - busy["computation"] - exposed,
                      "busy_time": busy["busy"], "idle_time": busy["idle"], "total_time": busy["dur"], "total_comm_time": busy["communication"]}.items():
        check("TraceLens " + name, got / 1000, want[name])
    own = query(tpconvert, out, f"SELECT kind, sum(count)::BIGINT AS count, sum(total_dur)::BIGINT AS dur FROM gpu_kernel_time WHERE {where} GROUP BY kind")
    for row in own:
        events = lists["memcpy" if row["kind"] == "memory" else row["kind"]]
        check("TraceLens works", row["count"], len(events))
        check("TraceLens time by kind", row["dur"] / 1000, sum(e["dur"] for e in events))


def collectives(tpconvert, out, files, check):
    """Compare how many ranks each collective has, and the least and greatest time of one in it."""
    frame = NcclAnalyser([files[rank] for rank in sorted(files)], len(files)).build_df_long()
    durs = frame.groupby("collective_id")["dur"] if len(frame) else []
    want = sorted((len(dur), dur.min(), dur.max()) for _, dur in durs)
    own = query(tpconvert, out, "SELECT ranks, min_dur / 1000 AS min, max_dur / 1000 AS max FROM gpu_collective ORDER BY ALL")
    check("TraceLens collectives", len(own), len(want))
    for row, (ranks, least, most) in zip(own, want):
        check("TraceLens ranks of a collective", row["ranks"], ranks)
        check("TraceLens time of a collective", row["min"], least)
        check("TraceLens time of a collective", row["max"], most)


def stragglers(tpconvert, out, paths, checks):
    """Compare what summarize says of late ranks with what their kernels say. All ranks end a collective together."""
    collectives = collections.defaultdict(dict)
    for path in paths:
        trace = json.loads(read(path), parse_float=decimal.Decimal)
        rank, numbers = (trace.get("distributedInfo") or {}).get("rank"), collections.Counter()
        kernels = [e for e in trace["traceEvents"] if e.get("cat") == "kernel" and e["name"].lower().startswith(("nccl", "rccl"))]
        for e in sorted(kernels, key=lambda e: e["ts"]):
            key = e["name"], e["args"].get("Process Group Name"), str(e["args"].get("Process Group Ranks"))
            numbers[key] += 1
            collectives[*key, numbers[key]][rank] = round(1000 * e["dur"])
    ranks = collections.defaultdict(lambda: [0, 0, 0, 0])
    skews = collections.defaultdict(lambda: [0, 0, 0])
    for (name, *_), durs in collectives.items():
        if len(durs) > 1:
            least, skew = min(durs.values()), max(durs.values()) - min(durs.values())
            for rank, dur in durs.items():
                ranks[rank][0] += 1
                ranks[rank][3] += dur - least
            if skew:
                last = min(rank for rank, dur in durs.items() if dur == least)
                ranks[last][1] += 1
                ranks[last][2] += skew
            skews[name] = [skews[name][0] + 1, skews[name][1] + skew, max(skews[name][2], skew)]
    lines = subprocess.run([tpconvert, "summarize", "--format", "ndjson", "gpu", out], check=True, capture_output=True, text=True).stdout
    rows = [json.loads(line) for line in lines.splitlines()]
    got = {row["rank"]: [row["count"], row["last"], row["last_skew"], row["waited"]] for row in rows if row["metric"] == "gpu_stragglers"}
    assert got == ranks, f"{got}, not {ranks}"
    got = collections.defaultdict(lambda: [0, 0, 0])
    for row in rows:
        if row["metric"] == "gpu_skew":
            n = got[row["name"]]
            got[row["name"]] = [n[0] + row["count"], n[1] + row["total_skew"], max(n[2], row["max_skew"])]
    assert got == skews, f"{got}, not {skews}"
    checks["late ranks"] += 4 * len(ranks) + 3 * len(skews)


def critical_path(tpconvert, out, hta, path, checks):
    """Compare the critical path of the last step, or of the whole trace. HTA gives the time between operators no weight, so
    its path differs if the CPU goes on after the last work."""
    (rank,) = hta.t.traces
    steps = query(tpconvert, out, "SELECT id, trace_id, name, dur FROM slice WHERE category = 'user_annotation' AND name SIMILAR TO 'ProfilerStep.*|.*measure.forward.*' ORDER BY ts")
    steps = steps or query(tpconvert, out, "SELECT id, trace_id, '' AS name FROM slice WHERE category = 'Trace'")
    step = steps[-1]
    graph, ok = hta.critical_path_analysis(rank=rank, annotation=step["name"], instance_id=sum(s["name"] == step["name"] for s in steps) - 1)
    assert ok
    nodes = [graph.node_list[n] for n in graph.critical_path_nodes]
    frame = hta.t.get_trace(rank)
    want = {frame.loc[n.ev_idx, "correlation"] for n in nodes if frame.loc[n.ev_idx, "stream"] >= 0}
    weights = collections.Counter()
    for a, b in zip(nodes, nodes[1:]):
        edge = graph.edges[a.idx, b.idx]["object"]
        weights[edge.type.name] += edge.weight
    own = query(tpconvert, out, f"SELECT p.kind, p.dur, k.correlation FROM gpu_critical_path({step['id']}, '{step['trace_id']}') AS p "
                "LEFT JOIN gpu_kernel AS k ON k.id = p.id AND p.kind IN ('computation', 'communication', 'memory') ORDER BY p.ts")
    got = {row["correlation"] for row in own} - {None}
    if not got:
        print(f"{path}: the CPU goes on after all {len(want)} kernels of HTA's critical path")
        return
    assert got == want, f"{path}: {sorted(got ^ want)} are on one critical path only"
    checks["critical path kernels"] += len(want)
    for kind, edge in ("launch", "KERNEL_LAUNCH_DELAY"), ("gap", "KERNEL_KERNEL_DELAY"):
        dur = sum(row["dur"] for row in own if row["kind"] == kind) / 1000
        assert abs(dur - weights[edge]) < 1e-3, f"{path}, {kind}: {dur}, HTA has {weights[edge]}"
        checks["critical path " + kind] += 1


def compare(tpconvert, path, work):
    originals, rebased, ranks, out = work / "originals", work / "rebased", work / "ranks", work / "out"
    originals.mkdir(parents=True), rebased.mkdir(), ranks.mkdir()
    if not path.is_dir():
        take_apart(path, ranks)
    paths = sorted(path.iterdir() if path.is_dir() else ranks.iterdir()) or [path]
    for i, p in enumerate(paths):
        shutil.copy(p, originals)
        rebase(p, rebased, i)
    hta = TraceAnalysis(trace_dir=str(rebased), include_last_profiler_step=True)
    categories = hta.t.symbol_table.get_sym_table()
    for rank, frame in hta.t.traces.items():
        keep = frame["stream"].eq(-1) | frame["cat"].map(lambda c: categories[c]).isin(["kernel", "gpu_memcpy", "gpu_memset", "Kernel", "Memcpy", "Memset"])
        hta.t.traces[rank] = frame[keep]
    subprocess.run([tpconvert, "--quiet", originals, out], check=True)
    traces = {row["name"].removesuffix(".gz"): row["trace_id"] for row in query(tpconvert, out, "SELECT name, trace_id FROM trace")}
    work_of = {rank: (f"trace_id = '{traces[os.path.basename(file)]}'") for rank, file in hta.t.trace_files.items()}

    if not query(tpconvert, out, "FROM gpu_rank"):
        with contextlib.suppress(IndexError):  # HTA fails if there is no work
            hta.get_temporal_breakdown(visualize=False)
            raise AssertionError(f"{path}: only HTA finds work on a GPU")
        print(f"{path}: no work on a GPU")
        return

    checks = collections.Counter()
    breakdown = hta.get_temporal_breakdown(visualize=False).set_index("rank")
    overlaps = hta.get_comm_comp_overlap(visualize=False).set_index("rank")
    _, all_kernels = hta.get_gpu_kernel_breakdown(visualize=False, duration_ratio=1, num_kernels=10**9, include_memory_kernels=True)

    def check(what, got, want):
        assert abs(got - want) < 1e-3, f"{path}, rank {rank}, {what}: {got}, HTA has {want}"
        checks[what] += 1

    for rank in sorted(hta.t.traces):
        where = work_of[rank]
        busy = query(tpconvert, out, f"FROM gpu_rank WHERE {where}")
        if not busy:
            print(f"{path}, rank {rank}: no work on a GPU")
            continue
        assert len(busy) == 1, f"{len(busy)} devices"
        busy = busy[0]
        assert busy["rank"] in (rank, None), f"{path}: rank {busy['rank']}, HTA has {rank}"
        want = breakdown.loc[rank]
        check("kernel_time", busy["dur"] / 1000, want["kernel_time(us)"])
        check("idle_time", busy["idle"] / 1000, want["idle_time(us)"])
        check("compute_time", busy["computation"] / 1000, want["compute_time(us)"])
        check("non_compute_time", busy["non_computation"] / 1000, want["non_compute_time(us)"])
        if busy["communication"]:
            check("comm_comp_overlap", round(100 * busy["overlap"] / busy["communication"], 2), overlaps.loc[rank, "comp_comm_overlap_pctg"])

        if GPUEventAnalyser:
            tracelens(tpconvert, out, where, hta.t.trace_files[rank], busy, check)

        kernels = all_kernels[all_kernels["rank"] == rank].set_index("name")
        own = {row["name"]: row for row in query(tpconvert, out, "SELECT name, sum(total_dur) / 1000 AS sum, max(max_dur) / 1000 AS max, min(min_dur) / 1000 AS min, "
                                                 f"sum(total_dur) / sum(count) / 1000 AS mean, any_value(stddev_dur) / 1000 AS std FROM gpu_kernel_time WHERE {where} GROUP BY name")}
        for name, row in kernels.iterrows():
            for column in ("sum", "max", "min", "mean"):
                check("kernel " + column, float(own[name][column]), row[column + " (us)"])
            check("kernel std", float(own[name]["std"] or 0), row["stddev"])
        others = {name for name in own if name not in kernels.index}
        assert all(re.match(SHARED, name) for name in others), others

        launches = hta.get_cuda_kernel_launch_stats(ranks=[rank], visualize=False)[rank].set_index("correlation")
        own = query(tpconvert, out, "SELECT correlation, launch_dur / 1000 AS cpu, dur / 1000 AS gpu, launch_delay / 1000 AS delay "
                    f"FROM gpu_kernel WHERE launch_name IN {LAUNCHES} AND {where}")
        check("launches", len(own), len(launches))
        for row in own:
            want = launches.loc[row["correlation"]]
            check("cpu_duration", float(row["cpu"]), want["cpu_duration"])
            check("gpu_duration", float(row["gpu"]), want["gpu_duration"])
            check("launch_delay", float(row["delay"]), want["launch_delay"])
    if GPUEventAnalyser and len(paths) > 1:
        collectives(tpconvert, out, hta.t.trace_files, check)
    if len(paths) > 1 and max(hta.t.traces) < 1000:
        stragglers(tpconvert, out, paths, checks)
    if len(paths) == 1 and "cuda_sync" in hta.t.symbol_table.get_sym_id_map():
        critical_path(tpconvert, out, TraceAnalysis(trace_dir=str(rebased), include_last_profiler_step=True), path, checks)
    print(f"{path}: {len(hta.t.traces)} traces, {sum(checks.values())} numbers are equal:", dict(checks))


for path in sys.argv[2:]:
    with tempfile.TemporaryDirectory() as work:
        compare(sys.argv[1], pathlib.Path(path), pathlib.Path(work))
