"""Kill, starve and race commands that write, and check that no partial result is ever visible and that a rerun completes.

usage: faults.py CONVERTER TESTDATA [KILLS [SEED]]

strace makes system calls fail and kills processes in them. KILLS is the number of commands to kill, half of them at
system calls and half at random moments. Half as many errors are injected in addition.
"""

import collections
import contextlib
import glob
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zipfile

import duckdb
import pandas
import pyarrow.parquet

# The system calls that create files and folders, or make them durable.
CALLS = "fsync,rename,renameat,renameat2,mkdirat,unlinkat,openat,write,ftruncate,close,flock"
COMMIT = "fsync,rename,renameat,renameat2,mkdirat,unlinkat"
TRACES = ["node.json", "go_cpu.pb", "devtools.json.gz"]

counts = collections.Counter()


def run(converter, *args, **options):
    return subprocess.run([converter, "-q", *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def strace(inject, converter, *args):
    calls = inject.split(":")[0]
    return ["strace", "-f", "-qq", "--seccomp-bpf", "-o", "/dev/null", "-e", f"trace={calls}", "-e", f"inject={inject}",
            converter, "-q", *map(str, args)]


def rows_of(folder):
    """The number of rows in each table of a trace, from the footers of its files."""
    return {str(path.relative_to(folder).with_suffix("")): pyarrow.parquet.read_metadata(path).num_rows for path in sorted(folder.rglob("*.parquet"))}


# Each class below is a command that writes, on a dataset of its own. If force is set, the command replaces something.


class Single:
    """A conversion to a dataset of one trace."""

    once = True  # a rerun of the complete command without force is refused

    def __init__(self, testdata, folder, force):
        self.out, self.force = folder / "out", force
        self.inputs = [testdata / TRACES[0]]

    def args(self):
        return [*(["--force"] if self.force else []), *self.inputs, self.out]

    def prepare(self, converter, testdata):
        if self.force:
            run(converter, testdata / TRACES[1], self.out).check_returncode()

    def visible(self):
        return {"": rows_of(self.out)} if self.out.exists() else {}

    def leftovers(self):
        return [p.name for p in self.out.parent.iterdir() if p != self.out]


class Many:
    """A conversion to a dataset of many traces."""

    once = False

    def __init__(self, testdata, folder, force):
        self.out, self.force = folder / "out", force
        self.inputs = [testdata / name for name in TRACES]

    args = Single.args

    def prepare(self, converter, testdata):
        if self.force:
            run(converter, "--append", self.inputs[0], self.out).check_returncode()

    def visible(self):
        return {p.name: rows_of(p) for p in self.out.glob("trace_id=t_*")}

    def leftovers(self):
        return [p.name for p in self.out.parent.iterdir() if p != self.out] + os.listdir(self.out / "_tpconvert/tmp")


class Appended(Many):
    """Traces that are added to a dataset of many."""

    def args(self):
        return ["--append", *(["--force"] if self.force else []), *self.inputs, self.out]

    def prepare(self, converter, testdata):
        run(converter, "--append", self.inputs[0], self.out).check_returncode()


class Archive(Single):
    """A conversion of an archive of traces, which is one trace."""

    def __init__(self, testdata, folder, force):
        super().__init__(testdata, folder, force)
        self.inputs = [folder.with_suffix(".zip")]
        if not self.inputs[0].exists():
            with zipfile.ZipFile(self.inputs[0], "w", zipfile.ZIP_DEFLATED) as archive:
                for name in TRACES:
                    archive.write(testdata / name, name)


def define(path, condition):
    """Write a definition of derived slices."""
    path.write_text(f"events:\n  found:\n    query: SELECT ts, dur, name, utid FROM thread_slice WHERE {condition}\n")
    return path


class Derived(Single):
    """Rows that are derived in a dataset of one trace, or replaced there."""

    once = False

    def args(self):
        return ["derive", define(self.out.parent.with_suffix(".yaml"), "true"), self.out]

    def prepare(self, converter, testdata):
        run(converter, *self.inputs, self.out).check_returncode()
        if self.force:
            run(converter, "derive", define(self.out.parent.with_suffix(".earlier.yaml"), "id = 0"), self.out).check_returncode()


class DerivedMany(Many):
    """Rows that are derived in a dataset of many traces."""

    args, prepare = Derived.args, Derived.prepare


class Registered(Single):
    """A DuckDB file of a dataset."""

    def __init__(self, testdata, folder, force):
        super().__init__(testdata, folder, force)
        self.datasets, self.file = folder.with_name(folder.name + ".datasets"), folder / "out.duckdb"

    def args(self):
        return ["register", *(["--force"] if self.force else []), self.datasets / "1", self.file]

    def prepare(self, converter, testdata):
        for i, trace in enumerate(TRACES[:2]):
            run(converter, testdata / trace, self.datasets / str(i)).check_returncode()
        if self.force:
            run(converter, "register", self.datasets / "0", self.file).check_returncode()

    def visible(self):
        if not self.file.exists():
            return {}
        with duckdb.connect(str(self.file), read_only=True) as db:
            count = lambda what: db.sql(f"SELECT count(*) FROM {what}").fetchall()[0][0]
            return {"": {"slice": count("slice"), "views": count("duckdb_views() WHERE NOT internal"),
                         "macros": count("duckdb_functions() WHERE NOT internal")}}

    def leftovers(self):
        return [p.name for p in self.file.parent.iterdir() if p != self.file]


def check(case, allowed, what):
    """Check that what is visible is complete. Reads footers, and sometimes uses the clients that people have."""
    visible = case.visible()
    for name, rows in visible.items():
        assert rows in allowed[name], f"{what}: {name} is visible in part: {rows}, want one of {allowed[name]}"
    counts["looks"] += 1
    if visible and isinstance(case, Many) and counts["looks"] % 10 == 0:
        for table in "slice", "thread", "trace":
            pattern = f"{case.out}/trace_id=*/{table}.parquet"
            want = {name[len("trace_id="):]: rows[table] for name, rows in visible.items() if rows.get(table)}
            by_duckdb = dict(duckdb.sql(f"SELECT trace_id, count(*) FROM read_parquet('{pattern}', hive_partitioning = true) GROUP BY ALL").fetchall())
            by_pandas = dict(pandas.read_parquet(glob.glob(pattern)).groupby("trace_id", observed=True).size())
            assert by_duckdb == by_pandas == want, f"{what}: {table}: DuckDB {by_duckdb}, pandas {by_pandas}, files {want}"
            counts["reads by DuckDB and pandas"] += 1
        query = run(case.converter, "query", "--format", "csv", case.out, "SELECT count(*) FROM trace")
        assert query.stdout.split() == ["count_star()", str(len(visible))], f"{what}: query says {query}"
        counts["reads by query"] += 1


def complete(case, whole, what):
    """Check that a rerun completes and leaves nothing behind."""
    again = run(case.converter, *case.args())
    if case.once and not case.force and "already exists" in again.stderr:
        counts["killed after the end"] += 1
    else:
        assert again.returncode == 0, f"{what}: the next run: {again.stderr}"
    assert case.visible() == whole, f"{what}: the next run gives {case.visible()}, want {whole}"
    run(case.converter, *case.args())
    assert case.leftovers() == [], f"{what}: left behind: {case.leftovers()}"


@contextlib.contextmanager
def attempt(kind, converter, testdata, force):
    """A dataset before a fault, and the checks after it."""
    with tempfile.TemporaryDirectory() as tmp:
        reference = kind(testdata, pathlib.Path(tmp) / "reference", force)
        key = kind, force
        if key not in references:
            reference.out.parent.mkdir()
            reference.prepare(converter, testdata)
            before = reference.visible()
            run(converter, *reference.args()).check_returncode()
            references[key] = before, reference.visible()
        before, whole = references[key]
        allowed = {name: [r[name] for r in (before, whole) if name in r] for name in before | whole}
        folder = pathlib.Path(tmp) / "case"
        folder.mkdir()
        case = kind(testdata, folder, force)
        case.converter = converter
        case.prepare(converter, testdata)
        yield case, lambda what: (check(case, allowed, what), before.keys() <= case.visible().keys() or sys.exit(f"{what}: existing files are gone"),
                                  complete(case, whole, what))


references = {}
KINDS = [(kind, force) for kind in (Single, Many, Appended, Archive, Derived, DerivedMany, Registered) for force in (False, True)]


def kill_at_calls(converter, testdata, kills):
    """Kill at every system call of the commit phase, then at every Nth of all, each command in turn, until there were enough kills."""
    while True:
        for calls, step in (COMMIT, 1), (CALLS, 7):
            campaigns = [kill_at_each(converter, testdata, kind, force, calls, step) for kind, force in KINDS]
            while campaigns:
                for campaign in campaigns[:]:
                    if next(campaign, None) is None:
                        campaigns.remove(campaign)
                    if counts["kills at system calls"] >= kills:
                        return


def kill_at_each(converter, testdata, kind, force, calls, step):
    """Kill a command at each of some system calls; yields after each.

    strace counts calls per thread, and Go distributes them over threads differently each time. So the number is
    increased until several runs in a row survive, and each round kills at other places.
    """
    at, alive = 1, 0
    while alive < 2:
        with attempt(kind, converter, testdata, force) as (case, verify):
            killed = subprocess.run(strace(f"{calls}:signal=SIGKILL:when={at}", converter, *case.args()), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            verify(f"{kind.__name__} force={force} killed at {calls} {at}")
        at += step
        alive = alive + 1 if killed.returncode == 0 else 0
        counts["kills at system calls"] += killed.returncode != 0
        counts[f"kills of {kind.__name__}"] += killed.returncode != 0
        yield at


def kill_at_moments(converter, testdata, kills):
    longest = {}
    for i in range(kills):
        kind, force = KINDS[i % len(KINDS)]
        with attempt(kind, converter, testdata, force) as (case, verify):
            if (kind, force) not in longest:
                with attempt(kind, converter, testdata, force) as (other, _):
                    begun = time.monotonic()
                    run(converter, *other.args())
                    longest[kind, force] = time.monotonic() - begun
            wait = random.uniform(0, longest[kind, force])
            process = subprocess.Popen([converter, "-q", *map(str, case.args())], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(wait)
            process.kill()
            if process.wait() == -signal.SIGKILL:
                counts["kills at random moments"] += 1
                counts[f"kills of {kind.__name__}"] += 1
            verify(f"{kind.__name__} force={force} killed after {wait:.4f} s")


def errors_at_calls(converter, testdata, errors):
    while errors > 0:
        for kind, force in KINDS:
            for error, calls in ("EIO", COMMIT), ("ENOSPC", "fsync,write,mkdirat"), ("EIO", "rename,renameat,renameat2"):
                at = random.randint(1, 60 if calls == COMMIT else 12)
                with attempt(kind, converter, testdata, force) as (case, verify):
                    what = f"{kind.__name__} force={force} {error} at {calls} {at}"
                    failed = subprocess.run(strace(f"{calls}:error={error}:when={at}", converter, *case.args()), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
                    # An error of the Go runtime's own writes ends the process, as a kill does.
                    ended = "runtime: netpollBreak write failed" in failed.stderr
                    assert ended or failed.returncode in (0, 1, 3), f"{what}: exit code {failed.returncode}: {failed.stderr}"
                    assert "panic:" not in failed.stderr, f"{what}: {failed.stderr}"
                    verify(what)
                counts["injected errors"] += 1
                errors -= 1


def full_disk(converter, testdata):
    if os.geteuid() != 0:
        print("faults: no full disk, because that requires root")
        return
    with tempfile.TemporaryDirectory() as disk:
        for size in "16k", "64k", "160k", "400k":
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", disk], check=True)
            try:
                for args in [testdata / TRACES[2]], [testdata / name for name in TRACES]:
                    out = pathlib.Path(disk) / "out"
                    full = run(converter, *args, out)
                    if full.returncode not in (0, 1, 3) or full.returncode and "no space left" not in full.stderr:
                        sys.exit(f"full disk: exit code {full.returncode}: {full.stderr}")
                    if full.returncode == 1 and out.exists():
                        sys.exit(f"full disk: there is {list(out.rglob('*'))}")
                    shutil.rmtree(out, ignore_errors=True)
                    counts["full disks"] += 1
                # A mount point cannot be replaced, and an error says so at once; many traces can go into it.
                refused = run(converter, args[0], disk)
                if refused.returncode != 1 or "mount point" not in refused.stderr:
                    sys.exit(f"mount point: {refused}")
            finally:
                subprocess.run(["umount", disk], check=True)


def rivals(converter, testdata, rounds):
    """Start two runs into one dataset at nearly the same time, then two registrations of it."""
    with tempfile.TemporaryDirectory() as tmp:
        for i in range(rounds):
            out = pathlib.Path(tmp) / str(i)
            processes = []
            for names in TRACES[:1] * 2, TRACES, TRACES[1:]:
                processes.append(subprocess.Popen([converter, "-q", *(str(testdata / name) for name in names), str(out)], stderr=subprocess.PIPE, text=True))
                time.sleep(random.uniform(0, 0.2))
            for process in processes:
                _, errors = process.communicate()
                assert process.returncode == 0, f"rivals: exit code {process.returncode}: {errors}"
            assert len(list(out.glob("trace_id=t_*"))) == len(TRACES), f"rivals: {os.listdir(out)}"
            file = pathlib.Path(tmp) / f"{i}.duckdb"
            registers = [subprocess.Popen([converter, "register", str(out), str(file)], stderr=subprocess.PIPE, text=True) for _ in range(2)]
            for process in registers:
                _, errors = process.communicate()
                assert process.returncode == 0 or "already exists" in errors, f"registers: {errors}"
            assert file.exists() and not list(pathlib.Path(tmp).glob(".*")), f"registers: {os.listdir(tmp)}"
            counts["rival runs"] += 1


def terminate_while_committing(converter, testdata):
    """Signal while files are made durable: exit code 130 and no output, or 0 and complete output."""
    for wait in 0.2, 0.5, 0.8, 1.2, 2:
        with tempfile.TemporaryDirectory() as tmp:
            out = pathlib.Path(tmp) / "out"
            tracer = subprocess.Popen(strace("fsync:delay_enter=200000", converter, testdata / TRACES[0], out), stderr=subprocess.DEVNULL, start_new_session=True)
            while not os.listdir(tmp) and tracer.poll() is None:
                time.sleep(0.01)  # until it is working, so its signal handlers are installed
            time.sleep(wait)
            children = subprocess.run(["ps", "--ppid", str(tracer.pid), "-o", "pid="], stdout=subprocess.PIPE, text=True).stdout.split()
            for child in children:
                os.kill(int(child), signal.SIGTERM)
            code = tracer.wait()
            assert (code == 0) == out.exists() and code in (0, 130), f"SIGTERM after {wait} s: exit code {code}, out {out.exists()}"
            counts["signals while committing"] += 1


def main(converter, testdata, kills="1000", seed=None):
    seed = int(seed or random.randrange(1 << 30))
    random.seed(seed)
    print(f"faults: seed {seed}", flush=True)
    converter, testdata, kills = os.path.abspath(converter), pathlib.Path(testdata).resolve(), int(kills)
    try:
        campaign(converter, testdata, kills)
    finally:
        print("faults:", ", ".join(f"{n} {what}" for what, n in counts.items()), flush=True)
    print("faults: no partial output was visible, every rerun was complete")


def campaign(converter, testdata, kills):
    terminate_while_committing(converter, testdata)
    full_disk(converter, testdata)
    rivals(converter, testdata, max(2, kills // 20))
    kill_at_calls(converter, testdata, kills // 2)
    kill_at_moments(converter, testdata, kills - kills // 2)
    errors_at_calls(converter, testdata, kills // 2)


main(*sys.argv[1:])
