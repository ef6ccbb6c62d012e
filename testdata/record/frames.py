"""Write frames.pftrace: five frames of an app as Android's FrameTimeline tells of them, two of them late."""

import sys

FRAME_TIMELINE_EVENT, PACKET, TIMESTAMP = 76, 1, 8
EXPECTED, ACTUAL, END = 3, 4, 5  # surface frames
LATE, ON_TIME, VALID, NONE, APP_DEADLINE_MISSED = 2, 1, 1, 1, 64
MS = 1_000_000


def varint(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def event(ts, kind, *values):
    """A packet of one event, whose fields are numbered from 1; None is left out."""
    message = b"".join(field(i, v) for i, v in enumerate(values, 1) if v is not None)
    return field(PACKET, field(TIMESTAMP, ts) + field(FRAME_TIMELINE_EVENT, field(kind, message)))


events = []
for frame, (late, took) in enumerate([(0, 12), (0, 14), (9, 25), (0, 11), (30, 46)]):
    token, start = 100 + frame, (1000 + 16 * frame) * MS
    common = (token, 10 + frame, 10, b"app/MainActivity")
    events += [
        (start, EXPECTED, 2 * frame + 1, *common),
        (start + 16 * MS, END, 2 * frame + 1),
        (start + MS, ACTUAL, 2 * frame + 2, *common, LATE if late else ON_TIME, int(not late), 0,
         APP_DEADLINE_MISSED if late else NONE, VALID, None, 3 if late > 20 else 2 if late else 1),
        (start + MS + took * MS, END, 2 * frame + 2),
    ]
with open(sys.argv[1], "wb") as out:
    out.writelines(event(*e) for e in sorted(events))
