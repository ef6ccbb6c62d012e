"""Compare the functions of a profile in Callgrind's format with those that callgrind_annotate prints, for the first event.

usage: top_callgrind.py PROFILE DATASET

A row is FILE:FUNCTION [OBJECT], and colons are in both. Functions of one name are one here, in whatever file. Values are in the unit that
an event's name may have: Xdebug's is Time_(10ns).
"""
import collections, re, sys

from top import compare, plain, shown, tool

path, dataset = plain(sys.argv[1]), sys.argv[2]
names = sorted(set(re.findall(r"^c?fn=(?:\(\d+\))? ?(.+)$", open(path, errors="replace").read(), re.M)), key=len, reverse=True)
text = tool(["callgrind_annotate", "--threshold=100", "--show-percs=no", "--auto=no", path])
unit = re.search(r"^Event sort order: *\S+?(?:_\((\d*)(\w+)\))?(?: |$)", text, re.M)
scale = int(unit[1] or 1) * {None: 1, "bytes": 1, "ns": 1, "us": 1000}[unit[2]]
columns = len(re.search("^Events shown: *(.*)", text, re.M)[1].split())
want = collections.Counter()
for line in text.partition("file:function\n")[2].splitlines():
    row = line.split(None, columns)
    if len(row) == columns + 1 and re.fullmatch(r"[\d,]+", row[0]):
        place = re.sub(r" \[[^\]]*\]$", "", row[columns])
        want[next(name for name in names if place.endswith(":" + name))] += int(row[0].replace(",", "")) * scale
metric, got = shown(dataset)
sys.exit(compare(metric, got, {name: (value, None) for name, value in want.items()}))
