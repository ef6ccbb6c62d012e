package systing

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/tpconvert/tpconvert/ingest/internal/parquetfile"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/profile"
)

// facts reads the tables without times, to which events refer.
func (r *reader) facts(processes *tableFile) error {
	r.Machine.UseIdleProcess()
	var readings []model.Reading
	clock := uint32(model.ClockBoottime)
	if err := r.rows("clock_snapshot", func(t *tableFile) {
		id := uint32(t.int("clock_id"))
		if t.int("is_primary") != 0 {
			clock = id
		}
		readings = append(readings, model.Reading{Clock: model.Clock{ID: id}, Value: t.int("timestamp_ns"), Unit: 1})
	}); err != nil {
		return err
	}
	r.in.UseClock(clock)
	if len(readings) > 1 {
		r.Clocks.AddSnapshot(readings)
	}
	processes.one = &r.id
	if processes.damage == nil {
		for processes.Next() {
			r.process(processes)
		}
	}
	processes.report()
	for upid, parent := range r.parents {
		if to, ok := r.upids[parent]; ok {
			r.Machine.SetParent(r.upids[upid], to)
		}
	}
	for _, facts := range []struct {
		table string
		row   func(t *tableFile)
	}{
		{"sysinfo", r.system}, {"thread", r.thread}, {"_traces", r.versions},
		{"cpu_info", func(t *tableFile) { r.metadata("cpu_info."+strconv.FormatInt(t.int("cpu"), 10), t, "cpu") }},
		{"network_interface", r.networkInterface},
		{"network_dns", func(t *tableFile) { r.hosts[string(t.value("ip_address").Text)] = t.text("hostname") }},
		{"network_socket", r.socket},
		{"track", func(t *tableFile) {
			r.tracks[t.int("id")] = track{t.text("name"), parentOf(t.value("parent_id"))}
		}},
		{"counter_track", func(t *tableFile) { r.counters[t.int("id")] = counterTrack{t.text("name"), t.text("unit")} }},
		{"tpu_device", func(t *tableFile) {
			r.devices[t.int("id")] = t.int("device_ordinal")
			r.metadata("tpu_device."+strconv.FormatInt(t.int("id"), 10), t, "id")
		}},
		{"frame", r.frame}, {"stack", r.stack},
		{"args", func(t *tableFile) { r.arg(r.sliceArgs, t, "slice_id") }},
		{"instant_args", func(t *tableFile) { r.arg(r.instantArgs, t, "instant_id") }},
	} {
		if err := r.rows(facts.table, facts.row); err != nil {
			return err
		}
	}
	return nil
}

func parentOf(v parquetfile.Value) int64 {
	if v.Kind == parquetfile.Null {
		return model.None
	}
	return v.Int
}

func (r *reader) process(t *tableFile) {
	id, pid := t.int("upid"), t.int("pid")
	var upid model.UPID
	if pid == 0 {
		upid = r.Machine.Process(0)
	} else {
		upid = r.Machine.AddProcess(pid)
	}
	r.upids[id], r.pids[id] = upid, pid
	if name := t.text("name"); name != 0 {
		r.Machine.SetProcessName(upid, name, model.ProcessNameOther)
	}
	var words [][]byte
	for _, v := range t.list("cmdline") {
		words = append(words, bytes.Clone(v.Text))
	}
	if len(words) > 0 {
		r.Machine.SetCmdline(upid, t.strings.InternBytes(bytes.Join(words, []byte(" "))))
	}
	if parent := t.value("parent_upid"); parent.Kind != parquetfile.Null {
		r.parents[id] = parent.Int
	}
	args := r.Machine.ProcessArgs(upid)
	addArgs(args, t, "is_kernel_thread", "cgroup_id", "cgroup_path")
}

// addArgs adds what a row has in some columns, under their names. A truth value is added if it is true, an id if it is not 0.
func addArgs(set *model.ArgSet, t *tableFile, columns ...string) {
	for _, column := range columns {
		v := t.value(column)
		if v.Kind != parquetfile.Text && v.Int == 0 && v.Real == 0 {
			continue
		}
		set.Add(t.strings.Intern(column), argOf(t, v))
	}
}

