"""Compares the ftrace events of a Perfetto trace with a dataset: none whose fields have other wire types than Perfetto's
ftrace messages declare, or of sched_switch without pids, may have a row; all others must.

usage: chk_ftrace_types.py TRACE DATASET

Slices of threads that only marks (print) and signals make are nested here anew.
"""
import collections, duckdb, os, sys

import protobuf
from protobuf import fields

path, dataset = sys.argv[1:3]
data = protobuf.read(path)

# The types in protos/perfetto/trace/ftrace/*.proto: s is a string, i a number.
declared = {
    3: ('print', {1: 'i', 2: 's'}),
    4: ('sched_switch', {1: 's', 2: 'i', 3: 'i', 4: 'i', 5: 's', 6: 'i', 7: 'i'}),
    18: ('sched_blocked_reason', {1: 'i', 2: 'i', 3: 'i'}),
    21: ('ipi_entry', {1: 's'}),
    51: ('binder_transaction_received', {1: 'i'}),
    52: ('binder_set_priority', {1: 'i', 2: 'i', 3: 'i', 4: 'i', 5: 'i'}),
    53: ('binder_lock', {1: 's'}),
    54: ('binder_locked', {1: 's'}),
    55: ('binder_unlock', {1: 's'}),
}
right, wrong, unknown = collections.Counter(), collections.Counter(), collections.Counter()
times, prints, marked = set(), [], []
for f, packet in fields(data):
    for g, bundle in fields(packet) if f == 1 else ():
        if g != 1:
            continue
        cpu = 0
        events = []
        for k, v in fields(bundle):
            if k == 1:
                cpu = v
            elif k == 2:
                events.append(list(fields(v)))
        for event in events:
            ts = next(v for k, v in event if k == 1)
            pid = next((v for k, v in event if k == 2), None)
            for k, body in event:
                if not isinstance(body, bytes):
                    continue
                name, types = declared.get(k, (None, {}))
                if name is None:
                    unknown[ts] += 1
                    continue
                got = list(fields(body))
                bad = any(n in types and (types[n] == 's') != isinstance(v, bytes) for n, v in got)
                bad |= k == 4 and not {2, 6} <= {n for n, _ in got}
                if bad:
                    wrong[name, ts, cpu] += 1
                else:
                    right[name, ts, cpu] += 1
                    if k == 3:
                        prints.append((ts, pid, next(v for n, v in got if n == 2)))

con, failed = duckdb.connect(), False
def rows(query, *tables):
    if not all(os.path.exists(f'{dataset}/{t}.parquet') for t in tables):
        return []
    return con.execute(query.format(**{t: f"'{dataset}/{t}.parquet'" for t in tables})).fetchall()
def compare(what, raw, got):
    global failed
    raw, got = collections.Counter(raw), collections.Counter(got)
    missing, extra = raw - got, got - raw
    print(f'{what}: raw {sum(raw.values())}, dataset {sum(got.values())}, missing {sum(missing.values())}, extra {sum(extra.values())}', *list(missing)[:3], *list(extra)[:3])
    failed |= bool(missing or extra)

names = tuple(n for n, _ in declared.values())
compare('ftrace_event', right, rows(f'select name, ts, cpu from {{ftrace_event}} where name in {names}', 'ftrace_event'))
damaged = rows("select sum(value)::bigint from {stats} where name = 'ftrace_bundle_tokenizer_errors'", 'stats')[0][0] or 0
print('damaged: raw', sum(wrong.values()), 'dataset', damaged, dict(collections.Counter(n for n, _, _ in wrong.elements())))
failed |= damaged != sum(wrong.values())
switches = sum(n for (name, _, _), n in right.items() if name == 'sched_switch')
compare('switches', [switches], [len(rows('select ts from {sched_slice}', 'sched_slice'))])
compare('threads that ran', [], [] if switches else rows("select ts from {thread_state} where state = 'Running'", 'thread_state'))

stacks = collections.defaultdict(list)
for ts, pid, text in sorted(prints, key=lambda p: p[0]):
    parts = text.rstrip(b'\n\0').split(b'|')
    if parts[0] == b'B' and len(parts) > 2:
        name = b'|'.join(parts[2:]).decode('utf8', 'replace')
        stacks[pid].append((ts, name or '[empty slice name]'))
    elif parts[0] == b'E' and stacks[pid]:
        begin, name = stacks[pid].pop()
        marked.append((begin, ts - begin, name, pid, len(stacks[pid])))
    elif parts[0] == b'I' and len(parts) > 2:
        marked.append((ts, 0, parts[2].decode('utf8', 'replace'), pid, len(stacks[pid])))
for pid, stack in stacks.items():
    marked += [(ts, -1, name, pid, depth) for depth, (ts, name) in enumerate(stack)]
compare('slices of marks', marked, rows("""select s.ts, s.dur, s.name, t.tid, s.depth from {slice} s join {thread_track} k on s.track_id = k.id
    join {thread} t using (utid) where s.name <> 'signal_deliver'""", 'slice', 'thread_track', 'thread'))
sys.exit(failed)
