"""Carry out the tasks of "tpfleet plan" as a Spark job: spark-submit tpfleet.py TASKS [WORK...]

TASKS is a file of the driver. WORK is the command that carries out tasks on the executors, "tpfleet work" unless said otherwise. With
--results in it, each partition writes its result to a store or a shared folder as soon as it is made; without, the driver writes all
to the standard output when the job is done. They are for "tpfleet commit".
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
    job = context.parallelize(tasks, max(1, len(tasks)))
    if any(word.startswith("--results") for word in work):
        job.foreachPartition(lambda tasks: list(carry_out(tasks)))
    else:
        sys.stdout.writelines(job.mapPartitions(carry_out).collect())


if len(sys.argv) < 2:
    sys.exit(__doc__)
main(*sys.argv[1:])
