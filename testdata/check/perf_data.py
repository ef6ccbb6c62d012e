"""Compares the samples of a perf.data file with the rows of a dataset.

usage: perf_data.py FILE DATASET

A sample has a time, a thread, a CPU, an event and a period: perf_event.h, and the file's header as perf.data-file-format.txt of the kernel
says. perf_counter_track adds up the periods of an event and CPU. A sample's depth is the number of its addresses, context marks
left out, where no stack was copied (perf record --call-graph dwarf). Events have the names of the file's EVENT_DESC or event types.
"""
import collections, struct, sys

import duckdb

path, dataset = sys.argv[1:3]
with open(path, 'rb') as file:
    b = file.read()
IP, TID, TIME, ADDR, READ, CALLCHAIN, ID, CPU, PERIOD, STREAM_ID = (1 << i for i in range(10))
STACK_USER, IDENTIFIER = 1 << 13, 1 << 16
CONTEXT = (1 << 64) - 4096  # and above: PERF_CONTEXT_KERNEL and its like


def u64(at, data=None):
    return struct.unpack_from('<Q', data or b, at)[0]


def u32(at, data=None):
    return struct.unpack_from('<I', data or b, at)[0]


class Event:
    def __init__(self, at):
        self.config, self.sample_type, self.read_format = u64(at + 8), u64(at + 24), u64(at + 32)
        self.period, self.freq, self.name = u64(at + 16), u64(at + 40) >> 10 & 1, None


attrs, size, data_at, data_size = u64(24), u64(16), u64(40), u64(48)
events, by_id = [], {}
for at in range(attrs, attrs + u64(32), size):
    events.append(Event(at))
    ids_at, ids_size = u64(at + size - 16), u64(at + size - 8)
    for i in range(ids_at, ids_at + ids_size, 8):
        by_id[u64(i)] = events[-1]
types = {u64(i): b[i + 8:i + 72].split(b'\0')[0].decode() for i in range(u64(56), u64(56) + u64(64), 72)}
for event in events:
    event.name = types.get(event.config)
features = [bit for bit in range(256) if b[72 + bit // 8] >> bit % 8 & 1]
if 12 in features:
    at = u64(data_at + data_size + 16 * features.index(12))
    count, attr_size = u32(at), u32(at + 4)
    at += 8
    for event in events[:count]:
        ids, length = u32(at + attr_size), u32(at + attr_size + 4)
        at += attr_size + 8
        event.name = b[at:at + length].split(b'\0')[0].decode()
        at += length + 8 * ids


def read_size(data, at, format_):
    each = 8 + 8 * (format_ >> 2 & 1) + 8 * (format_ >> 4 & 1)
    times = 8 * (format_ & 1) + 8 * (format_ >> 1 & 1)
    return 8 + times + u64(at, data) * each if format_ >> 3 & 1 else times + each


def sample(data, at):
    event = events[0]
    if len(events) > 1:
        first = event.sample_type
        if first & IDENTIFIER:
            event = by_id[u64(at, data)]
        elif first & ID:
            event = by_id[u64(at + 8 * bin(first & (IP | TID | TIME | ADDR)).count('1'), data)]
    kind, row = event.sample_type, {}
    at += 8 if kind & IDENTIFIER else 0
    for bit in (IP, TID, TIME, ADDR, ID, STREAM_ID, CPU, PERIOD):
        if kind & bit:
            row[bit] = u64(at, data)
            at += 8
    if kind & READ:
        at += read_size(data, at, event.read_format)
    depth = 1 if kind & IP else 0
    if kind & CALLCHAIN:
        depth = sum(u64(at + 8 + 8 * i, data) < CONTEXT for i in range(u64(at, data)))
    if kind & STACK_USER:
        depth = None
    tid = row[TID] >> 32 if TID in row else None
    cpu = row[CPU] & 0xffffffff if CPU in row else None
    period = row.get(PERIOD, 0 if event.freq else event.period)
    return row.get(TIME), tid if tid != 0xffffffff else None, cpu, event, period, depth


def records(data):
    at = 0
    while at + 8 <= len(data):
        kind, length = u32(at, data), struct.unpack_from('<H', data, at + 6)[0]
        if kind == 81:  # PERF_RECORD_COMPRESSED
            yield kind, data[at + 8:at + length]
        elif kind == 83:  # PERF_RECORD_COMPRESSED2
            yield kind, data[at + 16:at + 16 + u64(at + 8, data)]
        else:
            yield kind, data[at:at + length]
        if kind == 71:  # PERF_RECORD_AUXTRACE, whose data follow it
            length += u64(at + 8, data)
        at += length


def all_samples(data):
    packed = []
    for kind, record in records(data):
        if kind in (81, 83):
            packed.append(record)
        elif kind == 9:
            yield sample(record, 8)
    if packed:
        import zstandard
        stream = zstandard.ZstdDecompressor().decompressobj()
        yield from all_samples(b''.join(map(stream.decompress, packed)))


want, sums, counters = collections.Counter(), collections.Counter(), collections.Counter()
for ts, tid, cpu, event, period, depth in sorted(all_samples(b[data_at:data_at + data_size]), key=lambda s: s[0]):
    want[ts, tid, cpu, depth] += 1
    sums[event, cpu] += period
    counters[ts, sums[event, cpu], event.name, cpu] += 1
con = duckdb.connect()


def rows(sql):
    try:
        return collections.Counter(con.execute(sql.format(d=dataset)).fetchall())
    except duckdb.IOException:  # a table without a row has no file
        return collections.Counter()


got = rows("""SELECT s.ts, t.tid, s.cpu, c.depth + 1 FROM '{d}/stack_sample.parquet' s LEFT JOIN '{d}/thread.parquet' t USING (utid)
              LEFT JOIN '{d}/stack_profile_callsite.parquet' c ON c.id = s.callsite_id""")
if any(event.sample_type & STACK_USER for event in events):
    got = collections.Counter((ts, tid, cpu, None) for ts, tid, cpu, _ in got.elements())
differ = 0
pairs = [('samples', want, got)]
if all(event.name for event in events):
    pairs.append(('counters', counters, rows("SELECT c.ts, c.value::BIGINT, t.name, t.cpu FROM '{d}/counter.parquet' c JOIN '{d}/perf_counter_track.parquet' t ON t.id = c.track_id")))
for what, file, table in pairs:
    missing, extra = file - table, table - file
    differ += sum(missing.values()) + sum(extra.values())
    print(sum(file.values()), what, 'of the file,', sum(missing.values()), 'missing,', sum(extra.values()), 'more', [*missing][:3], [*extra][:3])
sys.exit(bool(differ))
