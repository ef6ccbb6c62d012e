# Compares the samples in the output of perf script with those of a dataset: time, thread, CPU, event, period, and the function
# and file of each frame. Times and stacks are read by regular expressions of their own.
# python3 chk_perfscript.py TRACE DATASET    (needs duckdb)
import collections, gzip, re, sys
from decimal import Decimal

import duckdb

path, dataset = sys.argv[1:3]
text = (gzip.open if path.endswith(".gz") else open)(path, "rb").read().decode("utf8", "replace")
header = re.compile(
    r"^\s*(?P<comm>.*?)\s+(?:(?P<pid>-?\d+)/)?(?P<tid>-?\d+)\s+(?:\[(?P<cpu>\d+)\]\s+)?(?:[KUHGgMESp]{1,5}\s+)?"
    r"(?P<ts>\d+\.\d{6}(?:\d{3})?):(?:\s+(?P<period>\d+))?\s+(?P<event>\S+):(?P<rest>\s.*|)$"
)
frame = re.compile(r"^\s+([0-9a-f]{1,16}) (.*)$")

samples, current = [], None
for line in text.split("\n"):
    if line.startswith("#"):
        continue
    m = header.match(line)
    if m and not line.startswith("\t") and not m["event"].startswith("PERF_RECORD"):
        current = dict(m.groupdict(), frames=[])
        samples.append(current)
        inline = frame.match(m["rest"])
        if inline:
            current["frames"].append(inline.groups())
    elif "PERF_RECORD_" in line:
        current = None
    elif current and frame.match(line):
        current["frames"].append(frame.match(line).groups())
    elif not line.strip():
        current = None


def split(frames):
    """Function and file of each frame. Functions marked as inlined are in the file of the next frame if that is at the same
    address; perf marks others, too, whose name differs from the symbol's, and does not say their file."""
    stack, at, file = [], None, ""
    for address, f in reversed(frames):
        function, _, last = f.rpartition(" (")
        if f.endswith("(deleted))"):
            function, _, last = f[: f.rindex(" (deleted))")].rpartition(" (")
            last += " (deleted))"
        if last != "inlined)":
            file = last[:-1]
        elif address != at:
            file = ""
        at = address
        stack.append((re.sub(r"\+0x[0-9a-f]+$", "", function), file))
    return tuple(reversed(stack))


number = lambda s: None if s is None else int(s)
want = collections.Counter(
    (int(Decimal(s["ts"]) * 10**9), int(s["tid"]), number(s["cpu"]), s["event"], number(s["period"]), split(s["frames"])) for s in samples
)

con = duckdb.connect()
table = lambda name: f"read_parquet('{dataset}/{name}.parquet')"
rows = lambda sql: con.execute(sql).fetchall()
sites = {i: (p, (n, m)) for i, p, n, m in rows(f"""SELECT c.id, c.parent_id, f.name, m.name FROM {table('stack_profile_callsite')} c
    JOIN {table('stack_profile_frame')} f ON f.id = c.frame_id JOIN {table('stack_profile_mapping')} m ON m.id = f.mapping""")}


def stack(site):
    frames = []
    while site is not None:
        site, frame = sites[site]
        frames.append(frame)
    return tuple(frames)


got = collections.Counter(
    (*row[:5], stack(row[5])) for row in rows(f"""SELECT s.ts, t.tid, s.cpu, e.event, e.period, s.callsite_id FROM {table('stack_sample')} s
    LEFT JOIN {table('thread')} t USING (utid) LEFT JOIN {table('stack_sample_event')} e ON e.stack_sample_id = s.id""")
)
missing, extra = want - got, got - want
print(f"{path}: {len(samples)} samples in the text, {sum(got.values())} rows; {sum(missing.values())} missing, {sum(extra.values())} extra")
for name, some in ("missing", missing), ("extra", extra):
    for row in list(some)[:3]:
        print(" ", name, row)
sys.exit(1 if missing or extra or not samples else 0)
