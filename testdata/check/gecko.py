"""Compares the samples, markers, main threads and names of processes of a Firefox profile with the rows of a dataset.

usage: gecko.py PROFILE DATASET

Tables are in rows with a schema, as Gecko writes them, or in columns, as the Firefox Profiler does. A marker is a slice: phase 0 is a moment,
1 an interval, 2 a start and 3 an end of one name and thread. Profiles before version 19 have a time, and in the data of a marker its startTime
and endTime, or the interval ("start", "end") of a tracing marker. Processes start at their own times. A field of a marker whose format in
the marker schema is that of a text in the table of texts has its index.
"""
import collections, gzip, json, sys
from decimal import ROUND_HALF_EVEN, Decimal

import duckdb

path, dataset = sys.argv[1:3]
sys.setrecursionlimit(100000)
with open(path, 'rb') as file:
    raw = file.read()
if raw[:2] == b'\x1f\x8b':
    raw = gzip.decompress(raw)
samples, markers, texts = collections.Counter(), collections.Counter(), collections.Counter()
fields = collections.defaultdict(set)  # those with indices of texts, by the type of the marker
mains = {}  # whether each thread is a main thread, by pid and tid, where the file says so
processes = collections.defaultdict(set)  # names by pid; <123> is samply's placeholder


def ns(ms):
    return int((Decimal(ms) * 1000000).to_integral_value(ROUND_HALF_EVEN))


def column(table, name):
    if 'schema' not in table:
        return table.get(name)
    place = table['schema'].get(name)
    return None if place is None else [row[place] if place < len(row) else None for row in table['data']]


def tid_of(thread):
    tid = thread.get('tid')
    if isinstance(tid, str):
        tid = tid.split('.')[0]
        return int(tid) if tid.isdigit() else 0
    return tid or 0


def add_samples(thread, tid, strings, shared, shift):
    frames, stacks = (thread.get(t) or shared.get(t) for t in ('frameTable', 'stackTable'))
    locations = column(frames, 'location')
    if locations is None:
        functions = (thread.get('funcTable') or shared['funcTable'])['name']
        locations = [functions[f] for f in frames['func']]
    paths = []
    prefixes = column(stacks, 'prefix')
    if prefixes is None:
        prefixes = [i - offset if offset else None for i, offset in enumerate(stacks['prefixOffset'])]
    for prefix, frame in zip(prefixes, column(stacks, 'frame')):
        name = strings[locations[frame]].split(' (in ')[0]
        paths.append((paths[prefix] if prefix is not None else ()) + (name,))
    table = thread['samples']
    times = column(table, 'time')
    if times is None:
        times, at = [], Decimal(0)
        for delta in table.get('timeDeltas', []):
            at += Decimal(delta)
            times.append(at)
    for time, stack in zip(times, column(table, 'stack') or []):
        if stack is not None:
            samples[ns(time + shift), tid, paths[stack]] += 1


def add_markers(thread, tid, strings, shift):
    table = thread.get('markers') or {'name': []}
    names = column(table, 'name')
    columns = [column(table, c) or [None] * len(names) for c in ('phase', 'startTime', 'endTime', 'time', 'data')]
    begun = collections.defaultdict(list)
    for name, phase, start, end, time, data in zip(names, *columns):
        data = data or {}
        if phase is None:
            start, end = data.get('startTime'), data.get('endTime')
            interval = data.get('interval') if data.get('type') == 'tracing' else None
            phase = {'start': 2, 'end': 3}.get(interval, 0 if start is None or end is None else 1)
            start, end = (time, time) if phase != 1 else (start, end)
        if phase == 2:
            begun[name].append(start)
            continue
        if phase == 3:
            start = begun[name].pop() if begun[name] else None
        dur = ns(end) - ns(start) if phase in (1, 3) and start is not None else 0
        at = ns((start if start is not None else end) + shift)
        markers[at, dur, strings[name], tid] += 1
        for field in fields[data.get('type')] & data.keys():
            texts[at, strings[name], tid, f'data.{field}', strings[data[field]]] += 1
    for name, starts in begun.items():
        for start in starts:
            markers[ns(start + shift), -1, strings[name], tid] += 1


