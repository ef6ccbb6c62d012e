"""Compare the functions of a flame graph (HTML) of async-profiler with those that its jfrconv reads in it.

usage: top_asyncprofiler.py RECORDING DATASET

jfrconv makes the flame graph of a flight recording. The dataset of the recording is not looked at.
"""
import collections, re, sys

from top import compare, functions, plain, scratch, shown, tool

page, folded = scratch("flames.html"), scratch("flames.collapsed")
tool(["jfrconv", plain(sys.argv[1]), page])
tool(["jfrconv", "-o", "collapsed", page, folded])
want = collections.Counter()
for line in open(folded):
    stack, _, value = line.rpartition(" ")
    want[tuple(re.sub(r"_\[\w\]$", "", frame) for frame in stack.split(";"))] += int(value) # without the kind of code
metric, got = shown(page)
sys.exit(compare(metric, got, functions(want)))
