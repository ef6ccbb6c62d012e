"""Execute notebooks in a folder that has a dataset, out/, and a DuckDB file, trace.duckdb.

A notebook fails if a cell does, or if it shows no plot.
"""

import os
import shutil
import sys

import nbclient
import nbformat


def main(folder, *paths):
    os.environ["PATH"] = os.defpath
    assert not shutil.which("tpconvert"), "the notebooks have to work without tpconvert"
    for path in paths:
        notebook = nbformat.read(path, as_version=4)
        nbclient.NotebookClient(
            notebook, timeout=60, extra_arguments=["--log-level=ERROR"], resources={"metadata": {"path": folder}}
        ).execute()
        plots = sum("image/png" in output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs", []))
        assert plots, f"{path} shows no plot"
        print(f"{path}: {len(notebook.cells)} cells, {plots} plots")


main(*sys.argv[1:])
