"""Traces as tables of DuckDB, by its extension."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Sequence
from typing import Any

import duckdb

from tpconvert._command import Error, StrPath


def find() -> str | None:
    """The path of the extension: the environment variable TPCONVERT_EXTENSION, or the file in this package, or None."""
    if chosen := os.environ.get("TPCONVERT_EXTENSION"):
        return chosen
    installed = pathlib.Path(__file__).with_name("tpconvert.duckdb_extension")
    return str(installed) if installed.exists() else None


def load(connection: duckdb.DuckDBPyConnection) -> None:
    """Loads the extension: read_trace and the other functions for traces are there in the database of the connection.

    DuckDB must allow extensions that are not signed: duckdb.connect(config={"allow_unsigned_extensions": True}). Raises
    Error if there is no extension for this platform.
    """
    path = find()
    if path is None:
        raise Error("this package has no extension of DuckDB for this platform: tpconvert.open reads a trace by the command")
    connection.execute("LOAD '" + path.replace("'", "''") + "'")


def connect(
    trace: StrPath | Sequence[StrPath], *, strict: bool = False, symbols: Sequence[StrPath] = (), memory: int | None = None,
) -> duckdb.DuckDBPyConnection:
    """A plain connection of DuckDB, to a database in memory, with the tables of a trace and the functions of Trace Processor.

    Several traces, or a pattern such as "traces/*.pftrace", have the column trace_id in each table. With strict, lost data is an
    error. symbols are folders with binaries. Rows beyond memory, in bytes, go to a temporary file. Raises duckdb.Error if a
    trace cannot be read, and Error if there is no extension for this platform.
    """
    given: Any = os.fspath(trace) if isinstance(trace, (str, os.PathLike)) else [os.fspath(t) for t in trace]
    options: dict[str, Any] = {"strict": strict, "symbols": [os.fspath(s) for s in symbols], "memory": memory}
    named = {name: value for name, value in options.items() if value}
    connection = duckdb.connect(config={"allow_unsigned_extensions": True})
    try:
        load(connection)
        connection.execute(f"CALL attach_trace(?{''.join(f', {name} := ?' for name in named)})", [given, *named.values()])
    except BaseException:
        connection.close()
        raise
    return connection
