// Package ftracetext reads the fields of tracepoints as the kernel writes them in text: in ftrace's own files, and in what trace-cmd
// and perf script print.
package ftracetext

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tpconvert/tpconvert/ingest/internal/ftrace"
	"github.com/tpconvert/tpconvert/ingest/internal/linux"
	"github.com/tpconvert/tpconvert/ingest/internal/token"
)

// specs are the events that are read as text: their names in the text
// and their fields, also as the kernel writes them with the option fields: prev_state=0x2 (2). A field is written key, or key:field if the tracepoint has
// another name for it. A field in brackets is optional, and one in braces is only read for rows of ftrace_event. If several keys name the same
// field, one of them is enough. A key "name" without a value in the text stands for
// the words before the first field.
var specs = []struct{ name, fields string }{
	{"sched_switch", "[prev_comm] prev_pid prev_prio [prev_state] [next_comm] next_pid next_prio"},
	{"sched_waking", "[comm] pid {prio} {success} {target_cpu}"},
	{"sched_wakeup", "[comm] pid {prio} [success] [target_cpu]"},
	{"sched_wakeup_new", "[comm] pid {prio} [success] [target_cpu]"},
	{"sched_blocked_reason", "pid iowait:io_wait [caller]"},
	{"task_newtask", "pid comm clone_flags {oom_score_adj}"},
	{"task_rename", "pid {oldcomm} newcomm {oom_score_adj}"},
	{"sched_process_free", "comm pid {prio}"},
	{"irq_handler_entry", "irq name"},
	{"irq_handler_exit", "irq ret"},
	{"softirq_entry", "vec {[action:vec}"},
	{"softirq_exit", "vec {[action:vec}"},
	{"cpu_frequency", "state cpu_id"},
	{"cpu_frequency_limits", "min:min_freq max:max_freq min_freq max_freq cpu_id"},
	{"cpu_idle", "state cpu_id"},
	{"clock_set_rate", "name state {cpu_id}"},
	{"clock_enable", "name state {cpu_id}"},
	{"clock_disable", "name state {cpu_id}"},
	{"thermal_temperature", "thermal_zone {id} {temp_prev} temp"},
	{"cdev_update", "type target"},
	{"rss_stat", "[mm_id] [curr] member type:member size"},
	{"binder_transaction", "transaction:debug_id dest_node:target_node dest_proc:to_proc dest_thread:to_thread reply flags code"},
	{"binder_transaction_received", "transaction:debug_id"},
	{"binder_transaction_alloc_buf", "{transaction:debug_id} data_size offsets_size {extra_buffers_size}"},
	{"binder_command", "cmd"},
	{"binder_return", "cmd"},
	{"binder_lock", "{tag}"},
	{"binder_locked", "{tag}"},
	{"binder_unlock", "{tag}"},
}

// recorded are the events of which only ftrace_event has a row. They need not be Perfetto's.
var recorded = []struct{ name, fields string }{
	{"sched_migrate_task", "comm pid prio orig_cpu dest_cpu"},
	{"sched_process_exec", "filename pid old_pid"},
	{"sched_prepare_exec", "interp filename pid comm"},
	{"sched_process_exit", "comm pid prio [group_dead]"},
	{"sched_process_fork", "comm:parent_comm pid:parent_pid child_comm child_pid"},
	{"sched_process_wait", "comm pid prio"},
	{"sched_stat_blocked", "comm pid delay"},
	{"sched_stat_iowait", "comm pid delay"},
	{"sched_stat_runtime", "comm pid runtime [vruntime]"},
	{"sched_stat_sleep", "comm pid delay"},
	{"sched_stat_wait", "comm pid delay"},
	{"softirq_raise", "vec {[action:vec}"},
}

// Kind numbers the supported events.
type Kind byte

// Unknown stands for all other events.
const Unknown Kind = 0

// Event is a kind of event: its tracepoint and how to decode its fields.
type Event struct {
	*ftrace.Tracepoint
	decode func(w *token.Writer, args []byte) bool
}

// Decode adds the fields of an event to a token. It returns false if a field is missing or malformed.
func (e *Event) Decode(w *token.Writer, args []byte) bool { return e.decode(w, args) }

// Fill adds the fields in a token to an event.
func (e *Event) Fill(to *ftrace.Event, fields token.Reader) {
	for len(fields) > 0 {
		number := fields.Uint()
		if field := e.Field(number >> 1); number&1 == IsText {
			to.AddText(field, fields.Raw())
		} else {
			to.AddInt(field, fields.Uint())
		}
	}
}

