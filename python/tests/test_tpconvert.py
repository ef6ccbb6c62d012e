"""The package on datasets that the command writes. TPCONVERT_BIN names the command."""

import gc
import glob
import gzip
import html
import json
import pathlib
import re
import shutil
import sys
import textwrap
import types
import urllib.request
from collections.abc import Callable

import duckdb
import pandas
import polars
import pyarrow.dataset
import pytest

import tpconvert
from tpconvert._command import run

TESTDATA = pathlib.Path(__file__).parents[2] / "testdata"
TRACE = {
    "traceEvents": [
        {"ph": "M", "pid": 1, "tid": 2, "name": "thread_name", "args": {"name": "main"}},
        {"ph": "X", "pid": 1, "tid": 2, "ts": 10, "dur": 5, "name": "work", "args": {"n": 7}},
        {"ph": "X", "pid": 1, "tid": 2, "ts": 11, "dur": 2, "name": "part"},
    ]
}


@pytest.fixture
def trace(tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(TRACE))
    return path


def test_one_trace(trace: pathlib.Path, tmp_path: pathlib.Path) -> None:
    out = tmp_path / "out"
    with tpconvert.convert(trace, out) as data:
        assert data.sql("SELECT name, ts, dur FROM slice ORDER BY ts").fetchall() == [("work", 10_000, 5_000), ("part", 11_000, 2_000)]
        assert data.sql("SELECT name FROM slice WHERE dur > ?", params=[3_000]).fetchall() == [("work",)]
        slices = data.table("slice")
        assert list(slices.df()["name"]) == slices.pl()["name"].to_list() == slices.arrow()["name"].to_pylist() == ["work", "part"]
        assert len(slices) == 2
        assert "thread_track" in data.tables()
        with pytest.raises(KeyError, match="no table frame"):
            data.table("frame")
        with pytest.raises(KeyError, match=r"no table slicee: did you mean slice\?"):
            data.table("slicee")
    with pytest.raises(tpconvert.Error, match=r"exists; force=True replaces it") as failed:
        tpconvert.convert(trace, out)
    assert failed.value.code == 1
    tpconvert.convert(trace, out, force=True, options=["--tables", "slice"]).close()


def test_folder(trace: pathlib.Path, tmp_path: pathlib.Path) -> None:
    with tpconvert.open(trace.parent) as data:
        assert data.sql("SELECT trace_id IS NOT NULL, name FROM slice ORDER BY ts").fetchall() == [(True, "work"), (True, "part")]
    (empty := tmp_path / "empty").mkdir()
    with pytest.raises(tpconvert.Error, match="contains no traces"):
        tpconvert.open(empty)


def test_notebook(trace: pathlib.Path, tmp_path: pathlib.Path) -> None:
    """A notebook shows a dataset and a table by themselves."""
    data = tpconvert.convert(trace, tmp_path / "out")
    shown = data._repr_html_()
    assert "10,000 to 15,000 ns" in shown and re.search(r">2</td><td[^>]*>slice<", shown)
    shown = data.table("slice")._repr_html_()
    assert "work" in shown and "2 rows of slice" in shown


def test_pandas_keeps_numbers(trace: pathlib.Path) -> None:
    """DuckDB's own data frames make floats of integers beside NULL, and so change times in ns."""
    large = 2**53 + 1
    rows = tpconvert.open(trace).sql(f"""
        SELECT * FROM (VALUES ({large}::BIGINT, 1::INTEGER, TRUE, 'a', 1.5::DOUBLE, {large}::BIGINT, [1], TIMESTAMP '2026-01-01'),
                              (NULL, NULL, NULL, NULL, NULL, 2, NULL, NULL)) t(whole, small, truth, text, real, entire, items, moment)""")
    frame = rows.df()
    assert [str(t) for t in frame.dtypes[["whole", "small", "truth", "real", "entire"]]] == ["Int64", "Int32", "boolean", "float64", "Int64"]
    assert frame["whole"][0] == large == frame["entire"][0] and frame.iloc[1].isna().to_list() == [True] * 5 + [False, True, True]
    assert str(frame["moment"].dtype).startswith("datetime64") and frame["text"][0] == "a" and list(frame["items"][0]) == [1]
    with tpconvert.open(TESTDATA / "java.jfr.gz") as data:
        expected = [row[0] for row in data.sql("SELECT start_ts FROM thread ORDER BY utid").fetchall()]
        found = data.sql("SELECT start_ts FROM thread ORDER BY utid").df()["start_ts"]
        assert any(expected) and [None if value is pandas.NA else value for value in found] == expected


