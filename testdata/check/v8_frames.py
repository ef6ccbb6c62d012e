"""Compares the functions of V8's CPU profiles in a Chrome JSON trace with those of a dataset: name, URL and line, which V8 counts from 0.

Usage: v8_frames.py TRACE DATASET

Compares the functions of all nodes that lead to the root, and how often each is the innermost of a sample. Prints the differences, exits
1 if there are any.
"""
import collections, sys

import duckdb

from trace_events import load

path, dataset = sys.argv[1:3]
nodes, parents, sampled = {}, {}, []
for e in load(path):
    if e.get('name') not in ('ProfileChunk', 'CpuProfile'):
        continue
    profile = e['args'].get('data', e['args']).get('cpuProfile') or {}
    for n in profile.get('nodes', []):
        f = n['callFrame']
        line = f.get('lineNumber', -1) + 1
        of = e['pid'], e.get('id')
        nodes[*of, n['id']] = f['functionName'], f.get('url') or None, line or None
        if 'parent' in n:
            parents[*of, n['id']] = *of, n['parent']
        parents.update({(*of, child): (*of, n['id']) for child in n.get('children', [])})
    sampled += [(e['pid'], e.get('id'), id) for id in profile.get('samples', [])]


def rooted(node):
    while node in parents:
        node = parents[node]
    return node in nodes


nodes = {node: function for node, function in nodes.items() if rooted(node)}
functions = set(nodes.values())
if not functions:
    sys.exit(print('no profile of V8'))
samples = collections.Counter(nodes[node] for node in sampled if node in nodes)  # chunks may come in any order

rows = duckdb.sql(f"""
    SELECT f.id, f.name, s.source_file, s.line_number FROM '{dataset}/stack_profile_frame.parquet' f
    LEFT JOIN '{dataset}/stack_profile_symbol.parquet' s USING (symbol_set_id)""").fetchall()
by_id = {id: (name, file, line or None) for id, name, file, line in rows}
leaves = collections.Counter(by_id[frame] for frame, in duckdb.sql(f"""
    SELECT c.frame_id FROM '{dataset}/stack_sample.parquet' s JOIN '{dataset}/stack_profile_callsite.parquet' c ON c.id = s.callsite_id""").fetchall())
used = {by_id[frame] for frame, in duckdb.sql(f"SELECT DISTINCT frame_id FROM '{dataset}/stack_profile_callsite.parquet'").fetchall()}
differences = [*functions ^ used, *(samples - leaves), *(leaves - samples)]
print(len(functions), 'functions,', sum(samples.values()), 'samples,', len(differences), 'differences', differences[:5])
sys.exit(bool(differences))
