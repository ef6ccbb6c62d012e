"""Compare random Perfetto traces with Trace Processor: every table, each kind of packet and of ftrace event for itself.

usage: .ci/packets [-n TRACES] [-seed SEED] [-v] [-binary TPCONVERT] SHARED [KIND...]

The fields of a packet and their values are drawn from the messages' descriptors, so that a kind that Trace Processor reads and
tpconvert does not is found the day that the package of requirements.txt knows it. DIFFERENT has the kinds whose rows differ
for a reason. They are converted all the same: no packet may be unknown to tpconvert but those of UNREAD.
"""

import argparse
import collections
import concurrent.futures
import csv
import io
import pathlib
import random
import re
import subprocess
import sys
import tempfile

from google.protobuf.descriptor import FieldDescriptor as Field
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

csv.field_size_limit(1 << 30)

# Packets that neither reads.
UNREAD = {"inode_file_map", "streaming_allocation", "streaming_free", "for_testing", "recovered_trace_info"}

# What random bytes cannot be: other packets, descriptors, token databases.
PACKED = {"compressed_packets", "zstd_compressed_packets", "extension_descriptor", "pixel_modem_token_database", "ftrace_stats", "ftrace_events"}

# Kinds that differ as docs/differences.md has it, or in what no recorder writes, such as the same counter twice in one packet.
DIFFERENT = {
    "generic_kernel_task_state_event": "where a task ends that ceases to run",
    "process_tree": "command lines of several words that are names",
    "profile_packet": "mappings of no frame",
    "art_process_metadata": "a package twice",
    "process_stats": "numbers of open files",
    "sys_stats": "units, values of sensors, amounts that become smaller",
    "kernel_wakelock_data": "units",
    "vulkan_memory_event": "the packet's time",
    "initial_display_state": "a packet without a state",
    "perfetto_metatrace": "args without a name",
    "v8_js_code": "code outside of the range of addresses",
    "v8_internal_code": "code outside of the range of addresses",
    "v8_wasm_code": "code outside of the range of addresses",
    "v8_reg_exp_code": "code outside of the range of addresses",
    "v8_code_move": "isolates without a range of addresses",
    "chrome_events": "the order of kinds in one packet",
    "cpu_info": "the same CPUs twice",
    "cpu_per_uid_data": "totals that become smaller",
    "stack_sample": "samples without a context",
    "etw_events": "times of disk operations",
    "i2c_read": "text from elsewhere in memory",
    "i2c_write": "text from elsewhere in memory",
    "i2c_reply": "text from elsewhere in memory",
    "i2c_result": "text from elsewhere in memory",
    "sched_wakeup": "wakeups without sched_waking",
    "sched_wakeup_new": "wakeups without sched_waking",
    "task_newtask": "threads that start again and again",
    "tracing_mark_write": "processes of marks",
    "g2d_tracing_mark_write": "processes of marks",
    "samsung_tracing_mark_write": "processes of marks",
    "sde_tracing_mark_write": "processes of marks",
    "lwis_tracing_mark_write": "processes of marks",
    "mali_tracing_mark_write": "processes of marks",
    "panel_write_generic": "processes of marks",
    "zero": "processes of marks",
    "f2fs_write_checkpoint": "ends without a beginning",
    "gpu_counter_event": "a group twice",
    "gpu_mem_total": "numbers of GPUs that are seen at one time",
    "f2fs_iostat": "numbers of devices",
    "f2fs_iostat_latency": "numbers of devices",
    "generic": "events without args",
    "hyp_enter": "events without args",
    "hyp_exit": "events without args",
    "hypervisor_hyp_enter": "events without args",
    "hypervisor_hyp_exit": "events without args",
    "scm_call_end": "events without args",
    "sys_enter": "six arguments",
    "kgsl_gpu_frequency": "units",
    "block_io_start": "requests at the same time",
    "block_io_done": "requests at the same time",
    "long_irq": "newer than v58",
    "long_softirq": "newer than v58",
}

TEXTS = ["a", "b", "foo", "bar.baz", "é", "com.app", "main", "/system/lib/libc.so", "12"]
BYTES = [b"a", b"\x01\x02\xff", b"build"]


