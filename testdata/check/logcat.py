#!/usr/bin/env python3
"""Compares the messages of a dataset with the text of logcat -v threadtime: time, process and thread, priority, tag, message.

    logcat.py TRACE DATASET        prints differences; exit 1 if there are any

Dates without a year are in 1970. Carriage returns before all line ends are none of the message.
"""
import calendar
import collections
import gzip
import re
import sys

import duckdb

LINE = re.compile(r"(?:(\d{4})-)?(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)\.(\d{3,9}) +(?:[a-z]\w* +)?(\d+) +(\d+) ([VDIWEFS]) (.*)", re.S)
PRIORITY = dict(zip("VDIWEFS", range(2, 9)))


def messages(path):
    data = (gzip.open if path.endswith(".gz") else open)(path, "rb").read().decode("utf-8", "replace")
    *lines, last = data.split("\n")
    if all(line.endswith("\r") for line in lines):
        lines = [line.rstrip("\r") for line in lines]
    lines.append(last)  # which may lack its end
    for line in lines:
        m = LINE.fullmatch(line)
        if not m:
            if line and not line.startswith("---------"):
                print("cannot read:", line)
            continue
        year, *at, fraction, pid, tid, priority, rest = m.groups()
        tag, colon, text = rest.partition(": ")
        ts = calendar.timegm((int(year or 1970), *map(int, at))) * 10**9 + int(fraction.ljust(9, "0"))
        yield ts, int(pid), int(tid), PRIORITY[priority], tag.rstrip(" ") if colon else None, text if colon else rest


def main():
    trace, dataset = sys.argv[1:]
    want = collections.Counter(messages(trace))
    got = collections.Counter(duckdb.sql(f"""SELECT l.ts, p.pid, t.tid, l.prio, l.tag, l.msg FROM '{dataset}/android_logs.parquet' l
        LEFT JOIN '{dataset}/thread.parquet' t USING (utid) LEFT JOIN '{dataset}/process.parquet' p USING (upid)""").fetchall())
    missing, extra = want - got, got - want
    for sign, rows in (("text only", missing), ("dataset only", extra)):
        for row in sorted(rows.elements(), key=str)[:10]:
            print(sign, row)
    print(f"{sum(want.values())} messages, {sum(missing.values())} missing, {sum(extra.values())} extra")
    return 1 if missing or extra else 0


if __name__ == "__main__":
    sys.exit(main())
