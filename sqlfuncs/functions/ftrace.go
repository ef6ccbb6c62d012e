package functions

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/tpconvert/tpconvert/sqlfuncs/dataframe"
	"github.com/tpconvert/tpconvert/sqlfuncs/functions/define"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
)

// ftraceEvents writes events as lines of ftrace's text format, as systrace and trace-cmd show them:
// "            name-12    (   10) [003] .... 1.000002: sched_wakeup: comm=x pid=7 prio=120 target_cpu=003".
type ftraceEvents struct {
	events                   define.RowsByID
	ts, name, thread, set    dataframe.Reader
	ucpu                     dataframe.Reader
	cpus, threads, processes define.RowsByID
	cpu                      dataframe.Reader // of cpus
	tid, threadName, process dataframe.Reader // of threads
	pid                      dataframe.Reader // of processes
	args                     *argSets
	kernel                   int // version: 4.14 is 4014
}

func readFtrace(tables dataframe.Source) (*ftraceEvents, error) {
	e := &ftraceEvents{}
	for _, table := range []struct {
		name    string
		rows    *define.RowsByID
		columns define.Readers
	}{
		{"ftrace_event", &e.events, define.Readers{
			"id": &e.events.ID, "ts": &e.ts, "name": &e.name, "utid": &e.thread, "arg_set_id": &e.set, "ucpu": &e.ucpu}},
		{"cpu", &e.cpus, define.Readers{"id": &e.cpus.ID, "cpu": &e.cpu}},
		{"thread", &e.threads, define.Readers{"id": &e.threads.ID, "tid": &e.tid, "name": &e.threadName, "upid": &e.process}},
		{"process", &e.processes, define.Readers{"id": &e.processes.ID, "pid": &e.pid}},
	} {
		f, err := define.Columns(tables, table.name, table.columns)
		if err != nil {
			return nil, err
		}
		table.rows.Rows = f.Rows
	}
	var err error
	if e.args, err = readArgs(tables); err != nil {
		return nil, err
	}
	m, err := readMetadata(tables)
	if err != nil {
		return nil, err
	}
	e.kernel = 4004 // of old traces, which do not say
	if row := m.find("system_release", nil, nil); row >= 0 {
		var major, minor int
		if n, _ := fmt.Sscanf(m.text.Text(row), "%d.%d", &major, &minor); n == 2 {
			e.kernel = 1000*major + minor
		}
	}
	return e, nil
}

func defineFtrace(d *define.Definer) {
	load := define.Once(func() (*ftraceEvents, error) { return readFtrace(d.Tables) })
	var line []byte
	d.Scalar("to_ftrace", 1, func(c sqlite.Context, args []sqlite.Value) error {
		if args[0].Type() != sqlite.Integer {
			return errors.New("to_ftrace: the argument is not the id of an event")
		}
		e, err := load()
		if err != nil {
			return fmt.Errorf("to_ftrace: %w", err)
		}
		row := e.events.Find(int64(uint32(args[0].Int())))
		if row < 0 {
			return fmt.Errorf("to_ftrace: there is no event %d", args[0].Int())
		}
		if name := e.name.Text(row); strings.HasPrefix(name, "chrome_event.") || strings.HasPrefix(name, "track_event.") {
			return fmt.Errorf("to_ftrace: event %d is %s, not of ftrace", args[0].Int(), name)
		}
		line = e.appendEvent(line[:0], row)
		c.Text(string(line))
		return nil
	})
}

// appendEvent appends an event as a line.
func (e *ftraceEvents) appendEvent(to []byte, row int) []byte {
	to = e.appendHead(to, row)
	name := e.name.Text(row)
	shown := name
	switch name {
	case "print", "g2d_tracing_mark_write", "dpu_tracing_mark_write":
		shown = "tracing_mark_write"
	}
	to = append(append(append(to, ' '), shown...), ':')
	if e.set.IsNull(row) {
		return to
	}
	a := e.args
	if a.Find(e.set.Int(row)); a.From == a.To {
		return to
	}
	pieces, known := ftraceFormats()[name]
	if !known {
		for i := a.From; i < a.To; i++ {
			arg := a.Row(i)
			key := a.key.Text(arg)
			to = append(append(append(to, ' '), key...), '=')
			to = e.appendArg(to, arg, key, "")
		}
		return to
	}
	for _, p := range pieces {
		if p.key == "" {
			to = append(to, p.text...)
			continue
		}
		if arg := a.named(p.key); arg >= 0 {
			to = append(to, p.text...)
			to = e.appendArg(to, arg, p.shown, p.style)
		}
	}
	return to
}

// named returns the row of a key in the set that was found last, or -1.
func (a *argSets) named(key string) int {
	for i := a.From; i < a.To; i++ {
		if row := a.Row(i); a.key.Text(row) == key {
			return row
		}
	}
	return -1
}

