"""Compares the sums of a pprof profile, stack by stack, with the rows of a dataset.

usage: pprof.py PROFILE DATASET

A stack is its frames from the root, each with the functions, files and lines of its location (profile.proto). A function without a name has
its system name, or [unknown]; a line without a number has the function's first line. Functions that share one id cannot be told apart: pprof
refuses such a profile, and so this script compares nothing (exit code 2).
"""
import collections, os, sys

import duckdb

from protobuf import fields, packed, read, signed

profile, dataset = sys.argv[1:3]
strings, types, samples, locations, functions = [], [], [], {}, {}
for f, v in fields(read(profile)):
    if f == 1:
        types.append(dict(fields(v)))
    elif f == 2:
        stack, values = [], []
        for a, c in fields(v):
            if a == 1:
                stack += packed(c)
            elif a == 2:
                values += map(signed, packed(c))
        samples.append((stack, values))
    elif f == 4:
        location = dict(fields(v))
        locations[location.get(1, 0)] = [dict(fields(c)) for a, c in fields(v) if a == 4]
    elif f == 5:
        function = dict(fields(v))
        if function.get(1, 0) in functions:
            print('functions share an id')
            sys.exit(2)
        functions[function.get(1, 0)] = function
    elif f == 6:
        strings.append(v.decode('utf8', 'replace'))


def text(i):
    return strings[i] if i < len(strings) else ''


def frame(location):
    out = []
    for line in locations.get(location, ()):
        function = functions.get(line.get(1, 0), {})
        out.append((text(function.get(2, 0)) or text(function.get(3, 0)) or '[unknown]', text(function.get(4, 0)), signed(line.get(2, 0)) or signed(function.get(5, 0))))
    return tuple(out)


frames = {location: frame(location) for location in locations}
want = collections.Counter()
for stack, values in samples:
    path = tuple(frames.get(location, ()) for location in reversed(stack)) if stack else None
    for type_, value in zip(types, values):
        want[text(type_.get(1, 0)), text(type_.get(2, 0)), path] += value


def rows(sql, table):
    path = f'{dataset}/{table}.parquet'
    return duckdb.sql(sql.format(t=f"'{path}'")).fetchall() if os.path.exists(path) else []


symbols = collections.defaultdict(list)
for set_, name, file, line in rows('SELECT symbol_set_id, name, source_file, line_number FROM {t} ORDER BY id', 'stack_profile_symbol'):
    symbols[set_].append((name or '', file or '', line or 0))
places = {id_: tuple(symbols[set_]) for id_, set_ in rows('SELECT id, symbol_set_id FROM {t}', 'stack_profile_frame')}
paths = {None: None}
for id_, parent, place in rows('SELECT id, parent_id, frame_id FROM {t} ORDER BY depth', 'stack_profile_callsite'):
    paths[id_] = (paths[parent] or ()) + (places[place],)
profiles = {id_: (kind, unit) for id_, kind, unit in rows('SELECT id, sample_type_type, sample_type_unit FROM {t}', 'aggregate_profile')}
got = collections.Counter()
for id_, callsite, value in rows('SELECT aggregate_profile_id, callsite_id, value FROM {t}', 'aggregate_sample'):
    got[(*profiles[id_], paths[callsite])] += value
differ = [key for key in want | got if want[key] != got[key]]
print(len(samples), 'samples,', len(want), 'sums,', len(differ), 'differ')
for kind, unit, path in differ[:5]:
    print(kind, unit, path and path[-2:], 'file', want[kind, unit, path], 'dataset', got[kind, unit, path])
sys.exit(bool(differ))
