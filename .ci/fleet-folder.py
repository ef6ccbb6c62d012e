"""Read the tables of a fleet in a folder with several readers, and compare their rows: fleet-folder.py FOLDER

PyIceberg also has to find the files of a day by its partition, and to write those of slice anew.
"""

import json
import os
import sys

import duckdb
import polars
from pyiceberg.catalog import load_catalog
from pyiceberg.expressions import EqualTo

lake = os.path.abspath(sys.argv[1])
catalog = load_catalog("lake", type="sql", uri=f"sqlite:///{lake}/catalog.db", warehouse=f"file://{lake}")
with open(f"{lake}/files.json") as text:
    files = json.load(text)["namespaces"]["traces"]
tables = {name for _, name in catalog.list_tables("traces")}
failures = [f"{table} is not in the catalog" for table in files.keys() - tables]
for table in tables:
    paths = [f"{lake}/{file}" for file in files.get(table, [])]
    of = catalog.load_table(f"traces.{table}")
    counts = {"PyIceberg": of.scan(selected_fields=("trace_id",)).to_arrow().num_rows, "Polars": polars.scan_iceberg(of).select(polars.len()).collect().item(),
              "DuckDB": duckdb.sql("SELECT count(*) FROM read_parquet($files)", params={"files": paths}).fetchall()[0][0] if paths else 0}
    if len(set(counts.values())) > 1:
        failures.append(f"{table}: {counts}")
    if (spec := [str(field.transform) for field in of.spec().fields]) != ["identity"] * (table != "trace"):
        failures.append(f"{table} has the partitions {spec}")


def files_of(table, *filters):
    return {task.file.file_path for task in table.scan(*filters).plan_files()}


slices = catalog.load_table("traces.slice")
days = slices.scan(selected_fields=("trace_day",)).to_arrow()["trace_day"].unique().to_pylist()
assert len(days) > 1, days
everything, day = files_of(slices), EqualTo("trace_day", max(days))
if len(everything) != sum(len(files_of(slices, EqualTo("trace_day", d))) for d in days):
    failures.append("files of slice have several days")
rows, old = slices.scan(day).to_arrow(), files_of(slices, day)
slices.delete(day)
if files_of(slices) != everything - old:
    failures.append("other files left with those of a day")
slices.append(rows)
if slices.scan(day).to_arrow().num_rows != rows.num_rows:
    failures.append("rows of a day are lost")
assert len(files) > 20, f"only {len(files)} tables have files"
sys.exit("\n".join(failures) or 0)
