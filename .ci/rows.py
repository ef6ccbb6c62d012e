"""Make a dataset of a trace whose internal tables have Trace Processor's own rows.

usage: .ci/python .ci/rows.py PEER TPCONVERT TRACE DATASET
"""

import json
import pathlib
import re
import subprocess
import sys
import tarfile

import pyarrow
import pyarrow.ipc
import pyarrow.parquet

# The dataset's names of tables and columns where they differ, as in sqlfuncs/perfettosql/tables/dataset.go.
TABLES = {"logs": "android_logs", "trace_import_logs": "import_log", "_linux_interrupt_mapping": "linux_interrupt_mapping"}
LOCAL = {"trace_id": "local_trace_id"}
COLUMNS = {"track": {"type": "classification"}, "trace_import_logs": LOCAL, "metadata": LOCAL, "stats": LOCAL, "trace_diagnostics": LOCAL,
           "flow": LOCAL}
OURS = {"build_flags", "modules"}  # not of the trace
CONTEXTS = {"profiler_task_context": "task_context_id", "profiler_execution_context": "execution_context_id"}


def samples(rows):
    """Returns the samples with the columns of their contexts, as datasets have them."""
    columns = {c: plain(rows["profiler_sample"][c]) for c in rows["profiler_sample"].column_names}
    for name, key in CONTEXTS.items():
        for column in rows[name].column_names[1:]:
            values, of = rows[name][column].to_pylist(), columns[key].to_pylist()
            columns[column] = pyarrow.array([None if i is None else values[i] for i in of], plain(rows[name][column]).type)
    return pyarrow.table(columns)


def plain(column):
    """Returns a column with a type of datasets."""
    of = column.type
    if pyarrow.types.is_dictionary(of):
        return column.cast(of.value_type)
    if pyarrow.types.is_integer(of) or pyarrow.types.is_boolean(of) or pyarrow.types.is_null(of):
        return column.cast(pyarrow.int64())
    return column.cast(pyarrow.float64() if pyarrow.types.is_floating(of) else pyarrow.string())


peer, tpconvert, trace, out = sys.argv[1:]
out = pathlib.Path(out)
subprocess.run([tpconvert, "-q", trace, out], check=True)
manifest = json.loads((out / "_tpconvert.json").read_text())
tables = {t["name"]: t for t in manifest["tables"]}
kept = {}  # tables of samples


def write(to, rows):
    tables.pop(to, None)
    if rows.num_rows:
        file = out / f"{to}.parquet"
        pyarrow.parquet.write_table(rows, file)
        tables[to] = {"name": to, "rows": rows.num_rows, "bytes": file.stat().st_size, "file": file.name}


names = re.findall(r"^\S+", pathlib.Path("sqlfuncs/perfettosql/tables/tables.txt").read_text(), re.M)
with subprocess.Popen([peer, "export", "arrow_tar", "-o", "/dev/stdout", trace], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as export:
    with tarfile.open(fileobj=export.stdout, mode="r|") as tar:
        for member in tar:
            shown = member.name.removesuffix(".arrow")
            name = shown.removeprefix("__intrinsic_")
            if shown not in names or name in OURS:
                continue
            rows = pyarrow.ipc.open_file(pyarrow.py_buffer(tar.extractfile(member).read())).read_all()
            if name == "profiler_sample" or name in CONTEXTS:
                kept[name] = rows
                continue
            columns = {COLUMNS.get(name, {}).get(c, c): plain(rows[c]) for c in rows.column_names}
            write(TABLES.get(name, name), pyarrow.table(columns))
write("stack_sample", samples(kept))
bounds = subprocess.run([peer, "query", trace, "SELECT start_ts, end_ts FROM trace_bounds"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True, text=True)
start, end = bounds.stdout.split()[-1].split(",")
write("trace_bounds", pyarrow.table({"start_ts": [int(start)], "end_ts": [int(end)]}))  # an export does not have them
manifest["tables"] = list(tables.values())
(out / "_tpconvert.json").write_text(json.dumps(manifest))
