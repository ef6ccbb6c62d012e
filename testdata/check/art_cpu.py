"""Compare the CPU times of calls in an ART method trace with those of the slices.

usage: art_cpu.py TRACE DATASET

A record of version 3 has a thread, a method with the action in its lowest bits (0 begins a call, others end it), the CPU time of the thread and the
time, both in µs. In a stream, a thread of 0 begins other parts, of which only the length is read.
"""
import collections, gzip, struct, sys

import duckdb

path, dataset = sys.argv[1:3]
data = open(path, "rb").read()
if data.startswith(b"\x1f\x8b"):
    data = gzip.decompress(data)
streamed = not data.startswith(b"*version")
head = 0 if streamed else data.find(b"*end\n") + len("*end\n")
version, offset = struct.unpack_from("<4xHH", data, head)
if version & 0x0F != 3:
    print(f"version {version & 0x0F} has no CPU times")
    sys.exit(2)
size = struct.unpack_from("<H", data, head + 16)[0]
start = struct.unpack_from("<Q", data, head + 8)[0]
at, open_calls, want = head + offset, collections.defaultdict(list), collections.Counter()
while at + size <= len(data):
    thread, method, cpu, time = struct.unpack_from("<HIII", data, at)
    if streamed and thread == 0:
        kind = data[at + 2]
        if kind == 3:
            break
        text = at + (5 if kind == 2 else 3)
        at = text + 2 + struct.unpack_from("<H", data, text)[0]
        continue
    at += size
    if method & 3 == 0:
        open_calls[thread].append((cpu, time))
    elif open_calls[thread]:
        begin, began = open_calls[thread].pop()
        want[thread, (start + began) * 1000, (time - began) * 1000, begin * 1000, (cpu - begin) * 1000] += 1
got = collections.Counter(duckdb.sql(f"""
    SELECT thread.tid, s.ts, s.dur, s.thread_ts, s.thread_dur
    FROM '{dataset}/slice.parquet' AS s JOIN '{dataset}/thread_track.parquet' AS k ON k.id = s.track_id JOIN '{dataset}/thread.parquet' AS thread ON thread.id = k.utid
    WHERE s.dur >= 0""").fetchall())
differ = (got - want) + (want - got)
print(f"{want.total()} calls, {differ.total()} differ")
for row in list(differ)[:5]:
    print(row, "dataset", got[row], "trace", want[row])
sys.exit(bool(differ))
