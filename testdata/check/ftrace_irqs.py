"""Compares interrupts in ftrace text or a systrace page with the slices of a dataset.

usage: ftrace_irqs.py TRACE DATASET

The kernel writes irq_handler_entry and irq_handler_exit around a handler, softirq_entry and softirq_exit around soft interrupts, on their
CPU, where they do not nest (include/trace/events/irq.h). An exit without an entry has no slice, an entry without an exit one of -1 ns.
"""
import collections, duckdb, os, re, sys

from ftrace_text import load

path, dataset = sys.argv[1:3]
event = re.compile(r'\[(\d+)\] +(?:[^ ]{4,6} +)?(\d+)\.(\d+): (irq_handler|softirq)_(entry|exit): (.*?)\r?$', re.M)
events = []
for cpu, seconds, rest, what, end, args in event.findall(load(path)):
    fields = dict(re.findall(r'(\w+)=(.*?)(?= \[?\w+=|\]|$)', args))
    events.append((int(seconds) * 10**9 + int(rest.ljust(9, '0')[:9]), what, int(cpu), end, fields))
events.sort(key=lambda e: e[0])
kinds = {'irq_handler': 'cpu_irq', 'softirq': 'cpu_softirq'}
file, open_ = collections.Counter(), {}
for ts, what, cpu, end, fields in events:
    if end == 'entry':
        name = f"IRQ ({fields['name']})" if what == 'irq_handler' else fields['action']
        open_.setdefault((what, cpu), []).append((ts, name))
    elif open_.get((what, cpu)):
        begin, name = open_[what, cpu].pop()
        file[kinds[what], cpu, begin, ts - begin, name, fields.get('ret') or fields.get('vec')] += 1
for (what, cpu), left in open_.items():
    for ts, name in left:
        file[kinds[what], cpu, ts, -1, name, None] += 1
table = collections.Counter()
if os.path.exists(f'{dataset}/slice.parquet'):
    table.update(duckdb.sql(f"""
        SELECT t.classification, d.int_value, s.ts, s.dur, s.name, coalesce(a.string_value, a.int_value::VARCHAR)
        FROM '{dataset}/slice.parquet' s JOIN '{dataset}/track.parquet' t ON t.id = s.track_id
        JOIN '{dataset}/args.parquet' d ON d.arg_set_id = t.dimension_arg_set_id AND d.key = 'cpu'
        LEFT JOIN '{dataset}/args.parquet' a ON a.arg_set_id = s.arg_set_id
        WHERE t.classification IN ('cpu_irq', 'cpu_softirq')""").fetchall())
missing, more = file - table, table - file
print(sum(file.values()), 'interrupts of the file,', sum(missing.values()), 'missing,', sum(more.values()), 'more', [*missing][:3], [*more][:3])
sys.exit(bool(missing or more))
