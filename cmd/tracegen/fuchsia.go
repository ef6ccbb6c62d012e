package main

import (
	"bufio"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
)

// writeFuchsia writes a trace in the Fuchsia trace format as a trace manager does: in
// sections of several providers, each in its own time order. One provider is the
// kernel, with scheduling records.
func writeFuchsia(w *bufio.Writer, size int64, rng *rand.Rand) error {
	g := &fuchsiaWriter{output: output{w: w, left: size}, rng: rng}
	g.record(0x0016547846040000)
	g.kernel()
	for _, c := range fuchsiaComponents() {
		g.add(c)
	}
	for g.wantsMore() {
		at := g.providers[0]
		for _, p := range g.providers {
			if p.now < at.now {
				at = p
			}
		}
		at.section()
	}
	return g.err
}

// The types of records and events that are written.
const (
	fxtInitialization = 1
	fxtString         = 2
	fxtThread         = 3
	fxtEvent          = 4
	fxtKernelObject   = 7
	fxtScheduling     = 8

	fxtInstant       = 0
	fxtCounter       = 1
	fxtBegin         = 2
	fxtEnd           = 3
	fxtComplete      = 4
	fxtAsyncBegin    = 5
	fxtAsyncEnd      = 7
	fxtFlowBegin     = 8
	fxtFlowEnd       = 10
	fxtInlineString  = 1 << 15
	fxtTicks         = 1e9 // a second
	fxtFirstKoid     = 1024
	fxtSectionEvents = 200
)

type fuchsiaWriter struct {
	output
	rng *rand.Rand

	providers []*fuchsiaProvider
	koid      uint64
	flow      uint64
	flows     []fuchsiaFlow // open flows
	cpus      [4]uint64     // koid of the running thread
	all       []uint64      // koids of threads
}

