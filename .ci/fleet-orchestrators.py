"""Run the scripts of docs/fleet/ray.md and docs/fleet/dagster.md on a fleet in a folder: fleet-orchestrators.py TPFLEET TRACE...

The program "dagster" is beside the interpreter. S3 is a folder here.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap

tpfleet, traces = os.path.abspath(sys.argv[1]), sys.argv[2:]
DAY = "2026-11-23"


def scripts(page):
    """Returns the blocks of Python on a page."""
    blocks = re.findall(r"(?:^    .*\n|^\n)+", pathlib.Path(page).read_text(), re.MULTILINE)
    return [block for block in map(textwrap.dedent, blocks) if "import " in block]


beside = os.path.dirname(sys.executable)
ray = [(script, [sys.executable, "script.py"]) for script in scripts("docs/fleet/ray.md")]
dagster = [
    (script, [f"{beside}/dagster", *command])
    for script, command in zip(scripts("docs/fleet/dagster.md"), [
        ["asset", "materialize", "-f", "script.py", "--select", "traces", "--partition", DAY],
        ["job", "execute", "-f", "script.py", "-j", "traces", "--tags", json.dumps({"dagster/partition": DAY})],
    ], strict=True)
]
assert len(ray) == 1, "the script for Ray is not found"

for script, command in ray + dagster:
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        day = root / "traces" / DAY
        for made in day, root / "bin", root / "dagster":
            made.mkdir(parents=True)
        for trace in traces:
            shutil.copy(trace, day)
        (root / "bin/tpfleet").symlink_to(tpfleet)
        script = script.replace("s3://traces", f"{root}/traces").replace('"plan", ', '"plan", "--task-traces", "1", ')  # several tasks
        (root / "script.py").write_text(script)
        env = os.environ | {"PATH": os.pathsep.join([str(root / "bin"), os.environ["PATH"]]), "TPFLEET_LAKE": str(root / "lake"),
                            "DAGSTER_HOME": str(root / "dagster"), "DAGSTER_DISABLE_TELEMETRY": "1", "RAY_USAGE_STATS_ENABLED": "0"}

        def run(*command):
            """Returns what a command prints; its failure is that of the test."""
            done = subprocess.run(command, env=env, cwd=root, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            if done.returncode:
                sys.exit(f"{done.stdout}\n{' '.join(command)} failed:\n{script}")
            return done.stdout

        run("tpfleet", "init", "--lake", str(root / "lake"))
        rows = set()
        for _ in range(2):  # the second has nothing to do
            run(*command)
            status = json.loads(run("tpfleet", "status", "--json"))
            assert status["ok"] == len(traces) and not status["failures"], status
            rows.add(status["rows"])
        assert len(rows) == 1 and min(rows) > 100, rows
print(f"{len(ray + dagster)} scripts converted {len(traces)} traces each, and nothing again")
