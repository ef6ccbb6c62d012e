#!/usr/bin/env python3
"""json_threads.py TRACE DATASET: compares which thread and process each slice of a Chrome JSON trace belongs to, and its args beyond int64.

Reads the trace with Python's json and the dataset with duckdb. Prints what differs, and exits with 1 if anything does.
"""
import collections
import sys

import duckdb

from trace_events import load, ns

trace, dataset = sys.argv[1:]
events = load(trace)


def ident(v):
    """A pid or tid: an int, or text that is none."""
    if v is None or isinstance(v, (bool, dict, list)):
        return None
    if isinstance(v, str):
        return int(v) if v.lstrip("-").isdigit() and str(int(v)) == v else v
    return int(v) if v == int(v) else str(v)


want, big = collections.defaultdict(collections.Counter), collections.Counter()
numbers = set()


def integers(v):
    if isinstance(v, dict) or isinstance(v, list):
        for inner in v.values() if isinstance(v, dict) else v:
            yield from integers(inner)
    elif isinstance(v, int) and not -2**63 <= v < 2**63:
        yield float(v)


for e in events:
    pid, tid = ident(e.get("pid")), ident(e.get("tid"))
    numbers |= {n for n in (pid, tid) if isinstance(n, int)}
    kind = e["ph"][0]
    if kind == "X" and "dur" not in e and "tdur" not in e:
        continue
    if kind in "XB" or kind in "iIR" and e.get("s") not in ("p", "g") and tid is not None:
        want[pid, pid if tid is None else tid][ns(e["ts"]), e.get("name") or "[No name]"] += 1
        big.update(integers(e.get("args")))

db = duckdb.connect()
table = lambda name: f"read_parquet('{dataset}/{name}.parquet')"
got, owner = collections.defaultdict(collections.Counter), {}
for utid, pid, tid, pname, tname, ts, name in db.execute(f"""
    SELECT utid, pid, tid, p.name, t.name, s.ts, s.name FROM {table('slice')} s JOIN {table('track')} k ON s.track_id = k.id
    JOIN {table('thread')} t USING (utid) LEFT JOIN {table('process')} p ON p.upid = t.upid""").fetchall():
    got[utid][ts, name] += 1
    owner[utid] = pid, tid, pname, tname

bad, used = [], set()
for (pid, tid), slices in want.items():
    fits = [u for u, (p, t, _, _) in owner.items() if got[u] == slices and u not in used
            and (p == (pid or 0) if not isinstance(pid, str) else p not in numbers)
            and (t == (tid or 0) if not isinstance(tid, str) else t not in numbers)]
    if fits:
        used.add(fits[0])
    else:
        bad.append(f"pid {pid!r} tid {tid!r}: no thread has its {slices.total()} slices")
bad += [f"utid {u}, {owner[u]}: {got[u].total()} slices of no thread of the trace" for u in got if u not in used]
reals = collections.Counter(v for v, in db.execute(f"""SELECT real_value FROM {table('args')} a JOIN {table('slice')} s USING (arg_set_id)
    JOIN {table('track')} k ON s.track_id = k.id WHERE utid IS NOT NULL AND abs(real_value) >= 9223372036854775807""").fetchall())
if big - reals:
    bad.append(f"integers beyond int64 without their real value: {list((big - reals).items())[:5]}")
print(trace.split("/")[-1][:60], len(want), "threads", sum(c.total() for c in want.values()), "slices", sum(big.values()), "large integers,", len(bad), "differences")
for line in bad[:10]:
    print("  ", line)
sys.exit(bool(bad))
