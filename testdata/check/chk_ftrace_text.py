"""Compares a dataset with ftrace text or a systrace page, read by regular expressions and integers.

usage: chk_ftrace_text.py TRACE DATASET

Scheduling, marks (B, E, C), frequencies, wakers, reasons to block, that all other times are those of events, and that each
tid and pid that a list or an event names is one row. A tid that task_newtask starts after an event named it is a second one.
"""
import collections, duckdb, os, re, sys

from ftrace_text import load

path, dataset = sys.argv[1:3]
text = load(path)
line = re.compile(r'^ *(.*?)-(\d+) +(?:\( *([\d-]+)\) +)?\[(\d+)\] +(?:([^ ]{4,6}) +)?(\d+)\.(\d+): ([^ ]+): ?(.*)$')
switch = re.compile(r'prev_comm=(.*) prev_pid=(\d+) prev_prio=(-?\d+) prev_state=(\S+)(?: ==>)? next_comm=(.*) next_pid=(\d+) next_prio=(-?\d+)')

report = re.compile(r'(.*):(\d+) \[(-?\d+)\] (\S+) ==> (.*):(\d+) \[(-?\d+)\]$')  # as trace-cmd report writes it
def switched(args):
    return switch.search(args) or report.match(args)

events, processes, threads = [], {}, {}
listing = ''
for l in text.split('\n'):
    l = l.rstrip('\r')
    if l.endswith('\\n\\'):
        l = l[:-3]
    words = l.split()
    if '</script' in l or l.startswith('#'):
        listing = ''
    elif words[:4] == ['USER', 'PID', 'PPID', 'VSZ']:
        listing = 'process'
    elif words[:4] == ['USER', 'PID', 'TID', 'CMD']:
        listing = 'thread'
    elif listing == 'process' and len(words) >= 10:
        processes[int(words[1])] = words[8]
        processes.setdefault(int(words[2]), None)
    elif listing == 'thread' and len(words) >= 4:
        threads[int(words[2])] = int(words[1])
    m = line.match(l)
    if m:
        task, pid, tgid, cpu, _, seconds, rest, name, args = m.groups()
        ns = int(seconds) * 10**9 + int(rest.ljust(9, '0')[:9])
        events.append((ns, int(cpu), int(pid), tgid, name, args.strip()))
events.sort(key=lambda e: e[0])
times = {e[0] for e in events}
if not events:
    sys.exit('no event was read: is it ftrace text?')

con, failed = duckdb.connect(), False
def rows(query, *tables):
    if not all(os.path.exists(f'{dataset}/{t}.parquet') for t in tables):
        return []
    for t in sorted(tables, key=len, reverse=True):
        query = re.sub(r'\b%s\b(?!\.)' % t, f"'{dataset}/{t}.parquet'", query)
    return con.execute(query).fetchall()
def compare(what, raw, got):
    global failed
    raw, got = collections.Counter(raw), collections.Counter(got)
    missing, extra = raw - got, got - raw
    print(f'{what}: raw {sum(raw.values())}, dataset {sum(got.values())}, missing {sum(missing.values())}, extra {sum(extra.values())}', *list(missing)[:3], *list(extra)[:3])
    failed |= bool(missing or extra)

slices, running, seen, starts, freq, idle, counters, wakes, blocks = [], {}, set(), collections.Counter(), [], [], [], set(), collections.defaultdict(list)
marks, stacks = [], collections.defaultdict(list)
ready, state, waking, created = [], {}, False, False  # what wakeups make runnable; sched_wakeup does it in traces without sched_waking
def wake(ts, tid):
    if tid and state.get(tid) not in ('Running', 'R'):
        ready.append((ts, tid))
        state[tid] = 'R'
named = set(processes) | set(threads)
def touch(tid):
    seen.add(tid)
for ts, cpu, pid, tgid, name, args in events:
    touch(pid)
    if name == 'sched_switch' and (m := switched(args)):
        prev, after, prio = int(m[2]), int(m[6]), int(m[7])
        touch(prev), touch(after)
        if cpu in running:
            begin, tid, p = running.pop(cpu)
            if tid == prev:
                slices.append((begin, ts - begin, cpu, tid, p))
            else:
                slices.append((begin, -1, cpu, tid, p))
        running[cpu] = (ts, after, prio)
        state[prev] = 'R' if m[4] in ('R', 'R+', '0') else m[4]
        state[after] = 'Running'
    elif name in ('sched_wakeup', 'sched_wakeup_new') and (m := re.search(r'\bpid=(\d+)', args) or re.search(r':(\d+) \[', args)):
        touch(int(m[1]))
        target = re.search(r'(?:target_cpu=|CPU:)(\d+)', args)
        if not re.search(r'success=0', args) and not (created if name == 'sched_wakeup_new' else waking):
            wake(ts, int(m[1]))
            if target and int(target[1]) != cpu:  # elsewhere it may be of another CPU
                wakes.add((ts, int(m[1]), pid))
    elif name in ('sched_waking', 'sched_blocked_reason') and (m := re.search(r'\bpid=(\d+)', args)):
        touch(int(m[1]))
        if name == 'sched_waking':
            waking = True
            wake(ts, int(m[1]))
            wakes.add((ts, int(m[1]), pid))
        else:
            blocks[int(m[1])].append(ts)
    elif name == 'cpu_idle' and (m := re.search(r'state=(\d+) cpu_id=(\d+)', args)):
        idle.append((ts, int(m[2]), int(m[1])))
    elif name == 'cpu_frequency' and (m := re.search(r'state=(\d+) cpu_id=(\d+)', args)):
        freq.append((ts, int(m[2]), int(m[1])))
    elif name == 'task_newtask' and (m := re.search(r'\bpid=(\d+)', args)):
        tid = int(m[1])
        starts[tid] += tid in seen
        wakes.add((ts, tid, pid))
        touch(tid)
        created = True
        state[tid] = 'R'
        ready.append((ts, tid))
    elif name in ('tracing_mark_write', '0', 'print'):
        mark = args.split('|')
        if mark[0] == 'B' and len(mark) > 2:
            stacks[pid].append((ts, '|'.join(mark[2:]).rstrip() or '[empty slice name]'))
        elif mark[0] == 'E' and stacks[pid]:
            begin, label = stacks[pid].pop()
            marks.append((begin, ts - begin, label, pid, len(stacks[pid])))
        elif mark[0] == 'I' and len(mark) > 2:
            marks.append((ts, 0, mark[2], pid, len(stacks[pid])))
        elif mark[0] == 'C' and len(mark) > 3:
            counters.append((ts, mark[2], float(mark[3])))