func argOf(t *tableFile, v parquetfile.Value) model.ArgValue {
	switch v.Kind {
	case parquetfile.Bool:
		return model.BoolArg(v.Int != 0)
	case parquetfile.Int:
		return model.IntArg(v.Int)
	case parquetfile.Real:
		return model.RealArg(v.Real)
	case parquetfile.Text:
		return model.StringArg(t.strings.InternBytes(v.Text))
	}
	return model.NullArg()
}

func (r *reader) thread(t *tableFile) {
	id, tid := t.int("utid"), t.int("tid")
	var utid model.UTID
	switch upid, ok := r.upids[t.int("upid")]; {
	case tid == 0:
		utid = r.Machine.Thread(0)
	case ok && t.value("upid").Kind != parquetfile.Null:
		utid = r.Machine.AddThread(tid, upid, tid == r.pids[t.int("upid")])
	default:
		utid = r.Machine.StartThread(nil, tid)
	}
	r.utids[id] = utid
	if name := t.text("name"); name != 0 && tid != 0 {
		r.Machine.SetThreadName(utid, name, model.ThreadNameFtrace)
	}
}

func (r *reader) system(t *tableFile) {
	word := func(column string) string { return string(t.value(column).Text) }
	r.Machine.SetSystem(word("sysname"), word("version"), word("release"), word("machine"))
	r.metadata("sysinfo", t, "sysname", "version", "release", "machine")
	r.sampled, r.period = t.text("sample_event"), t.int("sample_period")
}

// metadata keeps a row as metadata, but for some columns.
func (r *reader) metadata(name string, t *tableFile, except ...string) {
	for i, column := range t.Columns {
		if v := t.Value(i); v.Kind != parquetfile.Null && column != "trace_id" && !slices.Contains(except, column) {
			r.File.SetMetadata("systing."+name+"."+column, argOf(t, v))
		}
	}
}

// versions reads what the database says of the recording.
func (r *reader) versions(t *tableFile) { r.metadata("traces", t, "trace_id", "import_time") }

func (r *reader) networkInterface(t *tableFile) {
	word := func(column string) string { return string(t.value(column).Text) }
	name := "systing.network_interface." + word("namespace") + "." + word("interface_name") + "."
	r.File.AddDynamicMetadata(name+word("address_type"), model.StringArg(t.text("ip_address")))
	if inode := t.int("netns_inum"); inode != 0 { // sockets have it, too
		r.File.SetMetadata(name+"netns_inum", model.IntArg(inode))
	}
}

// socket keeps what is known of a socket. Of a socket that was seen before it had an address, a later row has that.
func (r *reader) socket(t *tableFile) {
	id := t.int("socket_id")
	if old, ok := r.sockets[id]; ok && old.complete && (t.int("src_port") == 0 || t.int("dest_port") == 0) {
		return
	}
	from, to := string(t.value("src_ip").Text), string(t.value("dest_ip").Text)
	s := socket{complete: t.int("src_port") != 0 && t.int("dest_port") != 0}
	at := func(ip string, port int64) string {
		if strings.Contains(ip, ":") {
			ip = "[" + ip + "]"
		}
		return ip + ":" + strconv.FormatInt(port, 10)
	}
	s.name = t.strings.Intern(string(t.value("protocol").Text) + " " + at(from, t.int("src_port")) + "->" + at(to, t.int("dest_port")))
	for i, column := range t.Columns {
		if v := t.Value(i); v.Kind != parquetfile.Null && column != "trace_id" {
			s.args = append(s.args, model.Arg{Key: t.strings.Intern(column), Value: argOf(t, v)})
		}
	}
	for column, ip := range map[string]string{"src_hostname": from, "dest_hostname": to} {
		if host := r.hosts[ip]; host != 0 {
			s.args = append(s.args, model.Arg{Key: t.strings.Intern(column), Value: model.StringArg(host)})
		}
	}
	r.sockets[id] = s
}

