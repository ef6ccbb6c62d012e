"""Compares the slices of a Chrome JSON trace with what the Trace Event Format says of its events.

Usage: json_slices.py TRACE DATASET

Every X is a slice with its ts and dur; one with tdur alone had not ended when the recording did. An E ends the innermost open B of its thread that has its name (any, if it has none); an e ends the
innermost open b of its id that has its name, and an F the S. A B or b without its end ends with the slice around it, at the latest. T steps end at the next T or F. Instants, n and p have a duration of 0. An X that stands between a B of its time and the E
is inside of that slice. Prints the differences, exits 1 if there are any.
"""
import collections, sys

import duckdb

from trace_events import load, ns

path, dataset = sys.argv[1:3]
events = [e for e in load(path) if 'ts' in e]


def id_of(e):
    if 'id' in e:
        return e.get('cat'), str(e['id'])
    id2 = e.get('id2') or {}
    return (e.get('cat'), 'g', str(id2['global'])) if 'global' in id2 else (e.get('cat'), 'l', e.get('pid'), str(id2.get('local')))


want = collections.Counter()
opened = collections.defaultdict(list)  # ts, name
orphans = collections.defaultdict(list)  # b events around which a slice has ended, and its end


unended = collections.Counter()  # B events without an E, around which a slice has ended: as long as that, or open if they are the last
inner = collections.defaultdict(list)  # X events between a B of their time and its E, by the B's place in the file
inside = []  # the slices of such a B and X


def begin(where, e, name):
    opened[where].append([ns(e['ts']), name, id(e), None])


def end(where, e, name):
    stack, at = opened[where], ns(e['ts'])
    for i in range(len(stack) - 1, -1, -1):
        if not name or not stack[i][1] or stack[i][1] == name:
            ts, begun, b, limit = stack.pop(i)
            until = at if limit is None else min(at, limit)
            inside.extend((ts, until - ts, begun, x) for x in inner[b] if ts + x[1] <= until)
            want[ts, until - ts, begun or '[No name]'] += 1
            if where[0] == 'async':
                orphans[where] += [(ts, name, at) for ts, name, *_ in stack[i:]]
                del stack[i:]
            for slice in stack[i:]:
                slice[3] = at if slice[3] is None else min(at, slice[3])
            return
    for i in range(len(orphans[where]) - 1, -1, -1):
        if not name or orphans[where][i][1] == name:
            ts, begun, _ = orphans[where].pop(i)
            want[ts, ns(e['ts']) - ts, begun or '[No name]'] += 1
            return


open_b = collections.defaultdict(list)
for e in events:
    where = e.get('pid'), e.get('tid')
    if e['ph'] == 'B':
        open_b[where].append(e)
    elif e['ph'] == 'E' and open_b[where]:
        open_b[where].pop()
    elif e['ph'] == 'X' and 'dur' in e and open_b[where] and open_b[where][-1]['ts'] == e['ts']:
        inner[id(open_b[where][-1])].append((ns(e['ts']), ns(e['dur']), e.get('name')))
for e in sorted(events, key=lambda e: ns(e['ts'])):
    phase, name, on = e['ph'], e.get('name'), ('thread', str(e.get('pid')), str(e.get('tid')))
    if phase == 'X' and 'dur' in e and ns(e['dur']) >= 0:
        want[ns(e['ts']), ns(e['dur']), name or '[No name]'] += 1
    elif phase == 'B' or phase == 'X' and 'dur' not in e and 'tdur' in e:
        begin(on, e, name)
    elif phase == 'E':
        end(on, e, name)
    elif phase in 'iIR' or phase in 'np':
        label = name
        if phase == 'p':
            label = str((e.get('args') or {}).get('step', name))
        want[ns(e['ts']), 0, label or ('[No name]' if phase != 'n' else '')] += 1
    elif phase in 'be' and ('id' in e or 'id2' in e):
        (begin if phase == 'b' else end)(('async',) + id_of(e), e, name)
    elif phase in 'STF' and 'dur' not in e and ('id' in e or 'id2' in e):
        where = ('old', name) + id_of(e)
        if phase == 'S':
            begin(where, e, name)
            continue
        if opened[where + ('step',)]:
            end(where + ('step',), e, None)
        step = str((e.get('args') or {}).get('step', name))
        if phase == 'F':
            end(where, e, name)
        elif opened[where]:
            begin(where + ('step',), e, step)
        else:
            want[ns(e['ts']), 0, step] += 1
for where, stack in opened.items():
    for ts, name, _, limit in stack:
        around = [ns(x['ts']) + ns(x['dur']) for x in events if x['ph'] == 'X' and 'dur' in x and where == ('thread', str(x.get('pid')), str(x.get('tid')))
                  and ns(x['ts']) <= ts < ns(x['ts']) + ns(x['dur'])]
        if limit is not None:
            unended[ts, limit - ts, name or '[No name]'] += 1
        else:
            want[ts, min(around) - ts if around else -1, name or '[No name]'] += 1
for left in orphans.values():
    for ts, name, end in left:
        want[ts, end - ts, name or '[No name]'] += 1

db = duckdb.connect()
got = collections.Counter(db.execute(f"select ts, dur, coalesce(name, '') from read_parquet('{dataset}/slice.parquet')").fetchall())
want += collections.Counter(slice if got[slice] else (slice[0], -1, slice[2]) for slice in unended.elements())
missing, extra = list((want - got).elements()), list((got - want).elements())
print(f"{path.split('/')[-1]}: {sum(want.values())} slices in the file, {sum(got.values())} in the dataset, {len(missing)} missing, {len(extra)} extra")
for rows, what in (missing, 'missing'), (extra, 'extra'):
    for row in sorted(rows)[:3]:
        print('  ' + what, row)

nested = db.execute(f"""
select c.ts, c.dur, c.name, p.ts, p.dur, p.name from read_parquet('{dataset}/slice.parquet') c join read_parquet('{dataset}/slice.parquet') p
on c.parent_id = p.id join read_parquet('{dataset}/track.parquet') t on c.track_id = t.id
where not starts_with(t.type, 'legacy_async') and (c.depth <> p.depth + 1 or c.track_id <> p.track_id or c.ts < p.ts or p.dur >= 0 and c.ts + greatest(c.dur, 0) > p.ts + p.dur)
union all
select a.ts, a.dur, a.name, b.ts, b.dur, b.name from read_parquet('{dataset}/slice.parquet') b join
(select *, lead(id) over (partition by track_id, depth order by ts, id) next from read_parquet('{dataset}/slice.parquet')) a on b.id = a.next
where a.ts + a.dur > b.ts""").fetchall()
for row in nested[:3]:
    print('  not nested', row)
parents = {id_: (parent, slice) for id_, parent, *slice in db.execute(f"select id, parent_id, ts, dur, name from read_parquet('{dataset}/slice.parquet')").fetchall()}
ancestors = collections.defaultdict(set)
for id_, (parent, slice) in parents.items():
    while parent is not None:
        parent, above = parents[parent]
        ancestors[tuple(slice)].add(tuple(above))
outside = [pair for pair in inside if pair[:3] not in ancestors[pair[3]]]
for *b, x in outside[:3]:
    print('  not inside of the B that stands before it', x, b)
sys.exit(bool(missing or extra or nested or outside))