// field is a field of a tracepoint.
type field struct {
	number uint64 // in the tracepoint
	ftrace.FieldType
}

func newField(t *ftrace.Tracepoint, name string) field {
	i := slices.IndexFunc(t.Fields, func(f ftrace.Field) bool { return f.Name == name })
	if i < 0 {
		panic(fmt.Sprintf("ftracetext: %s has no field %s", t.Name, name))
	}
	return field{uint64(i), t.Fields[i].Type}
}

// IsText is added to twice the number of a field in a token if a text follows, not a number.
const IsText = 1

func (f field) addText(w *token.Writer, text []byte) bool {
	w.Uint(f.number<<1 | IsText)
	w.Raw(text)
	return true
}

func (f field) addInt(w *token.Writer, bits uint64) bool {
	w.Uint(f.number << 1)
	w.Uint(bits)
	return true
}

// Events returns the events by kind, and their kinds by the names in the text. With record, they are those whose text has nothing but
// fields, all of which are read for rows of ftrace_event.
func Events(p *ftrace.Parser, record bool) (events []Event, kinds map[string]Kind) {
	events, kinds = []Event{Unknown: {}}, map[string]Kind{}
	add := func(tracepoint *ftrace.Tracepoint, decode func(*token.Writer, []byte) bool, names ...string) {
		for _, name := range names {
			kinds[name] = Kind(len(events))
		}
		events = append(events, Event{tracepoint, decode})
	}
	for _, s := range specs {
		tracepoint := p.TracepointNamed(s.name)
		keys := newKeys(tracepoint, s.fields, record)
		decode := keys.decode
		switch s.name {
		case "sched_switch":
			decode = keys.decodeSwitch
		case "sched_waking", "sched_wakeup", "sched_wakeup_new":
			decode = keys.decodeWakeup
		}
		add(tracepoint, decode, s.name)
	}
	if record {
		for _, s := range recorded {
			tracepoint := p.Generic(s.name, recordedFields(s.fields))
			add(tracepoint, newKeys(tracepoint, s.fields, record).decode, s.name)
		}
		enter, exit := p.TracepointNamed("sys_enter"), p.TracepointNamed("sys_exit")
		add(enter, sysEnter(newField(enter, "id"), newField(enter, "args")), "sys_enter")
		add(exit, sysExit(newField(exit, "id"), newField(exit, "ret")), "sys_exit")
		return events, kinds
	}
	print := p.TracepointNamed("print")
	text := newField(print, "buf")
	add(print, func(w *token.Writer, args []byte) bool {
		// trace-cmd report adds the function that wrote the mark.
		return text.addText(w, bytes.TrimPrefix(args, []byte("tracing_mark_write: ")))
	}, "tracing_mark_write", "0", "print")
	// work struct ffffff83b8f89238: function binder_deferred_func or, with the option fields,
	// work=0xffffff83b8f89238 (-534786338248) function=binder_deferred_func+0x0/0x20 (-534786338248)
	start := p.TracepointNamed("workqueue_execute_start")
	function := newField(start, "function")
	add(start, func(w *token.Writer, args []byte) bool {
		_, name, ok := bytes.Cut(args, []byte("function "))
		if !ok {
			if _, name, ok = bytes.Cut(args, []byte("function=")); ok {
				name, _, _ = bytes.Cut(name, []byte("+0x0/"))
			}
		}
		return ok && function.addText(w, name)
	}, "workqueue_execute_start")
	add(p.TracepointNamed("workqueue_execute_end"), func(*token.Writer, []byte) bool { return true }, "workqueue_execute_end")
	return events, kinds
}

// sysEnter returns what decodes NR 16 (55, 2400, 0, 7fe218e2b5e0, 1, 0).
func sysEnter(id, arg field) func(*token.Writer, []byte) bool {
	return func(w *token.Writer, text []byte) bool {
		number, list, ok := bytes.Cut(bytes.TrimPrefix(text, []byte("NR ")), []byte(" ("))
		list, closed := bytes.CutSuffix(list, []byte(")"))
		if !ok || !closed || !addInt(w, id, number) {
			return false
		}
		for value := range bytes.SplitSeq(list, []byte(", ")) {
			if !addHex(w, arg, value) {
				return false
			}
		}
		return true
	}
}

// sysExit returns what decodes NR 16 = -11.
func sysExit(id, ret field) func(*token.Writer, []byte) bool {
	return func(w *token.Writer, text []byte) bool {
		number, value, ok := bytes.Cut(bytes.TrimPrefix(text, []byte("NR ")), []byte(" = "))
		return ok && addInt(w, id, number) && addInt(w, ret, value)
	}
}