// frame reads the name of a frame, in DuckDB's form of the tables. In Parquet's, stacks have the names.
func (r *reader) frame(t *tableFile) {
	if t.has("mapping_id") {
		t.file.Unread(model.StatUnreadFact, model.None, "frame of a Perfetto trace that systing converted").Add(model.LogEntry{})
		return
	}
	r.frames[t.int("id")] = r.frameOf(string(t.value("name").Text))
}

func (r *reader) stack(t *tableFile) {
	callsite := profile.CallsiteID(model.None)
	for _, v := range t.list("frame_names") {
		callsite = r.Store.Stacks.Callsite(callsite, r.frameOf(string(v.Text)))
	}
	for _, v := range t.list("frame_ids") {
		frame, ok := r.frames[v.Int]
		if !ok {
			t.damaged("a frame of a stack is not there")
			continue
		}
		callsite = r.Store.Stacks.Callsite(callsite, frame)
	}
	r.stacks[t.int("id")] = callsite
}

// frameOf returns the frame with a name as systing writes it: function (module [file:line]) <0xaddress>. In Python's code it is
// function (python) [file:line].
func (r *reader) frameOf(text string) profile.FrameID {
	if id, ok := r.frameNames[text]; ok {
		return id
	}
	name, module, file, line, address := splitFrame(text)
	word := r.Store.Strings.Intern
	mapping, ok := r.modules[module]
	if !ok {
		mapping = r.Store.Stacks.DummyMapping(module)
		r.modules[module] = mapping
	}
	symbol := profile.Symbol{Name: word(name), Line: line}
	var id profile.FrameID
	if file == "" {
		id = r.Store.Stacks.Frame(mapping, address, symbol.Name)
	} else {
		symbol.File = word(file)
		id = r.Store.Stacks.SymbolizedFrame(mapping, address, []profile.Symbol{symbol})
	}
	r.frameNames[text] = id
	return id
}

func splitFrame(text string) (name, module, file string, line int64, address uint64) {
	rest := text
	if at := strings.LastIndex(rest, " <0x"); at >= 0 && strings.HasSuffix(rest, ">") {
		if n, err := strconv.ParseUint(rest[at+4:len(rest)-1], 16, 64); err == nil {
			rest, address = rest[:at], n
		}
	}
	place := func(text string) {
		file = text
		if at := strings.LastIndexByte(text, ':'); at >= 0 {
			if n, err := strconv.ParseInt(text[at+1:], 10, 64); err == nil {
				file, line = text[:at], n
			}
		}
	}
	if function, at, ok := strings.Cut(rest, " (python) ["); ok && strings.HasSuffix(at, "]") {
		place(at[:len(at)-1])
		return function, "python", file, line, address
	}
	at := opening(rest)
	if at < 0 {
		return rest, "", "", 0, address
	}
	name, module = rest[:at-1], rest[at+1:len(rest)-1]
	if before, inside, ok := strings.Cut(module, " ["); ok && strings.HasSuffix(inside, "]") {
		module = before
		place(inside[:len(inside)-1])
	}
	return name, module, file, line, address
}

// opening returns where the parenthesis opens that closes at the end of a text, behind a space, or -1.
func opening(text string) int {
	if !strings.HasSuffix(text, ")") {
		return -1
	}
	depth := 0
	for i := len(text) - 1; i > 0; i-- {
		switch text[i] {
		case ')':
			depth++
		case '(':
			if depth--; depth == 0 {
				if text[i-1] == ' ' {
					return i
				}
				return -1
			}
		}
	}
	return -1
}

func (r *reader) arg(sets map[int64][]model.Arg, t *tableFile, id string) {
	for _, column := range []string{"int_value", "string_value", "real_value"} {
		if v := t.value(column); v.Kind != parquetfile.Null {
			at := t.int(id)
			sets[at] = append(sets[at], model.Arg{Key: t.text("key"), Value: argOf(t, v)})
			return
		}
	}
}
