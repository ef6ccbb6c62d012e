package json_test

import (
	"archive/tar"
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tpconvert/tpconvert/ingest/internal/ingesttest"
)

// column returns a column of a table by its key.
func column(tables *ingesttest.Tables, table, key, name string) map[string]string {
	all := map[string]string{}
	for _, row := range tables.Rows(table, key, name) {
		key, value, _ := strings.Cut(row, "|")
		all[key] = value
	}
	return all
}

// wantOwners fails the test unless each slice has this pid and tid, and the names of its process and thread: "slice: pid NAME, tid NAME".
func wantOwners(t *testing.T, tables *ingesttest.Tables, want ...string) {
	t.Helper()
	utids := column(tables, "track", "id", "utid")
	tids, threads, upids := column(tables, "thread", "utid", "tid"), column(tables, "thread", "utid", "name"), column(tables, "thread", "utid", "upid")
	pids, processes := column(tables, "process", "upid", "pid"), column(tables, "process", "upid", "name")
	var got []string
	for _, row := range tables.Rows("slice", "name", "track_id") {
		name, track, _ := strings.Cut(row, "|")
		utid := utids[track]
		upid := upids[utid]
		got = append(got, fmt.Sprintf("%s: %s %s, %s %s", name, pids[upid], processes[upid], tids[utid], threads[utid]))
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func slice(name, pid, tid string, ts int) string {
	return fmt.Sprintf(`{"ph":"X","name":"%s","pid":%s,"tid":%s,"ts":%d,"dur":10},`, name, pid, tid, ts)
}

func TestThreadsOfAnyNumber(t *testing.T) {
	tables := read(t, "["+
		slice("64 bits", "1", "140245678901248", 0)+
		slice("the same lower half", "1", "72057734283517184", 1)+
		slice("one more", "1", "140245678901249", 2)+
		slice("negative", "1", "-247463936", 3)+
		slice("its 32 bits", "1", "4047503360", 4)+
		slice("negative process", "-5", "3", 5)+
		slice("zero", "1", "0", 6)+
		slice("GPU 0", "0", "0", 7)+
		slice("stream 7", "0", "7", 8)+
		slice("another 7", "1", "7", 9)+
		slice("again", "0", "7", 30)+
		`{"ph":"X","name":"main","pid":9,"ts":5,"dur":10},`+
		`{"ph":"X","name":"no process","tid":0,"ts":40,"dur":10},{}]`)
	wantOwners(t, tables, "64 bits: 1 NULL, 140245678901248 NULL", "the same lower half: 1 NULL, 72057734283517184 NULL", "one more: 1 NULL, 140245678901249 NULL",
		"negative: 1 NULL, -247463936 NULL", "its 32 bits: 1 NULL, 4047503360 NULL", "negative process: -5 NULL, 3 NULL", "main: 9 NULL, 9 NULL", "zero: 1 NULL, 0 NULL",
		"GPU 0: 0 NULL, 0 NULL", "stream 7: 0 NULL, 7 NULL", "another 7: 1 NULL, 7 NULL", "again: 0 NULL, 7 NULL", "no process: 0 NULL, 0 NULL")
	tables.Want(t, "slice", "depth", strings.Fields(strings.Repeat("0 ", 13))...)
	// The first rows are the idle process. The process without a pid is not GPU 0.
	tables.Want(t, "process", "upid|pid", "0|0", "1|1", "2|-5", "3|9", "4|0", "5|0")
}

func TestIntegersInQuotes(t *testing.T) {
	tables := read(t, "["+
		`{"ph":"M","name":"thread_name","pid":7512,"tid":"7695","args":{"name":"mqt_js"}},`+
		slice("a", "7512", `"7695"`, 1)+slice("b", `"7512"`, "7695", 20)+slice("c", `7512.0`, "7.695e3", 40)+slice("d", `"-12"`, `"-7"`, 50)+
		slice("e", "1", `"007"`, 60)+slice("f", "1", "7.5", 70)+slice("g", "1", "18446744073709551615", 80)+slice("h", "1", "-1", 90)+"{}]")
	rows := tables.Rows("thread", "tid", "name")
	invented := func(name string) string {
		for _, row := range rows {
			if tid, of, _ := strings.Cut(row, "|"); of == name {
				return tid
			}
		}
		return "missing"
	}
	wantOwners(t, tables, "a: 7512 NULL, 7695 mqt_js", "b: 7512 NULL, 7695 mqt_js", "c: 7512 NULL, 7695 mqt_js", "d: -12 NULL, -7 NULL",
		"e: 1 NULL, "+invented("007")+" 007", "f: 1 NULL, "+invented("7.5")+" 7.5",
		"g: 1 NULL, "+invented("18446744073709551615")+" 18446744073709551615", "h: 1 NULL, -1 NULL")
}

// The numbers of texts are those of Trace Processor, which are offsets in its memory, unless a process or thread has them.
func TestTextsAreNoNumbers(t *testing.T) {
	const python = `{"ph":"M","name":"process_name","pid":53998,"tid":53998,"args":{"name":"python"}},`
	tables := read(t, "["+slice("a", `"Spans"`, `"T"`, 0)+slice("real", "53998", "53998", 1)+python+slice("next", "5", "53999", 2)+"{}]")
	wantOwners(t, tables, "a: 54000 Spans, 54008 T", "real: 53998 python, 53998 NULL", "next: 5 NULL, 53999 NULL")

	// One text names a thread in each process, and gives way to a name.
	tables = read(t, "["+slice("a", "1", `"GC"`, 0)+slice("b", "2", `"GC"`, 1)+slice("c", `"GC"`, `"GC"`, 2)+
		`{"ph":"M","name":"thread_name","pid":2,"tid":"GC","ts":3,"args":{"name":"collector"}},`+
		`{"ph":"M","name":"process_name","pid":"GC","ts":3,"args":{"name":"all"}},`+slice("d", "2", `"GC"`, 20)+slice("e", `"GC"`, `"GC"`, 20)+"{}]")
	wantOwners(t, tables, "a: 1 NULL, 53998 GC", "b: 2 NULL, 53998 collector", "c: 53998 all, 53998 GC", "d: 2 NULL, 53998 collector", "e: 53998 all, 53998 GC")

	// A real one may be in another file, after the text.
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for _, f := range [][2]string{{"a.json", "[" + slice("a", `"Spans"`, `"T"`, 0) + "{}]"}, {"b.txt", "54027 100.000001 close(3) = 0\n"}} {
		if err := w.WriteHeader(&tar.Header{Name: f[0], Mode: 0o600, Size: int64(len(f[1]))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(f[1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	tables = ingesttest.MustRead(t, "a.tar", archive.Bytes())
	tables.Want(t, "process", "pid|name", "0|NULL", "54028|Spans")
	if rows := tables.Rows("thread", "tid"); !slices.Contains(rows, "54027") {
		t.Errorf("threads %q", rows)
	}
}

// GPU 0 and its stream 0 are not the idle thread, even if there is one.
func TestIdleThreadBesideStreamZero(t *testing.T) {
	const sched = `"systemTraceEvents":"# tracer: nop\n a-7 [000] d..2 0.000001: sched_switch: prev_comm=a prev_pid=7 prev_prio=1 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=1\n` +
		` <idle>-0 [000] d..2 0.000030: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=1 prev_state=R ==> next_comm=a next_pid=7 next_prio=1\n"`
	events := `"traceEvents":[` + slice("gpu", "0", "0", 0) + slice("other", "3", "0", 5) + `{"ph":"M","name":"thread_name","pid":0,"tid":0,"args":{"name":"stream 0"}}]`
	for _, text := range []string{"{" + sched + "," + events + "}", "{" + events + "," + sched + "}"} {
		tables := read(t, text)
		wantOwners(t, tables, "gpu: 0 NULL, 0 stream 0", "other: 3 NULL, 0 NULL")
		if got := tables.Rows("thread", "utid", "tid", "name", "is_idle")[0]; got != "0|0|swapper|true" {
			t.Errorf("idle thread: %s", got)
		}
		if got := tables.Rows("sched_slice", "utid")[0]; got != "0" {
			t.Errorf("thread %s is idle", got)
		}
	}
}

// Events of processes say tid 0 for no thread.
func TestEventsWithoutThread(t *testing.T) {
	tables := read(t, `[{"ph":"M","name":"process_name","pid":5,"tid":0,"args":{"name":"p"}},{"ph":"C","name":"c","pid":5,"tid":0,"ts":1,"args":{"v":1}},
		{"ph":"b","cat":"c","name":"async","id":1,"pid":5,"tid":0,"ts":1},{"ph":"i","s":"p","name":"i","pid":5,"tid":0,"ts":1}]`)
	tables.Want(t, "thread", "tid|is_main_thread", "0|true", "5|true")
}

func TestSampleEvents(t *testing.T) {
	tables := read(t, `{"traceEvents":[`+slice("a", "1", "1", 0)+slice("b", "1", "0", 0)+slice("c", "2", `"s"`, 0)+`{}],
		"stackFrames":{"1":{"name":"main"},"2":{"name":"f","parent":"1"}},
		"samples":[{"cpu":0,"tid":1,"ts":1.0,"name":"cycles:HG","sf":2,"weight":1000000},{"cpu":"3","tid":0,"ts":2,"name":"cache-misses","sf":1,"weight":"5"},
			{"pid":2,"tid":"s","ts":3,"name":"","sf":1,"weight":1},{"tid":"s","ts":4,"sf":1,"weight":1.5}]}`)
	tables.Want(t, "stack_sample", "ts|utid|cpu|weight", "1000|1|0|1000000", "2000|2|3|5", "3000|3|NULL|NULL", "4000|3|NULL|NULL")
	tables.Want(t, "stack_sample_event", "stack_sample_id|event", "0|cycles:HG", "1|cache-misses")
	tables.Want(t, "stats", "name|value|description", "unread_fact|1|weight of a sample is not read")
}

func TestProfilesOfAnyThread(t *testing.T) {
	chunk := func(pid, tid string) string {
		return fmt.Sprintf(`{"ph":"P","name":"Profile","id":"0x1","pid":%s,"tid":%s,"ts":1,"args":{"data":{"startTime":1}}},
			{"ph":"P","name":"ProfileChunk","id":"0x1","pid":%[1]s,"tid":%[2]s,"ts":2,"args":{"data":{"cpuProfile":{"nodes":[{"id":1,"callFrame":{"functionName":"f"}}],"samples":[1]},"timeDeltas":[5]}}},`, pid, tid)
	}
	tables := read(t, "["+chunk("1", "140245678901248")+chunk("-1", "0")+chunk(`"p"`, `"t"`)+slice("a", "1", "1", 0)+"{}]")
	tids, upids, pids := column(tables, "thread", "utid", "tid"), column(tables, "thread", "utid", "upid"), column(tables, "process", "upid", "name")
	var got []string
	for _, utid := range tables.Rows("stack_sample", "utid") {
		got = append(got, tids[utid]+" "+pids[upids[utid]])
	}
	if len(got) != 3 || got[0] != "140245678901248 NULL" || got[1] != "0 NULL" || !strings.HasSuffix(got[2], " p") {
		t.Errorf("samples of %q", got)
	}
}

func TestSortIndexInQuotes(t *testing.T) {
	tables := read(t, `[{"ph":"M","name":"thread_sort_index","pid":1,"tid":3,"args":{"sort_index":"10002"}},{"ph":"M","name":"process_sort_index","pid":1,"args":{"sort_index":"-7"}}]`)
	tables.Want(t, "args", "key|int_value", "process_sort_index_hint|-7", "thread_sort_index_hint|10002")
	tables.Want(t, "stats", "name|value")
	tables = read(t, `[{"ph":"M","name":"thread_sort_index","pid":1,"tid":3,"args":{"sort_index":"last"}}]`)
	tables.Want(t, "stats", "name|value", "json_parser_failure|1")
}
