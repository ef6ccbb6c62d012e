"""Compare the methods of an ART method trace with those that dmtracedump prints, by the time of the clock on the wall.

usage: top_art.py TRACE DATASET

dmtracedump reads the first time of a record, which is CPU time in traces with both, so the other is put there. It takes calls that did not end
to last until the last record of their thread; we leave them out.
"""
import collections, re, struct, sys

import duckdb

from top import compare, leave, plain, scratch, shown, tool

path, dataset = plain(sys.argv[1]), sys.argv[2]
data = bytearray(open(path, "rb").read())
if not data.startswith(b"*version"):
    leave("dmtracedump reads no streams")
records = data.find(b"*end\n") + len("*end\n")
version, offset = struct.unpack_from("<4xHH", data, records)
size = struct.unpack_from("<H", data, records + 16)[0]
if version == 3 and b"clock=dual" in data[:200]:
    for at in range(records + offset, len(data) - size + 1, size):
        data[at + 6 : at + 10] = data[at + 10 : at + 14]
wall = scratch("wall.trace")
with open(wall, "wb") as file:
    file.write(data)
text = tool(["dmtracedump", wall])
own, _, total = text.partition("Inclusive elapsed times")
want = collections.defaultdict(lambda: [0, 0])
for place, part, row in (0, own, r"^ +(\d+) +[\d.]+ +[\d.]+  \[\d+\] (.*)"), (1, total, r"^\[\d+\] +[\d.]+% +\d+\+\d+ +(\d+) (.*)"):
    for value, method in re.findall(row, part, re.M):
        name = method.partition("\t")[0].replace(" (", ": (", 1).replace(";", ":").replace("(unknown)", "[unknown]")
        want[name][place] = int(value) * 1000
metric, got = shown(dataset)
open_calls = duckdb.sql(f"SELECT DISTINCT name FROM '{dataset}/slice.parquet' WHERE dur < 0").fetchall()
for name in ["(toplevel)"] + [name.replace(";", ":") for name, in open_calls]:
    got.pop(name, None), want.pop(name, None)
sys.exit(compare(metric, got, want))
