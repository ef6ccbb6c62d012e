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


class Server:
    """A server of either program, which its command starts on {port}, with the seconds until its first answer."""

    def __init__(self, *command):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
        begun = time.perf_counter()
        self.process = subprocess.Popen([str(c).format(port=port) for c in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
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
