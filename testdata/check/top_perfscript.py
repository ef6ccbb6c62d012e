"""Compare the functions in a text of perf script with those that inferno-collapse-perf counts for its first event.

usage: top_perfscript.py TEXT DATASET

inferno's stacks begin with the command, and it names unknown code by its file.
"""
import collections, re, sys

from top import compare, functions, leave, plain, shown, tool

path, dataset = plain(sys.argv[1]), sys.argv[2]
metric, got = shown(dataset)
if any(re.search(r"[($]|->|::h[0-9a-f]{16}$", name) for name in got):
    leave("inferno shortens names of C++, Rust and Java")
want = collections.Counter()
for line in tool(["inferno-collapse-perf", path]).splitlines():
    stack, _, value = line.rpartition(" ")
    want[tuple("[unknown]" if frame.startswith("[") else frame for frame in stack.split(";")[1:])] += int(value)
sys.exit(compare(metric, got, functions(want)))
