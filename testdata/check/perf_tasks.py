"""Compares threads and processes with the records of their forks and exits in a perf.data file.

usage: perf_tasks.py FILE DATASET

PERF_RECORD_FORK and PERF_RECORD_EXIT have pid, parent's pid, tid and parent's tid (perf_event.h). Their time is that at the end of the
record, which perf takes, too; the one before it is up to some µs earlier. A fork that perf made up for a thread that ran before has the bit
MISC_FORK_EXEC, or no time; one that is listed so without an end and then forks began while perf listed all threads. A thread has a row if a sample, a name or a mapping mentions it, or if it is the main thread of a
process with such a thread, or of one that forked such a process. A process has ended if each of its threads has. The parent of a process
that ran before is known if it has a row.
"""
import collections, struct, sys

import duckdb

path, dataset = sys.argv[1:3]
with open(path, 'rb') as file:
    b = file.read()
GONE = (1 << 32) - 1  # the tid of a thread that has ended, though its CPU still runs it
SAMPLE, COMM, EXIT, FORK, MMAP, MMAP2 = 9, 3, 4, 7, 1, 10
IP, TID, TIME, CALLCHAIN, ID, CPU, STREAM_ID, IDENTIFIER = 1, 2, 4, 1 << 5, 1 << 6, 1 << 7, 1 << 9, 1 << 16
attrs, size, data_at, data_size = (struct.unpack_from('<Q', b, at)[0] for at in (24, 16, 40, 48))
kind = struct.unpack_from('<Q', b, attrs + 24)[0]
sampled = struct.unpack_from('<Q', b, attrs + 40)[0] >> 18 & 1  # sample_id_all


def records(data):
    at, packed = 0, []
    while at + 8 <= len(data):
        number, misc, length = struct.unpack_from('<IHH', data, at)
        if number in (81, 83):  # PERF_RECORD_COMPRESSED, PERF_RECORD_COMPRESSED2
            body = data[at + 8:at + length]
            packed.append(body if number == 81 else body[8:8 + struct.unpack_from('<Q', body)[0]])
        yield number, misc, data[at + 8:at + length]
        at += length + (struct.unpack_from('<Q', data, at + 8)[0] if number == 71 else 0)
    if packed:
        import zstandard
        stream = zstandard.ZstdDecompressor().decompressobj()
        yield from records(b''.join(map(stream.decompress, packed)))


def time_at_end(body):
    """The time in the fields that each record has at its end: TID, TIME, ID, STREAM_ID, CPU, IDENTIFIER."""
    after = 8 * sum(bool(kind & bit) for bit in (TIME, ID, STREAM_ID, CPU, IDENTIFIER))
    return struct.unpack_from('<Q', body, len(body) - after)[0] if sampled and kind & TIME else 0


events = []  # time, order at one time, what, pid, tid, parent's pid
for number, misc, body in records(b[data_at:data_at + data_size]):
    if number == SAMPLE:
        at = 8 * bool(kind & IDENTIFIER) + 8 * bool(kind & IP)
        pid, tid = struct.unpack_from('<iI', body, at)
        ts = struct.unpack_from('<Q', body, at + 8)[0]
        if pid >= 0:
            events.append((ts, 1, 'row', pid, tid, None))
    elif number in (COMM, MMAP, MMAP2):
        pid, tid = struct.unpack_from('<iI', body)
        if pid >= 0 and not (number != COMM and misc & 7 == 1):  # not of the kernel
            events.append((time_at_end(body), 2 if number == COMM else 1, 'row', pid, tid, None))
    elif number in (FORK, EXIT):
        pid, parent, tid = struct.unpack_from('<iiI', body)
        what = 'exit' if number == EXIT else 'before' if misc & 1 << 13 else 'fork'
        events.append((time_at_end(body), 1, what, pid, tid, parent))
events.sort(key=lambda e: e[:2])


class Task:
    def __init__(self, pid, tid, start=None):
        self.pid, self.tid, self.start, self.end, self.row = pid, tid, start, None, False


class Process:
    def __init__(self, pid, start=None, parent=None):
        self.pid, self.start, self.parent, self.tasks = pid, start, parent, []


tasks, processes, all_processes, before = {}, {}, [], {}


def process_of(pid, start=None, parent=None, new=False):
    if new or pid not in processes:
        processes[pid] = Process(pid, start, parent)
        all_processes.append(processes[pid])
    return processes[pid]


def task_of(pid, tid, start=None, new=False):
    if new or tid not in tasks:
        tasks[tid] = Task(pid, tid, start)
        process_of(pid).tasks.append(tasks[tid])
    return tasks[tid]


for ts, _, what, pid, tid, parent in events:
    if what == 'before':
        before[pid] = parent
    elif what == 'fork':
        if ts and tid in tasks and tasks[tid].start == ts:
            continue  # another event's record
        listed = tid in tasks and tasks[tid].row and tasks[tid].start is None and tasks[tid].end is None
        if listed:
            tasks[tid].start = ts or None
            if pid == tid:
                processes[pid].start, processes[pid].parent = ts or None, processes.get(parent)
            continue
        if pid == tid:
            process_of(pid, ts or None, processes.get(parent), new=True)
        task_of(pid, tid, ts or None, new=True)
    elif what == 'exit' and ts:
        task_of(pid, tid).end = ts
    elif what == 'row':
        if tid != GONE:
            task_of(pid, tid).row = True
        task_of(pid, pid)
        process = processes[pid]
        while process:  # the main thread has a row with its process
            for task in process.tasks:
                task.row |= task.tid == process.pid
            process = process.parent
for pid, parent in before.items():
    if pid in processes and parent in processes and processes[pid].start is None and processes[parent].start is None and pid != parent:
        processes[pid].parent = processes[parent]
known = {id(p) for p in all_processes if any(t.row for t in p.tasks)}
threads = collections.Counter((t.pid, t.tid, t.start, t.end) for p in all_processes for t in p.tasks if t.row and t.tid)
ended = collections.Counter(
    (p.pid, p.start, max(t.end for t in p.tasks) if all(t.end for t in p.tasks) else None,
     p.parent.pid if p.parent and id(p.parent) in known else None)
    for p in all_processes if id(p) in known and p.pid)
con = duckdb.connect()
differ = 0
for what, file, sql in (
        ('threads', threads, "SELECT pid, tid, t.start_ts, t.end_ts FROM '{d}/thread.parquet' t JOIN '{d}/process.parquet' USING (upid) WHERE tid > 0"),
        ('processes', ended, """SELECT p.pid, p.start_ts, p.end_ts, parent.pid FROM '{d}/process.parquet' p
                                LEFT JOIN '{d}/process.parquet' parent ON parent.upid = p.parent_upid WHERE p.pid > 0""")):
    table = collections.Counter(con.execute(sql.format(d=dataset)).fetchall())
    missing, extra = file - table, table - file
    differ += sum(missing.values()) + sum(extra.values())
    print(sum(file.values()), what, 'of the file,', sum(missing.values()), 'missing,', sum(extra.values()), 'more', [*missing][:3], [*extra][:3])
sys.exit(bool(differ))
