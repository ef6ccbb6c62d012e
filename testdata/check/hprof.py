"""Compares the objects and references of a heap dump with the rows of a dataset.

usage: hprof.py DUMP DATASET

Objects are instances, arrays and classes, which the JVM keeps as instances of java.lang.Class. They are counted by class, references by the
classes of both ends. The time is that of the header. Tags and sizes are those of hprof_b_spec.h in OpenJDK and of ART's hprof.cc.
"""
import collections, gzip, sys

import duckdb

dump, dataset = sys.argv[1:3]
with open(dump, 'rb') as file:
    b = file.read()
if b[:2] == b'\x1f\x8b':
    b = gzip.decompress(b)
head = b.index(0) + 1
width = int.from_bytes(b[head:head + 4], 'big')
SIZES = {2: width, 4: 1, 5: 2, 6: 4, 7: 8, 8: 1, 9: 2, 10: 4, 11: 8}
PRIMITIVES = {4: 'boolean[]', 5: 'char[]', 6: 'float[]', 7: 'double[]', 8: 'byte[]', 9: 'short[]', 10: 'int[]', 11: 'long[]'}
ROOTS = {0xff: width, 1: 2 * width, 2: width + 8, 3: width + 8, 4: width + 4, 5: width, 6: width + 4, 7: width, 8: width + 8,
         0x89: width, 0x8a: width, 0x8b: width, 0x8c: width, 0x8d: width, 0x8e: width + 8, 0x90: width, 0xfe: 4 + width}
LETTERS = {'Z': 'boolean', 'C': 'char', 'F': 'float', 'D': 'double', 'B': 'byte', 'S': 'short', 'I': 'int', 'J': 'long'}


def u(at, n):
    return int.from_bytes(b[at:at + n], 'big')


def utf8(raw):
    """The text of modified UTF-8, in which U+0000 has two bytes, and what is above U+FFFF two surrogates of three bytes."""
    text = raw.replace(b'\xc0\x80', b'\0').decode('utf8', 'surrogatepass')
    return text.encode('utf16', 'surrogatepass').decode('utf16', 'replace')


def readable(name):
    dims = len(name) - len(name.lstrip('['))
    name = name.lstrip('[')
    if dims:
        name = LETTERS.get(name) or name.removeprefix('L').removesuffix(';')
    return name.replace('/', '.') + '[]' * dims


strings, names, supers, fields = {}, {}, {}, {}
classes, instances, arrays, statics = [], {}, {}, {}
objects = {}  # id: the class's id, or the name of an array of primitives


def class_dump(at):
    id_ = u(at, width)
    supers[id_] = u(at + width + 4, width)
    at += 7 * width + 8
    count, at = u(at, 2), at + 2
    for _ in range(count):
        at += 3 + SIZES[b[at + 2]]
    count, at = u(at, 2), at + 2
    statics[id_] = []
    for _ in range(count):
        type_ = b[at + width]
        if type_ == 2:
            statics[id_].append(u(at + width + 1, width))
        at += width + 1 + SIZES[type_]
    count, at = u(at, 2), at + 2
    fields[id_] = [b[at + i * (width + 1) + width] for i in range(count)]
    classes.append(id_)
    return at + count * (width + 1)


def segment(at, end):
    while at < end:
        tag, at = b[at], at + 1
        if tag == 0x20:
            at = class_dump(at)
        elif tag == 0x21:
            size = u(at + 2 * width + 4, 4)
            objects[u(at, width)] = u(at + width + 4, width)
            instances[u(at, width)] = at + 2 * width + 8
            at += 2 * width + 8 + size
        elif tag == 0x22:
            n = u(at + width + 4, 4)
            objects[u(at, width)] = u(at + width + 8, width)
            arrays[u(at, width)] = [u(at + 2 * width + 8 + i * width, width) for i in range(n)]
            at += 2 * width + 8 + n * width
        elif tag in (0x23, 0xc3):
            n, type_ = u(at + width + 4, 4), b[at + width + 8]
            objects[u(at, width)] = PRIMITIVES[type_]
            at += width + 9 + (n * SIZES[type_] if tag == 0x23 else 0)
        else:
            at += ROOTS[tag]


at = head + 12
while at < len(b):
    tag, size = b[at], u(at + 5, 4)
    at += 9
    if tag == 1:
        strings[u(at, width)] = utf8(b[at + width:at + size])
    elif tag == 2:
        names[u(at + 4, width)] = readable(strings[u(at + 8 + width, width)])
    elif tag in (0x0c, 0x1c):
        segment(at, min(at + size, len(b)))
    at += size


def class_of(id_):
    if id_ in statics:
        return f'java.lang.Class<{names[id_]}>'
    type_ = objects[id_]
    return type_ if isinstance(type_, str) else names[type_]


def references():
    for id_, to in [*statics.items(), *arrays.items()]:
        yield from ((id_, ref) for ref in to)
    for id_, at in instances.items():
        class_ = objects[id_]
        while class_:
            for type_ in fields[class_]:
                if type_ == 2:
                    yield id_, u(at, width)
                at += SIZES[type_]
            class_ = supers[class_]


want = collections.Counter(class_of(id_) for id_ in [*objects, *statics])
links = collections.Counter((class_of(a), class_of(b)) for a, b in references() if b in objects or b in statics)
con = duckdb.connect()
con.sql(f"""CREATE VIEW o AS SELECT o.id, coalesce(c.deobfuscated_name, c.name) AS class
            FROM '{dataset}/heap_graph_object.parquet' o JOIN '{dataset}/heap_graph_class.parquet' c ON c.id = o.type_id""")
got = collections.Counter(dict(con.sql('SELECT class, count(*) FROM o GROUP BY 1').fetchall()))
got_links = collections.Counter({(a, b): n for a, b, n in con.sql(f"""SELECT a.class, b.class, count(*) FROM '{dataset}/heap_graph_reference.parquet' r
    JOIN o a ON a.id = r.owner_id JOIN o b ON b.id = r.owned_id GROUP BY 1, 2""").fetchall()})
times = con.sql(f"SELECT DISTINCT graph_sample_ts FROM '{dataset}/heap_graph_object.parquet'").fetchall()
time = u(head + 4, 8) * 1_000_000  # the header has ms since 1970
differ = [('time', time, ts) for ts, in times if ts != time] + [(k, want[k], got[k]) for k in want | got if want[k] != got[k]] + [(k, links[k], got_links[k]) for k in links | got_links if links[k] != got_links[k]]
print(sum(want.values()), 'objects,', sum(links.values()), 'references;', len(differ), 'counts differ')
for key, file, rows in sorted(differ, key=lambda d: -abs(d[1] - d[2]))[:5]:
    print(key, 'file', file, 'dataset', rows)
sys.exit(bool(differ))
