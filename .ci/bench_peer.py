"""Time the converter beside Trace Processor v58 on real traces: the ten largest, those that were slow once, and all of them
in one run against one process each.

usage: bench_peer.py CONVERTER SHARED
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import time

# Parts of the names of traces that are measured whatever their size.
NAMED = (
    "google__pprof__large.cpu", "grafana__pyroscope__profile.pprof", "GoogleChrome__lighthouse__trace.",
    "AMD-AGI__TraceLens__profile_trace_rank_0", "facebookresearch__param__resnet_kineto", "mox692__tokio",
    "vospascal__atrium", "Gracker__SmartPerfetto", "ocaml.ftf", "c-demo.fxt", "flutter-wanandroid",
)  # fmt: skip


def seconds(*commands):
    begun = time.monotonic()
    for command in commands:
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # a trace may be refused
    return time.monotonic() - begun


def main():
    converter, shared = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
    for folder in "peer", "conformance":
        if subprocess.run([".ci/need", f"the comparison with Trace Processor's {folder}", shared / folder]).returncode:
            return
    traces = sorted(
        (path for path in (shared / "conformance" / "traces").glob("*/*") if path.is_file()), key=lambda path: path.stat().st_size
    )
    chosen = traces[-10:] + [path for path in traces[:-10] if any(name in path.name for name in NAMED)]
    subprocess.run([sys.executable, shared / "peer" / "pair.py", converter, *chosen], check=True)
    with tempfile.TemporaryDirectory() as out:
        shell = [shared / "peer" / "trace_processor_shell", "export", "arrow_tar", "-o", f"{out}/peer.tar"]
        theirs = seconds(*([*shell, path] for path in traces))
        ours = seconds([converter, "--quiet", *traces, f"{out}/all"])
    print(f"all {len(traces)} traces: v58, one process each {theirs:.1f} s | ours, in one run {ours:.1f} s | {theirs / ours:.2f}x faster")


main()
