"""Compare the functions of a stackprof profile with those that stackprof prints.

usage: top_stackprof.py PROFILE DATASET

stackprof has a row for each place where a name is defined. They may call each other, so the total of such a name is not known.
"""
import re, sys

from top import compare, plain, shown, tool

want = {}
for line in tool(["stackprof", "--text", "--limit", "1000000", plain(sys.argv[1])]).splitlines():
    if row := re.fullmatch(r"\s*(\d+)\s+\(\s*[\d.]+%\)\s+(\d+)\s+\(\s*[\d.]+%\)\s{5}(.*)", line):
        total, own, name = row.groups()
        want[name] = (want[name][0] + int(own), None) if name in want else (int(own), int(total))
metric, got = shown(sys.argv[2])
sys.exit(compare(metric, got, want))
