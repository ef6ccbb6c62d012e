"""Compares the events of tracepoints and the switches in a perf.data file with the rows of a dataset.

usage: perf_sched.py FILE DATASET

The samples of a tracepoint have the kernel's event in PERF_SAMPLE_RAW (perf_event.h). Its layout is that of the description with its ID in
TRACING_DATA (tools/perf/util/trace-event-info.c). Each such sample is a row of ftrace_event. If all threads were recorded, which THREAD_MAP
says by the pid -1, and each switch, a thread runs on a CPU from the switch to it to the next switch there; if that is from another thread,
a switch is missing, and nobody knows until when it ran (-1 ns). Without such events, the records SWITCH and SWITCH_CPU_WIDE of
--switch-events say the same: their misc has the bits OUT and OUT_PREEMPT, and their sample id the thread and the CPU. The fields of an
event are its args: numbers, the elements of arrays, and texts that end with a zero, in place or where __data_loc says. Of some tracepoints
the dataset names fields that it does not read.
"""
import collections, re, struct, sys

import duckdb

path, dataset = sys.argv[1:3]
with open(path, 'rb') as file:
    b = file.read()
IP, TID, TIME, ADDR, READ, CALLCHAIN, ID, CPU, PERIOD, STREAM_ID, RAW = (1 << i for i in range(11))
IDENTIFIER, TRACEPOINT, FREQ = 1 << 16, 2, 1 << 10


def numbers(format_, at, data=None):
    return struct.unpack_from('<' + format_, data or b, at)


size, attrs, attrs_size, data_at, data_size = numbers('5Q', 16)
events, by_id = [], {}
for at in range(attrs, attrs + attrs_size, size):
    kind, _, config, period, sample_type, _, flags = numbers('IIQQQQQ', at)
    events.append((kind, sample_type, not flags & FREQ and period <= 1))
    ids_at, ids_size = numbers('QQ', at + size - 16)
    for i in range(ids_at, ids_at + ids_size, 8):
        by_id[numbers('Q', i)[0]] = events[-1]
formats = {}  # by id: the name, and the type, place, size and sign of each field
for text in re.findall(rb'name: \w+\nID: \d+\nformat:\n.*?\nprint fmt', b, re.S):
    name, number = re.match(rb'name: (\w+)\nID: (\d+)', text).groups()
    fields = {f.decode(): (kind.decode() + array.decode(), int(at), int(n), signed == b'1') for kind, f, array, at, n, signed in re.findall(
        rb'field:([^;]*?)(\w+)(\[\w*\])?;\s*offset:(\d+);\s*size:(\d+);\s*signed:(\d)', text)}
    formats[int(number)] = name.decode(), fields


def records(data):
    at, packed = 0, []
    while at + 8 <= len(data):
        number, misc, length = numbers('IHH', at, data)
        if number in (81, 83):  # PERF_RECORD_COMPRESSED, PERF_RECORD_COMPRESSED2
            body = data[at + 8:at + length]
            packed.append(body if number == 81 else body[8:8 + numbers('Q', 0, body)[0]])
        yield number, misc, data[at + 8:at + length]
        at += length + (numbers('Q', at + 8, data)[0] if number == 71 else 0)
    if packed:
        import zstandard
        stream = zstandard.ZstdDecompressor().decompressobj()
        yield from records(b''.join(map(stream.decompress, packed)))


def of_sample(body):
    """Returns the sample's event, time, CPU and raw data."""
    if len(events) == 1:
        event = events[0]
    else:
        before = 0 if events[0][1] & IDENTIFIER else 8 * sum(bool(events[0][1] & bit) for bit in (IP, TID, TIME, ADDR))
        event = by_id[numbers('Q', before, body)[0]]
    if event[0] != TRACEPOINT:
        return event, None, None, b''
    at, found = 0, {}
    for bit in (IDENTIFIER, IP, TID, TIME, ADDR, ID, STREAM_ID, CPU, PERIOD):
        if event[1] & bit:
            found[bit] = body[at:at + 8]
            at += 8
    assert not event[1] & READ, 'counters that are read in groups'
    if event[1] & CALLCHAIN:
        at += 8 + 8 * numbers('Q', at, body)[0]
    raw = b''
    if event[1] & RAW:
        raw = body[at + 4:at + 4 + numbers('I', at, body)[0]]
    return event, numbers('Q', 0, found[TIME])[0], numbers('I', 0, found[CPU])[0] if CPU in found else None, raw


con = duckdb.connect()


def read(table, sql):
    try:
        return collections.Counter(con.execute(sql.format(t=f"'{dataset}/{table}.parquet'", thread=f"'{dataset}/thread.parquet'")).fetchall())
    except duckdb.IOException:
        return collections.Counter()


unread = {tuple(re.findall(r'field (\w+) of format (\w+)', text)[0]) for (text,) in read('stats', "SELECT description FROM {t} WHERE description LIKE '%field % of format %'")}


