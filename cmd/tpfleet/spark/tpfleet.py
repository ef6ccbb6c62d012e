"""Carry out the tasks of "tpfleet plan" as a Spark job: spark-submit tpfleet.py TASKS [WORK...] >RESULTS

TASKS is a file of the driver. RESULTS is for "tpfleet commit". WORK is the command that carries out tasks on the executors,
"tpfleet work" unless said otherwise. With --results in it, each result goes to a store as soon as it is made.
"""

import os
import subprocess
import sys

from pyspark import SparkFiles
from pyspark.sql import SparkSession


def main(file, *work):
    with open(file) as lines:
        tasks = list(lines)
    command = list(work) or ["tpfleet", "work"]

    # As RDD.pipe(checkCode=True), but the command has the environment of the executor, such as its credentials.
    def carry_out(tasks):
        shipped = SparkFiles.get(command[0])  # by --files; only a cluster puts these into the working folder
        program = [shipped if os.path.exists(shipped) else command[0], *command[1:]]
        for task in tasks:
            yield subprocess.run(program, input=task, stdout=subprocess.PIPE, text=True, check=True).stdout

    context = SparkSession.builder.appName("tpfleet").getOrCreate().sparkContext
    # A partition for each task: Spark tries it again if its executor or its worker is lost.
    for result in context.parallelize(tasks, max(1, len(tasks))).mapPartitions(carry_out).collect():
        sys.stdout.write(result)


if len(sys.argv) < 2:
    sys.exit(__doc__)
main(*sys.argv[1:])
