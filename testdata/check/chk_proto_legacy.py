"""Compares the arrows and the asynchronous slices of Chrome's legacy events in a Perfetto trace with a dataset.

usage: chk_proto_legacy.py TRACE DATASET

An arrow goes from each event with a bind_id to the next event with the same one: out is where it starts anew, in where it ends, in
and out where it passes if it has started. All ends of an id start at the same event. A nestable asynchronous slice lasts from b
to the e of its id and name (any, if that has none); what was begun inside of it and has no e of its own ends with it.
"""
import collections, duckdb, sys

import protobuf
from protobuf import fields

path, dataset = sys.argv[1:3]
data = protobuf.read(path)
def lists(b):
    d = collections.defaultdict(list)
    for field, v in fields(b):
        d[field].append(v)
    return d

class Sequence:
    def __init__(self):
        self.names, self.categories, self.clocks, self.clock = {}, {}, {}, None

sequences = collections.defaultdict(Sequence)
boot = None  # what the boot clock is before the monotonic one
events = []  # ts, name, category, type, legacy event
for field, packet in fields(data):
    if field != 1:
        continue
    p = lists(packet)
    s = sequences[p[10][0] if p[10] else 0]
    if p[13] and p[13][0] & 1:
        s.names, s.categories = {}, {}
    for interned in p[12]:
        for kind, v in fields(interned):
            if kind in (1, 2):
                e = dict(fields(v))
                (s.categories if kind == 1 else s.names)[e[1]] = e.get(2, b'').decode()
    for snapshot in p[6]:
        clocks = [dict(fields(v)) for kind, v in fields(snapshot) if kind == 1]
        known = {c[1]: c[2] for c in clocks}
        if 3 in known and 6 in known and boot is None:
            boot = known[6] - known[3]
        for c in clocks:
            if 64 <= c[1] < 128:
                s.clocks[c[1]] = [c[2], c.get(4, 1), bool(c.get(3)), known.get(6, known.get(3, 0) + (boot or 0)) - c[2] * c.get(4, 1)]
    for defaults in p[59]:
        s.clock = dict(fields(defaults)).get(58, s.clock)
    ts, clock = p[8][0] if p[8] else None, p[58][0] if p[58] else s.clock
    if ts is None:
        continue
    if clock in s.clocks:
        c = s.clocks[clock]
        if c[2]:
            c[0] += ts
            ts = c[0]
        ts = ts * c[1] + c[3]
    elif clock == 3:
        ts += boot
    if not p[11]:
        continue
    e = lists(p[11][0])
    legacy = dict(fields(e[6][0])) if e[6] else {}
    name = e[23][0].decode() if e[23] else s.names.get(e[10][0] if e[10] else legacy.get(1))
    category = ','.join(s.categories.get(c, '') for c in e[3])
    events.append((ts, name, category, (e[36] + e[47], e[42] + e[48]), legacy))
events.sort(key=lambda e: e[0])

# The arrows.
arrows, open_flows = collections.Counter(), {}
for ts, name, category, (passing, ending), legacy in events:
    bind, direction = legacy.get(8), legacy.get(13, 0)  # in: 1, out: 2, in and out: 3
    for id in passing + ending:
        if id in open_flows:
            arrows[open_flows[id], (ts, name)] += 1
        open_flows[id] = (ts, name)
    for id in ending:
        open_flows.pop(id, None)
    if bind and direction & 1 and bind in open_flows:
        arrows[open_flows[bind], (ts, name)] += 1
    if bind and direction & 2 and (direction == 2 or bind in open_flows):
        open_flows[bind] = (ts, name)

# The asynchronous slices.
slices, open_slices = collections.Counter(), collections.defaultdict(list)
for ts, name, category, _, legacy in events:
    key = next(((field, legacy[field]) for field in (6, 10, 11) if field in legacy), None)
    phase = chr(legacy.get(2, 0))
    if phase == 'n' and key is not None:
        slices[ts, name, 0] += 1
    if phase not in 'be' or key is None:
        continue
    stack = open_slices[key, category]
    if phase == 'b':
        stack.append((ts, name))
        continue
    at = next((i for i in range(len(stack) - 1, -1, -1) if name is None or stack[i][1] == name), None)
    if at is None:
        continue
    for begin, inner in stack[at:]:
        slices[begin, inner, ts - begin] += 1
    del stack[at:]
for stack in open_slices.values():
    for begin, name in stack:
        slices[begin, name, -1] += 1

db = duckdb.connect()
got = collections.Counter((tuple(r[:2]), tuple(r[2:])) for r in db.sql(f"""
    SELECT o.ts, o.name, i.ts, i.name FROM '{dataset}/flow.parquet' f
    JOIN '{dataset}/slice.parquet' o ON o.id = f.slice_out JOIN '{dataset}/slice.parquet' i ON i.id = f.slice_in""").fetchall())
rows = collections.Counter(db.sql(f"""
    SELECT s.ts, s.name, s.dur FROM '{dataset}/slice.parquet' s JOIN '{dataset}/track.parquet' t ON t.id = s.track_id
    WHERE t.classification LIKE 'legacy_async%'""").fetchall())
# Snapshots of clocks differ by less than a microsecond from each other. Which one counts is not compared here.
shift = min((ts for ts, _, _ in rows), default=0) - min((ts for ts, _, _ in slices), default=0)
arrows = collections.Counter({tuple((ts + shift, name) for ts, name in a): n for a, n in arrows.items()})
slices = collections.Counter({(ts + shift, name, dur): n for (ts, name, dur), n in slices.items()})
known = {(ts + shift, name) for ts, name, *_ in events}
got = collections.Counter({arrow: n for arrow, n in got.items() if known.issuperset(arrow)})  # others are of other packets
bad = 0
for what, want, have in (('arrow', arrows, got), ('slice', slices, rows)):
    missing, extra = want - have, have - want
    print(f'{what}s: {sum(want.values())} in the file, {sum(have.values())} rows, {sum(missing.values())} missing, {sum(extra.values())} more')
    for sign, rest in (('-', missing), ('+', extra)):
        for row in list(rest)[:5]:
            print(' ', sign, row)
    bad += len(missing) + (what == 'arrow' and len(extra))  # other phases make slices, too
sys.exit(bad > 0)
