"""Compares the jobs of a ninja log with the slices of a dataset.

usage: ninja.py TRACE DATASET

A job is one run of a command: the lines with its start, its end and the hash of the command, wherever they stand in the log. ninja
writes a line for each output (RecordCommand in its build_log.cc), and compacts a log in the order of a hash table. Jobs of one worker do not
overlap.
"""
import collections, gzip, sys

import duckdb

path, dataset = sys.argv[1:3]
with (gzip.open if path.endswith('.gz') else open)(path, 'rt', errors='replace') as log:
    rows = [line.rstrip('\r\n').split('\t') for line in log if not line.startswith('#')]
jobs = {}
for row in rows:
    if len(row) >= 5:
        jobs.setdefault((int(row[0]) * 10**6, int(row[1]) * 10**6, row[4]), []).append(row[3])
want = collections.Counter((start, end - start, ' '.join(outputs)) for (start, end, _), outputs in jobs.items())
got, workers = collections.Counter(), collections.defaultdict(list)
for ts, dur, name, track in duckdb.sql(f"SELECT ts, dur, name, track_id FROM '{dataset}/slice.parquet'").fetchall():
    got[ts, dur, name] += 1
    workers[track].append((ts, ts + dur))
overlaps = sum(a[1] > b[0] for spans in workers.values() for a, b in zip(sorted(spans), sorted(spans)[1:]))
missing, extra = want - got, got - want
print(len(rows), 'lines,', len(jobs), 'jobs,', sum(got.values()), 'slices,', sum(missing.values()), 'missing,', sum(extra.values()), 'more,', overlaps, 'overlaps')
for row in [*missing][:3] + [*extra][:3]:
    print(row)
sys.exit(bool(missing or extra or overlaps))
