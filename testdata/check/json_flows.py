"""Compares the flows of a Chrome JSON trace with the slices that the file's own correlation ids join.

Usage: json_flows.py TRACE DATASET

PyTorch's profiler (Kineto) gives a flow the id that the args of both its slices have as correlation. Such a flow must join
these slices. All other flows are bound by the Trace Event Format: at the slice of the thread that starts at the flow event's
time, or else at the one that encloses it and starts last. A begin takes the place of an earlier one of its id. Ties are accepted in any way. Prints the differences, exits 1 if there are any.
"""
import bisect, collections, sys

import duckdb

from trace_events import load, ns

path, dataset = sys.argv[1:3]
events = load(path)


def thread(event):
    return str(event.get('pid')), str(event.get('tid', event.get('pid')))


slices = collections.defaultdict(list)  # by thread: start, end, name, correlation
opened = collections.defaultdict(list)
flows = collections.defaultdict(list)
for order, e in enumerate(events):
    e['order'] = order
timed = sorted((e for e in events if 'ts' in e), key=lambda e: (ns(e['ts']), e['order']))
for e in timed:
    phase, on = e['ph'], slices[thread(e)]
    correlation = str((e.get('args') or {}).get('correlation')) if isinstance(e.get('args'), dict) else 'None'
    if phase == 'X' and 'dur' in e:
        on.append([ns(e['ts']), ns(e['ts']) + ns(e['dur']), e.get('name'), correlation])
    elif phase == 'B':
        on.append([ns(e['ts']), 1 << 62, e.get('name'), correlation])
        opened[thread(e)].append(on[-1])
    elif phase == 'E' and opened[thread(e)]:
        stack = opened[thread(e)]
        at = next((i for i in range(len(stack) - 1, -1, -1) if not e.get('name') or stack[i][2] == e['name']), None)
        if at is not None:
            stack.pop(at)[1] = ns(e['ts'])
    elif phase in 'iIR' and e.get('s', 't') == 't':
        on.append([ns(e['ts']), ns(e['ts']), e.get('name'), correlation])
    elif phase in 'stf' and 'id' in e:
        flows[e.get('cat'), e.get('name'), str(e['id'])].append(e)
for on in slices.values():
    on.sort(key=lambda s: (s[0], -s[1]))
starts = {t: [s[0] for s in on] for t, on in slices.items()}


def at_next(e):
    """Whether a flow event belongs to the next slice, and not to the one around it. Chrome wrote input flows before there was bp."""
    return e['ph'] == 'f' and e.get('bp') != 'e' and not any(c in e.get('cat', '') for c in ('input', 'ipc.flow'))


def candidates(e):
    """The slices to which a flow event may belong."""
    ts, on, of = ns(e['ts']), slices[thread(e)], str(e['id'])
    if at_next(e):
        at = bisect.bisect_left(starts.get(thread(e), []), ts)
        found = on[at:at + 1]
        later = bisect.bisect_right(starts.get(thread(e), []), ts)
        return on[at:later + 1] if found else []
    at = bisect.bisect_right(starts.get(thread(e), []), ts)
    best = []
    for s in reversed(on[:at]):
        if best and s[0] < best[0][0]:
            break
        if s[1] >= ts:
            best.append(s)
    exact = [s for s in best if s[3] == of]
    return exact or best


expected, correlated = collections.Counter(), 0
sides = []
for key, of in flows.items():
    begin, ended, of = None, True, sorted(of, key=lambda e: (ns(e['ts']), 'stf'.index(e['ph']), e['order']))
    while of:
        # Of those of one time an end comes first if it has a begin, at the next slice of its thread.
        now = [e for e in of if e['ts'] == of[0]['ts']]
        e = now[0] if ended else next(filter(at_next, now), now[0])
        of.remove(e)
        found = candidates(e)
        if e['ph'] != 's' and begin and found:
            sides.append((key, begin, found))
        if e['ph'] == 'f':
            ended = True
        elif found and (begin or e['ph'] == 's'):
            begin, ended = found, False

# Events that name a flow by bind_id belong to it themselves: those with flow_out begin it anew, those with flow_in end
# it, any number of them. At one time, the ends may come first in the file.
bound = collections.defaultdict(list)
for e in timed:
    if 'bind_id' in e and e['ph'] in 'XBbn':
        bound[str(e['bind_id'])].append(e)
for key, of in bound.items():
    begin = None
    for e in sorted(of, key=lambda e: (ns(e['ts']), not e.get('flow_out'), e['order'])):
        row = [[ns(e['ts']), 0, e.get('name'), str((e.get('args') or {}).get('correlation'))]]
        if e.get('flow_in') and begin:
            sides.append((key, begin, row))
        if e.get('flow_out'):
            begin = row

db = duckdb.connect()
table = lambda name: f"read_parquet('{dataset}/{name}.parquet')"
got = collections.Counter(db.execute(f"""
with ends as (select s.id, s.ts, s.name, (select coalesce(cast(max(a.int_value) as varchar), max(a.string_value))
    from {table('args')} a where a.arg_set_id = s.arg_set_id and a.key = 'args.correlation') correlation from {table('slice')} s)
select o.ts, o.name, o.correlation, i.ts, i.name, i.correlation from {table('flow')} f join ends o on f.slice_out = o.id join ends i on f.slice_in = i.id
""").fetchall())
total = sum(got.values())
wrong = sum(n for r, n in got.items() if r[2] and r[5] and r[2] != r[5])
missing = []
for key, begin, end in sides:
    for o in begin:
        for i in end:
            row = (o[0], o[2] or '[No name]', None if o[3] == 'None' else o[3], i[0], i[2] or '[No name]', None if i[3] == 'None' else i[3])
            if got[row]:
                got[row] -= 1
                break
        else:
            continue
        break
    else:
        missing.append((key, begin[:3], end[:3]))
extra = list(got.elements())
print(f"{path.split('/')[-1]}: {len(sides)} arrows in the file, {total} in the dataset, {wrong} join different correlations, {len(missing)} missing, {len(extra)} extra")
for m in missing[:3]:
    print('  missing', m)
for x in extra[:3]:
    print('  extra', x)
sys.exit(bool(missing or wrong or extra))
