"""Compare the values by binary of a perf.data with those that perf report gives of it, for each event.

usage: perf_report.py PERF.DATA DATASET

Functions are not compared, because perf takes symbols from this machine, and with them tells the kernel from what it does not know.
Branches are left out: perf would show them instead of samples.
"""

import collections, re, sys

from top import stacks, tool

trace, dataset = sys.argv[1:3]
report = tool(["perf", "report", "-i", trace, "--stdio", "-g", "none", "-F", "period,sample,dso", "--no-children", "--no-branch-stack",
               "--no-group", "--percent-limit", "0"])


def binary(name):
    name = name.split("/")[-1].strip("[]")
    return "kernel" if name in ("unknown", "kernel.kallsyms") else name


events = {}
for line in report.splitlines():
    if m := re.match(r"# Samples: .* of events? '(.*?)'", line):
        binaries = events.setdefault(m[1], collections.Counter())
    elif m := re.match(r"\s*(\d+)\s+\d+\s+(.*?)\s*$", line):
        binaries[binary(m[2])] += int(m[1])


def ours(event):
    """The values by binary, or None if there is no such event. perf adds modifiers of its own, and names hardware events in its way."""
    for name in (event, event.split(":")[0], "cpu-" + event.split(":")[0]):
        if (found := stacks(dataset, "--metric", name, failed=lambda error: None)) is not None:
            values = collections.Counter()
            for stack, value in found.items():
                values[binary(stack[-1])] += value
            return values
    return None


failures = 0
for event, want in events.items():
    got = ours(event)
    if got is None or sum(got.values()) != sum(want.values()):
        failures += 1
        print(f"{event}: perf report has {sum(want.values())}, we {got and sum(got.values())}")
    elif alone := [name for name in want if got[name] != want[name] and name in got]:
        failures += 1
        print(f"{event}: {[(name, want[name], got[name]) for name in alone[:3]]}")
print(len(events), "events")
sys.exit(bool(failures))
