"""Traces as tables: converts traces, and opens what the command tpconvert writes.

The command does the work. It is looked for in the environment variable
TPCONVERT_BIN, then among the programs of this Python, then in PATH. connect and
load need none: they use an extension of DuckDB.
"""

from importlib import metadata

from tpconvert._command import Error, LossWarning, Server
from tpconvert._dataset import Dataset, Relation, Report, Table, convert, open
from tpconvert._extension import connect, load

try:
    __version__ = metadata.version("tpconvert")
except metadata.PackageNotFoundError:  # in a checkout
    __version__ = "0.0.0.dev0"

__all__ = ["Dataset", "Error", "LossWarning", "Relation", "Report", "Server", "Table", "__version__", "connect", "convert", "load", "open"]
