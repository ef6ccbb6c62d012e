"""Compare rows of real GPU profiles with what Python's sqlite3 and json, and a few lines for protobuf, read in them.

    python gpu_rows.py bin/tpconvert FILES...    # PyTorch's .json and .json.gz, Nsight Systems' .sqlite, rocpd's .db, .xplane.pb
"""

import collections
import decimal
import gzip
import json
import pathlib
import sqlite3
import subprocess
import sys
import tempfile


def rows_of(tpconvert, dataset):
    def rows(sql, *flags):
        out = subprocess.run([tpconvert, "query", "--format", "json", *flags, dataset, sql], check=True, capture_output=True, text=True).stdout
        return [tuple(row.values()) for row in json.loads(out)]

    return rows


def pytorch(path, rows):
    """Complete events by category and name; ends of flows that begin somewhere; what the allocator says; critical paths in both dialects of SQL."""
    with gzip.open(path) if path.suffix == ".gz" else open(path) as f:
        events = json.load(f)["traceEvents"]
    works = collections.Counter((e.get("cat"), e["name"]) for e in events if e.get("ph") == "X")
    yield "slices", sorted(rows("SELECT category, name, count(*) FROM slice WHERE category <> 'cpu_instant_event' GROUP BY ALL")), sorted((*k, n) for k, n in works.items() if k[0])
    begun = {(e["cat"], e["id"]) for e in events if e.get("ph") == "s"}
    yield "flows", rows("SELECT count(*) FROM flow"), [(sum(e.get("ph") == "f" and (e["cat"], e["id"]) in begun for e in events),)]
    memory = [e["args"] for e in events if e.get("name") == "[memory]"]
    want = [(len(memory), *(sum(m.get(name, 0) for m in memory) for name in ("Bytes", "Total Allocated", "Total Reserved")))]
    yield "memory", rows("SELECT count(*), coalesce(sum(bytes), 0)::BIGINT, coalesce(sum(allocated), 0)::BIGINT, coalesce(sum(reserved), 0)::BIGINT FROM gpu_memory"), want
    steps = [id for (id,) in rows("SELECT id FROM slice WHERE name GLOB 'ProfilerStep#*' AND category = 'user_annotation' ORDER BY id")]
    path = "SELECT * FROM gpu_critical_path({}) ORDER BY ts"
    want = [row for id in steps for row in rows(path.format(id))]
    yield "parts of critical paths", [row for id in steps for row in rows("INCLUDE PERFETTO MODULE tpconvert.gpu; " + path.format(id), "--perfetto")], want


def nsight(path, rows):
    """Each work and call with its time, device and stream; ranges. Rows from before the recording, which tpconvert counts, are left out."""
    db = sqlite3.connect(path)
    tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    for table, category in ("KERNEL", "kernel"), ("MEMCPY", "gpu_memcpy"), ("MEMSET", "gpu_memset"):
        if "CUPTI_ACTIVITY_KIND_" + table in tables:
            want = db.execute(f'SELECT start, "end" - start, deviceId, streamId FROM CUPTI_ACTIVITY_KIND_{table} WHERE start >= 0')
            yield table, sorted(rows(f"SELECT ts, dur, device, stream FROM gpu_kernel WHERE category = '{category}'")), sorted(want)
    if "CUPTI_ACTIVITY_KIND_RUNTIME" in tables:
        want = db.execute('SELECT r.start, r."end" - r.start, s.value FROM CUPTI_ACTIVITY_KIND_RUNTIME AS r JOIN StringIds AS s ON s.id = r.nameId WHERE r.start >= 0')
        yield "calls", sorted(rows("SELECT ts, dur, name FROM slice WHERE category IN ('cuda_runtime', 'cuda_driver')")), sorted(want)
    if "NVTX_EVENTS" in tables:
        want = db.execute("SELECT start, coalesce(\"end\" - start, CASE WHEN eventType IN (34, 59, 60) THEN 0 ELSE -1 END) "
                          "FROM NVTX_EVENTS WHERE eventType IN (34, 59, 60) AND start >= 0")
        yield "ranges", sorted(rows("SELECT ts, dur FROM slice WHERE category = 'nvtx'")), sorted(want)