class Trace(random.Random):
    """Makes a trace with packets of one kind."""

    def scalar(self, field):
        name, kind = field.name, field.type
        if kind == Field.TYPE_STRING:
            return self.choice(TEXTS)
        if kind == Field.TYPE_BYTES:
            return self.choice(BYTES)
        if kind == Field.TYPE_BOOL:
            return self.random() < 0.5
        if kind in (Field.TYPE_DOUBLE, Field.TYPE_FLOAT):
            return self.choice([0, 1.5, 100, 0.25])
        if kind == Field.TYPE_ENUM:
            return self.choice(field.enum_type.values).number
        if "id" in name or "cpu" in name or "clock" in name:  # few, so that they meet again
            return self.randint(1, 4)
        if re.search("timestamp|time|ts|_ns|_us", name):
            return self.randint(1000, 9000)
        return self.choice([0, 1, 2, 3, 10, 100, 1000, self.randint(0, 1 << 20)])

    def fill(self, message, share, depth=0):
        """Sets about this share of the fields, one of each oneof."""
        chosen = {oneof.name: self.choice(list(oneof.fields)) for oneof in message.DESCRIPTOR.oneofs}
        for field in message.DESCRIPTOR.fields:
            if field.containing_oneof and chosen[field.containing_oneof.name].number != field.number or self.random() > share:
                continue
            repeated = field.is_repeated
            if field.type == Field.TYPE_MESSAGE:
                if field.message_type.GetOptions().map_entry:
                    continue
                for _ in range((self.randint(1, 3) if repeated else 1) * (depth < 6)):
                    inner = getattr(message, field.name)
                    inner = inner.add() if repeated else inner
                    inner.SetInParent()
                    self.fill(inner, share * 0.85, depth + 1)
            elif repeated:
                getattr(message, field.name).extend(self.scalar(field) for _ in range(self.randint(1, 3)))
            else:
                setattr(message, field.name, self.scalar(field))

    def head(self):
        """Some processes and threads, and what two sequences have interned."""
        trace = pb.Trace()
        packet = trace.packet.add(timestamp=10000, trusted_packet_sequence_id=3)
        for pid in range(1, 4):
            packet.process_tree.processes.add(pid=pid, cmdline=["process"])
            packet.process_tree.threads.add(tid=pid + 10, tgid=pid, name="thread")
        trace.packet.add(timestamp=10000, trusted_packet_sequence_id=3).system_info.page_size = 4096
        for sequence in (1, 2):
            packet = trace.packet.add(timestamp=10000, trusted_packet_sequence_id=sequence, sequence_flags=3)
            self.fill(packet.interned_data, 0.9, 2)
            packet.interned_data.ClearField("source_locations")
        return trace

    def packets(self, kind):
        trace, ts = self.head(), 10000
        field = pb.TracePacket.DESCRIPTOR.fields_by_name[kind]
        for _ in range(12):
            ts += self.randint(0, 500)
            packet = trace.packet.add(timestamp=ts, trusted_packet_sequence_id=self.randint(1, 2), sequence_flags=2)
            if field.type == Field.TYPE_MESSAGE:
                message = getattr(packet, kind)
                message.SetInParent()
                self.fill(message, self.choice([0.3, 0.6, 0.9]))
                if kind == "track_event" and message.type == pb.TrackEvent.TYPE_SLICE_END:  # Trace Processor reads these only if a slice ends
                    message.ClearField("chrome_active_processes")
            else:
                setattr(packet, kind, self.scalar(field))
        return trace

    def events(self, kind):
        trace, ts = self.head(), 10000
        bundles = [trace.packet.add(trusted_packet_sequence_id=1).ftrace_events for _ in range(3)]
        for cpu, bundle in enumerate(bundles):
            bundle.cpu = cpu
        for _ in range(40):
            ts += self.choice([0, 1, 10, 100, 500])
            event = self.choice(bundles).event.add(timestamp=ts, pid=self.choice([0, 1, 2, 3, 11, 12, 13, 50]))
            getattr(event, kind).SetInParent()
            self.fill(getattr(event, kind), 1)
        return trace


