package main

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"strconv"
)

// writeJSON writes a Chrome JSON trace in object form, with the events of a browser and
// of a PyTorch job.
//
// Each thread's events are in order, but threads take turns to flush their buffers, so
// the trace as a whole is not in order.
func writeJSON(w *bufio.Writer, size int64, rng *rand.Rand) error {
	w.WriteString(`{"displayTimeUnit":"ms","traceEvents":[` + "\n")
	if err := writeEvents(w, size, rng, ",\n"); err != nil {
		return err
	}
	_, err := w.WriteString("\n]," + `"otherData":{"clock-domain":"LINUX_CLOCK_MONOTONIC","cpu-num-cores":8,` +
		`"os-name":"Linux","highres-ticks":true,"physical-memory":32768,"trace-config":"record-until-full"}}` + "\n")
	return err
}

// writeNDJSON writes the same events as [writeJSON] does for the same size and random
// numbers, one per line.
func writeNDJSON(w *bufio.Writer, size int64, rng *rand.Rand) error {
	if err := writeEvents(w, size, rng, "\n"); err != nil {
		return err
	}
	return w.WriteByte('\n')
}

func writeEvents(w *bufio.Writer, size int64, rng *rand.Rand, separator string) error {
	g := newEventWriter(w, rng, separator)
	g.metadata()
	for g.size < size && g.err == nil {
		g.burst()
	}
	return g.err
}

// eventWriter generates events. Times are in nanoseconds.
type eventWriter struct {
	w         *bufio.Writer
	rng       *rand.Rand
	separator string
	err       error
	size      int64 // of the events, each with a separator of two bytes
	events    int

	processes []*process
	threads   []*thread
	id        uint64 // the last one used, shared by all kinds of ids
}

type process struct {
	app        *app
	name       string
	pid        int
	openAsyncs links // Chrome's async ids are local to the process
}

type thread struct {
	*process
	name string
	tid  int
	now  int64
}

// links are open async operations or flows, each with the time of its last event.
type links []link

type link struct {
	kind *kind
	id   uint64
	at   int64
}

const (
	startTime = 122_411_211_067_000
	maxDepth  = 10
	maxLinks  = 64
)

func newEventWriter(w *bufio.Writer, rng *rand.Rand, separator string) *eventWriter {
	g := &eventWriter{w: w, rng: rng, separator: separator}
	pid := 14776
	for _, spec := range processSpecs() {
		for range spec.count {
			p := &process{app: spec.app, name: spec.name, pid: pid}
			g.processes = append(g.processes, p)
			for i, name := range spec.threads {
				now := p.app.round(startTime + rng.Int64N(1e6))
				g.threads = append(g.threads, &thread{process: p, name: name, tid: pid + i, now: now})
			}
			pid += len(spec.threads) + rng.IntN(40)
		}
	}
	return g
}

// metadata writes the names and sort indexes of processes and threads.
func (g *eventWriter) metadata() {
	write := func(name string, pid, tid int, key string, value any) {
		g.end(fmt.Appendf(g.begin(), `{"args":{"%s":%#v},"cat":"__metadata","name":"%s","ph":"M","pid":%d,"tid":%d,"ts":0}`,
			key, value, name, pid, tid))
	}
	for i, p := range g.processes {
		write("process_name", p.pid, 0, "name", p.name)
		write("process_sort_index", p.pid, 0, "sort_index", i)
		write("process_uptime_seconds", p.pid, 0, "uptime", strconv.Itoa(100-i))
	}
	for i, t := range g.threads {
		write("thread_name", t.pid, t.tid, "name", t.name)
		write("thread_sort_index", t.pid, t.tid, "sort_index", i)
	}
}

// burst writes the next events of the thread that is furthest behind.
func (g *eventWriter) burst() {
	t := g.threads[0]
	for _, u := range g.threads {
		if u.now < t.now {
			t = u
		}
	}
	for until := g.events + 1 + g.rng.IntN(64); g.events < until; {
		dur := t.app.round(2000<<g.rng.IntN(11) + g.rng.Int64N(2000))
		g.span(t, t.now, dur, 0)
		t.now += dur + t.app.round(1000+g.rng.Int64N(12*dur))
	}
}

// span writes a slice that starts at the given time, and everything within it.
func (g *eventWriter) span(t *thread, start, dur int64, depth int) {
	end := start + dur
	paired := dur >= 4000 && g.rng.IntN(100) < 5
	k := t.app.spans.pick(g.rng)
	at := start
	if paired {
		k = t.app.ends.pick(g.rng)
		g.write(t, event{ph: 'B', kind: &kind{cat: k.cat, name: k.name}, at: start})
		at += 1000 // at equal times, readers put a complete event before a begin
	} else {
		g.write(t, event{ph: 'X', kind: k, at: start, dur: dur})
	}
	g.aside(t, at+t.app.round(dur/32))
	at += t.app.round(dur / 16)
	for depth < maxDepth && end-at >= 4000 && g.rng.IntN(100) < 65 {
		childDur := t.app.round((end-at)/8 + g.rng.Int64N((end-at)/2))
		g.span(t, at, childDur, depth+1)
		at += childDur + t.app.round((end-at-childDur)/16)
	}
	if paired {
		g.write(t, event{ph: 'E', kind: k, at: end})
	}
}

