"""Write arrays.hprof, a heap dump in HPROF format with an array of each primitive type."""

import math
import struct

ARRAYS = [  # name, number and format of the type, elements
    ("boolean", 4, "?", [True, False, True]),
    ("char", 5, "H", [ord("é"), ord("x")]),
    ("float", 6, "f", [0.1, math.nan, -1e20, -0.0, -math.inf]),
    ("double", 7, "d", [0.1, 1e100, math.inf]),
    ("byte", 8, "b", [-1, 0, 1]),
    ("short", 9, "h", [-2, 1]),
    ("int", 10, "i", [-(1 << 31), 7]),
    ("long", 11, "q", [-(1 << 63)]),
]


def record(kind, body):
    return struct.pack(">BII", kind, 0, len(body)) + body


dump, heap = b"JAVA PROFILE 1.0.2\0" + struct.pack(">IQ", 4, 1000), b""
for i, (name, kind, format, elements) in enumerate(ARRAYS):
    text, klass, array = 100 + i, 200 + i, 300 + i
    dump += record(1, struct.pack(">I", text) + name.encode() + b"[]")
    dump += record(2, struct.pack(">4I", 0, klass, 0, text))
    heap += struct.pack(">B9I3H", 0x20, klass, *[0] * 8, 0, 0, 0)
    heap += struct.pack(">B3IB", 0x23, array, 0, len(elements), kind) + struct.pack(f">{len(elements)}{format}", *elements)
with open("arrays.hprof", "wb") as file:
    file.write(dump + record(0x1C, heap))
