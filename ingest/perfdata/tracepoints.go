package perfdata

import (
	"bytes"
	"encoding/binary"
	"strconv"

	"github.com/tpconvert/tpconvert/ingest/internal/rawftrace"
	"github.com/tpconvert/tpconvert/model"
)

// tracepointEvent is the perf_event_attr.type of the kernel's tracepoints, whose samples have the event itself in PERF_SAMPLE_RAW.
const tracepointEvent = 2

// lifetimes are the tracepoints of what perf's own records of forks and exits say.
var lifetimes = map[string]bool{"task_newtask": true, "sched_process_free": true}

// tracingData reads the descriptions of tracepoints, which perf copies from tracefs. tools/perf/util/trace-event-read.c reads them, too.
func (t *tokenizer) tracingData(w *words) bool {
	data, ok := bytes.CutPrefix(w.data, []byte(rawftrace.Magic))
	if !ok {
		return false
	}
	c := &rawftrace.Cursor{R: bytes.NewReader(data), Left: int64(len(data)), Order: binary.LittleEndian}
	version := c.Text()
	if c.Uint8() != 0 {
		c.Order = binary.BigEndian
	}
	long := int(c.Uint8()) // bytes
	c.Uint32()             // size of a page
	rawftrace.PageHeaders(c)
	d := rawftrace.NewDecoder(t.in.Context, c.Order, long, model.StatPerfRecordSkipped)
	d.Descriptions(c)
	if v, err := strconv.ParseFloat(version, 64); err == nil && v >= 0.6 {
		d.Cmdlines(c)
	}
	if c.Err != nil {
		return false
	}
	t.parser.tracepoints = d
	return true
}

// tracingRecord reads the same in a stream, where perf writes it after its record, and simpleperf inside it.
func (t *tokenizer) tracingRecord(rec *record) error {
	size := uint64(rec.uint32())
	data := rec.data
	if size > uint64(len(data)) {
		var err error
		if data, err = t.take(int64(size+7) &^ 7); err != nil {
			return err
		}
	}
	return t.done(rec, t.tracingData(&words{data: data}))
}

// threadMap reads whose events were recorded.
func (t *tokenizer) threadMap(rec *record) {
	const all, comm = 1<<64 - 1, 16
	for range rec.uint64() {
		pid := rec.uint64()
		rec.take(comm)
		if rec.short {
			return
		}
		t.recording.allThreads = t.recording.allThreads || pid == all
	}
}

// isTracepoint reports whether the samples have the events of a tracepoint.
func (e *event) isTracepoint() bool { return e.kind == tracepointEvent && e.sampleType&sampleRaw != 0 }

// each reports whether every occurrence of the event is a sample.
func (e *event) each() bool { return !e.freq && e.period <= 1 }

// tellsAll reports whether every occurrence of the event in all threads is a sample, so that nothing happened in between.
func (p *parser) tellsAll(e *event) bool { return p.recording.allThreads && e.each() }

// tracepoint adds the rows of the event that a sample has.
func (p *parser) tracepoint(ts, cpu int64, e *event, data []byte) {
	d := p.tracepoints
	if d == nil || cpu == model.None || cpu >= model.MaxCPUs {
		p.unreadTracepoint()
		return
	}
	if _, described := d.Format(data); !described {
		p.unreadTracepoint()
		return
	}
	found := d.Decode(ts, cpu, data)
	if found == nil {
		return
	}
	for _, field := range []string{"pid", "prev_pid", "next_pid"} {
		tid := uint32(found.Int(field))
		if f := p.forks[tid]; f != nil && found.Has(field) {
			p.begin(tid, f.pid)
		}
	}
	d.Partial = !p.tellsAll(e)
	d.Record(found)
	if e.each() && !lifetimes[found.Tracepoint.Name] {
		d.Handle(found)
	}
}

func (p *parser) unreadTracepoint() {
	p.File.Unread(model.StatUnreadFact, model.None, "PERF_SAMPLE_RAW field").Add(model.LogEntry{})
}
