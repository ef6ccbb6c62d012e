"""Compare the methods of an ART method trace with those that dmtracedump prints, by the time of the clock on the wall.

usage: top_art.py TRACE DATASET

dmtracedump reads the first time of a record, which is CPU time in traces with both, so the other is put there. It reads no streams, so
they are written as files, with the text first. Calls that began before the trace or did not end have no duration here; dmtracedump takes the
first or last record of their thread instead. The methods of such calls are left out.
"""
import collections, re, struct, sys

import duckdb

from top import compare, plain, scratch, shown, tool

path, dataset = plain(sys.argv[1]), sys.argv[2]


def as_file(stream):
    """Returns the file with the records of a stream: a thread of 0 begins a method (1), a thread (2) or the end (3)."""
    size = struct.unpack_from("<H", stream, 16)[0]
    threads, methods, records = [], [], b""
    at = 32
    while at + 3 <= len(stream):
        thread, kind = struct.unpack_from("<HB", stream, at)
        if thread:
            records += stream[at : at + size]
            at += size
        elif kind == 3:
            break
        else:
            if kind == 2:
                thread = struct.unpack_from("<H", stream, at + 3)[0]
                at += 2
            length = struct.unpack_from("<H", stream, at + 3)[0]
            text = stream[at + 5 : at + 5 + length]
            at += 5 + length
            if kind == 2:
                threads.append(b"%d\t%s\n" % (thread, text))
            else:
                methods.append(text.rstrip(b"\n") + b"\n")
    version = struct.unpack_from("<H", stream, 4)[0] & 0x0F
    header = stream[:4] + struct.pack("<H", version) + stream[6:32]
    return b"*version\n%d\nclock=dual\n*threads\n%s*methods\n%s*end\n" % (version, b"".join(threads), b"".join(methods)) + header + records


data = open(path, "rb").read()
data = bytearray(data if data.startswith(b"*version") else as_file(data))
records = data.find(b"*end\n") + len("*end\n")
version, offset = struct.unpack_from("<4xHH", data, records)
size = struct.unpack_from("<H", data, records + 16)[0]
dual = version == 3 and b"clock=dual" in data[:200]
calls, early = collections.Counter(), set() # the depth of each thread, and the methods that end without a start
for at in range(records + offset, len(data) - size + 1, size):
    if dual:
        data[at + 6 : at + 10] = data[at + 10 : at + 14]
    thread, method = struct.unpack_from("<HI", data, at)
    if method & 3 == 0:
        calls[thread] += 1
    elif calls[thread]:
        calls[thread] -= 1
    else:
        early.add(method & ~3)
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
left = {name for name, in duckdb.sql(f"SELECT name FROM '{dataset}/slice.parquet' WHERE dur < 0").fetchall()}
for method, kind, name, signature in re.findall(rb"^(\w+)\t(.*?)\t(.*?)\t(.*?)\t", data[:records], re.M):
    if int(method, 16) in early:
        left.add(f"{kind.decode()}.{name.decode()}: {signature.decode()}")
for name in left | {"(toplevel)"}:
    for values in got, want:
        values.pop(name.replace(";", ":"), None)
sys.exit(compare(metric, got, want))
