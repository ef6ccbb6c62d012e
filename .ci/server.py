"""Asks tpconvert serve and Trace Processor over HTTP, and tells what it took them."""

import http.client
import os
import pathlib
import socket
import subprocess
import sys
import time

TICKS = os.sysconf("SC_CLK_TCK")


def varint(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def fields(message):
    """Yields the number and value of each field of an encoded message."""
    at = 0

    def number():
        nonlocal at
        n = shift = 0
        while True:
            byte = message[at]
            at, n, shift = at + 1, n | (byte & 127) << shift, shift + 7
            if byte < 128:
                return n

    while at < len(message):
        tag = number()
        if tag & 7 == 0:
            yield tag >> 3, number()
        else:
            size = number() if tag & 7 == 2 else 8
            yield tag >> 3, message[at:at + size]
            at += size


def result(answer):
    """Returns the number of rows and the error of an answer."""
    columns = cells = 0
    error = ""
    for field, value in fields(answer):
        if field == 1:
            columns += 1
        elif field == 2:
            error = value.decode()
        elif field == 3:
            cells += sum(len(v) for f, v in fields(value) if f == 1)
    return cells // columns if columns else 0, error


def message(number, content):
    """Encodes a field that is a message."""
    return varint(number << 3 | 2) + varint(len(content)) + content


class Websocket:
    """The queries of a client with a session of its own, as Perfetto's UI asks them."""

    def __init__(self, server):
        self.socket = socket.create_connection(("127.0.0.1", server.port), 600)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.sendall(b"GET /websocket HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                            b"Origin: http://localhost:10000\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n\r\n")
        self.file, self.calls = self.socket.makefile("rb"), 0
        status = self.file.readline()
        if b" 101 " not in status:
            sys.exit(f"/websocket: {status.decode()}")
        while self.file.readline() != b"\r\n":
            pass

    def ask(self, sql):
        """Returns the number of rows, the error, and the seconds until the answer was complete."""
        self.calls += 1
        call = b"\x08" + varint(self.calls) + b"\x10\x03" + message(103, message(1, sql.encode()))
        begun = time.perf_counter()
        self.send(message(1, call))
        parts, rest = [], b""
        while True:
            rest += self.frame()
            *whole, rest = envelopes(rest)
            for reply in whole:
                parts.append(b"".join(v for n, v in fields(reply) if n == 203))
                if any((6, 1) in fields(batch) for n, batch in fields(parts[-1]) if n == 3):
                    seconds = time.perf_counter() - begun
                    return *result(b"".join(parts)), seconds

    def send(self, content):
        n = len(content)
        size = bytes([128 | n]) if n < 126 else b"\xfe" + n.to_bytes(2, "big") if n < 1 << 16 else b"\xff" + n.to_bytes(8, "big")
        self.socket.sendall(b"\x82" + size + bytes(4) + content)  # the mask is 0

    def frame(self):
        """Returns the content of the next frame of data."""
        kind, n = self.file.read(2)
        if n >= 126:
            n = int.from_bytes(self.file.read(2 if n == 126 else 8), "big")
        content = self.file.read(n)
        return content if kind & 15 < 8 else self.frame()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()
        self.socket.close()


def envelopes(stream):
    """Returns the complete messages of a stream, and the rest."""
    at, whole = 0, []
    while True:
        size, shift, i = 0, 0, at + 1
        while i < len(stream) and stream[i] > 127:
            size, shift, i = size | (stream[i] & 127) << shift, shift + 7, i + 1
        if i >= len(stream) or len(stream) < i + 1 + (size := size | stream[i] << shift):
            return [*whole, stream[at:]]
        at = i + 1 + size
        whole.append(stream[i + 1:at])


class Server:
    """A server of either program, which its command starts on {port}, with the seconds until its first answer."""

    def __init__(self, *command):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
        begun = time.perf_counter()
        self.process = subprocess.Popen([str(c).format(port=self.port) for c in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while True:
            try:
                self.ask("SELECT 1")
                break
            except OSError:
                self.connection.close()
                if self.process.poll() is not None:
                    sys.exit(f"{command[0]} has ended")
                time.sleep(0.002)
        self.started = time.perf_counter() - begun

    def ask(self, sql):
        """Returns the answer and the seconds that it took."""
        text = sql.encode()
        begun = time.perf_counter()
        self.connection.request("POST", "/query", b"\x0a" + varint(len(text)) + text, {"Content-Type": "application/x-protobuf"})
        answer = self.connection.getresponse().read()
        return answer, time.perf_counter() - begun

    def cpu(self):
        """Returns the seconds of CPU time so far."""
        times = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(times[11]) + int(times[12])) / TICKS

    def memory(self):
        """Returns the peak memory in MiB."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) >> 10

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.connection.close()
        self.process.terminate()
        self.process.wait()
