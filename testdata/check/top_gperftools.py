"""Compare the functions of a profile of gperftools, written with its functions by --raw, with those that google-pprof prints.

usage: top_gperftools.py PROFILE DATASET

google-pprof leaves out arguments and templates. It has two rows for a function that is inlined in some places, so the total of such a
function is not known.
"""
import collections, re, sys

from top import compare, functions, plain, shown, stacks, tool

path, dataset = plain(sys.argv[1]), sys.argv[2]


def short(name):
    """Returns a name as google-pprof shows it."""
    for pattern in r"\([^()]*\)(\s*const)?", r"<[^<>]*>":
        while re.search(pattern, name):
            name = re.sub(pattern, "", name)
    return re.sub(r"^.*\s+(\w+::)", r"\1", name)


want = {}
for line in tool(["google-pprof", "--text", path]).splitlines():
    if row := re.fullmatch(r" *(\d+) +[\d.]+% +[\d.]+% +(\d+) +[\d.]+% (.*)", line):
        own, total, name = row.groups()
        name = name.removesuffix(" (inline)")
        want[name] = (want[name][0] + int(own), None) if name in want else (int(own), int(total))
metric, _ = shown(dataset)
values = collections.Counter()
for stack, value in stacks(dataset).items():
    values[tuple(map(short, stack))] += value
sys.exit(compare(metric, functions(values), want))
