"""Compare the functions of a .cpuprofile with the times that Chrome's DevTools count.

usage: top_cpuprofile.py PROFILE DATASET

cpuprofile.mjs needs two packages of npm: .ci/profilers installs them.
"""
import json, os, sys

from top import compare, leave, scratch, shown, tool

modules = os.path.abspath("bin/profilers/node_modules")
if not os.path.isdir(modules + "/chrome-devtools-frontend"):
    leave("there is no chrome-devtools-frontend")
script = scratch("cpuprofile.mjs")
source = os.path.join(os.path.dirname(__file__), "cpuprofile.mjs")
tool([modules + "/.bin/esbuild", "--bundle", "--platform=node", "--format=esm", "--log-level=error", "--outfile=" + script, source],
     env=dict(os.environ, NODE_PATH=modules))
want = json.loads(tool(["node", script, sys.argv[1]]))
metric, got = shown(sys.argv[2])
got.pop("(root)", None) # DevTools does not draw it
sys.exit(compare(metric, got, {name.replace(";", ":"): (own * 1e6, total * 1e6) for name, (own, total) in want.items()}, lambda a, b: abs(a - b) < 500))
