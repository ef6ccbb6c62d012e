"""The events of a Chrome JSON trace. The scripts beside this one use it."""
import gzip
import json
from decimal import ROUND_HALF_UP, Decimal


def load(path):
    """The trace events, whose fractions are exact. A list may end anywhere, as the Trace Event Format allows."""
    with open(path, 'rb') as file:
        data = file.read()
    if data[:2] == b'\x1f\x8b':
        data = gzip.decompress(data)
    text = data.decode('utf-8', 'replace')
    try:
        trace = parse(text)
    except ValueError:
        trace = parse(text[:text.rindex('}') + 1] + ']')
    events = trace.get('traceEvents', []) if isinstance(trace, dict) else trace
    return [e for e in events if isinstance(e, dict) and e.get('ph')]


def parse(text):
    return json.loads(text, parse_float=Decimal, strict=False)


def ns(us):
    return int((Decimal(str(us)) * 1000).to_integral_value(ROUND_HALF_UP))