// record writes a record. It adds the size to the header.
func (g *fuchsiaWriter) record(header uint64, words ...uint64) {
	b := binary.LittleEndian.AppendUint64(g.w.AvailableBuffer(), header|uint64(len(words)+1)<<4)
	for _, v := range words {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	g.Write(b)
}

// fxtText appends the words of an inline string.
func fxtText(words []uint64, s string) []uint64 {
	for ; len(s) > 0; s = s[min(len(s), 8):] {
		var b [8]byte
		copy(b[:], s)
		words = append(words, binary.LittleEndian.Uint64(b[:]))
	}
	return words
}

type fuchsiaComponent struct {
	name    string
	threads []string
	spans   []fuchsiaSpan
}

type fuchsiaSpan struct {
	category, name string
	args           []fuchsiaArg
}

// fuchsiaArg is an arg of one of the format's types. Its value varies among a number of
// values, which are texts for strings, or is the number of the current frame.
type fuchsiaArg struct {
	name   string
	kind   uint64
	values uint64
	texts  []string
}

const (
	fxtFrame = 0 // values of a frame number
	frameNS  = 16_666_667
)

func fuchsiaComponents() []fuchsiaComponent {
	graphics := []fuchsiaSpan{
		{"gfx", "RenderFrame", []fuchsiaArg{{"frame_number", 4, fxtFrame, nil}, {"target", 3, fxtFrame, nil}}},
		{"gfx", "scenic_impl::display::Compositor::DrawFrame", []fuchsiaArg{{"frame_number", 4, fxtFrame, nil}, {"layers", 1, 12, nil}}},
		{"gfx", "FrameScheduler::UpdateManager::UpdateSessions", []fuchsiaArg{{"sessions", 1, 24, nil}, {"target", 3, fxtFrame, nil}}},
		{"gfx", "Vulkan submit", []fuchsiaArg{{"queue", 7, 4, nil}, {"wait", 9, 2, nil}}},
		{"magma", "Connection::ExecuteCommandBuffer", []fuchsiaArg{{"id", 8, 64, nil}, {"semaphores", 2, 4, nil}}},
	}
	engine := []fuchsiaSpan{
		{"flutter", "Animator::BeginFrame", []fuchsiaArg{{"frame_number", 4, fxtFrame, nil}}},
		{"dart", "HandleMessage", []fuchsiaArg{{"isolate", 6, 3, []string{"main", "service", "worker"}}, {"mode", 6, 2, []string{"AOT", "JIT"}}}},
		{"dart", "CollectNewGeneration", []fuchsiaArg{{"usedBefore", 4, 512, nil}, {"reason", 6, 3, []string{"new space", "idle", "promotion"}}}},
		{"flutter", "Layout", []fuchsiaArg{{"dirty", 2, 40, nil}, {"ratio", 5, 100, nil}}},
		{"flutter", "PipelineProduce", []fuchsiaArg{{"depth", 2, 3, nil}, {"frame_number", 4, fxtFrame, nil}}},
	}
	storage := []fuchsiaSpan{
		{"blobfs", "Blob::Read", []fuchsiaArg{{"offset", 4, 4096, nil}, {"length", 2, 16, nil}}},
		{"storage", "txn", []fuchsiaArg{{"operation", 6, 4, []string{"read", "write", "flush", "trim"}}, {"blocks", 1, 64, nil}}},
		{"blobfs", "UserPager::TransferPages", []fuchsiaArg{{"vmo", 8, 200, nil}, {"pages", 2, 32, nil}}},
		{"minfs", "Minfs::BeginTransaction", []fuchsiaArg{{"reserve", 2, 8, nil}, {"inode", 4, 300, nil}}},
	}
	return []fuchsiaComponent{
		{"scenic.cm", []string{"main", "render", "vsync", "async-dispatcher"}, graphics},
		{"workstation_session.cm", []string{"platform", "ui", "raster", "io", "dart-worker"}, engine},
		{"terminal.cm", []string{"platform", "ui", "raster", "io"}, engine},
		{"blobfs.cm", []string{"main", "pager-0", "pager-1", "block"}, storage},
	}
}

// kernel adds the kernel's provider, which writes scheduling records.
func (g *fuchsiaWriter) kernel() {
	g.koid = fxtFirstKoid
	p := g.provider("ktrace")
	p.section = func() {
		p.header()
		for until := p.now + 2e6; p.now < until; {
			p.switchThreads()
		}
	}
}

func (g *fuchsiaWriter) provider(name string) *fuchsiaProvider {
	p := &fuchsiaProvider{fuchsiaWriter: g, id: uint64(len(g.providers) + 1), now: startTime, strings: map[string]uint64{}}
	g.providers = append(g.providers, p)
	g.record(1<<16|p.id<<20|uint64(len(name))<<52, fxtText(nil, name)...)
	g.record(fxtInitialization, fxtTicks)
	return p
}

// add adds a component's provider, process and threads.
func (g *fuchsiaWriter) add(c fuchsiaComponent) {
	p := g.provider(c.name)
	p.spans = c.spans
	p.section = p.events
	g.koid += 10 + g.rng.Uint64N(90)
	p.koid = g.koid
	g.record(fxtKernelObject|1<<16|uint64(fxtInlineString|len(c.name))<<24, fxtText([]uint64{p.koid}, c.name)...)
	process := p.text("process")
	for i, name := range c.threads {
		g.koid += 1 + g.rng.Uint64N(9)
		p.threads = append(p.threads, g.koid)
		g.all = append(g.all, g.koid)
		g.record(fxtKernelObject|2<<16|uint64(fxtInlineString|len(name))<<24|1<<40,
			append(fxtText([]uint64{g.koid}, name), 8|2<<4|process<<16, p.koid)...)
		g.record(fxtThread|uint64(i+1)<<16, p.koid, g.koid)
	}
}

type fuchsiaProvider struct {
	*fuchsiaWriter
	id      uint64
	now     int64 // ns
	section func()
	strings map[string]uint64
	koid    uint64
	threads []uint64
	spans   []fuchsiaSpan
	async   uint64
}

func (p *fuchsiaProvider) header() { p.record(2<<16 | p.id<<20) }

// text returns a reference to a string, which is registered the first time.
func (p *fuchsiaProvider) text(s string) uint64 {
	if _, ok := p.strings[s]; !ok {
		p.strings[s] = uint64(len(p.strings) + 1)
		p.record(fxtString|p.strings[s]<<16|uint64(len(s))<<32, fxtText(nil, s)...)
	}
	return p.strings[s]
}

// events writes a section of events of the component's threads, one thread after
// another.
func (p *fuchsiaProvider) events() {
	p.header()
	for n := 0; n < fxtSectionEvents; {
		thread := uint64(1 + p.rng.IntN(len(p.threads)))
		dur := 5000 + p.rng.Int64N(400_000)
		n += p.span(thread, p.now, dur, 0)
		p.now += dur + p.rng.Int64N(20_000)
	}
}

// span writes a slice and everything within it, and returns the number of events.
func (p *fuchsiaProvider) span(thread uint64, at, dur int64, depth int) int {
	s := p.spans[p.rng.IntN(len(p.spans))]
	end := at + dur
	n := 1
	paired := p.rng.IntN(2) == 0
	if paired {
		p.event(fxtBegin, thread, at, s)
	} else {
		p.event(fxtComplete, thread, at, s, uint64(end))
	}
	n += p.aside(thread, at+dur/32)
	for at += dur / 16; depth < maxDepth && end-at > 3000 && p.rng.IntN(100) < 60; {
		child := 1000 + p.rng.Int64N((end-at)/2)
		n += p.span(thread, at, child, depth+1)
		at += child + 1
	}
	if paired {
		p.event(fxtEnd, thread, end, fuchsiaSpan{category: s.category, name: s.name})
		n++
	}
	return n
}

// aside writes up to two of the other events that can occur within a slice.
func (p *fuchsiaProvider) aside(thread uint64, at int64) int {
	switch r := p.rng.IntN(100); {
	case r < 6:
		p.event(fxtInstant, thread, at, fuchsiaSpan{"app", "task_start", []fuchsiaArg{{"posted", 9, 2, nil}}})
		return 1
	case r < 10:
		p.event(fxtCounter, thread, at, fuchsiaSpan{"memory", "heap", []fuchsiaArg{{"used", 4, 5000, nil}, {"load", 5, 400, nil}}}, 0)
		return 1
	case r < 15:
		p.async++
		span := fuchsiaSpan{"fidl", "fuchsia.ui.composition/Flatland.Present", nil}
		p.event(fxtAsyncBegin, thread, at, span, p.id<<32|p.async)
		p.event(fxtAsyncEnd, thread, at+500+p.rng.Int64N(1_000_000), span, p.id<<32|p.async)
		return 2
	case r < 23:
		p.flowEvent(thread, at)
		return 1
	}
	return 0
}

// fuchsiaFlow is a flow that began, and when.
type fuchsiaFlow struct {
	id uint64
	at int64
}

// flowEvent ends an open flow or begins a new one.
func (p *fuchsiaProvider) flowEvent(thread uint64, at int64) {
	span := fuchsiaSpan{"async", "dispatch", nil}
	if n := len(p.flows); n > 0 && p.rng.IntN(2) == 0 {
		if i := p.rng.IntN(n); p.flows[i].at < at {
			p.event(fxtFlowEnd, thread, at, span, p.flows[i].id)
			p.flows = slices.Delete(p.flows, i, i+1)
			return
		}
	}
	p.flow++
	p.flows = append(p.flows, fuchsiaFlow{p.flow, at})
	p.event(fxtFlowBegin, thread, at, span, p.flow)
}

func (p *fuchsiaProvider) event(kind, thread uint64, at int64, s fuchsiaSpan, value ...uint64) {
	words := append(make([]uint64, 0, 16), uint64(at))
	for _, a := range s.args {
		header := a.kind | 1<<4 | p.text(a.name)<<16
		v := uint64(at / frameNS)
		if a.values != fxtFrame {
			v = p.rng.Uint64N(a.values)
		}
		switch a.kind {
		case 1, 2:
			words = append(words, header|v<<32)
		case 9:
			words = append(words, header|v<<32)
		case 6:
			words = append(words, header|p.text(a.texts[v])<<32)
		case 5:
			words = append(words, header+1<<4, math.Float64bits(float64(v)/16))
		default:
			words = append(words, header+1<<4, v)
		}
	}
	words = append(words, value...)
	p.record(fxtEvent|kind<<16|uint64(len(s.args))<<20|thread<<24|p.text(s.category)<<32|p.text(s.name)<<48, words...)
}

// switchThreads wakes a thread and runs it on a CPU.
func (p *fuchsiaProvider) switchThreads() {
	p.now += 1000 + p.rng.Int64N(50_000)
	cpu := p.rng.IntN(len(p.cpus))
	next := p.all[p.rng.IntN(len(p.all))]
	for _, running := range p.cpus {
		if running == next {
			return
		}
	}
	weight := p.text("weight")
	p.record(fxtScheduling|1<<16|uint64(cpu)<<20|2<<60, uint64(p.now), next, 1|1<<4|weight<<16|3122<<32)
	p.now += 200 + p.rng.Int64N(5000)
	incoming, outgoing := p.text("incoming_weight"), p.text("outgoing_weight")
	const idle = 1 << 31
	from := uint64(3122)
	if p.cpus[cpu] == 0 {
		from = idle
	}
	p.record(fxtScheduling|2<<16|uint64(cpu)<<20|3<<36|1<<60, uint64(p.now), p.cpus[cpu], next,
		1|1<<4|outgoing<<16|from<<32, 1|1<<4|incoming<<16|3122<<32)
	p.cpus[cpu] = next
}
