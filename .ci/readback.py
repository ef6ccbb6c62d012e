"""Read datasets as the README and the docs say, with the tools that people use.

For one trace, slices joined with their threads through the tracks must be the
same in DuckDB, pandas, pyarrow and Polars, and every file must be readable. Every
integer of every table must be the one in the file. For
many traces, every table must read as one, with the same rows of each trace_id in
all of these and in Dask and PySpark.
"""

import collections
import glob
import pathlib
import shutil
import subprocess
import sys
import tempfile

import dask.dataframe
import duckdb
import pandas
import polars
import pyarrow.dataset
import pyarrow.parquet

# The derived rows are in a folder of their own.
DEFINITIONS = """
events:
  outermost: {query: "SELECT ts, dur, name, utid FROM thread_slice WHERE depth = 0"}
  depth: {query: "SELECT ts, depth AS value, utid FROM thread_slice"}
annotations:
  names: {query: "SELECT id AS slice_id, name FROM slice", text: "{name}"}
alerts:
  rows: {query: "SELECT count(*) AS n FROM slice", level: warning, text: "{n} slices"}
"""

COLUMNS = ["ts", "dur", "name", "tid"]


def by_duckdb(out):
    return duckdb.sql(f"""
        SELECT s.ts, s.dur, s.name, t.tid
        FROM '{out}/slice.parquet' s
        JOIN '{out}/thread_track.parquet' k ON s.track_id = k.id
        JOIN '{out}/thread.parquet' t USING (utid)""").fetchall()


def by_pandas(out):
    read = lambda table: pandas.read_parquet(out / f"{table}.parquet")
    joined = read("slice").merge(read("thread_track"), left_on="track_id", right_on="id", suffixes=("", "_track"))
    joined = joined.merge(read("thread"), on="utid", suffixes=("", "_thread"))
    return joined[COLUMNS].itertuples(index=False, name=None)


def by_pyarrow(out):
    read = lambda table, columns: pyarrow.parquet.read_table(out / f"{table}.parquet", columns=columns)
    joined = read("slice", ["ts", "dur", "name", "track_id"]).join(
        read("thread_track", ["id", "utid"]), keys="track_id", right_keys="id", join_type="inner")
    joined = joined.join(read("thread", ["utid", "tid"]), keys="utid", join_type="inner")
    return zip(*(joined[c].to_pylist() for c in COLUMNS))


def by_polars(out):
    read = lambda table: polars.scan_parquet(out / f"{table}.parquet")
    joined = read("slice").join(read("thread_track"), left_on="track_id", right_on="id", suffix="_track")
    joined = joined.join(read("thread"), on="utid", suffix="_thread")
    return joined.select(COLUMNS).collect().rows()


def derive(converter, out):
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as definitions:
        definitions.write(DEFINITIONS)
        definitions.flush()
        subprocess.run([converter, "derive", definitions.name, out], check=True, stdout=subprocess.DEVNULL)


def one_trace(converter, trace, out):
    subprocess.run([converter, "--quiet", trace, out], check=True)
    derive(converter, out)
    for path in sorted(out.rglob("*.parquet")):
        rows = pyarrow.parquet.read_table(path).num_rows
        assert duckdb.sql(f"SELECT count(*) FROM '{path}'").fetchall() == [(rows,)], path
        assert len(pandas.read_parquet(path)) == len(polars.read_parquet(path)) == rows, path
    want = sorted(by_duckdb(out), key=repr)
    assert want, "no slices"
    for read in by_pandas, by_pyarrow, by_polars:
        got = sorted((tuple(row) for row in read(out)), key=repr)
        assert got == want, f"{read.__name__}: {len(got)} rows, DuckDB has {len(want)}"
    print(f"readback: {len(want)} slices agree")


def many_traces(converter, traces, out):
    subprocess.run([converter, "--quiet", *traces, out], check=True)
    derive(converter, out)
    readers = {
        "pandas": lambda path: pandas.read_parquet(glob.glob(path))["trace_id"],
        "pyarrow": lambda path: pyarrow.dataset.dataset(glob.glob(path), partitioning="hive").to_table()["trace_id"].to_pylist(),
        "Polars": lambda path: polars.scan_parquet(path, hive_partitioning=True).collect()["trace_id"],
        "Dask": lambda path: dask.dataframe.read_parquet(path).compute()["trace_id"],
    }
    if shutil.which("java"):
        session = spark()
        readers["PySpark"] = lambda path: [
            row.trace_id for row in session.read.option("basePath", str(out)).parquet(path).select("trace_id").collect()]
    else:
        print("PYSPARK IS NOT TESTED: there is no java", file=sys.stderr)
    tables = sorted(path.stem for path in out.glob("trace_id=_empty/*.parquet"))
    assert len(tables) > 100, tables
    for table in tables:
        path = f"{out}/trace_id=*/{table}.parquet"
        want = dict(duckdb.sql(
            f"SELECT trace_id::VARCHAR, count(*) FROM read_parquet('{path}', hive_partitioning = true) GROUP BY 1").fetchall())
        assert table not in ("metadata", "trace") or len(want) == len(traces), (table, want)
        for name, read in readers.items():
            got = collections.Counter(map(str, read(path)))
            assert got == want, f"{name} reads {dict(got)} of {table}, DuckDB {want}"
    print(f"readback: {len(tables)} tables of {len(traces)} traces agree in DuckDB, {', '.join(readers)}")


def integers(converter, trace, out):
    """What each client reads is what the pages hold, which pyarrow reads by the Parquet schema alone."""
    subprocess.run([converter, "--quiet", trace, out], check=True)
    clients = {
        "pandas": lambda path: pandas.read_parquet(path).items(),
        "Polars": lambda path: ((c.name, c) for c in polars.read_parquet(path)),
        "DuckDB": lambda path: ((c.name, c) for c in polars.from_arrow(duckdb.sql(f"FROM '{path}'").to_arrow_table())),
    }
    if shutil.which("java"):
        session = spark()
        clients["PySpark"] = lambda path: ((c.name, c) for c in polars.from_arrow(session.read.parquet(str(path)).toArrow()))
    wrong, columns = [], 0
    for path in sorted(out.glob("*.parquet")):
        pages = pyarrow.parquet.read_table(path)
        want = {f.name: pages[f.name].to_pylist() for f in pages.schema if pyarrow.types.is_integer(f.type)}
        for client, read in clients.items():
            for name, values in read(path):
                if name in want:
                    columns += 1
                    got = [None if v is pandas.NA else v for v in values]
                    if got != want[name] or any(isinstance(v, float) for v in got):
                        wrong.append(f"{client}: {path.stem}.{name}")
    assert columns and not wrong, wrong
    print(f"readback: {columns} columns of integers in {', '.join(clients)} are those of the files")


def spark():
    from pyspark.sql import SparkSession

    session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").config(
        "spark.ui.showConsoleProgress", "false").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def main(converter, *traces):
    with tempfile.TemporaryDirectory() as tmp:
        for i, trace in enumerate(traces):
            integers(converter, trace, pathlib.Path(tmp) / f"integers{i}")
        one_trace(converter, traces[0], pathlib.Path(tmp) / "one")
        many_traces(converter, traces, pathlib.Path(tmp) / "many")


main(*sys.argv[1:])