def rocpd(path, rows):
    """Kernels, copies, and what threads did, regions and samples, with their times and names."""
    db = sqlite3.connect(path)
    want = db.execute("SELECT start, \"end\" - start, k.display_name, workgroup_size_x || ',' || workgroup_size_y || ',' || workgroup_size_z "
                      "FROM rocpd_kernel_dispatch AS d JOIN rocpd_info_kernel_symbol AS k ON k.id = d.kernel_id")
    yield "kernels", sorted(rows("SELECT ts, dur, name, block FROM gpu_kernel WHERE category = 'kernel'")), sorted(want)
    want = db.execute('SELECT start, "end" - start, s.string, size FROM rocpd_memory_copy AS c JOIN rocpd_string AS s ON s.id = c.name_id')
    yield "copies", sorted(rows("SELECT ts, dur, name, bytes FROM gpu_kernel WHERE category = 'gpu_memcpy'")), sorted(want)
    want = db.execute('SELECT start, "end" - start, s.string FROM rocpd_region AS r JOIN rocpd_string AS s ON s.id = r.name_id UNION ALL '
                      "SELECT timestamp, 0, s.string FROM rocpd_sample AS a JOIN rocpd_track AS t ON t.id = a.track_id JOIN rocpd_string AS s ON s.id = t.name_id")
    yield "regions and samples", sorted(rows("SELECT s.ts, s.dur, s.name FROM slice AS s JOIN thread_track AS t ON t.id = s.track_id")), sorted(want)


def fields(message):
    """The numbers and values of a protobuf message's fields."""
    at = 0

    def varint():
        nonlocal at
        n, shift = 0, 0
        while True:
            byte = message[at]
            at += 1
            n |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return n

    while at < len(message):
        key = varint()
        size = {1: 8, 2: None, 5: 4}.get(key & 7, 0)
        if key & 7 == 0:
            yield key >> 3, varint()
            continue
        size = varint() if size is None else size
        yield key >> 3, message[at : at + size]
        at += size


def xplane(path, rows):
    """Events of lines of devices and hosts by name, and with their times those of the .trace.json.gz that JAX writes beside the file."""
    want = collections.Counter()
    for number, plane in fields(path.read_bytes()):
        if number != 1:
            continue
        parts = collections.defaultdict(list)
        for number, value in fields(plane):
            parts[number].append(value)
        names = {}
        for entry in map(dict, map(fields, parts[4])):
            names[entry[1]] = dict(fields(entry[2])).get(2, b"").decode()
        for line in parts[3]:
            for number, event in fields(line):
                if number == 4:
                    want[names.get(dict(fields(event)).get(1, 0), "")] += 1
    yield "events", sorted(rows("SELECT coalesce(name, ''), count(*) FROM slice GROUP BY ALL")), sorted(want.items())
    beside = path.with_name(path.name.removesuffix(".xplane.pb") + ".trace.json.gz")
    if beside.exists():
        with gzip.open(beside) as f:
            events = [e for e in json.load(f, parse_float=decimal.Decimal)["traceEvents"] if e.get("ph") == "X"]
        want = sorted((e["name"], round(1000 * e["ts"]), round(1000 * e["dur"])) for e in events)
        yield beside.name, sorted(rows("SELECT name, ts, dur FROM slice")), want


def main(tpconvert, *paths):
    failed = False
    for path in map(pathlib.Path, paths):
        kind = {".pb": xplane, ".sqlite": nsight, ".db": rocpd}.get(path.suffix, pytorch)
        with tempfile.TemporaryDirectory() as work:
            subprocess.run([tpconvert, "--quiet", path, work + "/out"], check=True)
            for what, got, want in kind(path, rows_of(tpconvert, work + "/out")):
                same = got == want
                failed |= not same
                print(f"{path.name}, {what}: {len(want)} {'equal' if same else f'DIFFER: {list(set(got) ^ set(want))[:4]}'}")
    sys.exit(failed)


main(*sys.argv[1:])
