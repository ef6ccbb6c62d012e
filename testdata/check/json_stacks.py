"""Compares the call stacks of events in a Chrome JSON trace, which are in its stackFrames, with those of the slices of a dataset.

Usage: json_stacks.py TRACE DATASET

sf is the stack where an event begins, or where an E or e ends the slice, and esf that where an X ends. Prints the differences, exits 1
if there are any.
"""
import collections, gzip, os, sys

import duckdb

from trace_events import load, parse

path, dataset = sys.argv[1:3]
with open(path, 'rb') as file:
    data = file.read()
try:
    trace = parse((gzip.decompress(data) if data[:2] == b'\x1f\x8b' else data).decode('utf-8', 'replace'))
except ValueError:
    trace = []
frames = trace.get('stackFrames', {}) if isinstance(trace, dict) else {}


def names(id):
    stack = []
    while str(id) in frames and len(stack) < 1000:
        frame = frames[str(id)]
        stack.append(frame['name'])
        id = frame.get('parent')
    return tuple(reversed(stack))


want = collections.Counter()
for e in load(path):
    if e['ph'] in 'XBEbeniIR':
        ends = e['ph'] in 'Ee'
        for member, at_end in ('sf', ends), ('esf', True):
            if str(e.get(member)) in frames:
                want[names(e[member]), at_end] += 1
got = collections.Counter()
if os.path.exists(f'{dataset}/track_event_callstacks.parquet'):
    stacks = {None: ()}
    for id, parent, name in duckdb.sql(f"""SELECT c.id, c.parent_id, f.name FROM '{dataset}/stack_profile_callsite.parquet' c
            JOIN '{dataset}/stack_profile_frame.parquet' f ON f.id = c.frame_id ORDER BY c.id""").fetchall():
        stacks[id] = stacks[parent] + (name,)
    for begin, end in duckdb.sql(f"SELECT callsite_id, end_callsite_id FROM '{dataset}/track_event_callstacks.parquet'").fetchall():
        got.update((stacks[id], at_end) for id, at_end in ((begin, False), (end, True)) if id is not None)
differences = [*(want - got), *(got - want)]
print(sum(want.values()), 'stacks of events,', len(differences), 'differences', differences[:5])
sys.exit(bool(differences))
