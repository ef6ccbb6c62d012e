"""What flamegraph shows of a dataset, to compare it with what the tool of a format shows of its file.

Scripts named top_*.py use it. Each compares all functions, in the measure that flamegraph shows first unless it says another.
"""
import collections, gzip, os, re, shutil, subprocess, sys, tempfile

SCALES = {"us": 1e3, "ms": 1e6, "s": 1e9, "mins": 60e9, "hrs": 3600e9, "kB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30} # of other units, 1
ROW = re.compile(r"\s*(-?[\d.]+)(\S*)\s+\S+%\s+\S+%\s+(-?[\d.]+)(\S*)\s+\S+%  (.*)")
SCRATCH = tempfile.TemporaryDirectory()
NOTE = re.compile(r" \((partial-)?inline\)$")


def scratch(name):
    """Returns the path of a temporary file."""
    return os.path.join(SCRATCH.name, name)


def plain(path):
    """Returns the path of a file that is not compressed."""
    if not path.endswith(".gz"):
        return path
    copy = scratch(os.path.basename(path).removesuffix(".gz"))
    with open(copy, "wb") as file:
        file.write(gzip.open(path).read())
    return copy


def leave(reason):
    """Ends a script that cannot compare."""
    print(reason.strip()[:300])
    sys.exit(2)


def tool(name, **options):
    """Runs a tool, a list that begins with its name, and returns what it prints."""
    if not shutil.which(name[0]):
        leave(f"there is no {name[0]}")
    done = subprocess.run(name, capture_output=True, text=True, errors="replace", **options)
    if done.returncode:
        leave(f"{name[0]} cannot read it: {(done.stderr or done.stdout).strip()[-200:]}")
    return done.stdout


def fail(error):
    """Ends a script because flamegraph failed. That folded stacks hold no negative values is no failure."""
    if "which is negative" in error:
        leave(error)
    sys.exit(error)


def flamegraph(dataset, *options, failed=fail):
    """Runs flamegraph, and returns what it prints or what failed makes of its error."""
    done = subprocess.run(["bin/tpconvert", "flamegraph", *options, dataset], capture_output=True, text=True)
    if "built without DuckDB" in done.stderr:
        leave("this build of tpconvert has no flamegraph")
    return failed(done.stderr) if done.returncode else done.stdout


def stacks(dataset, *options, failed=fail):
    """Returns the values of all stacks, tuples of functions from the root, or None after failed."""
    values = collections.Counter()
    file = scratch("stacks.folded")
    if flamegraph(dataset, "-f", "-o", file, *options, failed=failed) is None:
        return None
    for line in open(file, newline="\n"):
        stack, _, value = line.rpartition(" ")
        values[tuple(stack.split(";"))] += float(value)
    return values


def functions(values):
    """Returns the values of functions: of their own, and with what they call."""
    own, total = collections.Counter(), collections.Counter()
    for stack, value in values.items():
        own[stack[-1]] += value
        for function in set(stack):
            total[function] += value
    return {function: (own[function], total[function]) for function in total}


def shown(dataset, *options):
    """Returns the metric that --top shows, and its functions, exactly. Those that --top prints have these values, and it counts the others."""
    exact = functions(stacks(dataset, *options))
    head, _, rows = flamegraph(dataset, "--top", *options).partition("flat%")
    rows = [ROW.fullmatch(line) for line in rows.splitlines()[1:]]
    dropped = re.search(r"^Dropped (\d+) nodes?", head, re.M)
    known = len(rows) + int(dropped[1] if dropped else 0)
    if known == len(exact) - 1: # samples without a stack are not a function for pprof
        del exact["[unknown]"]
    elif known != len(exact):
        sys.exit(f"--top has {known} functions, NAME.folded {len(exact)}")
    for row in rows:
        own, unit, total, total_unit, name = row.groups()
        values = exact[NOTE.sub("", name).replace(";", ":").replace("\\t", "\t")]
        for value, text, unit in zip(values, (own, total), (unit, total_unit)):
            digits = len(text.partition(".")[2])
            if abs(value / SCALES.get(unit, 1) - float(text)) > 0.51 * 10**-digits:
                sys.exit(f"--top prints {text}{unit} for {value} of {name}")
    metric = re.search("^Type: (.*)", head, re.M)
    return metric[1] if metric else "", exact


def compare(what, got, want, near=lambda a, b: a == b):
    """Compares the functions of flamegraph with those of a tool, which has None for what it does not tell. Either may leave out zeros."""
    differ = []
    for name in sorted({*got, *want}):
        ours, theirs = got.get(name, (0, 0)), want.get(name, (0, 0))
        if not all(b is None or near(a, b) for a, b in zip(ours, theirs)):
            differ.append((name, ours, theirs))
    print(f"{what}: {len(want)} functions, {len(differ)} differ")
    for name, ours, theirs in differ[:5]:
        print(f"{name}: flamegraph {ours}, the tool {theirs}")
    return bool(differ)