// recordedFields returns the fields in a spec.
func recordedFields(spec string) (fields []ftrace.Field) {
	for word := range strings.FieldsSeq(spec) {
		key, name, renamed := strings.Cut(strings.Trim(word, "[]{}"), ":")
		if !renamed {
			name = key
		}
		f := ftrace.Field{Name: name}
		if strings.HasSuffix(name, "comm") || name == "filename" || name == "interp" {
			f.Type = ftrace.Text
		}
		fields = append(fields, f)
	}
	return fields
}

// key is one key in the text and the tracepoint field that it sets.
type key struct {
	key   string
	field field
	bit   uint64 // identifies the field, also among several keys
	add   func(w *token.Writer, f field, value []byte) bool
}

// keys decodes args of the form key=value.
type keys struct {
	keys     []key
	required uint64 // bits of the required fields
	lead     int    // index of the key of the words before the first field, or -1
	all      bool   // there must be no others in the text
}

func newKeys(t *ftrace.Tracepoint, spec string, record bool) *keys {
	k := &keys{lead: -1, all: record}
	for i, word := range strings.Fields(spec) {
		if word[0] == '{' && !record {
			continue
		}
		optional := word[0] == '[' || word[0] == '{'
		if optional {
			word = word[1 : len(word)-1]
		}
		name, source, renamed := strings.Cut(word, ":")
		if !renamed {
			source = name
		}
		f := newField(t, source)
		bit := uint64(1) << i
		for _, other := range k.keys {
			if other.field == f {
				bit = other.bit
			}
		}
		if !optional {
			k.required |= bit
		}
		if name == "name" {
			k.lead = len(k.keys)
		}
		k.keys = append(k.keys, key{name, f, bit, adder(source, f.FieldType, record)})
	}
	return k
}

// adder returns how to read the values of a field.
func adder(name string, t ftrace.FieldType, record bool) func(*token.Writer, field, []byte) bool {
	switch {
	case name == "prev_state" && !record: // whose numbers depend on the kernel
		return addTaskState
	case name == "clone_flags":
		return addHex
	case name == "caller", name == "code" && !record, name == "prev_state": // numbers in binary traces
		return addWord
	case name == "member":
		return addMember
	case name == "ret", name == "group_dead":
		return addTruth
	case name == "size":
		return addBytes
	case t == ftrace.Text:
		return addText
	}
	return addInt
}

func addTaskState(w *token.Writer, f field, value []byte) bool {
	return f.addInt(w, linux.ParseTaskState(value[:WordLen(value)]))
}

func addHex(w *token.Writer, f field, value []byte) bool {
	n, err := strconv.ParseUint(string(bytes.TrimPrefix(value[:WordLen(value)], []byte("0x"))), 16, 64)
	return err == nil && f.addInt(w, n)
}

func addWord(w *token.Writer, f field, value []byte) bool {
	return f.addText(w, value[:WordLen(value)])
}

func addText(w *token.Writer, f field, value []byte) bool {
	return f.addText(w, value)
}

// addMember reads what a process's memory is used for: a number or, of newer kernels, a name.
func addMember(w *token.Writer, f field, value []byte) bool {
	if i := slices.Index(rssMembers, string(value)); i >= 0 {
		return f.addInt(w, uint64(i))
	}
	return addInt(w, f, value)
}

// addTruth reads the result of an interrupt's handler, or a truth value.
func addTruth(w *token.Writer, f field, value []byte) bool {
	switch string(value) {
	case "handled", "true":
		return f.addInt(w, 1)
	case "unhandled", "false":
		return f.addInt(w, 0)
	}
	return addInt(w, f, value)
}

// rssMembers are the members of the kernel's mm_rss_stat in its order.
var rssMembers = []string{"MM_FILEPAGES", "MM_ANONPAGES", "MM_SWAPENTS", "MM_SHMEMPAGES"}

// addBytes reads a number of bytes, after which the kernel writes B.
func addBytes(w *token.Writer, f field, value []byte) bool {
	return addInt(w, f, bytes.TrimSuffix(value, []byte("B")))
}