def test_functions(trace: pathlib.Path) -> None:
    with tpconvert.open(trace) as data:
        assert data.has_functions
        assert data.sql("SELECT extract_arg(arg_set_id, 'args.n') FROM slice WHERE name = 'work'").fetchall() == [("7",)]


def test_a_relation_keeps_its_dataset_open(trace: pathlib.Path) -> None:
    assert list(tpconvert.open(trace).sql("SELECT name FROM slice ORDER BY ts").df()["name"]) == ["work", "part"]
    chain = tpconvert.open(trace).sql("FROM slice").filter("dur > 3000").project("name")
    gc.collect()
    assert chain.fetchall() == [("work",)]
    assert chain.columns == ["name"] and len(chain) == 1
    assert chain.union(chain).pl()["name"].to_list() == ["work", "work"]
    assert tpconvert.open(trace).table("slice").df()["dur"].sum() == 7_000


def test_version() -> None:
    assert re.match(r"\d+\.\d+\.\d+", tpconvert.__version__)


def test_losses(tmp_path: pathlib.Path) -> None:
    cut = tmp_path / "cut.json.gz"
    events = [{"ph": "X", "pid": 1, "tid": 1, "ts": i, "dur": 1, "name": f"{i * i % 977}"} for i in range(20_000)]
    cut.write_bytes((packed := gzip.compress(json.dumps({"traceEvents": events}).encode()))[: len(packed) // 4])
    with pytest.warns(tpconvert.LossWarning, match=r"cut.json.gz: the file ends too early.*1 incomplete_file"):
        data = tpconvert.convert(cut, tmp_path / "out")
    assert 0 < len(data.table("slice")) < 10_000
    data.close()
    with pytest.warns(tpconvert.LossWarning) as told:
        tpconvert.open(cut).close()
    assert told[0].filename == __file__
    lossy = tmp_path / "lossy.json"
    lossy.write_text(json.dumps({"traceEvents": [*TRACE["traceEvents"], {"ph": "X", "pid": 1, "tid": 2, "ts": 1, "dur": -5, "name": "bad"}]}))
    with pytest.warns(tpconvert.LossWarning, match=r"lost 1 of 3 events \(33.3%\): 1 \w+"):
        tpconvert.convert(lossy, tmp_path / "lossy").close()


def test_cause(trace: pathlib.Path, tmp_path: pathlib.Path) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text('{"traceEvents": [}')
    with pytest.raises(tpconvert.Error, match=r"(?s)1 of 2 traces could not be converted.*bad.json \(Trace Event Format\) at byte 17") as failed:
        tpconvert.convert([trace, bad], tmp_path / "out")
    assert failed.value.code == 3


def test_many_traces(trace: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "other.json"
    other.write_text(json.dumps({"traceEvents": TRACE["traceEvents"][1:2]}))
    want = {trace.name: 2, other.name: 1}
    count = "SELECT t.name, count(*) FROM slice JOIN trace t USING (trace_id) GROUP BY ALL"
    with tpconvert.convert([trace, other], tmp_path / "many") as data:
        assert dict(data.sql(count).fetchall()) == want
    without_command(monkeypatch)
    with tpconvert.open(tmp_path / "many") as data:
        assert dict(data.sql(count).fetchall()) == want
        assert set(data.table("slice").df()["trace_id"]) == set(data.table("trace").df()["trace_id"])


def test_without_command(trace: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "it's"
    tpconvert.convert(trace, out).close()
    without_command(monkeypatch)
    with tpconvert.open(out) as data:
        assert not data.has_functions
        assert len(data.table("slice")) == 2
        with pytest.raises(tpconvert.Error, match="(?s)extract_arg.*need the command tpconvert"):
            data.sql("SELECT extract_arg(arg_set_id, 'args.n') FROM slice")
        with pytest.raises(tpconvert.Error, match="no command tpconvert") as missing:
            data.flamegraph()
        assert missing.value.code is None


DEFINITIONS = """
dialect: perfetto
events: {more: {query: "SELECT ts, dur, utid FROM slice JOIN thread_track ON thread_track.id = track_id"}}
alerts: {late: {query: "SELECT id AS slice_id FROM slice", level: warning, text: x}}
"""


def test_derived(trace: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, many, definitions = tmp_path / "one", tmp_path / "many", tmp_path / "d.yaml"
    definitions.write_text(DEFINITIONS)
    other = tmp_path / "other.json"
    other.write_text(json.dumps(TRACE).replace("work", "other"))
    tpconvert.convert(trace, one).close()
    tpconvert.convert([trace, other], many).close()
    for out in one, many:
        run(["derive", definitions, out])
    for command in True, False:
        if not command:
            without_command(monkeypatch)
        for out, traces in (one, 1), (many, 2):
            with tpconvert.open(out) as data:
                assert (len(data.table("slice")), len(data.table("alert"))) == (2 * traces, 2 * traces)
            with tpconvert.open(out, derived=True) as data:
                assert (len(data.table("slice")), len(data.table("alert"))) == (4 * traces, 2 * traces)


def without_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TPCONVERT_BIN", raising=False)
    monkeypatch.setenv("PATH", "")


def test_duckdb_file(trace: pathlib.Path, tmp_path: pathlib.Path) -> None:
    file = tmp_path / "trace.duckdb"
    tpconvert.convert(trace, tmp_path / "out", options=["--duckdb", str(file)]).close()
    with tpconvert.open(file) as data:
        assert len(data.table("slice")) == 2


def test_bad_input(tmp_path: pathlib.Path) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text('{"traceEvents": [}')
    with pytest.raises(tpconvert.Error, match="bad.json") as failed:
        tpconvert.convert(bad, tmp_path / "out")
    assert failed.value.code == 4
    with pytest.raises(tpconvert.Error, match="bad.json"):
        tpconvert.open(tmp_path)
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(tpconvert.Error, match="contains no traces"):
        tpconvert.open(empty)
    with pytest.raises(FileNotFoundError, match="no dataset or trace"):
        tpconvert.open(tmp_path / "none")
    with pytest.raises(tpconvert.Error) as refused:
        tpconvert.convert(bad, tmp_path / "out", options=["--none"])
    assert refused.value.code == 2


def test_metric(trace: pathlib.Path, tmp_path: pathlib.Path) -> None:
    spec = tmp_path / "spec.textproto"
    spec.write_text('metric_spec { id: "n" value: "n" query { table { table_name: "slice" } group_by { aggregates { op: COUNT result_column_name: "n" } } } }')
    with tpconvert.open(trace) as data:
        tables = data.metric("slices", spec)
        assert tables["slices"].project("name, total_dur").fetchall() == [("work", 5_000.0), ("part", 2_000.0)]
        assert tables["n"].df()["n"].tolist() == [2.0]
        (same,) = data.metric("slices", options=[f"--compare={trace}", "--metric=slices_count"]).values()
        assert same.project("count_base, count, count_diff").fetchall() == [(1.0, 1.0, 0.0)] * 2
        with pytest.raises(tpconvert.Error, match="no metric none"):
            data.metric(options=["--metric=none"])


def test_flamegraph(tmp_path: pathlib.Path) -> None:
    with tpconvert.open(TESTDATA / "go_cpu.pb.gz") as data:
        folded = data.flamegraph("--metric=samples", output=tmp_path / "stacks.folded")
        assert "main.main.func1;runtime/pprof.Do" in folded.read_text()
        profile = data.flamegraph(output=tmp_path / "profile.pb.gz")
        assert b"main.main" in gzip.decompress(profile.read_bytes())
        with data.flamegraph() as server:
            with urllib.request.urlopen(server.url) as page:
                assert "main.main" in page.read().decode()
            assert server.url in server._repr_html_()
        with pytest.raises(tpconvert.Error, match="no-such-metric"):
            data.flamegraph("--metric=no-such-metric", output=tmp_path / "other.folded")


def test_report(trace: pathlib.Path, tmp_path: pathlib.Path) -> None:
    with tpconvert.open(trace) as data:
        report = data.report()
    saved = report.save(tmp_path / "report.html")
    assert "<span>work</span>" in saved.read_text(encoding="utf-8")
    frame = re.fullmatch(r'<iframe srcdoc="([^"]*)".*', report._repr_html_(), re.DOTALL)
    assert frame and html.unescape(frame[1]) == report.html


@pytest.mark.parametrize("name", [lambda cell: {"cellId": cell}, lambda cell: {"colab": {"cell_id": cell}}], ids=["Jupyter", "Colab"])
def test_reports_of_a_notebook_share_the_library(trace: pathlib.Path, monkeypatch: pytest.MonkeyPatch, name: Callable[[str], object]) -> None:
    cell = ""
    shell = types.SimpleNamespace(get_parent=lambda: {"metadata": name(cell)})
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setattr("tpconvert._dataset._shown", set())
    with tpconvert.open(trace) as data:
        report = data.report()
    sizes = []  # of the outputs
    for cell in "first", "second", "first", "second":
        sizes.append(len(report._repr_html_()))
    assert sizes[0] == sizes[2] == sizes[3] > sizes[1] + 200_000


def test_serve(trace: pathlib.Path) -> None:
    from perfetto.trace_processor import TraceProcessor

    with tpconvert.open(trace) as data, data.serve() as server:
        with TraceProcessor(addr=server.url.removeprefix("http://")) as tp:
            assert [row.name for row in tp.query("SELECT name FROM slice ORDER BY ts")] == ["work", "part"]
    with pytest.raises(tpconvert.Error):
        tpconvert.Server(["serve", "--port", "0", "--", "none"])


def test_server_ends_with_its_object(trace: pathlib.Path) -> None:
    data = tpconvert.open(trace)
    server = data.serve()
    url = server.url
    del server
    with pytest.raises(OSError):
        urllib.request.urlopen(url + "/status")
    data.close()


def test_documented(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs the examples of docs/python.md on the trace of testdata; each table has rows."""
    page = (TESTDATA.parent / "docs" / "python.md").read_text()
    lines = [line[4:] for line in page.splitlines() if line.startswith("    ") and not line.startswith("    pip ")]
    trace = (TESTDATA / "chromium.json.gz").read_bytes()
    for name in "trace.json.gz", "a.json":
        (tmp_path / name).write_bytes(trace)
    (tmp_path / "b.json").write_text(json.dumps(TRACE))
    monkeypatch.chdir(tmp_path)
    tpconvert.convert("trace.json.gz", "before").close()
    names: dict[str, object] = {"tpconvert": tpconvert}
    run = 0
    for line in lines:
        if line.startswith(("data.", "tpconvert.open(")) and "flamegraph" not in line and "report" not in line:
            assert len(eval(line, names)) > 0, line
            run += 1
        elif line.startswith("data = "):
            exec(line, names)
    assert run >= 5


def test_readme(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs the examples that read datasets, of one trace in README.md and then of many in docs/commands.md; each has rows."""
    readme, commands = ((TESTDATA.parent / name).read_text() for name in ("README.md", "docs/commands.md"))
    section = readme[readme.index("\n## Get tables\n"):readme.index("\n## Install\n")]
    section += commands[commands.index("\n## Many traces\n"):commands.index("\n## One timeline\n")]
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"glob": glob, "pandas": pandas, "polars": polars, "pyarrow": pyarrow}
    tpconvert.convert(TESTDATA / "chromium.json.gz", "out").close()
    run = 0
    for fenced, indented in re.findall(r"^```\w+ .+\n((?:.+\n)+)```$|((?:^    .+\n)+)", section, re.MULTILINE):
        code = fenced or textwrap.dedent(indented)
        if code.startswith(("tpconvert ", "uvx ")):
            continue
        if "trace_id" in code and not pathlib.Path("out/_tpconvert").exists():
            shutil.rmtree("out")
            tpconvert.convert([TESTDATA / "chromium.json.gz", TESTDATA / "devtools.json.gz"], "out").close()
        if code.startswith("SELECT"):
            results = [duckdb.sql(code).pl()]
        elif "slices = " in code:
            exec(code, names)
            results = [names["slices"]]
        else:  # .ci/readback.py reads with Dask and Spark
            results = [eval(line, names) for line in code.splitlines() if not line.startswith(("dask.", "spark."))]
        for result in results:
            if isinstance(result, pyarrow.dataset.Dataset):
                result = result.to_table()
            elif isinstance(result, polars.LazyFrame):
                result = result.collect()
            assert len(result) > 0, code
            run += 1
    assert run >= 7


def test_documented_losses(tmp_path: pathlib.Path) -> None:
    """Runs the query of docs/losses.md."""
    query = re.search(r"^    (SELECT .*)$", (TESTDATA.parent / "docs" / "losses.md").read_text(), re.MULTILINE)[1]
    cut = tmp_path / "cut.json.gz"
    cut.write_bytes((TESTDATA / "chromium.json.gz").read_bytes()[:50_000])
    with pytest.warns(tpconvert.LossWarning):
        data = tpconvert.convert(cut, tmp_path / "out")
    assert ("incomplete_file", "damaged", 1) in data.sql(query).fetchall()
