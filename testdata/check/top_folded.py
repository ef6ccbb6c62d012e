"""Compare the boxes of a flame graph of folded stacks with those that flamegraph.pl draws of the file.

usage: top_folded.py STACKS DATASET

A box is a function with its value, called by the functions of one stack. flamegraph.pl takes _[k] and other annotations from names.
"""
import collections, html, re, shutil, sys

from top import leave, plain, shown, stacks, tool

script = next((name for name in ("flamegraph.pl", "stackprof-flamegraph.pl") if shutil.which(name)), None) or leave("there is no flamegraph.pl")
path, dataset = plain(sys.argv[1]), sys.argv[2]
picture = tool([script, "--minwidth=0", path])
want = collections.Counter()
for name, value in re.findall(r"<title>(.*) \(([\d,]+) samples, [\d.]+%\)</title>", picture):
    want[html.unescape(name), int(value.replace(",", ""))] += 1
got, boxes = collections.Counter(), collections.Counter()
for stack, value in stacks(dataset).items():
    for depth in range(len(stack) + 1):
        boxes[stack[:depth]] += value
for stack, value in boxes.items():
    got[re.sub(r"_\[[kwij]\]$", "", stack[-1]) if stack else "all", value] += 1
metric, _ = shown(dataset)
differ = (got - want) + (want - got)
print(f"{metric}: {len(want)} boxes, {differ.total()} differ")
for box in list(differ)[:5]:
    print(box, "flamegraph", got[box], "flamegraph.pl", want[box])
sys.exit(bool(differ))
