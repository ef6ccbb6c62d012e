"""Compare the functions of a .cpuprofile with the times that Chrome's DevTools count.

usage: top_cpuprofile.py PROFILE DATASET

cpuprofile.mjs needs two packages of npm: npm install --no-save chrome-devtools-frontend esbuild.
"""
import json, os, sys, tempfile

from top import compare, leave, shown, tool

if not os.path.isdir("node_modules/chrome-devtools-frontend"):
    leave("there is no chrome-devtools-frontend in node_modules")
with tempfile.TemporaryDirectory() as folder:
    script = os.path.join(folder, "cpuprofile.mjs")
    source = os.path.join(os.path.dirname(__file__), "cpuprofile.mjs")
    tool(["node_modules/.bin/esbuild", "--bundle", "--platform=node", "--format=esm", "--log-level=error", "--outfile=" + script, source])
    want = json.loads(tool(["node", script, sys.argv[1]]))
metric, got = shown(sys.argv[2])
got.pop("(root)", None) # DevTools does not draw it
sys.exit(compare(metric, got, {name.replace(";", ":"): (own * 1e6, total * 1e6) for name, (own, total) in want.items()}, lambda a, b: abs(a - b) < 500))
