"""Compare the functions of a pprof profile with those that go tool pprof prints, in the measure that it shows first.

usage: top_pprof.py PROFILE DATASET

pprof rounds values, unless it is told the unit that they have.
"""
import re, sys

from top import NOTE, ROW, compare, shown, tool

path, dataset = sys.argv[1:3]
pprof = ["go", "tool", "pprof", "-symbolize=none"]
raw = tool([*pprof, "-raw", path])
units = dict(column.replace("[dflt]", "").rsplit("/", 1) for column in raw.partition("\nSamples:\n")[2].splitlines()[0].split())


def functions(*options):
    """Returns the metric that pprof shows, and its functions."""
    metric = re.search("^Type: (.*)", tool([*pprof, "-top", *options, path]), re.M)
    metric = metric[1] if metric else ""
    unit = {"nanoseconds": "ns", "microseconds": "us", "milliseconds": "ms", "bytes": "B"}.get(units[metric], units[metric])
    scale = {"us": 1e3, "ms": 1e6, "seconds": 1e9}.get(unit, 1)
    values = {}
    for line in tool([*pprof, "-top", "-nodefraction=0", "-unit=" + unit, *options, path]).partition("flat%")[2].splitlines()[1:]:
        own, _, total, _, name = ROW.fullmatch(line).groups()
        values[NOTE.sub("", name).replace(";", ":").replace("<unknown>", "[unknown]")] = float(own) * scale, float(total) * scale
    return metric, values


first, got = shown(dataset)
metric, want = functions()
if not want: # all values are 0
    metric, want = functions("-sample_index=" + first)
failed = compare(first, got, want)
if first != metric:
    print(f"flamegraph shows {first} first, pprof {metric}")
sys.exit(failed or first != metric)
