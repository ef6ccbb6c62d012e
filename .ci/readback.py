"""Convert a recorded trace and read it with DuckDB, pandas, pyarrow and Polars.

Each joins slices with their threads by way of the tracks. All must find the
same rows, and every file must be readable.
"""

import pathlib
import subprocess
import sys
import tempfile

import duckdb
import pandas
import polars
import pyarrow.parquet

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


def main(converter, trace):
    with tempfile.TemporaryDirectory() as tmp:
        out = pathlib.Path(tmp) / "out"
        subprocess.run([converter, "--quiet", trace, out], check=True)
        for path in sorted(out.glob("*.parquet")):
            rows = pyarrow.parquet.read_table(path).num_rows
            assert duckdb.sql(f"SELECT count(*) FROM '{path}'").fetchone() == (rows,), path
            assert len(pandas.read_parquet(path)) == len(polars.read_parquet(path)) == rows, path
        want = sorted(by_duckdb(out), key=repr)
        assert want, "no slices"
        for read in by_pandas, by_pyarrow, by_polars:
            got = sorted((tuple(row) for row in read(out)), key=repr)
            assert got == want, f"{read.__name__}: {len(got)} rows, DuckDB has {len(want)}"
        print(f"readback: {len(want)} slices agree")


main(*sys.argv[1:])
