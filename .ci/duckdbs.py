"""Run every macro, and the queries of docs/queries.md, in one version of DuckDB.

prepare registers datasets in DuckDB files with the converter and asks it for
the rows of each query. It must run with the DuckDB that the converter is built
with, because it fills tables of some files. check opens the files as any user
would, and compares the rows.
"""

import collections
import json
import pathlib
import random
import re
import shutil
import subprocess
import sys

import duckdb

ROOT = pathlib.Path(__file__).parent.parent
TRACES = ROOT / "testdata"
SCRIPTS = ROOT / "sqlfuncs" / "testdata"
QUERIES = ROOT / "docs" / "queries.md"

# MADE lists the macros and views of a file with materialized tables, as (name, definition).
MADE = r"""
    SELECT function_name, string_agg(macro_definition) FROM duckdb_functions()
    WHERE NOT internal AND function_name NOT LIKE '\_%' ESCAPE '\' GROUP BY ALL
    UNION ALL
    SELECT view_name, sql FROM duckdb_views() WHERE NOT internal AND view_name NOT LIKE '\_%' ESCAPE '\'"""


def prepare(converter, folder):
    folder = pathlib.Path(folder)
    cases = []

    def register(name, traces, *flags):
        out, file = folder / name, folder / f"{name}.duckdb"
        subprocess.run([converter, "--quiet", *traces, out], check=True)
        subprocess.run([converter, "--quiet", "register", *flags, out, file], check=True)
        return file

    def ask(file, sql):
        command = [converter, "query", "--allow-writes", "--format", "ndjson", file, sql]
        got = subprocess.run(command, check=True, capture_output=True, text=True)
        cases.append({"file": file.name, "sql": sql, "rows": [list(json.loads(line).values()) for line in got.stdout.splitlines()]})

    for name, traces in {
        "chromium": ["chromium.json.gz"], "go_heap": ["go_heap.pb.gz"], "many": ["chromium.json.gz", "devtools.json.gz"],
    }.items():
        register(name, [TRACES / trace for trace in traces])
    for sql in re.findall(r"```sql\n(.*?)```", QUERIES.read_text(), re.DOTALL):
        ask(folder / "chromium.duckdb", sql)
    for script in sorted(SCRIPTS.glob("*.txtar")):
        many = script.name.startswith("many_")
        traces = [TRACES / "ninja_v5.ninja_log", TRACES / "ninja_v6.ninja_log"] if many else [TRACES / "ninja_v5.ninja_log"]
        file = register(script.stem, traces, "--materialize")
        parts = archive(script.read_text())
        with duckdb.connect(file) as db:
            for (table,) in db.sql(r"SELECT table_name FROM duckdb_tables() WHERE table_name NOT LIKE '\_%' ESCAPE '\'").fetchall():
                db.execute(f"DELETE FROM {table}")
            db.execute(parts.get("tables.sql", ""))
        for name, sql in parts.items():
            name, kind = name.split(".")
            if kind == "sql" and name + ".csv" in parts:
                ask(file, sql)
            if kind == "sql" and name + ".err" in parts:
                cases.append({"file": file.name, "sql": sql, "error": True})
    (folder / "cases.json").write_text(json.dumps(cases))


def archive(text):
    """The files of a txtar archive."""
    parts = re.split(r"^-- (\S+) --\n", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))


def check(folder):
    folder = pathlib.Path(folder)
    cases = json.loads((folder / "cases.json").read_text())
    assert len(cases) > 100, f"only {len(cases)} queries"
    failures = []
    asked = collections.defaultdict(str)
    for file in {case["file"] for case in cases}:
        copy = folder / f"copy_of_{file}"  # some queries create a macro
        shutil.copy(folder / file, copy)
        with duckdb.connect(copy) as db:
            for case in cases:
                if case["file"] == file:
                    failures += run(db, **case)
                    asked["many" if file.startswith("many") else "one"] += case["sql"]
    failures += uncovered(folder, asked)
    failures += span_joins(folder)
    for failure in failures:
        print(failure, file=sys.stderr)
    print(f"DuckDB {duckdb.__version__}: {len(cases)} queries, {len(failures)} failures")
    sys.exit(bool(failures))