def value(raw, kind, at, length, signed):
    if kind.startswith('__data_loc'):
        at, length = numbers('HH', at, raw)
    elif kind.endswith(']') and 'char' not in kind:
        count = int(kind[kind.index('[') + 1:-1])
        for i in range(count):
            yield from value(raw, '', at + i * length // count, length // count, signed)
        return
    elif not kind.endswith(']'):
        n = int.from_bytes(raw[at:at + length], 'little', signed=signed)
        yield n - (1 << 64) if n >= 1 << 63 else n
        return
    yield raw[at:at + length].split(b'\0')[0].decode(errors='replace')


def of_switch(body):
    """Returns the tid, time and CPU of a switch, or None."""
    kind = by_id[numbers('Q', len(body) - 8, body)[0]][1] if events[0][1] & IDENTIFIER else events[0][1]
    fields = [bit for bit in (TID, TIME, ID, STREAM_ID, CPU, IDENTIFIER) if kind & bit]
    at, found = len(body) - 8 * len(fields), {}
    for i, bit in enumerate(fields):
        found[bit] = body[at + 8 * i:at + 8 * i + 8]
    if CPU in found:
        return numbers('II', 0, found[TID])[1], numbers('Q', 0, found[TIME])[0], numbers('I', 0, found[CPU])[0]


all_threads, samples, switches = False, [], []
for number, misc, body in records(b[data_at:data_at + data_size]):
    if number == 73:  # PERF_RECORD_THREAD_MAP
        for i in range(numbers('Q', 0, body)[0]):
            all_threads |= numbers('q', 8 + 24 * i, body)[0] == -1
    elif number == 9:  # PERF_RECORD_SAMPLE
        event, ts, cpu, raw = of_sample(body)
        if event[0] == TRACEPOINT and raw and cpu is not None:
            samples.append((ts, cpu, raw, event[2]))
    elif number in (14, 15):  # PERF_RECORD_SWITCH, PERF_RECORD_SWITCH_CPU_WIDE
        switch = of_switch(body)
        if switch:
            switches.append((*switch, misc))
if not samples and not switches:
    print('no events of tracepoints, and no switches')
    sys.exit(2)
samples.sort(key=lambda s: s[0])
traced = all_threads and any(each and formats[numbers('H', 0, raw)[0]][0] == 'sched_switch' for _, _, raw, each in samples)
rows, args, slices, running, lost = collections.Counter(), collections.Counter(), collections.Counter(), {}, 0
for ts, cpu, raw, each in samples:
    name, fields = formats[numbers('H', 0, raw)[0]]
    rows[name, ts, cpu] += 1
    for field, place in fields.items():
        if not field.startswith('common_') and (field, name) not in unread:
            for i, one in enumerate(value(raw, *place)):
                array = place[0].endswith(']') and 'char' not in place[0]
                args[ts, cpu, f'{field}[{i}]' if array else field, str(one)] += 1
    if name != 'sched_switch' or not each or not all_threads:
        continue
    prev_pid, prev_prio, next_pid, next_prio = (next(value(raw, *fields[f])) for f in ('prev_pid', 'prev_prio', 'next_pid', 'next_prio'))
    if cpu in running:
        began, pid, prio = running[cpu]
        slices[began, ts - began if pid == prev_pid else -1, cpu, pid, prio] += 1
        lost += pid != prev_pid
    running[cpu] = ts, next_pid, next_prio
states = collections.Counter()
for tid, ts, cpu, misc in sorted(switches, key=lambda s: s[1]) if not traced else []:
    if not misc & 1 << 13:  # in
        if cpu in running:
            began, pid, prio = running[cpu]
            slices[began, -1, cpu, pid, prio] += 1
            lost += 1
        running[cpu] = ts, tid, 0
    elif cpu in running and tid in (running[cpu][1], 0xffffffff):
        began, pid, prio = running.pop(cpu)
        slices[began, ts - began, cpu, pid, prio] += 1
        states['R+' if misc & 1 << 14 else None] += 1
differ = 0
ends = {cpu: began for cpu, (began, _, _) in running.items()}  # the last slice of a CPU ends with the trace
table = read('sched_slice', "SELECT ts, dur, cpu, tid, priority FROM {t} JOIN {thread} USING (utid)")
table = collections.Counter({row: n for row, n in table.items() if row[0] != ends.get(row[2])})
found_args = read('args', f"""SELECT ts, cpu, key, coalesce(string_value, int_value::VARCHAR)
                            FROM {{t}} JOIN '{dataset}/ftrace_event.parquet' USING (arg_set_id)""")
found_states = collections.Counter() if traced or not switches else read('sched_slice', 'SELECT end_state FROM {t} WHERE dur >= 0')
found_states = collections.Counter({state: n for (state,), n in found_states.items()})
for what, file, found in (('states', states, found_states), ('events', rows, read('ftrace_event', 'SELECT name, ts, cpu FROM {t}')), ('args', args, found_args), ('slices', slices, table)):
    missing, extra = file - found, found - file
    differ += sum(missing.values()) + sum(extra.values())
    print(sum(file.values()), what, 'of the file,', sum(missing.values()), 'missing,', sum(extra.values()), 'more', [*missing][:3], [*extra][:3])
print(lost, 'switches are missing in the file')
sys.exit(bool(differ))