slices += [(b, -1, cpu, tid, p) for cpu, (b, tid, p) in running.items()]
for pid, open_ in stacks.items():
    marks += [(b, -1, label, pid, i) for i, (b, label) in enumerate(open_)]

compare('sched_slice', slices, rows('select s.ts, s.dur, s.cpu, t.tid, s.priority from sched_slice s join thread t using (utid)', 'sched_slice', 'thread'))
compare('ftrace_event', [(e[0], e[4], e[1]) for e in events if e[4] == 'sched_switch'], rows('select ts, name, cpu from ftrace_event', 'ftrace_event'))
compare('args of ftrace_event', [(e[0], e[1], m[1], int(m[2]), int(m[3]), m[5], int(m[6]), int(m[7])) for e in events if e[4] == 'sched_switch' and (m := switched(e[5]))],
    rows("""select e.ts, e.cpu, max(string_value) filter (key = 'prev_comm'), max(int_value) filter (key = 'prev_pid'), max(int_value) filter (key = 'prev_prio'),
        max(string_value) filter (key = 'next_comm'), max(int_value) filter (key = 'next_pid'), max(int_value) filter (key = 'next_prio')
        from ftrace_event e join args a using (arg_set_id) group by e.id, e.ts, e.cpu""", 'ftrace_event', 'args'))
compare('cpufreq', freq, rows("select c.ts, t.cpu, c.value::bigint from counter c join cpu_counter_track t on c.track_id = t.id where t.name = 'cpufreq'", 'counter', 'cpu_counter_track'))
compare('cpuidle', idle, rows("select c.ts, t.cpu, c.value::bigint from counter c join cpu_counter_track t on c.track_id = t.id where t.name = 'cpuidle'", 'counter', 'cpu_counter_track'))
if counters:
    names = {c[1] for c in counters}
    compare('counters', counters, [r for r in rows("select c.ts, t.name, c.value from counter c join process_counter_track t on c.track_id = t.id where t.classification <> 'process_memory'", 'counter', 'process_counter_track') if r[1] in names])
on_threads = rows('select s.ts, s.dur, s.name, t.tid, s.depth, s.category from slice s join thread_track k on s.track_id = k.id join thread t using (utid)', 'slice', 'thread_track', 'thread')
others = {r[3] for r in on_threads if r[5]}  # threads with other slices, of binder or a workqueue, among those of marks
compare('slices of marks', [m for m in marks if m[3] not in others], [r[:5] for r in on_threads if r[3] not in others])
states = rows('select s.ts, s.dur, t.tid, s.state, w.tid, s.io_wait from thread_state s join thread t using (utid) left join thread w on s.waker_utid = w.utid', 'thread_state', 'thread')
# A switch that takes another thread off a CPU says that switches are missing: a state lasts until its thread runs again.
again = collections.defaultdict(list)
for b, _, _, tid, _ in slices:
    again[tid].append(b)
def until(tid, begin, dur):
    return dur if dur >= 0 else min((b for b in again[tid] if b > begin), default=begin - 1) - begin
compare('thread_state running', [(b, until(tid, b, d), cpu, tid) for b, d, cpu, tid, _ in slices if tid], rows("select s.ts, s.dur, s.cpu, t.tid from thread_state s join thread t using (utid) where s.state = 'Running' and t.tid <> 0", 'thread_state', 'thread'))
compare('thread_state at times of no event', [], [s for s in states if s[0] not in times or s[1] >= 0 and s[0] + s[1] not in times])
runnable = set(ready)
compare('thread_state runnable', ready, [(s[0], s[2]) for s in states if s[3] == 'R' and (s[0], s[2]) in runnable])
compare('thread_state with another waker', [], [s for s in states if s[4] is not None and (s[0], s[2], s[4]) not in wakes])
compare('thread_state blocked without a reason', [], [s for s in states if s[5] is not None and not any(s[0] <= ts for ts in blocks[s[2]])])
compare('other times of no event', [], rows('select ts from slice union all select ts from counter union all select ts + dur from slice where dur > 0', 'slice', 'counter') and
    [r for r in rows('select ts from slice union all select ts from counter union all select ts + dur from slice where dur > 0', 'slice', 'counter') if r[0] not in times])
bounds = [(min(times), max(times))]
compare('ends of bounds at times of no event', [], [t for r in rows('select start_ts, end_ts from trace_bounds', 'trace_bounds') for t in r if t not in times])
compare('tids', collections.Counter({t: 1 + starts[t] for t in seen | named}), [t for t, in rows('select tid from thread', 'thread') if t in seen | named])
lists = [p for p, in rows('select pid from process', 'process')]
compare('pids that occur twice', [p for p, n in starts.items() if n and p in processes], [p for p, n in collections.Counter(lists).items() if n > 1])
sys.exit(failed)
