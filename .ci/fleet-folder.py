"""Read the tables of a fleet in a folder with several readers, and compare their rows: fleet-folder.py FOLDER"""

import json
import os
import sys

import duckdb
import polars
from pyiceberg.catalog import load_catalog

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
assert len(files) > 20, f"only {len(files)} tables have files"
sys.exit("\n".join(failures) or 0)
