"""The extension of DuckDB. TPCONVERT_EXTENSION names it; without one, the tests are skipped."""

import json
import pathlib
import threading

import duckdb
import pytest

import tpconvert
from tpconvert import _extension

TESTDATA = pathlib.Path(__file__).parents[2] / "testdata"
CHROMIUM = TESTDATA / "chromium.json.gz"

pytestmark = pytest.mark.skipif(_extension.find() is None, reason="there is no extension")


def loaded(path: str = ":memory:") -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(path, config={"allow_unsigned_extensions": True})
    tpconvert.load(connection)
    return connection


def test_connect(tmp_path: pathlib.Path) -> None:
    """The tables, views, macros and comments are those that the command register makes."""
    with tpconvert.connect(CHROMIUM) as db:
        assert db.execute("SELECT count(*), count(DISTINCT name) FROM slice").fetchone() == (6033, 655)
        assert db.execute("SELECT extract_arg(arg_set_id, 'args.data.url') FROM slice WHERE name = 'ResourceSendRequest' LIMIT 1").fetchone()[0] == "chrome://headless/headless_command.html"
        child, parent = db.execute("SELECT id, parent_id FROM slice WHERE depth = 1 LIMIT 1").fetchone()
        assert (parent,) in db.execute(f"SELECT id FROM ancestor_slice({child})").fetchall()
        assert len(db.sql("SELECT tid FROM thread_slice WHERE tid IS NULL").df()) == 0
        assert db.execute("SELECT comment FROM duckdb_columns() WHERE table_name = 'slice' AND column_name = 'dur'").fetchone()[0]
        assert db.execute("SELECT sum(lost) FROM trace_inspect(?)", [str(CHROMIUM)]).fetchone() == (27,)
    stacks = tmp_path / "stacks.folded"
    stacks.write_text("main;_ZN3foo3barEv 7\nmain 1\n")
    with tpconvert.connect(stacks) as db:
        assert db.execute("SELECT demangle(name) FROM stack_profile_frame ORDER BY name").fetchall() == [("foo::bar()",), (None,)]


def test_many() -> None:
    with tpconvert.connect([CHROMIUM, TESTDATA / "devtools.json.gz"]) as db:
        rows = db.execute("SELECT trace.name, count(*) FROM slice JOIN trace USING (trace_id) GROUP BY 1 ORDER BY 1").fetchall()
        assert [name for name, _ in rows] == ["chromium.json.gz", "devtools.json.gz"] and rows[0][1] == 6033
        pattern = str(TESTDATA / "ninja_*.ninja_log")
        assert db.execute(f"SELECT count(DISTINCT trace_id) FROM read_trace('{pattern}', 'slice')").fetchone() == (len(list(TESTDATA.glob("ninja_*.ninja_log"))),)
        twice = [str(CHROMIUM), str(CHROMIUM)]
        assert db.execute("SELECT count(*) FROM read_trace(?, 'slice')", [twice]).fetchone() == (6033,)


def test_changed(tmp_path: pathlib.Path) -> None:
    """A file is read again once it has changed."""
    db, path = loaded(), tmp_path / "trace.json"
    for n in 1, 2:
        path.write_text(json.dumps([{"ph": "X", "pid": 1, "tid": 2, "ts": i, "dur": 1, "name": "work"} for i in range(n)]))
        assert db.execute(f"SELECT count(*) FROM read_trace('{path}', 'slice')").fetchone() == (n,)


def test_memory() -> None:
    """Rows from the temporary file are the same, also for several threads."""
    db = loaded()
    for table in "slice", "args", "thread":
        kept, parked = (f"(FROM read_trace('{CHROMIUM}', '{table}', memory := {memory}))" for memory in (1 << 30, 1))
        before = db.execute(f"SELECT * FROM {kept}").fetchall()
        assert before and before == db.execute(f"SELECT * FROM {parked}").fetchall()

    def sum_up() -> None:
        cursor = db.cursor()
        sums.append(cursor.execute(f"SELECT sum(hash(s)) FROM read_trace('{CHROMIUM}', 'slice', memory := 1) AS s").fetchone())

    sums: list[object] = []
    threads = [threading.Thread(target=sum_up) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(sums) == 4 and len(set(sums)) == 1


def test_errors(tmp_path: pathlib.Path) -> None:
    db, damaged = loaded(), tmp_path / "damaged.pftrace"
    damaged.write_bytes(b"\x0a\x7f" + 40 * b"\xff")
    for query, error in {
        f"FROM read_trace('{damaged}', 'slice')": r"damaged\.pftrace.* at byte \d+",
        f"FROM read_trace('{CHROMIUM}', 'slic')": "slic is no table of a trace",
        "FROM read_trace('nowhere/*', 'slice')": "no trace matches",
        "FROM trace_losses('nowhere')": "no such file",
        f"FROM read_trace('{CHROMIUM}', 'slice', strict := true)": "data was lost or damaged: 27 flow_no_enclosing_slice",
    }.items():
        with pytest.raises(duckdb.Error, match=error):
            db.execute(query)
    with pytest.raises(duckdb.Error, match="needs a database in memory"):
        loaded(str(tmp_path / "file.duckdb")).execute(f"CALL attach_trace('{CHROMIUM}')")
    assert db.execute(f"SELECT sum(value) FROM trace_losses('{CHROMIUM}') WHERE effect = 'lost'").fetchone() == (27,)