func addInt(w *token.Writer, f field, value []byte) bool {
	// The name of the number may follow it.
	value = value[:WordLen(value)]
	digits, negative := bytes.CutPrefix(value, []byte("-"))
	n, rest, ok := Number(digits)
	if len(rest) > 0 && n == 0 && (rest[0] == 'x' || rest[0] == 'X') {
		var err error
		n, err = strconv.ParseUint(string(rest[1:]), 16, 64)
		ok, rest = err == nil, nil
	}
	limit := uint64(math.MaxUint64)
	if f.FieldType == ftrace.Int32 || f.FieldType == ftrace.Uint32 {
		limit = math.MaxUint32
	}
	if negative {
		limit = limit/2 + 1
	}
	if !ok || len(rest) > 0 || n > limit {
		return false
	}
	if negative {
		n = -n
	}
	return f.addInt(w, n)
}

// decode adds the values of args to a token. A value extends up to the next word
// with an equals sign, because thread names may contain spaces.
func (k *keys) decode(w *token.Writer, args []byte) bool {
	var seen uint64
	add := func(i int, value []byte) bool {
		f := &k.keys[i]
		if seen&f.bit != 0 {
			return true
		}
		seen |= f.bit
		return f.add(w, f.field, bytes.TrimRight(value, " "))
	}
	equals := bytes.IndexByte(args, '=')
	start := bytes.LastIndexByte(args[:max(equals, 0)], ' ') + 1
	if start > 0 && k.lead >= 0 && !add(k.lead, args[:start]) {
		return false
	}
	for i := 0; equals >= 0; i++ { // the kernel writes the fields in order
		value := equals + 1
		end, next := len(args), -1
		for from := value; ; {
			n := bytes.IndexByte(args[from:], '=')
			if n < 0 {
				break
			}
			if space := bytes.LastIndexByte(args[from:from+n], ' '); space >= 0 {
				end, next = from+space, from+n
				break
			}
			from += n + 1
		}
		name := args[start:equals]
		if found := k.find(name, i); found >= 0 {
			i = found
			if !add(i, args[value:end]) {
				return false
			}
		} else if k.all && len(name) > 0 { // there is none in ==>
			return false
		}
		start, equals = end+1, next
	}
	return seen&k.required == k.required
}

// decodeSwitch decodes a sched_switch. By default trace-cmd report writes it in its
// own form: comm:pid [prio] state ==> comm:pid [prio].
func (k *keys) decodeSwitch(w *token.Writer, args []byte) bool {
	if bytes.HasPrefix(args, []byte("prev_")) {
		return k.decode(w, args)
	}
	prev, next, ok := bytes.Cut(args, []byte(" ==> "))
	prio := bytes.LastIndex(prev, []byte("] "))
	if !ok || prio < 0 {
		return false
	}
	values := append(taskOf(prev[:prio]), prev[prio+len("] "):])
	values = append(values, taskOf(bytes.TrimSuffix(next, []byte("]")))...)
	for i, value := range values {
		if f := &k.keys[i]; !f.add(w, f.field, value) {
			return false
		}
	}
	return true
}

// decodeWakeup decodes a wakeup. By default trace-cmd report writes it in its own form: comm:pid [prio] success=1 CPU:000. The success is
// optional.
func (k *keys) decodeWakeup(w *token.Writer, args []byte) bool {
	end := bytes.LastIndexByte(args, ']')
	if bytes.Contains(args, []byte("pid=")) || end < 0 {
		return k.decode(w, args)
	}
	for i, value := range taskOf(args[:end]) {
		if j := k.find(taskKeys[i], i); j >= 0 && !k.keys[j].add(w, k.keys[j].field, value) {
			return false
		}
	}
	for _, word := range bytes.Fields(args[end+1:]) {
		name, value, _ := bytes.Cut(bytes.Replace(word, []byte("CPU:"), []byte("target_cpu="), 1), []byte("="))
		if i := k.find(name, 0); i >= 0 && !k.keys[i].add(w, k.keys[i].field, value) {
			return false
		}
	}
	return true
}

// taskKeys are the keys of what taskOf returns.
var taskKeys = [][]byte{[]byte("comm"), []byte("pid"), []byte("prio")}

// taskOf splits comm:pid [prio into its values. Missing values are empty.
func taskOf(text []byte) [][]byte {
	var prio, pid []byte
	if i := bytes.LastIndex(text, []byte(" [")); i >= 0 {
		text, prio = text[:i], text[i+len(" ["):]
	}
	if i := bytes.LastIndexByte(text, ':'); i >= 0 {
		text, pid = text[:i], text[i+1:]
	}
	return [][]byte{text, pid, prio}
}

// find returns the index of the key with this name, or -1. It looks at index first
// before the others.
func (k *keys) find(name []byte, first int) int {
	for i := range k.keys {
		j := (first + i) % len(k.keys)
		if string(name) == k.keys[j].key {
			return j
		}
	}
	return -1
}
