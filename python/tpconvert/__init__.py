"""Traces as tables: converts traces, and opens what the command tpconvert writes.

The command does the work. It is looked for in the environment variable
TPCONVERT_BIN, then in PATH.
"""

from tpconvert._command import Error, Server
from tpconvert._dataset import Dataset, Table, convert, open

__all__ = ["Dataset", "Error", "Server", "Table", "convert", "open"]