def add(profile, shift):
    shared = profile.get('shared') or {}
    for schema in profile.get('meta', {}).get('markerSchema', []):
        fields[schema['name']] |= {f['key'] for f in schema.get('fields') or schema.get('data') or [] if f.get('format') in ('unique-string', 'flow-id', 'terminating-flow-id')}
    for thread in profile.get('threads', []):
        if isinstance(thread, str):
            thread = json.loads(thread, parse_float=Decimal)
        if 'threads' in thread:
            add(thread, shift + Decimal(thread['meta']['startTime']) - Decimal(profile['meta']['startTime']))
            continue
        pid = str(thread.get('pid') or '').split('.')[0]
        if pid.isdigit() and int(pid) and thread.get('processName'):
            processes[int(pid)] |= {thread['processName']} - {f'<{thread["pid"]}>'}
        if 'isMainThread' in thread and tid_of(thread):
            key = int(pid) if pid.isdigit() else 0, tid_of(thread)
            mains[key] = mains.get(key, False) or thread['isMainThread']
        strings = thread.get('stringTable') or thread.get('stringArray') or shared.get('stringArray') or []
        add_samples(thread, tid_of(thread), strings, shared, shift)
        add_markers(thread, tid_of(thread), strings, shift)
    for process in profile.get('processes', []):
        add(process, shift + Decimal(process['meta']['startTime']) - Decimal(profile['meta']['startTime']))


add(json.loads(raw, parse_float=Decimal), Decimal(0))
con = duckdb.connect()


def rows(sql):
    try:
        return con.execute(sql.format(d=dataset)).fetchall()
    except duckdb.IOException:
        return []


stacks = {None: ()}
for id_, parent, name in rows("SELECT c.id, c.parent_id, f.name FROM '{d}/stack_profile_callsite.parquet' c JOIN '{d}/stack_profile_frame.parquet' f ON f.id = c.frame_id ORDER BY c.depth"):
    stacks[id_] = stacks[parent] + (name,)
got = collections.Counter((ts, tid, stacks[c]) for ts, tid, c in rows("SELECT s.ts, t.tid, s.callsite_id FROM '{d}/stack_sample.parquet' s LEFT JOIN '{d}/thread.parquet' t USING (utid)"))
slices = collections.Counter(rows("SELECT s.ts, s.dur, s.name, t.tid FROM '{d}/slice.parquet' s LEFT JOIN '{d}/thread_track.parquet' tt ON tt.id = s.track_id LEFT JOIN '{d}/thread.parquet' t USING (utid)"))
args = collections.Counter(row for row in rows("SELECT s.ts, s.name, t.tid, a.key, a.string_value FROM '{d}/slice.parquet' s JOIN '{d}/args.parquet' a USING (arg_set_id) LEFT JOIN '{d}/thread_track.parquet' tt ON tt.id = s.track_id LEFT JOIN '{d}/thread.parquet' t USING (utid)")
                           if row[3] in {f'data.{f}' for names in fields.values() for f in names} and row[4] is not None)
differ = 0
for what, file, dataset_rows in ('samples', samples, got), ('markers', markers, slices), ('texts of markers', texts, args):
    missing, extra = file - dataset_rows, dataset_rows - file
    differ += sum(missing.values()) + sum(extra.values())
    print(sum(file.values()), what, 'of the file,', sum(missing.values()), 'missing,', sum(extra.values()), 'more', [*missing][:4], [*extra][:4])
names = dict(rows("SELECT pid, name FROM '{d}/process.parquet'"))
wrong = {pid: (of, names.get(pid)) for pid, of in processes.items() if pid in names and of and names[pid] not in of}
print(len(processes), 'processes with names,', len(wrong), 'wrong', wrong)
threads = {(pid, tid): bool(main) for pid, tid, main in rows("SELECT pid, tid, is_main_thread FROM '{d}/thread.parquet' JOIN '{d}/process.parquet' p USING (upid) WHERE tid != 0")}
unlike = {thread: main for thread, main in threads.items() if mains and mains.get(thread) != main}
print(len(mains), 'threads are main threads or not,', len(unlike), 'wrong', unlike)
sys.exit(bool(differ or wrong or unlike))
