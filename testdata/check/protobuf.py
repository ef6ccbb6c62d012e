"""Messages of Protocol Buffers, read from their bytes. The scripts beside this one use it."""
import gzip


def read(path):
    """The bytes of a file, which may be compressed."""
    with open(path, 'rb') as file:
        data = file.read()
    return gzip.decompress(data) if data[:2] == b'\x1f\x8b' else data


def varint(b, i):
    """The number at a place, and where it ends."""
    n = shift = 0
    while True:
        c = b[i]
        i, n, shift = i + 1, n | (c & 127) << shift, shift + 7
        if c < 128:
            return n, i


def signed(n):
    """A number with its sign, of 64 bits."""
    n &= (1 << 64) - 1
    return n - (1 << 64) if n >> 63 else n


def packed(v):
    """The numbers of a repeated field: one, or many in bytes."""
    if isinstance(v, int):
        return [v]
    out, i = [], 0
    while i < len(v):
        n, i = varint(v, i)
        out.append(n)
    return out


def fields(b):
    """The numbers and values of a message's fields: bytes, or a number without its sign. A field that is cut off ends it."""
    i = 0
    while i < len(b):
        tag, i = varint(b, i)
        kind = tag & 7
        if kind == 0:
            v, i = varint(b, i)
        elif kind == 2:
            n, i = varint(b, i)
            if i + n > len(b):
                return
            v, i = b[i:i + n], i + n
        else:
            size = {1: 8, 5: 4}[kind]
            v, i = int.from_bytes(b[i:i + size], 'little'), i + size
        yield tag >> 3, v
