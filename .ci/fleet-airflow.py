"""Run the DAGs of docs/fleet/airflow.md with Airflow, on a fleet in a folder: fleet-airflow.py TPFLEET TRACE...

The program "airflow" is beside the interpreter. S3 is a folder here, and "aws s3 cp" copies a file. A DAG of a cloud's
batch service is not run.
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
blocks = re.findall(r"(?:^    .*\n|^\n)+", pathlib.Path("docs/fleet/airflow.md").read_text(), re.MULTILINE)
dags = [dag for dag in map(textwrap.dedent, blocks) if "@dag" in dag and "providers.amazon" not in dag]
assert len(dags) >= 2, "the DAGs are not found"

for dag in dags:
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        day = root / "traces" / "2026-11-23"
        for made in day, root / "airflow/dags", root / "bin", root / "scratch/2026-11-23/results":
            made.mkdir(parents=True)
        for trace in traces:
            shutil.copy(trace, day)
        (root / "bin/tpfleet").symlink_to(tpfleet)
        (root / "bin/aws").write_text('#!/bin/sh\nexec cp "$4" "${5#file://}" # of s3 cp --quiet FROM TO\n')
        (root / "bin/aws").chmod(0o755)
        dag = dag.replace("s3://traces", f"{root}/traces").replace("s3://lake-scratch", f"file://{root}/scratch").replace('"retries": 3', '"retries": 0')
        (root / "airflow/dags/dag.py").write_text(dag.replace("tpfleet plan", "tpfleet plan --task-traces 1"))  # several tasks
        path = os.pathsep.join([str(root / "bin"), os.path.dirname(sys.executable), os.environ["PATH"]])
        env = os.environ | {"PATH": path, "TPFLEET_LAKE": str(root / "lake"), "AIRFLOW_HOME": str(root / "airflow"),
                            "AIRFLOW__CORE__LOAD_EXAMPLES": "false"}

        def run(*command):
            """Returns what a command prints; its failure is that of the test."""
            done = subprocess.run(command, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            if done.returncode:
                sys.exit(f"{done.stdout}\n{' '.join(command)} failed:\n{dag}")
            return done.stdout

        run("tpfleet", "init", "--lake", str(root / "lake"))
        run("airflow", "db", "migrate")
        rows = set()
        for _ in range(2):  # the second has nothing to do
            run("airflow", "dags", "test", "traces", "2026-11-23")
            status = json.loads(run("tpfleet", "status", "--json"))
            assert status["ok"] == len(traces) and not status["failures"], status
            rows.add(status["rows"])
        assert len(rows) == 1 and min(rows) > 100, rows
print(f"{len(dags)} DAGs converted {len(traces)} traces each, and nothing again")
