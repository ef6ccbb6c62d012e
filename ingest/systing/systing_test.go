package systing_test

import (
	"archive/tar"
	"bytes"
	"flag"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/tpconvert/tpconvert/ingest/internal/ingesttest"
)

// types are those of systing's columns. A type with ? may be NULL.
var types = map[string]arrow.DataType{"i64": arrow.PrimitiveTypes.Int64, "i32": arrow.PrimitiveTypes.Int32, "i16": arrow.PrimitiveTypes.Int16,
	"i8": arrow.PrimitiveTypes.Int8, "u64": arrow.PrimitiveTypes.Uint64, "f64": arrow.PrimitiveTypes.Float64, "bool": arrow.FixedWidthTypes.Boolean,
	"text": arrow.BinaryTypes.String, "texts": arrow.ListOf(arrow.BinaryTypes.String), "i64s": arrow.ListOf(arrow.PrimitiveTypes.Int64)}

// tableOf returns a Parquet file with columns such as "ts:i64 name:text?" and rows in JSON, with one row group for each given text.
func tableOf(t testing.TB, columns string, groups ...string) []byte {
	t.Helper()
	var fields []arrow.Field
	for _, c := range strings.Fields(columns) {
		name, kind, _ := strings.Cut(c, ":")
		kind, null := strings.CutSuffix(kind, "?")
		fields = append(fields, arrow.Field{Name: name, Type: types[kind], Nullable: null})
	}
	schema := arrow.NewSchema(fields, nil)
	var out bytes.Buffer
	w, err := pqarrow.NewFileWriter(schema, &out, parquet.NewWriterProperties(parquet.WithCompression(compress.Codecs.Zstd)), pqarrow.DefaultWriterProps())
	if err != nil {
		t.Fatal(err)
	}
	for _, rows := range groups {
		batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader("["+rows+"]"))
		if err == nil {
			err = w.Write(batch)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// tables are what systing records, as its source declares them.
func tables(t testing.TB) map[string][]byte {
	return map[string][]byte{
		"process": tableOf(t, "upid:i64 pid:i32 name:text? parent_upid:i64? cmdline:texts is_kernel_thread:bool cgroup_id:u64 cgroup_path:text?",
			`{"upid":10,"pid":100,"name":"app","cmdline":["app","--fast"],"is_kernel_thread":false,"cgroup_id":77,"cgroup_path":"/app.slice"}`,
			`{"upid":11,"pid":2,"name":"kthreadd","parent_upid":10,"cmdline":[],"is_kernel_thread":true,"cgroup_id":0},{"upid":12,"pid":0,"name":"swapper","cmdline":[],"is_kernel_thread":true,"cgroup_id":0}`),
		"thread": tableOf(t, "utid:i64 tid:i32 name:text? upid:i64?",
			`{"utid":1,"tid":100,"name":"app","upid":10},{"utid":2,"tid":101,"name":"worker","upid":10},{"utid":3,"tid":0,"name":"swapper/0","upid":12}`),
		"clock_snapshot": tableOf(t, "clock_id:i32 clock_name:text timestamp_ns:i64 is_primary:bool",
			`{"clock_id":6,"clock_name":"boottime","timestamp_ns":1000,"is_primary":true},{"clock_id":1,"clock_name":"realtime","timestamp_ns":5000,"is_primary":false}`),
		"sysinfo": tableOf(t, "sysname:text release:text version:text machine:text hypervisor:text? sample_event:text? sample_period:i64?",
			`{"sysname":"Linux","release":"6.12.0","version":"#1","machine":"x86_64","hypervisor":"kvm","sample_event":"cpu-clock","sample_period":1000000}`),
		"sched_slice": tableOf(t, "ts:i64 dur:i64 cpu:i32 utid:i64 end_state:i32? priority:i32",
			`{"ts":1000,"dur":500,"cpu":0,"utid":1,"end_state":1,"priority":120},{"ts":1500,"dur":100,"cpu":0,"utid":3,"priority":120},{"ts":1600,"dur":400,"cpu":0,"utid":2,"end_state":256,"priority":98}`),
		"thread_state": tableOf(t, "ts:i64 dur:i64 utid:i64 state:i32 cpu:i32?",
			`{"ts":1500,"dur":0,"utid":1,"state":1},{"ts":1700,"dur":0,"utid":1,"state":0,"cpu":0},{"ts":1650,"dur":0,"utid":2,"state":0,"cpu":0}`),
		"irq_slice":     tableOf(t, "ts:i64 dur:i64 cpu:i32 irq:i32 name:text? ret:i32?", `{"ts":1100,"dur":20,"cpu":1,"irq":9,"name":"ahci","ret":1}`),
		"softirq_slice": tableOf(t, "ts:i64 dur:i64 cpu:i32 vec:i32", `{"ts":1130,"dur":10,"cpu":1,"vec":3}`),
		"process_exit":  tableOf(t, "ts:i64 cpu:i32 utid:i64", `{"ts":2000,"cpu":0,"utid":2}`),
		"sched_migrate": tableOf(t, "ts:i64 utid:i64 orig_cpu:i32 dest_cpu:i32", `{"ts":1550,"utid":2,"orig_cpu":1,"dest_cpu":0}`),
		"track":         tableOf(t, "id:i64 name:text parent_id:i64?", `{"id":5,"name":"locks"},{"id":6,"name":"mutex","parent_id":5}`),
		"slice": tableOf(t, "id:i64 ts:i64 dur:i64 track_id:i64 utid:i64? name:text category:text? depth:i32",
			`{"id":30,"ts":1010,"dur":100,"track_id":6,"utid":1,"name":"lock","category":"pthread","depth":0},{"id":31,"ts":1050,"dur":100,"track_id":6,"utid":1,"name":"over","depth":0}`),
		"args": tableOf(t, "slice_id:i64 key:text int_value:i64? string_value:text? real_value:f64?",
			`{"slice_id":30,"key":"addr","int_value":64},{"slice_id":30,"key":"who","string_value":"me"},{"slice_id":31,"key":"share","real_value":0.5}`),
		"instant":       tableOf(t, "id:i64 ts:i64 track_id:i64 utid:i64? name:text category:text?", `{"id":30,"ts":1012,"track_id":5,"name":"mark"}`),
		"instant_args":  tableOf(t, "instant_id:i64 key:text int_value:i64? string_value:text? real_value:f64?", `{"instant_id":30,"key":"n","int_value":2}`),
		"counter_track": tableOf(t, "id:i64 name:text unit:text?", `{"id":5,"name":"cache-misses CPU 0","unit":"count"}`),
		"counter":       tableOf(t, "ts:i64 track_id:i64 value:f64", `{"ts":1001,"track_id":5,"value":2.5},{"ts":1002,"track_id":5,"value":3.5}`),
		"stack": tableOf(t, "id:i64 frame_names:texts depth:i32 leaf_name:text",
			`{"id":1,"frame_names":["<module> (python) [app.py:1]","main (app [main.c:7]) <0x1234>","do_syscall_64 ([kernel]) <0xffffffff96f461b1>"],"depth":3,"leaf_name":"x"}`,
			`{"id":2,"frame_names":["operator()(int) (libx.so) <0x10>"],"depth":1,"leaf_name":"x"}`),
		"stack_sample": tableOf(t, "ts:i64 utid:i64 cpu:i32? stack_id:i64 stack_event_type:i8",
			`{"ts":1005,"utid":1,"cpu":0,"stack_id":1,"stack_event_type":1},{"ts":1500,"utid":1,"stack_id":2,"stack_event_type":2}`),
		"memory_rss": tableOf(t, "ts:i64 utid:i64 member:i8 size:i64 external:bool",
			`{"ts":1020,"utid":1,"member":1,"size":4096,"external":true},{"ts":1021,"utid":1,"member":-2,"size":8192,"external":false},{"ts":1022,"utid":1,"member":-3,"size":3,"external":false}`),
		"memory_map":     tableOf(t, "id:i64 ts:i64 utid:i64 event_type:text addr:i64 size:i64 stack_id:i64?", `{"id":1,"ts":1700,"utid":2,"event_type":"mmap","addr":4096,"size":8192,"stack_id":2}`),
		"network_dns":    tableOf(t, "ip_address:text hostname:text", `{"ip_address":"10.0.0.2","hostname":"db"}`),
		"network_socket": tableOf(t, "socket_id:i64 protocol:text src_ip:text src_port:i32 dest_ip:text dest_port:i32", `{"socket_id":9,"protocol":"TCP","src_ip":"10.0.0.1","src_port":0,"dest_ip":"10.0.0.2","dest_port":5432},{"socket_id":9,"protocol":"TCP","src_ip":"10.0.0.1","src_port":4000,"dest_ip":"10.0.0.2","dest_port":5432}`),
		"network_packet": tableOf(t, "id:i64 ts:i64 socket_id:i64 event_type:text seq:i64? length:i32 is_retransmit:bool", `{"id":1,"ts":1800,"socket_id":9,"event_type":"packet_send","seq":1,"length":52,"is_retransmit":true}`),
		"network_poll":   tableOf(t, "id:i64 ts:i64 utid:i64 socket_id:i64 requested_events:text returned_events:text", `{"id":1,"ts":1810,"utid":2,"socket_id":9,"requested_events":"IN","returned_events":"OUT"}`),
		"network_interface": tableOf(t, "namespace:text interface_name:text ip_address:text address_type:text netns_inum:i64",
			`{"namespace":"host","interface_name":"lo","ip_address":"127.0.0.1","address_type":"ipv4","netns_inum":4026531840}`),
		"perf_sample": tableOf(t, "ts:i64 utid:i64", `{"ts":1,"utid":1},{"ts":2,"utid":1}`),
	}
}

// folder returns a folder of tables as an archive.
func folder(t testing.TB, tables map[string][]byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	add := func(name string, data []byte) {
		err := w.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Size: int64(len(data)), Mode: 0o644})
		if err == nil {
			_, err = w.Write(data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		add("traces/"+name+".parquet", tables[name])
	}
	add("traces/schema.sql", []byte("CREATE TABLE process"))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestTables(t *testing.T) {
	got := ingesttest.MustRead(t, "traces.tar", folder(t, tables(t)))
	got.Want(t, "process", "pid|name|parent_upid|cmdline", "0|swapper|NULL|NULL", "100|app|NULL|app --fast", "2|kthreadd|1|NULL")
	got.Want(t, "thread", "tid|name|upid|is_main_thread|end_ts", "0|swapper|0|true|NULL", "100|app|1|true|NULL", "101|worker|1|false|2000")
	got.Want(t, "sched_slice", "ts|dur|cpu|utid|end_state|priority", "1000|500|0|1|S|120", "1500|100|0|0|R|120", "1600|400|0|2|R+|98")
	got.Want(t, "thread_state", "ts|dur|utid|state|cpu", "1000|500|1|Running|0", "1500|200|1|S|NULL", "1600|400|2|Running|0", "1700|-1|1|R|NULL", "2000|-1|2|R+|NULL")
	got.Want(t, "slice", "ts|dur|category|name|depth", "1010|100|pthread|lock|0", "1012|0|NULL|mark|0", "1050|100|NULL|over|0", "1100|20|irq|IRQ (ahci)|0",
		"1130|10|irq|NET_RX|0", "1500|0|sched|sleep|0", "1550|0|sched|sched_migrate_task|0", "1700|0|memory|mmap|0", "1800|0|network|packet_send|0", "1810|0|network|poll|0")
	got.Want(t, "track_event_callstacks", "slice_id|callsite_id", "5|3", "7|3")
	got.Want(t, "stack_sample", "ts|source|utid|upid|cpu|callsite_id", "1005|systing|1|1|0|2")
	got.Want(t, "stack_sample_event", "event|period", "cpu-clock|1000000")
	got.Want(t, "stack_profile_frame", "name|rel_pc|mapping", "<module>|0|0", "main|4660|1", "do_syscall_64|-1762369103|2", "operator()(int)|16|3")
	got.Want(t, "stack_profile_symbol", "source_file|line_number", "app.py|1", "main.c|7")
	got.Want(t, "stack_profile_mapping", "name", "python", "app", "[kernel]", "libx.so")
	got.Want(t, "counter", "ts|value", "1001|2.5", "1002|3.5", "1020|4096", "1021|8192", "1022|3")
	names := got.Rows("track", "name", "classification", "utid")
	for _, want := range []string{"mutex|systing_thread_track|1", "locks|systing_track_group|NULL", "locks|systing_track|NULL", "TCP 10.0.0.1:4000->10.0.0.2:5432|systing_socket|NULL",
		"Irq Cpu 1|cpu_irq|NULL", "cache-misses CPU 0|systing_counter|NULL", "mem.rss.anon|process_memory|NULL", "mem.virt|process_memory|NULL", "maj_flt|systing_thread_memory|1"} {
		if !slices.Contains(names, want) {
			t.Errorf("no track %s in %q", want, names)
		}
	}
	args := got.Rows("args", "key", "int_value", "string_value", "real_value")
	for _, want := range []string{"addr|64|NULL|NULL", "who|NULL|me|NULL", "share|NULL|NULL|0.5", "n|2|NULL|NULL", "ret|NULL|handled|NULL", "vec|3|NULL|NULL", "orig_cpu|1|NULL|NULL",
		"external|1|NULL|NULL", "size|8192|NULL|NULL", "length|52|NULL|NULL", "requested_events|NULL|IN|NULL", "dest_hostname|NULL|db|NULL", "cgroup_path|NULL|/app.slice|NULL", "cgroup_id|77|NULL|NULL"} {
		if !slices.Contains(args, want) {
			t.Errorf("no arg %s in %q", want, args)
		}
	}
	if slices.Contains(args, "depth|0|NULL|NULL") || slices.Contains(args, "event_type|NULL|mmap|NULL") {
		t.Error("columns of slices are args")
	}
	got.Want(t, "machine", "sysname|release", "Linux|6.12.0")
	facts := got.Rows("metadata", "name", "str_value", "int_value")
	for _, want := range []string{"systing.sysinfo.hypervisor|kvm|NULL", "systing.network_interface.host.lo.ipv4|127.0.0.1|NULL", "systing.network_interface.host.lo.netns_inum|NULL|4026531840"} {
		if !slices.Contains(facts, want) {
			t.Errorf("no %s in %q", want, facts)
		}
	}
	got.Want(t, "stats", "name|value|description", "clock_sync_cache_miss|1|Conversions of times that needed a search for the clock snapshot.",
		"unread_event|2|perf_sample rows are not read", "unread_fact|1|cpu column is not read", "unread_fact|1|cpu column is not read", "unread_fact|1|file without rows is not read")
}

// TestDatabase reads what DuckDB exports of systing's database: with the id of the trace, and the names of frames in a table.
func TestDatabase(t *testing.T) {
	all := map[string][]byte{
		"process": tableOf(t, "trace_id:text? upid:i64? pid:i32? name:text? cmdline:texts? is_kernel_thread:bool",
			`{"trace_id":"a","upid":10,"pid":100,"name":"app","cmdline":["app"],"is_kernel_thread":false},{"trace_id":"b","upid":10,"pid":7,"name":"other","cmdline":null,"is_kernel_thread":false}`),
		"thread":       tableOf(t, "trace_id:text? utid:i64? tid:i32? name:text? upid:i64?", `{"trace_id":"a","utid":1,"tid":100,"name":"app","upid":10},{"trace_id":"b","utid":1,"tid":7,"name":"other","upid":10}`),
		"frame":        tableOf(t, "trace_id:text? id:i64? name:text?", `{"trace_id":"a","id":0,"name":"main (app) <0x10>"},{"trace_id":"a","id":1,"name":"read (libc.so) <0x20>"}`),
		"stack":        tableOf(t, "trace_id:text? id:i64? frame_ids:i64s? depth:i32? leaf_name:text?", `{"trace_id":"a","id":4,"frame_ids":[0,1],"depth":2,"leaf_name":"read"},{"trace_id":"a","id":5,"frame_ids":[8],"depth":1,"leaf_name":"?"}`),
		"stack_sample": tableOf(t, "trace_id:text? ts:i64? utid:i64? cpu:i32? stack_id:i64? stack_event_type:i8?", `{"trace_id":"a","ts":5,"utid":1,"cpu":0,"stack_id":4,"stack_event_type":1},{"trace_id":"a","ts":6,"utid":1,"cpu":0,"stack_id":6,"stack_event_type":1}`),
		// The type of a value is the database's.
		"counter_track": tableOf(t, "trace_id:text? id:i64? name:text? unit:text?", `{"trace_id":"a","id":1,"name":"n","unit":"count"}`),
		"counter":       tableOf(t, "trace_id:text? ts:i64? track_id:i64? value:i64?", `{"trace_id":"a","ts":7,"track_id":1,"value":42}`),
		"_traces":       tableOf(t, "trace_id:text? source_path:text? systing_version:text?", `{"trace_id":"a","source_path":"traces","systing_version":"1.13.10"}`),
	}
	got := ingesttest.MustRead(t, "db.tar", folder(t, all))
	got.Want(t, "process", "pid|name", "0|NULL", "100|app")
	got.Want(t, "stack_sample", "ts|callsite_id", "5|1", "6|NULL")
	got.Want(t, "counter", "ts|value", "7|42")
	got.Want(t, "stack_profile_frame", "name|rel_pc", "main|16", "read|32")
	got.Want(t, "stats", "name|value", "unread_event|1", "unread_event|1", "unread_fact|1", "systing_parse_errors|1", "systing_parse_errors|1")
}

// TestImpossibleCPUs counts each row with a CPU that cannot be once. A sample has its stack all the same.
func TestImpossibleCPUs(t *testing.T) {
	all := tables(t)
	some := map[string][]byte{"process": all["process"], "thread": all["thread"], "stack": all["stack"]}
	some["sched_slice"] = tableOf(t, "ts:i64 dur:i64 cpu:i32? utid:i64 end_state:i32? priority:i32", `{"ts":1000,"dur":5,"cpu":-1,"utid":1,"end_state":1,"priority":120},`+
		`{"ts":1010,"dur":5,"cpu":2147483647,"utid":1,"end_state":1,"priority":120},{"ts":1020,"dur":5,"utid":1,"end_state":1,"priority":120},`+
		`{"ts":1030,"dur":5,"cpu":0,"utid":99,"end_state":1,"priority":120},{"ts":1040,"dur":5,"cpu":1,"utid":1,"end_state":1,"priority":120}`)
	some["softirq_slice"] = tableOf(t, "ts:i64 dur:i64 cpu:i32 vec:i32", `{"ts":1050,"dur":10,"cpu":-2,"vec":3},{"ts":1060,"dur":10,"cpu":1,"vec":3}`)
	some["stack_sample"] = tableOf(t, "ts:i64 utid:i64 cpu:i32? stack_id:i64 stack_event_type:i8",
		`{"ts":1070,"utid":1,"cpu":-1,"stack_id":1,"stack_event_type":1},{"ts":1080,"utid":1,"stack_id":1,"stack_event_type":1}`)
	got := ingesttest.MustRead(t, "traces.tar", folder(t, some))
	got.Want(t, "sched_slice", "ts|dur|cpu|utid", "1040|5|1|1")
	got.Want(t, "slice", "ts|name", "1060|NET_RX")
	got.Want(t, "stack_sample", "ts|cpu|callsite_id", "1070|NULL|2", "1080|NULL|2")
	got.Want(t, "stats", "name|value", "unread_fact|1", "systing_parse_errors|6") // a fact is schema.sql
}

func TestNotSysting(t *testing.T) {
	process := tables(t)["process"]
	for _, c := range []struct {
		data []byte
		want string
	}{{tableOf(t, "id:i64", `{"id":1}`), "not systing's table"}, {process, "name their folder"}, {process[:len(process)/2], "a Parquet file"}} {
		if _, err := ingesttest.Read(t, ingesttest.File{Name: "process.parquet", Reader: bytes.NewReader(c.data)}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

var mutations = flag.Int("mutations", 40, "how many times to damage each table")

// TestDamage cuts each table, and changes bytes. The other tables are read all the same.
func TestDamage(t *testing.T) {
	whole, all := map[string][]byte{}, tables(t)
	names := []string{"process", "thread", "sched_slice", "slice", "args", "stack", "stack_sample", "memory_rss"}
	for _, name := range names {
		whole[name] = all[name]
	}
	for name, data := range whole {
		for i := 1; i < 64; i++ {
			damaged := cloneWith(whole, name, data[:len(data)*i/64])
			got, failed := ingesttest.MayFail(t, folder(t, damaged))
			others := name == "thread" || name == "sched_slice" || len(got.Rows("sched_slice", "id")) > 0
			if stats := got.Rows("stats", "name"); failed || !slices.Contains(stats, "systing_parse_errors") || !others {
				t.Fatalf("%s cut at %d/64: %v, %v", name, i, failed, stats)
			}
		}
	}
	random := rand.New(rand.NewPCG(1, 0))
	for _, name := range names {
		for range *mutations {
			data := bytes.Clone(whole[name])
			for range 1 + random.IntN(4) {
				data[random.IntN(len(data))] = byte(random.Uint32())
			}
			ingesttest.MayFail(t, folder(t, cloneWith(whole, name, data)))
		}
	}
}

func cloneWith(all map[string][]byte, name string, data []byte) map[string][]byte {
	some := maps.Clone(all)
	some[name] = data
	return some
}

func FuzzSysting(f *testing.F) { ingesttest.Fuzz(f, "systing", tables(f)["process"]) }
