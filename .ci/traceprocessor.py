"""Ask tpconvert serve with Perfetto's Python package, as a user would."""

import contextlib
import inspect
import json
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile

import numpy
import pandas
import pyarrow.ipc
from perfetto.batch_trace_processor.api import BatchTraceProcessor, BatchTraceProcessorConfig
from perfetto.trace_processor import TraceProcessor, TraceProcessorConfig, TraceProcessorException

TRACES = pathlib.Path(__file__).parent.parent / "testdata"
CHROMIUM = str(TRACES / "chromium.json.gz")
# Slices, threads and callsites, as Trace Processor v58.2 has them. It does not read the last two.
BATCH = {
    "app.ftrace": (2, 4, 0),
    "chromium.json.gz": (6033, 46, 0),
    "chromium.pftrace.gz": (6136, 44, 0),
    "clang.json.gz": (2575, 96, 0),
    "devtools.json.gz": (9345, 43, 49),
    "frames.pftrace": (10, 2, 0),
    "go_block.pb.gz": (0, 1, 19),
    "go_cpu.pb": (0, 1, 359),
    "go_cpu.pb.gz": (0, 1, 359),
    "go_cpu_nosha.pb.gz": (0, 1, 239),
    "go_goroutine.pb.gz": (0, 1, 8),
    "go_heap.pb.gz": (0, 1, 4452),
    "go_mutex.pb.gz": (0, 1, 63),
    "ninja_v5.ninja_log": (26, 7, 0),
    "node.json": (768, 7, 0),
    "node_cpu_profiler.json": (14, 9, 316),
    "perf.data": (0, 2, 7),
    "perf.script": (0, 2, 4),
    "ninja_v6.ninja_log": (26, 7, 0),
    "ninja_v7.ninja_log": (26, 7, 0),
}
COUNTS = """SELECT (SELECT count(*) FROM slice) AS slices, (SELECT count(*) FROM thread) AS threads,
    (SELECT count(*) FROM stack_profile_callsite) AS stacks"""


@contextlib.contextmanager
def fails(text):
    """Expect an exception of Trace Processor with a text."""
    try:
        yield
    except TraceProcessorException as e:
        assert text in str(e), e
    else:
        raise AssertionError(f"no error with {text!r}")


@contextlib.contextmanager
def server(converter, *arguments):
    """Serve, and return where."""
    with subprocess.Popen([converter, "serve", "--json", *arguments], stdout=subprocess.PIPE, text=True) as process:
        try:
            yield json.loads(process.stdout.readline())
        finally:
            process.terminate()


def check_types(tp):
    rows = list(tp.query("""
        SELECT 1 AS i, -9223372036854775807 - 1 AS least, 9223372036854775807 AS most, 2.5 AS r, -1e300 AS big,
               'é' || char(9) AS t, '' AS none, NULL AS n, x'00ff' AS b, 1 > 2 AS truth
        UNION ALL SELECT NULL, 0, 0, NULL, 0.0, NULL, NULL, 7, NULL, 3 > 2"""))
    want = {"i": 1, "least": -2**63, "most": 2**63 - 1, "r": 2.5, "big": -1e300, "t": "é\t", "none": "", "n": None, "b": b"\x00\xff", "truth": 0}
    assert rows[0].__dict__ == want, rows[0]
    assert (rows[1].i, rows[1].n, rows[1].t, rows[1].truth) == (None, 7, None, 1), rows[1]
    assert [type(rows[0].__dict__[name]) for name in ("i", "r", "t", "b")] == [int, float, str, bytes]


def check_rows(tp, dataset):
    """The rows of a table are those in its file, in a result of several batches and in a data frame."""
    want = pandas.read_parquet(dataset / "slice.parquet")
    result = tp.query("SELECT id, ts, dur, name, parent_id FROM slice ORDER BY id")
    assert len(result) == len(want) > 4000
    frame = result.as_pandas_dataframe()
    assert list(frame.columns) == ["id", "ts", "dur", "name", "parent_id"]
    for column in ("id", "ts", "dur", "name"):
        assert (frame[column].to_numpy() == want[column].to_numpy()).all(), column
    assert (frame["parent_id"].isna() == want["parent_id"].isna()).all() and frame["parent_id"].notna().any()
    many = tp.query("SELECT a.id, b.name, 0.5 * b.dur AS half FROM slice AS a, slice AS b WHERE a.id < 20 ORDER BY a.id, b.id")
    batches = numpy.tile(want["name"].to_numpy(), 20)
    frame = many.as_pandas_dataframe()
    assert (frame["name"].to_numpy() == batches).all() and (frame["id"].to_numpy() == numpy.repeat(range(20), len(want))).all()
    assert frame["half"].sum() == 10 * want["dur"].sum()
    if hasattr(result, "as_polars_dataframe"):
        assert tp.query("SELECT id, name FROM slice").as_polars_dataframe().height == len(want)
    assert [row.name for row in tp.query("SELECT name FROM slice ORDER BY id LIMIT 3")] == list(want["name"][:3])


def check_statements(tp):
    assert [r.n for r in tp.query("CREATE PERFETTO TABLE mine AS SELECT 5 AS n; SELECT 1; SELECT n FROM mine")] == [5]
    assert len(tp.query("SELECT * FROM slice WHERE 0")) == 0
    assert len(tp.query("CREATE PERFETTO VIEW other AS SELECT 1 AS a")) == 0
    with fails('no such column: nope'):
        tp.query("SELECT nope FROM slice")
    with fails("no SQL"):
        tp.query("")
    with fails("metrics of version 1 need"):
        tp.metric(["android_cpu"])
    assert len(tp.query("SELECT name FROM slice LIMIT 1")) == 1  # after errors


