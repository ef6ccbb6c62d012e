#!/usr/bin/env python3
"""Compares the slices of a dataset with strace's text: thread, call, time, duration, args and result.

    strace.py TRACE DATASET        prints differences; exit 1 if there are any

Reads what strace -f or a single process writes, with -ttt, -tt, -t, -r, -T, -i, -n, -k, -y, -Y and their long forms.
"""
import collections
import re
import sys

import duckdb

LEADER = re.compile(r"(?:\[pid\s+(?P<bpid>\d+)(?:<.*?>)?\] |(?P<pid>\d{1,7})(?:<.*?>)? +(?=[\d(]))? *"
                    r"(?:(?P<h>\d\d):(?P<m>\d\d):(?P<s>\d\d)(?:\.(?P<hf>\d+))?|(?P<n>\d+)(?:\.(?P<f>\d+))?)? ?"
                    r"(?:\(\+ *(?P<r>\d+)(?:\.(?P<rf>\d+))?\))? *(?:\[[ 0-9a-f?]+\] )*")
END = re.compile(r"(?P<args>.*?)(?: <unfinished \.\.\.>)?\) *= (?P<ret>[-?0-9].*?)(?: <(?P<t>\d+)(?:\.(?P<tf>\d+))?>)?$")
ATTACHED = re.compile(r"(?:strace: )?Process (\d+) attached(?: with \d+ threads)?$")
DAY = 86400 * 10**9


def ns(whole, fraction):
    return int(whole) * 10**9 + int((fraction or "").ljust(9, "0") or 0)


def last_end(text):
    """Splits at the last end of args, so that texts with ') = ' stay args."""
    best = None
    for m in re.finditer(r"\) *= (?=[-?0-9])", text):
        if best is None or text[m.end():].count("<") == text[m.end():].count(">"):  # not in the path of a result
            best = m
    if best is None:
        return None
    return END.match("\0" * best.start() + text[best.start():]), text[:best.start()]


def first(path):
    """The thread of lines without one: of the first message, of the file's name (-ff), or of a result."""
    attached = []
    for i, line in enumerate(open(path, encoding="utf-8", errors="surrogateescape")):
        m = ATTACHED.search(line)
        if m:
            attached.append(int(m[1]))
            if i == 0:
                return attached[0]
            continue
        m = re.match(r"[\d:.]+ (?:set_tid_address|gettid)\(.*\) += (\d+)", line.strip())
        if m:
            return int(m[1])
        m = re.match(r"\[pid +(\d+)", line)
        if m and attached and int(m[1]) not in attached:
            return int(m[1])
    m = re.search(r"\.(\d+)$", path)
    return int(m[1]) if m else None


def calls(path):
    rows, waiting, total, last, date, relative = [], {}, 0, 0, 0, None
    owner, unit = first(path), 1
    front = ""
    for line in open(path, encoding="utf-8", errors="surrogateescape"):
        line = front + line.rstrip("\n")
        front = ""
        m = ATTACHED.search(line)
        if m:
            front = line[:m.start()]
            continue
        if not line or line.startswith((" > ", " | ", " * ", "strace: ", "% time", "------")):
            if line.startswith("% time"):
                break
            continue
        m = LEADER.match(line)
        pid, body = m["bpid"] or m["pid"], line[m.end():]
        coarse = m["h"] and m["r"] is not None and len(m["rf"] or "") > len(m["hf"] or "")
        if m["r"] is not None:
            total += ns(m["r"], m["rf"])
        if m["h"]:
            tod = (int(m["h"]) * 3600 + int(m["m"]) * 60 + int(m["s"])) * 10**9 + int((m["hf"] or "").ljust(9, "0"))
            if tod < last - DAY // 2:
                date += DAY
            last = tod
            ts = date + tod
            if coarse:
                relative = (tod - total) if relative is None else relative
                ts = relative + total
        elif len(m["n"] or "") < 9:
            total += ns(m["n"], m["f"])
            ts = total
        else:
            ts = ns(m["n"], m["f"])
        pid = int(pid) if pid else owner
        if m["h"] and not coarse:
            unit = 10 ** (9 - len(m["hf"] or ""))
        if body.startswith(("--- ", "+++ ")):
            if body.startswith("+++ ") and pid in waiting:
                start, name, args = waiting.pop(pid)
                rows.append((pid, name, start, ts - start, args, None))
            continue
        if body.endswith(("<unfinished ...>", "<detached ...>")) and not re.match(r"<\.\.\. \w+ resumed>", body):
            name, args = body.split("(", 1)
            waiting[pid] = ts, name, args.rsplit(" <", 1)[0] if args.rsplit("<", 1)[0].endswith(" ") else args.rsplit("<", 1)[0]
            continue
        m = re.match(r"<\.\.\. (\w+) resumed>", body)
        name, rest = (m[1], body[m.end():]) if m else body.split("(", 1)
        found = last_end(rest)
        if not found:
            print("cannot read:", line)
            continue
        end, args = found
        args = re.sub(r" <unfinished \.\.\.>$", "", args)
        dur = ns(end["t"], end["tf"]) if end["t"] else 0
        if m:
            start, begun, before = waiting.pop(pid)
            assert begun == name, line
            args = before + (args.lstrip(" ") if before.endswith(" ") else args)
            dur = dur if end["t"] else ts - start
        else:
            start = ts
        rows.append((pid, name, start, dur, args.strip(), end["ret"].strip()))
    for pid, (start, name, args) in waiting.items():
        rows.append((pid, name, start, -1, args, None))
    return rows, unit


def slices(dataset):
    q = f"""SELECT t.tid, s.name, s.ts, s.dur,
              (SELECT string_value FROM '{dataset}/args.parquet' a WHERE a.arg_set_id = s.arg_set_id AND key = 'args'),
              (SELECT string_value FROM '{dataset}/args.parquet' a WHERE a.arg_set_id = s.arg_set_id AND key = 'ret')
            FROM '{dataset}/slice.parquet' s LEFT JOIN '{dataset}/thread_track.parquet' k ON s.track_id = k.id
            LEFT JOIN '{dataset}/thread.parquet' t USING (utid)"""
    return duckdb.sql(q).fetchall()


def main():
    rows, unit = calls(sys.argv[1])

    def counted(rows):  # calls of a thread in one unit of the clock follow each other, and an unknown thread has a made-up id
        return collections.Counter((tid if tid and tid < 1 << 22 else 0, name, ts // unit * unit, dur, args or "", ret or "")
                                   for tid, name, ts, dur, args, ret in rows)

    want, got = counted(rows), counted(slices(sys.argv[2]))
    missing, extra = want - got, got - want
    for sign, rows in (("text only", missing), ("dataset only", extra)):
        for row in sorted(rows.elements())[:10]:
            print(sign, row)
    print(f"{sum(want.values())} calls, {sum(missing.values())} missing, {sum(extra.values())} extra")
    return 1 if missing or extra else 0


if __name__ == "__main__":
    sys.exit(main())
