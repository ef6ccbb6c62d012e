"""Compare the functions of a flight recording with the samples that jfr prints.

usage: top_jfr.py RECORDING DATASET
"""
import collections, json, re, sys

from top import compare, functions, plain, shown, tool

path, dataset = plain(sys.argv[1]), sys.argv[2]
metric, got = shown(dataset)
event = "jdk.ExecutionSample" if metric == "samples" else metric.partition(":")[2] or metric
events = json.loads(tool(["jfr", "print", "--json", "--stack-depth", "100000", "--events", event, path]))["recording"]["events"]
want = collections.Counter()
for event in events:
    values = event["values"]
    frames = values["stackTrace"]["frames"]
    names = [frame["method"]["type"]["name"].replace("/", ".") + "." + frame["method"]["name"] for frame in frames]
    period = re.fullmatch(r"PT([\d.]+)S", values.get("samplingPeriod", "")) # of samples of CPU time
    want[tuple(reversed(names))] += round(float(period[1]) * 1e9) if period else 1
sys.exit(compare(metric, got, functions(want)))
