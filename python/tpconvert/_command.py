"""Runs the command tpconvert."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sysconfig
import tempfile
import warnings
import weakref
from collections.abc import Sequence
from typing import Any

StrPath = str | os.PathLike[str]


class Error(Exception):
    """The command failed.

    code is its exit code: 1 failure, 2 wrong usage, 3 some of several traces could not be
    converted, 4 the input is damaged or in an unknown format. None means that there is no
    command.
    """

    def __init__(self, message: str, code: int | None = None) -> None:
        super().__init__(message)
        self.code = code


class LossWarning(UserWarning):
    """A part of a trace is not in its dataset, or is damaged."""


#: The command ends with this code if the input ends too early. The dataset is written.
INCOMPLETE = 5


def find() -> str | None:
    """The path of the command, or None."""
    if chosen := os.environ.get("TPCONVERT_BIN"):
        return chosen
    # pip puts the command of a wheel into one of these folders, which need not be in PATH.
    installed = [sysconfig.get_path("scripts"), sysconfig.get_path("scripts", sysconfig.get_preferred_scheme("user"))]
    return shutil.which("tpconvert", path=os.pathsep.join(installed)) or shutil.which("tpconvert")


def command(args: Sequence[StrPath]) -> list[str]:
    path = find()
    if path is None:
        raise Error("there is no command tpconvert beside Python, in PATH or TPCONVERT_BIN")
    return [path, "--json", *(os.fspath(arg) for arg in args)]


def run(args: Sequence[StrPath]) -> str:
    """The output of the command."""
    done = subprocess.run(command(args), stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode not in (0, INCOMPLETE):
        raise failure(done.stderr, done.returncode)
    return done.stdout


def convert(args: Sequence[StrPath], stacklevel: int) -> None:
    """Runs the command convert, and warns of what is lost or damaged."""
    for trace in json.loads(run(["convert", *args]))["traces"]:
        if text := _losses(trace):
            warnings.warn(f"{trace['trace']}: {text}", LossWarning, stacklevel=stacklevel + 1)


def _losses(trace: dict[str, Any]) -> str:
    parts = ["the file ends too early, and the rest of it is missing"] if trace["incomplete"] else []
    for effect in "lost", "damaged":
        counts = [f"{c['value']:,} {c['text']}" for c in trace.get("counts", []) if c["effect"] == effect]
        if effect == "lost" and trace["lost"]:
            events = trace["lost"] + trace["events"]
            effect = f"lost {trace['lost']:,} of {events:,} events ({trace['lost'] / events:.1%})"
        if counts:
            parts.append(f"{effect}: {', '.join(counts)}")
    return "; ".join(parts)


def failure(messages: str, code: int) -> Error:
    errors = []
    for line in messages.splitlines():
        try:
            said = json.loads(line)
            if said["message_type"] == "error":
                errors.insert(0, said["error"])
            elif said["level"] == "ERROR":  # why one of several traces failed
                errors.append(said["text"])
        except (ValueError, KeyError, TypeError):
            continue
    return Error("\n".join(errors) or messages.strip() or f"tpconvert ended with code {code}", code)


class Server:
    """A server of the command tpconvert. It ends with close, at the end of a with statement,
    or when the object is collected. In a notebook it shows its page."""

    def __init__(self, args: Sequence[StrPath]) -> None:
        with tempfile.TemporaryFile("w+") as messages:
            process = subprocess.Popen(command(args), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=messages, text=True)
            assert process.stdout is not None
            line = process.stdout.readline()
            if not line:
                code = process.wait()
                messages.seek(0)
                raise failure(messages.read(), code)
        said: dict[str, Any] = json.loads(line)
        #: The address.
        self.url: str = said["url"]
        self._end = weakref.finalize(self, _end, process)

    def close(self) -> None:
        """Ends the server."""
        self._end()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<tpconvert server at {self.url}>"

    def _repr_html_(self) -> str:
        return f'<iframe src="{self.url}" width="100%" height="600"></iframe>'


def _end(process: subprocess.Popen[str]) -> None:
    process.terminate()
    process.wait()
    if process.stdout is not None:
        process.stdout.close()
