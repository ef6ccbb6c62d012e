"""Compare the functions of a profile of gperftools or jemalloc, written with its functions by --raw, with those that google-pprof or jeprof
prints.

usage: top_gperftools.py PROFILE DATASET

They leave out arguments and templates. They have two rows for a function that is inlined in some places, so the total of such a
function is not known. The bytes of a stack of jemalloc are an estimate, which is cut to whole bytes here, so functions may have less by one for
each stack.
"""
import collections, re, sys

from top import compare, functions, plain, shown, stacks, tool

path, dataset = plain(sys.argv[1]), sys.argv[2]


def short(name):
    """Returns a name as the tools show it."""
    for pattern in r"\([^()]*\)(\s*const)?", r"<[^<>]*>":
        while re.search(pattern, name):
            name = re.sub(pattern, "", name)
    return re.sub(r"^.*\s+(\w+::)", r"\1", name)


want = {}
data = open(path, "rb").read()
estimated = b"\nheap_v2/" in data
for line in tool([*(["jeprof", "--show_bytes"] if estimated else ["google-pprof"]), "--text", path]).splitlines():
    if row := re.fullmatch(r" *(\d+) +[\d.]+% +[\d.]+% +(\d+) +[\d.]+% (.*)", line):
        own, total, name = row.groups()
        name = name.removesuffix(" (inline)")
        want[name] = (want[name][0] + int(own), None) if name in want else (int(own), int(total))
metric, _ = shown(dataset)
values = collections.Counter()
for stack, value in stacks(dataset).items():
    values[tuple(map(short, stack))] += value
less = data.count(b"\n@") if estimated else 0
sys.exit(compare(metric, functions(values), want, lambda a, b: 0 <= b - a <= less))
