"""Traces as tables: converts traces, and opens what the command tpconvert writes.

The command does the work. It is looked for in the environment variable
TPCONVERT_BIN, then in PATH.
"""

from tpconvert._command import Error, LossWarning, Server
from tpconvert._dataset import Dataset, Relation, Table, convert, open

__version__ = "0.1.0"

__all__ = ["Dataset", "Error", "LossWarning", "Relation", "Server", "Table", "__version__", "convert", "open"]
