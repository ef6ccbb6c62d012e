"""Compare every table of traces, as the extension of DuckDB gives it, with the Parquet file of their datasets, row by row.

usage: extension.py TPCONVERT EXTENSION TRACE...
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

import duckdb


def numbered(rows):
    return f"SELECT row_number() OVER () AS _row, * FROM {rows}"


def main():
    tpconvert, extension, *traces = sys.argv[1:]
    traces = [os.path.abspath(trace) for trace in traces]  # as the extension's errors name them
    db = duckdb.connect(config={"allow_unsigned_extensions": True})
    db.execute(f"LOAD '{extension}'")
    failures, tables, rows, formats = 0, 0, 0, set()
    for trace in traces:
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder, "out")
            done = subprocess.run([tpconvert, "--quiet", "--empty-tables", trace, out], capture_output=True, text=True)
            if done.returncode not in (0, 5):  # the error must be the same
                try:
                    db.execute("FROM trace_inspect(?)", [trace])
                    error = "none"
                except duckdb.Error as e:
                    error = str(e)
                if done.stderr.strip().removeprefix("tpconvert: ").splitlines()[0] not in error:
                    failures += 1
                    print(f"{trace}: {error}, the command: {done.stderr}", file=sys.stderr)
                continue
            manifest = json.loads((out / "_tpconvert.json").read_text())
            formats.add(manifest["input"]["format"])
            for table in manifest["tables"]:
                want, got = (f"(FROM read_parquet('{out / table['file']}'))", f"(FROM read_trace('{trace}', '{table['name']}'))")
                types = [db.execute(f"DESCRIBE {rows}").fetchall() for rows in (want, got)]
                differ = types[0] != types[1] or db.execute(
                    f"SELECT count(*) FROM (({numbered(want)} EXCEPT ALL {numbered(got)}) UNION ALL ({numbered(got)} EXCEPT ALL {numbered(want)}))").fetchone()[0]
                if differ:
                    failures += 1
                    print(f"{trace}, table {table['name']}: {differ} rows differ", file=sys.stderr)
                tables, rows = tables + 1, rows + table["rows"]
    print(f"DuckDB {duckdb.__version__}: {len(traces)} traces of {len(formats)} formats, {tables:,} tables, {rows:,} rows, {failures} failures")
    sys.exit(bool(failures))


main()