// aside writes one of the other events that can occur within a slice, or none.
func (g *eventWriter) aside(t *thread, at int64) {
	a := t.app
	switch r := g.rng.IntN(100); {
	case r < 8:
		g.write(t, event{ph: a.instantPhase, kind: a.instants.pick(g.rng), at: at})
	case r < 11:
		g.write(t, event{ph: 'C', kind: a.counters.pick(g.rng), at: at})
	case r < 19:
		g.step(t, at, &t.openAsyncs, a.asyncs, 'b', 'n', 'e')
	case r < 27:
		g.step(t, at, a.openFlows, a.flows, 's', 't', 'f')
	}
}

// step opens a link or continues the oldest one.
func (g *eventWriter) step(t *thread, at int64, open *links, kinds kinds, first, middle, last byte) {
	if len(*open) == 0 || (*open)[0].at > at || len(*open) < maxLinks && g.rng.IntN(100) < 46 {
		if len(*open) == maxLinks {
			return
		}
		g.id++
		l := link{kind: kinds.pick(g.rng), id: g.id, at: at}
		*open = append(*open, l)
		g.write(t, event{ph: first, kind: l.kind, at: at, id: l.id})
		return
	}
	l := (*open)[0]
	*open = append((*open)[:0], (*open)[1:]...)
	e := event{ph: last, kind: l.kind, at: at, id: l.id}
	if g.rng.IntN(100) < 12 {
		e.ph, l.at = middle, at
		*open = append(*open, l)
	}
	g.write(t, e)
}

type event struct {
	ph      byte
	kind    *kind
	at, dur int64
	id      uint64 // of async events and flows
}

func (g *eventWriter) write(t *thread, e event) {
	g.end(t.app.render(g, g.begin(), t, e))
}

// begin returns a buffer. The caller appends an event to it and passes it to end.
func (g *eventWriter) begin() []byte {
	if g.events > 0 {
		g.w.WriteString(g.separator)
	}
	return g.w.AvailableBuffer()
}

func (g *eventWriter) end(b []byte) {
	g.events++
	g.size += int64(len(b)) + 2
	if _, err := g.w.Write(b); err != nil {
		g.err = err
	}
}

// renderChrome appends an event as Chrome writes it, with members in alphabetical order.
func renderChrome(g *eventWriter, b []byte, t *thread, e event) []byte {
	b = append(b, `{"args":`...)
	if e.kind.args != nil {
		b = e.kind.args(g, b)
	} else {
		b = append(b, "{}"...)
	}
	if e.ph == 'f' {
		b = append(b, `,"bp":"e"`...)
	}
	b = append(b, `,"cat":"`...)
	b = append(b, e.kind.cat...)
	b = append(b, '"')
	if e.ph == 'X' {
		b = appendMicros(append(b, `,"dur":`...), e.dur)
	}
	switch e.ph {
	case 's', 't', 'f':
		b = strconv.AppendUint(append(b, `,"id":`...), e.id, 10)
	case 'b', 'n', 'e':
		b = strconv.AppendUint(append(b, `,"id2":{"local":"0x`...), e.id, 16)
		b = append(b, `"}`...)
	}
	b = append(b, `,"name":"`...)
	b = append(b, e.kind.name...)
	b = append(b, `","ph":"`...)
	b = append(b, e.ph, '"')
	b = strconv.AppendInt(append(b, `,"pid":`...), int64(t.pid), 10)
	switch e.ph {
	case 'I':
		b = append(b, `,"s":"t"`...)
	case 'X':
		b = appendMicros(append(b, `,"tdur":`...), t.app.round(e.dur*7/8))
	}
	b = strconv.AppendInt(append(b, `,"tid":`...), int64(t.tid), 10)
	b = appendMicros(append(b, `,"ts":`...), e.at)
	switch e.ph {
	case 'X', 'B', 'E', 'I', 'C':
		b = appendMicros(append(b, `,"tts":`...), t.app.round((e.at-startTime)/2))
	}
	return append(b, '}')
}

// renderKineto appends an event as PyTorch's profiler writes it.
func renderKineto(g *eventWriter, b []byte, t *thread, e event) []byte {
	b = append(b, `{"ph":"`...)
	b = append(b, e.ph, '"')
	switch e.ph {
	case 's', 't', 'f':
		b = strconv.AppendUint(append(b, `,"id":`...), e.id, 10)
	case 'b', 'n', 'e':
		b = strconv.AppendUint(append(b, `,"id":"0x`...), e.id, 16)
		b = append(b, '"')
	case 'i':
		b = append(b, `,"s":"t"`...)
	}
	b = append(b, `,"cat":"`...)
	b = append(b, e.kind.cat...)
	b = append(b, `","name":"`...)
	b = append(b, e.kind.name...)
	b = strconv.AppendInt(append(b, `","pid":`...), int64(t.pid), 10)
	b = strconv.AppendInt(append(b, `,"tid":`...), int64(t.tid), 10)
	b = appendMicros(append(b, `,"ts":`...), e.at)
	if e.ph == 'X' {
		b = appendMicros(append(b, `,"dur":`...), e.dur)
	}
	if e.ph == 'f' {
		b = append(b, `,"bp":"e"`...)
	}
	if e.kind.args != nil {
		b = e.kind.args(g, append(b, `,"args":`...))
	}
	return append(b, '}')
}

// appendMicros appends nanoseconds as microseconds, with three decimals unless
// they are whole.
func appendMicros(b []byte, ns int64) []byte {
	b = strconv.AppendInt(b, ns/1000, 10)
	if f := ns % 1000; f != 0 {
		b = append(b, '.', byte('0'+f/100), byte('0'+f/10%10), byte('0'+f%10))
	}
	return b
}