def run(db, file, sql, rows=(), error=False):
    """Run a query of a case. Return what it gives if that is wrong."""
    try:
        result = db.sql(sql)
        wide = [str(t) for t in result.types if "HUGEINT" in str(t) or "DECIMAL" in str(t)]
        if wide:
            yield f"{file}: {sql}\ngives {wide}, of which pandas makes floats or objects"
        got = [[plain(value) for value in row] for row in result.fetchall()]
        if error:
            yield f"{file}: {sql}\ndoes not fail"
        if not error and sorted(got, key=repr) != sorted(rows, key=repr):
            yield f"{file}: {sql}\ngives\n{got[:5]} ...\nwant\n{rows[:5]} ..."
    except duckdb.Error as e:
        if not error:
            yield f"{file}: {sql}\nfails: {e}"


def uncovered(folder, asked):
    """List the macros and views that no query uses, for one trace and, where they differ, for many traces."""
    made = {}
    for layout, file in ("one", "views"), ("many", "many_traces"):
        with duckdb.connect(folder / f"{file}.duckdb", read_only=True) as db:
            made[layout] = dict(db.sql(MADE).fetchall())
            ((commented,),) = db.sql("SELECT count(comment) FROM duckdb_columns() WHERE table_name = 'slice'").fetchall()
        assert len(made[layout]) > 50, made
        assert commented > 10, "columns have no comments"
        for name, definition in made[layout].items():
            if (layout == "one" or definition != made["one"][name]) and not re.search(rf"\b{name}\b", asked[layout]):
                yield f"{name} has no query in a database of {layout}"


def plain(value):
    """A value as tpconvert writes it in JSON."""
    if isinstance(value, bytes):
        return "".join(rf"\x{byte:02x}" for byte in value)
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def span_joins(folder):
    """Compare span joins of random spans, and of the slices of a trace, with a plain computation."""
    shutil.copy(folder / "chromium.duckdb", folder / "copy.duckdb")
    failures = []
    with duckdb.connect(folder / "copy.duckdb") as db:
        sides = {
            side: [(ts, dur, part, id) for (ts, dur, part, id) in db.sql(
                f"SELECT ts, dur, track_id, id FROM slice WHERE depth = {depth} AND dur > 0").fetchall()]
            for side, depth in (("a", 0), ("b", 1))
        }
        inputs = [sides] + [{side: random_spans(random.Random(f"{side}{i}")) for side in "ab"} for i in range(5)]
        for sides in inputs:
            for side, spans in sides.items():
                db.execute(f"CREATE OR REPLACE TABLE {side} (ts BIGINT, dur BIGINT, part BIGINT, {side} BIGINT)")
                db.execute(f"INSERT INTO {side} VALUES {', '.join(map(str, spans))}")
            for macro in "span_join", "span_left_join", "span_outer_join":
                got = db.sql(f"SELECT ts, dur, part, a, b FROM {macro}('a', 'FROM b', 'part')").fetchall()
                want = overlaps(sides["a"], sides["b"])
                if macro != "span_join":
                    want += gaps(sides["a"], sides["b"])
                if macro == "span_outer_join":
                    want += [(ts, dur, part, b, a) for ts, dur, part, a, b in gaps(sides["b"], sides["a"])]
                assert want
                if sorted(got, key=repr) != sorted(want, key=repr):
                    failures.append(f"{macro} gives {len(got)} rows that last {sum(row[1] for row in got)} ns, "
                                    f"want {len(want)} and {sum(row[1] for row in want)} ns")
    return failures


def random_spans(dice):
    """Spans that do not overlap within a partition."""
    spans = []
    for part in range(5):
        ts = 0
        for _ in range(100):
            ts += dice.choice([0, 0, 1, 5, 20])
            dur = dice.randint(1, 15)
            spans.append((ts, dur, part, len(spans)))
            ts += dur
    return spans


def overlaps(a, b):
    found = []
    for ts_a, dur_a, part_a, id_a in a:
        for ts_b, dur_b, part_b, id_b in b:
            start, end = max(ts_a, ts_b), min(ts_a + dur_a, ts_b + dur_b)
            if part_a == part_b and start < end:
                found.append((start, end - start, part_a, id_a, id_b))
    return found


def gaps(a, b):
    """The parts of a's spans where b has no span."""
    found = []
    for ts, dur, part, id in a:
        at = ts
        for start, length, *_ in sorted(overlaps([(ts, dur, part, id)], b)) + [(ts + dur, 0)]:
            if at < start:
                found.append((at, start - at, part, id, None))
            at = start + length
    return found


dict(prepare=prepare, check=check)[sys.argv[1]](*sys.argv[2:])
