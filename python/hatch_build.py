"""The version of the wheel, and the command and DuckDB's extension in it.

.ci/dist/package sets the variables. Without them, as in `pip install ./python`, the wheel has no
command and works with one that is installed otherwise.
"""

import os

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

VERSION = os.environ.get("TPCONVERT_VERSION", "0.0.0.dev0")


class CustomBuildHook(BuildHookInterface):
    def initialize(self, version, build_data):
        command, platform = os.environ.get("TPCONVERT_COMMAND"), os.environ.get("TPCONVERT_PLATFORM")
        if version != "standard" or not command:
            return
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform}"
        build_data["shared_scripts"] = {command: os.path.basename(command)}
        if extension := os.environ.get("TPCONVERT_EXTENSION"):
            build_data["force_include"][extension] = "tpconvert/tpconvert.duckdb_extension"
