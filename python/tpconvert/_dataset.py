"""Opens datasets, and converts traces into them."""

from __future__ import annotations

import difflib
import functools
import html
import json
import os
import pathlib
import re
import shutil
import sys
import tempfile
import weakref
from collections.abc import Sequence
from typing import Any

import duckdb

from tpconvert import _command
from tpconvert._command import Error, Server, StrPath, find, run

MANIFEST = "_tpconvert.json"
#: The folder with the rows that the command derive added, beside the tables.
DERIVED = "_derived"
#: The tables that only derive fills.
ADDITIONS = {"alert", "annotation"}


def convert(
    trace: StrPath | Sequence[StrPath], out: StrPath, *, force: bool = False, append: bool = False, merge: bool = False,
    options: Sequence[str] = (),
) -> Dataset:
    """Converts one trace or several into the dataset out, and opens it.

    force replaces an existing dataset, append adds to a dataset of many traces, merge makes
    one trace of several. options are other flags of the command, such as
    ["--tables", "slice,thread"]. Raises Error if a trace cannot be converted, and warns with
    LossWarning if something of it is lost or damaged.
    """
    traces = [trace] if isinstance(trace, (str, os.PathLike)) else list(trace)
    flags = [f"--{name}" for name, on in {"force": force, "append": append, "merge": merge}.items() if on]
    try:
        _command.convert([*flags, *options, "--", *traces, out], stacklevel=2)
    except Error as error:
        message = str(error)
        for name in "force", "append", "merge":
            message = message.replace(f"--{name}", f"{name}=True")
        raise Error(message, error.code) from None
    return open(out)


def open(path: StrPath, *, derived: bool = False) -> Dataset:
    """Opens a dataset of one trace or many, a DuckDB file of the command register, or a
    trace or a folder of traces, which is converted into a temporary folder. With derived,
    the tables of a dataset have the rows that the command derive added, too."""
    return Dataset(path, derived)