SUMMARY = """
query { id: "facts" sql { sql: "SELECT 'slices' AS key, CAST(count(*) AS TEXT) AS value FROM slice" } }
metric_spec { id: "by_name" dimensions: "name" value: "n" query {
  table { table_name: "slice" }
  group_by { column_names: "name" aggregates { op: COUNT result_column_name: "n" } } } }
metric_spec { id: "other" value: "n" query { sql { sql: "SELECT 1 AS n" } } }"""


def check_summary(tp):
    if not hasattr(tp, "trace_summary"):  # 0.16.0
        return
    want = {r.name: r.n for r in tp.query("SELECT name, count(*) AS n FROM slice GROUP BY name")}
    summary = tp.trace_summary([SUMMARY], metric_ids=["by_name"], metadata_query_id="facts")
    (bundle,) = summary.metric_bundles
    assert {r.dimension[0].string_value: r.values[0].double_value for r in bundle.row} == want
    assert [(m.key, m.value) for m in summary.metadata] == [("slices", str(sum(want.values())))]
    assert [b.bundle_id for b in tp.trace_summary([SUMMARY]).metric_bundles] == ["by_name", "other"]
    with fails("no metric none"):
        tp.trace_summary([SUMMARY], metric_ids=["none"])


def check_export(tp, dataset):
    """An archive has the tables of the dataset that have rows."""
    if not hasattr(tp, "export"):  # 0.16.0
        return
    path = dataset.parent / "tables.tar"
    tp.export(str(path), "arrow_tar")
    with tarfile.open(path) as archive:
        tables = {member.name: pyarrow.ipc.open_file(archive.extractfile(member)).read_all() for member in archive}
    for name in ("slice", "args", "thread"):
        (want,) = tp.query(f"SELECT count(*) AS n, sum(id) AS ids FROM {name}")
        got = tables.pop(f"{name}.arrow")
        assert (got.num_rows, sum(got["id"].to_pylist())) == (want.n, want.ids), name
        assert got.column_names == list(pandas.read_parquet(dataset / f"{name}.parquet").columns), name
    assert all(table.num_rows for table in tables.values())


def check_binary(converter, config, dataset):
    with TraceProcessor(trace=CHROMIUM, config=config()) as tp:
        check_types(tp)
        check_rows(tp, dataset)
        check_statements(tp)
        check_summary(tp)
        check_export(tp, dataset)
    with tempfile.TemporaryDirectory() as package:
        (pathlib.Path(package) / "ours.sql").write_text("CREATE PERFETTO TABLE answer AS SELECT 42 AS n;")
        with open(CHROMIUM, "rb") as trace, TraceProcessor(trace=trace, config=config(add_sql_packages=[package], enable_dev_features=True)) as tp:
            found = tp.query(f"INCLUDE PERFETTO MODULE {os.path.basename(package)}.ours; SELECT n FROM answer")
            assert [row.n for row in found] == [42]
    with TraceProcessor(trace=iter([b"no ", b"trace"]), config=config(ingest_ftrace_in_raw=True)) as tp, fails("unknown format"):
        tp.query("SELECT 1")
    with TraceProcessor(config=config()) as tp:
        assert [row.n for row in tp.query("SELECT count(*) AS n FROM slice")] == [0]


def check_unix(converter, folder, dataset):
    if "remote" not in inspect.signature(TraceProcessor).parameters:
        return  # an older package
    os.environ["XDG_RUNTIME_DIR"] = str(folder)
    with server(converter, "--unix", "mine", dataset), TraceProcessor(remote="mine") as tp:
        check_types(tp)
        check_rows(tp, dataset)


def check_batch(config):
    traces = [str(TRACES / name) for name in BATCH]
    with BatchTraceProcessor(traces, config=BatchTraceProcessorConfig(tp_config=config())) as batch:
        counts = [tuple(int(n) for n in frame.iloc[0]) for frame in batch.query(COUNTS)]
        for name, got, want in zip(BATCH, counts, BATCH.values(), strict=True):
            assert got == want, (name, got)
        flat = batch.query_and_flatten("SELECT name FROM slice")
        assert len(flat) == sum(slices for slices, _, _ in BATCH.values()) and list(flat.columns)[0] == "name", flat
        with fails('no such column: nope'):
            batch.query("SELECT nope FROM slice")


def main(converter):
    converter = str(pathlib.Path(converter).resolve())

    def config(**options):
        return TraceProcessorConfig(bin_path=converter, **options)

    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        dataset = folder / "out"
        subprocess.run([converter, "--quiet", CHROMIUM, dataset], check=True)
        with server(converter, "--port", "0", dataset) as served:
            tp = TraceProcessor(addr=f"http://localhost:{served['port']}")
            status = tp.http.status()
            assert (status.api_version, status.loaded_trace_name) == (14, str(dataset)), status
            assert status.version_code.startswith("v58.2-"), status
            check_types(tp)
            check_rows(tp, dataset)
            check_statements(tp)
            check_export(tp, dataset)
            tp.close()
        scratch = folder / "scratch"
        scratch.mkdir()
        os.environ["TMPDIR"] = str(scratch)
        check_binary(converter, config, dataset)
        check_batch(config)
        check_unix(converter, folder, dataset)
        left = [path for path in scratch.rglob("*") if path.is_file()]
        assert not left, left


main(*sys.argv[1:])