class Peer:
    """What a command reads of a trace, as rows of text without ids that may be others."""

    # Tables about the file and the conversion, and texts of ours.
    OTHERS = re.compile("metadata|trace_file|stats|build_flags|modules|trace_import_logs|clock_snapshot|trace_diagnostics|file|args")

    def __init__(self, command, trace):
        self.command = command
        tables = self.rows(trace, "SELECT m.name, group_concat(p.name, ' ') FROM sqlite_master AS m, pragma_table_info(m.name) AS p WHERE m.name GLOB '__intrinsic_*' GROUP BY 1")
        self.tables = {name: columns.split() for name, columns in tables if not self.OTHERS.fullmatch(name.removeprefix("__intrinsic_"))}

    def rows(self, trace, sql):
        done = subprocess.run([*self.command, trace, sql], capture_output=True)
        if done.returncode not in (0, 5):
            raise RuntimeError(done.stderr.decode(errors="replace")[-300:])
        return list(csv.reader(io.StringIO(done.stdout.decode(errors="replace"))))[1:]

    def read(self, trace, tables):
        """The rows of all tables, in which args stand for their sets and tracks for their ids, and what is not read. Tracks of no row are left out."""
        parts = ["SELECT 'arg', arg_set_id, quote(nullif(key, '')) || quote(int_value) || quote(nullif(string_value, '')) || printf('%.17g', real_value) FROM __intrinsic_args "
                 "WHERE key <> 'description'"]
        for table, columns in tables.items():
            named = " || ".join(f"'|{c}=' || coalesce(quote(nullif(\"{c}\", '')), 'NULL')" for c in columns if c != "track_group_id")
            parts.append(f"SELECT '{table.removeprefix('__intrinsic_')}', 0, {named} FROM \"{table}\"")
        parts.append("SELECT 'unread ', 0, key || ' ' || value FROM (SELECT name AS key, value FROM stats WHERE name = 'unsupported_packet' AND value > 0)")
        sets, tracks, rows = collections.defaultdict(list), {}, []
        for table, number, text in self.rows(trace, " UNION ALL ".join(parts)):
            if table == "arg":
                sets[number].append(text)
            else:
                rows.append((table, re.sub(r"=(-?\d+\.\d+(e[+-]\d+)?)(?=\||$)", lambda m: f"={float(m[1])}", text)))
        sets = {number: "{" + ", ".join(sorted(texts)) + "}" for number, texts in sets.items()}
        rows = [(table, re.sub(r"arg_set_id=(\d+)", lambda m: "arg_set_id=" + sets.get(m[1], "{}"), text)) for table, text in rows]
        for table, text in rows:
            if table == "track":
                number, tracks_text = re.fullmatch(r"\|id=(\d+)(.*)", text, re.S).groups()
                tracks[number] = tracks_text.replace("|", " ")
        return collections.Counter(f"{table}{re.sub('track_id=([0-9]+)', lambda m: 'track_id=<' + tracks.get(m[1], '') + '>', text)}" for table, text in rows if table != "track")


def compare(kind, make, traces, seed, folder, ours, theirs, tables):
    """Differing rows of traces of one kind, the rows compared, and traces that Trace Processor cannot read."""
    differing, total, failed = [], 0, 0
    for n in range(traces):
        path = folder / f"{kind}_{n}.pftrace"
        path.write_bytes(make(Trace(f"{kind} {seed} {n}"), kind).SerializeToString())
        got = ours.read(path, tables)
        unread = [row for row in got if row.startswith("unread")]
        if unread and kind not in UNREAD | PACKED:
            differing += unread
        try:
            want = theirs.read(path, tables)
        except RuntimeError:
            failed += 1
            continue
        if kind not in DIFFERENT and kind not in UNREAD | PACKED:
            total += sum(want.values())
            differing += [f"- {row}" for row in (want - got).elements()] + [f"+ {row}" for row in (got - want).elements() if not row.startswith("unread")]
    return kind, differing, total, failed


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("-n", type=int, default=2, help="traces of each kind")
    arguments.add_argument("-seed", type=int, default=0)
    arguments.add_argument("-v", action="store_true", help="all differing rows")
    arguments.add_argument("-binary", default="bin/tpconvert")
    arguments.add_argument("shared", type=pathlib.Path)
    arguments.add_argument("kinds", nargs="*")
    options = arguments.parse_args()
    kinds = {f.name: Trace.packets for f in pb.TracePacket.DESCRIPTOR.oneofs_by_name["data"].fields}
    kinds |= {f.name: Trace.events for f in pb.FtraceEvent.DESCRIPTOR.oneofs_by_name["event"].fields}
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        folder = pathlib.Path(folder)
        empty = folder / "empty.pftrace"
        empty.write_bytes(Trace().head().SerializeToString())
        ours = Peer([options.binary, "query", "--perfetto", "--quiet", "--format", "csv"], empty)
        theirs = Peer([options.shared / "peer/trace_processor_shell", "query"], empty)
        tables = {name: columns for name, columns in theirs.tables.items() if ours.tables.get(name) == columns}
        jobs = [pool.submit(compare, kind, kinds[kind], options.n, options.seed, folder, ours, theirs, tables) for kind in options.kinds or kinds]
        results = [job.result() for job in jobs]
    bad = [(kind, rows) for kind, rows, _, _ in results if rows]
    for kind, rows in bad:
        print(f"{kind}: {len(rows)} rows differ")
        for row in rows if options.v else rows[:4]:
            print("   ", row if options.v else row[:300])
    print(f"{len(results)} kinds, {sum(r[2] for r in results)} rows, {len(bad)} kinds differ, {sum(r[3] for r in results)} traces that Trace Processor cannot read")
    if not sum(r[2] for r in results):
        sys.exit("nothing was compared")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