class Dataset:
    """The tables of a trace, or of many traces with the column trace_id.

    It is closed at the end of a with statement, or when the object is collected.
    """

    def __init__(self, path: StrPath, derived: bool = False) -> None:
        self.path = pathlib.Path(path)
        if not self.path.exists():
            raise FileNotFoundError(f"there is no dataset or trace {self.path}")
        temporary = tempfile.mkdtemp(prefix="tpconvert-")
        try:
            self._temporary = temporary
            self._source = _dataset(self.path, pathlib.Path(temporary))
            self._db, self.has_functions = _connect(self._source, pathlib.Path(temporary), derived)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise
        self._end = weakref.finalize(self, _end, self._db, temporary)

    def sql(self, query: str, params: Sequence[Any] | None = None) -> Relation:
        """The rows of a query in DuckDB's SQL, as a relation: .df() is a DataFrame of pandas,
        whose integers and truths stay what they are beside NULL, .pl() of Polars, .to_arrow_table() an Arrow table, .fetchall() a list of tuples.

        The functions and macros of Trace Processor, such as extract_arg, are there if
        has_functions is true.
        """
        try:
            found = self._db.sql(query, params=params) if params is not None else self._db.sql(query)
        except duckdb.CatalogException as error:
            if self.has_functions:
                raise
            raise Error(f"{error}\nThe functions and views of Trace Processor need the command tpconvert, and there is none "
                        "in PATH or TPCONVERT_BIN") from error
        return Relation(self, found)

    def table(self, name: str) -> Table:
        """A table, such as slice or thread. Raises KeyError if the dataset does not have it."""
        if name not in (tables := self.tables()):
            near = difflib.get_close_matches(name, tables, 1)
            raise KeyError(f"{self.path} has no table {name}" + (f": did you mean {near[0]}?" if near else ""))
        return Table(self, name)

    def tables(self) -> list[str]:
        """The names of the tables and views."""
        rows = self._db.execute(
            "SELECT table_name FROM information_schema.tables WHERE table_catalog = current_database() "
            r"AND table_name NOT LIKE '\_%' ESCAPE '\' ORDER BY ALL").fetchall()
        return [name for (name,) in rows]

    def metric(self, *specs: StrPath, options: Sequence[str] = ()) -> dict[str, Relation]:
        """The tables of metrics, by name. specs are names such as "cpu" and files with
        TraceSummarySpec; without any, all metrics that need no file are computed. options are
        flags of the command summarize, such as "--compare=before/"."""
        folder = pathlib.Path(tempfile.mkdtemp(dir=self._temporary), "metrics")
        run(["summarize", "--quiet", "--output", folder, *options, "--", *specs, self._source])
        return {file.stem: Relation(self, self._db.read_parquet(str(file))) for file in sorted(folder.iterdir())}

    def flamegraph(self, *options: str, output: StrPath | None = None) -> Server | pathlib.Path:
        """Shows the samples, or the slices, as a flame graph of pprof: a server with the page,
        or the file output, NAME.pb.gz or NAME.folded. options are flags of the command
        flamegraph, such as "--slices" or "--process=app"."""
        if output is None:
            return Server(["flamegraph", "--no-browser", *options, "--", self._source])
        run(["flamegraph", "--quiet", "--output", output, *options, "--", self._source])
        return pathlib.Path(output)

    def report(self, *options: str) -> Report:
        """A page about the trace, which a notebook shows in place. options are flags of the
        command report, such as "--trace-id=a.json" for one of many traces."""
        file = pathlib.Path(tempfile.mkdtemp(dir=self._temporary), "report.html")
        run(["report", "--quiet", "--output", file, *options, "--", self._source])
        return Report(file.read_text(encoding="utf-8"))

    def serve(self, *options: str, port: int = 0) -> Server:
        """Serves the dataset to Perfetto's UI and to its package, whose
        TraceProcessor(addr=server.url) asks with PerfettoSQL. port 0 is any free one."""
        return Server(["serve", "--port", str(port), *options, "--", self._source])

    def close(self) -> None:
        """Closes the dataset."""
        self._end()

    def __enter__(self) -> Dataset:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<tpconvert dataset {self.path}>"

    def _repr_html_(self) -> str:
        traces = self._manifests()
        rows: dict[str, int] = {}
        for trace in traces:
            for table in trace["tables"]:
                rows[table["name"]] = rows.get(table["name"], 0) + table["rows"]
        cells = "".join(f"<tr><td style='text-align: right'>{n:,}</td><td style='text-align: left'>{name}</td></tr>"
                        for name, n in sorted(rows.items(), key=lambda item: (-item[1], item[0])) if n)
        about = [html.escape(str(self.path))]
        if len(traces) > 1:
            about.append(f"{len(traces):,} traces")
        elif traces and traces[0].get("end_ts", 0) > traces[0].get("start_ts", 0):
            about.append(f"{traces[0]['start_ts']:,} to {traces[0]['end_ts']:,} ns")
        return f"<p>{', '.join(about)}</p><table><tr><th>rows</th><th style='text-align: left'>table</th></tr>{cells}</table>"

    def _manifests(self) -> list[dict[str, Any]]:
        """What the dataset says of its traces. A DuckDB file says nothing."""
        files = [self._source / MANIFEST] if (self._source / MANIFEST).is_file() else sorted(self._source.glob(f"trace_id=*/{MANIFEST}"))
        return [json.loads(file.read_text(encoding="utf-8")) for file in files]


class Report:
    """A page that needs neither a server nor a network."""

    def __init__(self, page: str) -> None:
        #: The text of the page.
        self.html = page

    def save(self, path: StrPath) -> pathlib.Path:
        """Writes the page to a file."""
        pathlib.Path(path).write_text(self.html, encoding="utf-8")
        return pathlib.Path(path)

    def _repr_html_(self) -> str:
        page = self.html if _holds_library() else re.sub('(?<=<script type="application/json" id="library">)[^<]*', "", self.html)
        return f'<iframe srcdoc="{html.escape(page)}" width="100%" height="800" style="border: 0"></iframe>'


#: The cells of the notebook that have shown a report since the kernel began.
_shown: set[str] = set()


def _holds_library() -> bool:
    """Whether the report of the cell that runs holds the library for pictures. That of the first
    cell does, for the others, and that of a cell that runs again, since the first may be gone."""
    try:
        about = sys.modules["IPython"].get_ipython().get_parent()["metadata"]
        cell = about.get("cellId") or about["colab"]["cell_id"]
    except (AttributeError, KeyError):  # no notebook, or one that does not name its cells
        return True
    holds = not _shown or cell in _shown
    _shown.add(cell)
    return holds