// appendHead appends the thread, CPU and time of an event.
func (e *ftraceEvents) appendHead(to []byte, row int) []byte {
	var tid, pid, cpu int64
	name := ""
	if t := e.threads.Find(e.thread.Int(row)); t >= 0 && !e.thread.IsNull(row) {
		tid, name = e.tid.Int(t), e.threadName.Text(t)
		if p := e.processes.Find(e.process.Int(t)); p >= 0 && !e.process.IsNull(t) {
			pid = e.pid.Int(p)
		}
	}
	if c := e.cpus.Find(e.ucpu.Int(row)); c >= 0 {
		cpu = e.cpu.Int(c)
	}
	if tid == 0 {
		name = "<idle>"
	} else if name == "" {
		name = "<unknown>"
	}
	for range 16 - len(name) {
		to = append(to, ' ')
	}
	for i := range len(name) {
		if name[i] == '-' {
			to = append(to, '_')
		} else {
			to = append(to, name[i])
		}
	}
	to = append(to, '-')
	from := len(to)
	to = strconv.AppendInt(to, tid, 10)
	for len(to) < from+5 {
		to = append(to, ' ')
	}
	to = append(to, " ("...)
	if pid == 0 {
		to = append(to, "-----"...)
	} else {
		to = appendPadded(to, strconv.FormatInt(pid, 10), ' ', 5)
	}
	to = append(to, ") ["...)
	to = appendPadded(to, strconv.FormatInt(cpu, 10), '0', 3)
	to = append(to, "] .... "...)
	ts := e.ts.Int(row)
	to = append(strconv.AppendInt(to, ts/1e9, 10), '.')
	return append(appendPadded(to, strconv.FormatInt(ts%1e9/1e3, 10), '0', 6), ':')
}

// appendPadded appends a number with characters before it, so that it has a width.
func appendPadded(to []byte, number string, with byte, width int) []byte {
	for range width - len(number) {
		to = append(to, with)
	}
	return append(to, number...)
}

// appendArg appends the value of an argument in a style.
func (e *ftraceEvents) appendArg(to []byte, row int, shown, style string) []byte {
	a := e.args
	number := a.ints.Int(row)
	if shown == "gfp_flags" {
		return appendGFPFlags(to, uint64(number), e.kernel)
	}
	kind := a.kind.Text(row)
	switch style {
	case "task_state":
		return append(to, taskState(uint16(number), e.kernel)...)
	case "decimal3":
		return appendPadded(to, strconv.FormatInt(number, 10), '0', 3)
	case "unsigned32":
		return strconv.AppendUint(to, uint64(uint32(number)), 10)
	case "hex":
		return strconv.AppendUint(to, uint64(number), 16)
	case "hex3":
		return appendPadded(to, strconv.FormatUint(uint64(number), 16), '0', 3)
	case "hex4":
		return appendPadded(to, strconv.FormatUint(uint64(number), 16), '0', 4)
	case "major": // of a device
		return strconv.AppendUint(to, uint64(number)>>20, 10)
	case "minor":
		return strconv.AppendUint(to, uint64(number)&(1<<20-1), 10)
	case "page":
		return strconv.AppendUint(to, uint64(number)<<12, 10)
	case "begin":
		if number != 0 {
			return append(to, 'B')
		}
		return append(to, 'E')
	case "character":
		return append(to, byte(number))
	case "handled":
		if number == 0 {
			to = append(to, "un"...)
		}
		return append(to, "handled"...)
	case "softirq":
		if number >= 0 && number < int64(len(softirqs)) {
			return append(to, softirqs[number]...)
		}
		return strconv.AppendUint(to, uint64(number), 10)
	case "line":
		return append(to, strings.TrimSuffix(a.texts.Text(row), "\n")...)
	case "bytes":
		to = append(to, " ["...)
		for i, b := range []byte(a.texts.Text(row)) {
			if i > 0 {
				to = append(to, '-')
			}
			to = appendPadded(to, strconv.FormatUint(uint64(b), 16), '0', 2)
		}
		return append(to, ']')
	case "function":
		if kind == "uint" || kind == "int" || kind == "pointer" {
			return strconv.AppendUint(to, uint64(number), 16)
		}
	}
	switch kind {
	case "string", "json":
		return append(to, a.texts.Text(row)...)
	case "real":
		return appendReal(to, a.reals.Float(row))
	case "bool":
		return strconv.AppendBool(to, number != 0)
	case "uint", "pointer":
		return strconv.AppendUint(to, uint64(number), 10)
	case "null":
		return append(to, "[NULL]"...)
	}
	return strconv.AppendInt(to, number, 10)
}

// appendReal appends a number with 16 digits, as C does.
func appendReal(to []byte, v float64) []byte {
	switch {
	case math.IsNaN(v):
		return append(to, "nan"...)
	case math.IsInf(v, 0):
		if v < 0 {
			to = append(to, '-')
		}
		return append(to, "inf"...)
	}
	return strconv.AppendFloat(to, v, 'g', 16, 64)
}

var softirqs = []string{"HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "BLOCK_IOPOLL", "TASKLET", "SCHED", "HRTIMER", "RCU"}

// taskState returns prev_state of sched_switch as letters, such as S|D. The layout of the bits depends on the kernel.
func taskState(raw uint16, kernel int) string {
	letters, preempted := "SDTtXZxKWPN", uint16(0x800)
	switch {
	case kernel >= 4014:
		if raw&0xfe00 != 0 {
			return "?"
		}
		letters, preempted = "SDTtXZPI", 0x100
	case kernel >= 4008:
		preempted = 0x1000
	}
	mask := uint16(1)<<len(letters) - 1
	switch {
	case raw&mask == 0 && raw&preempted == 0:
		return "R"
	case raw&mask == 0:
		return "R+"
	case kernel < 4014 && raw&mask == 0x402: // uninterruptible, but no load
		return "I"
	}
	var text []byte
	for bit := range len(letters) {
		if raw>>bit&1 != 0 {
			if text != nil {
				text = append(text, '|')
			}
			text = append(text, letters[bit])
		}
	}
	return string(text)
}
