"""Compares the scheduling in ftrace events of a Perfetto trace with a dataset: slices, frequencies, wakers, reasons to block.

usage: chk_proto_sched.py TRACE DATASET

Traces whose ftrace clock is not the boot clock are left out.
"""
import bisect, collections, duckdb, os, sys, zlib

import protobuf
from protobuf import fields, packed, signed, varint

path, dataset = sys.argv[1:3]
data = protobuf.read(path)
def packets(b):
    for f, v in fields(b):
        if f == 1:
            inner = [x for k, x in fields(v) if k == 50]
            if inner:
                for x in inner:
                    yield from packets(zlib.decompress(x))
            else:
                yield v
def ints(body, texts):
    """The fields of a message, or None if one has another type than declared."""
    got = list(fields(body))
    if any((n in texts) != isinstance(v, bytes) for n, v in got if n < 10):
        return None
    return dict(got)

switches, freq, wakes, blocks = [], [], [], collections.defaultdict(list)
for packet in packets(data):
    for f, bundle in fields(packet):
        if f != 1:
            continue
        parts = list(fields(bundle))
        if any(k == 5 and v for k, v in parts):
            sys.exit('another clock than boottime: left out')
        cpu = dict((k, v) for k, v in parts if k == 1).get(1, 0)
        for k, event in parts:
            if k == 2:
                event = list(fields(event))
                head = dict((n, v) for n, v in event if n < 3)
                ts, pid = head.get(1, 0), head.get(2, 0)
                for n, body in event:
                    if n == 4 and (m := ints(body, {1, 5})) and 2 in m and 6 in m:
                        switches.append((ts, cpu, signed(m[2]), signed(m[6]), signed(m.get(7, 0))))
                    elif n == 11 and (m := ints(body, {})):
                        freq.append((ts, m.get(2, 0), m.get(1, 0)))
                    elif n == 20 and (m := ints(body, {1})) and 2 in m:
                        wakes.append((ts, signed(m[2]), pid))
                    elif n == 235 and (m := ints(body, {2})) and 1 in m:
                        wakes.append((ts, signed(m[1]), pid))
                    elif n == 18 and (m := ints(body, {})) and 1 in m:
                        blocks[signed(m[1])].append((ts, m.get(3, 0)))
            elif k == 4:
                columns = collections.defaultdict(list)
                for n, v in fields(event):
                    if n != 5:
                        columns[n] += packed(v)
                ts = 0
                for delta, pid, prio in zip(columns[1], columns[3], columns[4]):
                    ts += delta
                    switches.append((ts, cpu, None, signed(pid), signed(prio)))
                ts = 0
                for delta, pid in zip(columns[7], columns[8]):
                    ts += delta
                    wakes.append((ts, signed(pid), ('cpu', cpu)))

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

# Before the data of all CPUs is complete, events are only in ftrace_event.
begin = rows("select max(int_value) from {metadata} where name in ('ftrace_latest_data_start_ns', 'tracing_started_ns')", 'metadata')
begin = begin[0][0] if begin and begin[0][0] else 0
switches.sort(key=lambda s: s[0])
slices, running = [], {}
for ts, cpu, prev, pid, prio in switches:
    if ts < begin:
        if prev is None:
            running[cpu] = None
        continue
    if prev is None and cpu not in running:
        running[cpu] = (ts, pid, prio, False)  # a compact switch: the one before it on the CPU is not known
        continue
    if running.get(cpu):
        at, tid, p, counts = running[cpu]
        if counts:
            slices.append((at, ts - at if prev in (None, tid) else -1, cpu, tid, p))
    running[cpu] = (ts, pid, prio, True)
slices += [(at, -1, cpu, tid, p) for cpu, r in running.items() if r for at, tid, p, counts in [r] if counts]
compare('sched_slice', slices, rows('select s.ts, s.dur, s.cpu, t.tid, s.priority from {sched_slice} s join {thread} t using (utid)', 'sched_slice', 'thread'))
compare('cpufreq', [f for f in freq if f[0] >= begin], rows("select c.ts, t.cpu, c.value::bigint from {counter} c join {cpu_counter_track} t on c.track_id = t.id where t.name = 'cpufreq' and c.ts >= %d" % begin, 'counter', 'cpu_counter_track'))
on = collections.defaultdict(list)
for ts, cpu, _, pid, _ in switches:
    on[cpu].append((ts, pid))
def current(cpu, ts):
    i = bisect.bisect_right(on[cpu], (ts, 1 << 62)) - 1
    return on[cpu][i][1] if i >= 0 else None
wakers = collections.defaultdict(set)
for ts, tid, by in wakes:
    wakers[ts, tid].add(current(by[1], ts) if isinstance(by, tuple) else by)
states = rows('select s.ts, s.dur, t.tid, w.tid, s.io_wait from {thread_state} s join {thread} t using (utid) left join {thread} w on s.waker_utid = w.utid', 'thread_state', 'thread')
compare('thread_state with another waker', [], [s for s in states if s[3] is not None and s[3] not in wakers[s[0], s[2]]])
compare('thread_state with io_wait without a reason', [], [s for s in states if s[4] is not None and not any(s[0] <= ts and bool(io) == s[4] for ts, io in blocks[s[2]])])
sys.exit(failed)