class Relation:
    """A duckdb.DuckDBPyRelation, with its methods, that keeps its dataset open as long as it is
    used: tpconvert.open("out").sql("FROM slice").df() works. relation is DuckDB's own object."""

    def __init__(self, dataset: Dataset, relation: duckdb.DuckDBPyRelation) -> None:
        self.dataset, self.relation = dataset, relation

    def df(self) -> Any:
        """The rows as a pandas.DataFrame. DuckDB's own makes floats of integers beside NULL, which
        changes times in ns; here they are Int64, Int32 and so on, and truths are boolean."""
        import numpy
        import pandas

        frame = {}
        kinds = dict(zip(self.relation.columns, map(str, self.relation.types), strict=True))
        for name, values in self.relation.fetchnumpy().items():
            mask = numpy.ma.getmaskarray(values) if isinstance(values, numpy.ma.MaskedArray) else numpy.zeros(len(values), bool)
            data = numpy.ma.getdata(values)
            if data.dtype.kind in "iu" and "INT" in kinds.get(name, ""):
                frame[name] = pandas.arrays.IntegerArray(data, mask)
            elif data.dtype.kind == "b":
                frame[name] = pandas.arrays.BooleanArray(data, mask)
            else:
                frame[name] = pandas.Series(data).mask(mask) if mask.any() else values
        return pandas.DataFrame(frame)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.relation, name)
        return functools.partial(self._call, value) if callable(value) else self._wrap(value)

    def _call(self, method: Any, *args: Any, **named: Any) -> Any:
        def plain(value: Any) -> Any:
            return value.relation if isinstance(value, Relation) else value

        return self._wrap(method(*map(plain, args), **{name: plain(value) for name, value in named.items()}))

    def _wrap(self, value: Any) -> Any:
        return Relation(self.dataset, value) if isinstance(value, duckdb.DuckDBPyRelation) else value

    def __getitem__(self, name: str) -> Any:
        return self._wrap(self.relation[name])

    def __len__(self) -> int:
        return len(self.relation)

    def __repr__(self) -> str:
        return repr(self.relation)


class Table:
    """A table of a dataset."""

    def __init__(self, dataset: Dataset, name: str) -> None:
        self.dataset, self.name = dataset, name

    @property
    def relation(self) -> Relation:
        """The rows as a relation of DuckDB."""
        return Relation(self.dataset, self.dataset._db.table(self.name))

    def df(self) -> Any:
        """The rows as a pandas.DataFrame."""
        return self.relation.df()

    def pl(self) -> Any:
        """The rows as a polars.DataFrame."""
        return self.relation.pl()

    def arrow(self) -> Any:
        """The rows as a pyarrow.Table."""
        return self.relation.to_arrow_table()

    def __len__(self) -> int:
        (rows,) = self.dataset._db.execute(f'SELECT count(*) FROM "{self.name}"').fetchone() or (0,)
        return int(rows)

    def __repr__(self) -> str:
        return f"<table {self.name} of {self.dataset.path}>"

    def _repr_html_(self) -> str:
        first = self.relation.limit(10).df()._repr_html_()
        return f"{first}<p>{len(self):,} rows of {html.escape(self.name)}</p>"


def _dataset(path: pathlib.Path, temporary: pathlib.Path) -> pathlib.Path:
    """The dataset or DuckDB file that path is, or a dataset of the traces that it has."""
    if path.suffix == ".duckdb" or (path / MANIFEST).is_file() or (path / "_tpconvert").is_dir():
        return path
    _command.convert(["--", path, temporary / "dataset"], stacklevel=4)
    return temporary / "dataset"


def _connect(path: pathlib.Path, temporary: pathlib.Path, derived: bool) -> tuple[duckdb.DuckDBPyConnection, bool]:
    """A connection with the tables of path, and whether it has Trace Processor's functions."""
    if path.suffix != ".duckdb":
        if find() is None:
            return _views(path, derived), False
        try:
            run(["register", "--quiet", *(["--derived"] if derived else []), "--", path, temporary / "trace.duckdb"])
        except Error as error:
            if "built without DuckDB" not in str(error):
                raise
            return _views(path, derived), False
        path = temporary / "trace.duckdb"
    return duckdb.connect(str(path), read_only=True), True


def _views(path: pathlib.Path, derived: bool) -> duckdb.DuckDBPyConnection:
    """A connection with a view of each table's Parquet files."""
    db = duckdb.connect()
    one = (path / MANIFEST).is_file()
    files: dict[str, list[str]] = {}
    for folder in "", DERIVED:
        pattern = os.path.join("" if one else "trace_id=*", folder, "*.parquet")
        for name in sorted({file.stem for file in path.glob(pattern)}):
            if not folder or derived or name in ADDITIONS:
                files.setdefault(name, []).append(str(path / pattern.replace("*.parquet", f"{name}.parquet")))
    for name, patterns in sorted(files.items()):
        quoted = ", ".join("'" + p.replace("'", "''") + "'" for p in patterns)
        db.execute(f"CREATE VIEW \"{name}\" AS FROM read_parquet([{quoted}], hive_partitioning = {not one})")
    return db


def _end(db: duckdb.DuckDBPyConnection, temporary: str) -> None:
    db.close()
    shutil.rmtree(temporary, ignore_errors=True)
