package ftrace

import (
	"strconv"

	"github.com/tpconvert/tpconvert/ingest/internal/linux"
	"github.com/tpconvert/tpconvert/ingest/internal/tracks"
	"github.com/tpconvert/tpconvert/model"
)

// memory is the state of memory management events.
type memory struct {
	mms map[int64]model.UTID       // thread last seen with an address space as its own
	cma map[model.UTID]cmaMigrated // of the current allocation
}

type cmaMigrated struct{ migrated, reclaimed, mapped uint64 }

func (m *memory) init() {
	m.mms = map[int64]model.UTID{}
	m.cma = map[model.UTID]cmaMigrated{}
}

var mmEvents = model.ProcessCounter{
	Process: counters("mm_event", "mem.mm.%[2]s.%[3]s", "upid", "mm_event_type", "mm_event_metric"),
	Thread:  counters("mm_event_thread_fallback", "mem.mm.%[2]s.%[3]s", "utid", "mm_event_type", "mm_event_metric"),
}

func rssStat(p *Parser, e *Event) {
	size := e.Int("size")
	if size < 0 {
		p.File.LogTime(model.StatRSSStatNegativeSize, e.TS, nil)
		return
	}
	var utid model.UTID
	if e.Tracepoint.Name == "rss_stat_throttled" || e.Has("mm_id") && e.Has("curr") {
		utid = p.ownerOf(e)
	} else {
		utid = p.thread(e)
	}
	if utid == model.None {
		p.File.Count(model.StatRSSStatUnknownThreadForMmID)
		return
	}
	p.Counters.PushForThread(tracks.ProcessMemory, e.TS, float64(size), utid, p.word(linux.RSSMember(e.Int("member"))))
}

// ownerOf returns the thread whose address space changed: the one that ran, or,
// if a process changes another's memory, the one last seen with that address
// space.
func (p *Parser) ownerOf(e *Event) model.UTID {
	mm := e.Int("mm_id")
	if e.Int("curr") != 0 {
		utid := p.thread(e)
		p.memory.mms[mm] = utid
		return utid
	}
	utid, ok := p.memory.mms[mm]
	switch {
	case !ok:
		return model.None
	case !p.Machine.ThreadAlive(utid): // the address space may have a new owner
		delete(p.memory.mms, mm)
		return model.None
	}
	return utid
}

func dmabufRSS(p *Parser, e *Event) {
	p.Counters.PushForThread(tracks.ProcessMemory, e.TS, e.Float("rss"), p.thread(e), p.word("dmabuf_rss"))
}

func oomScoreAdj(p *Parser, e *Event) {
	// Old recorders wrote negative numbers wrongly; the lower 16 bits are right.
	p.Counters.PushForThread(tracks.OOMScoreAdj, e.TS, float64(int16(e.Int("oom_score_adj"))), pidThread(p, e))
}

var mmEventTypes = []string{"min_flt", "maj_flt", "read_io", "compaction", "reclaim", "swp_flt", "kern_alloc"}

func mmEvent(p *Parser, e *Event) {
	kind := e.Uint("type")
	if kind >= uint64(len(mmEventTypes)) {
		p.File.LogTime(model.StatMmUnknownType, e.TS, nil)
		return
	}
	utid, name := p.thread(e), p.word(mmEventTypes[kind])
	for _, metric := range []string{"count", "max_lat", "avg_lat"} {
		p.Counters.PushForThread(mmEvents, e.TS, e.Float(metric), utid, name, p.word(metric))
	}
}

var (
	ion = &model.Blueprint{Classification: "ion", Event: model.CounterTrack, Dims: []string{"heap_name"}, NameOf: heapName("mem.ion")}
	// ionChange counts changes by thread.
	ionChange      = &model.Blueprint{Classification: "ion_change", Event: model.CounterTrack, Dims: []string{"heap_name", "utid"}, NameOf: heapName("mem.ion_change")}
	ionBuffers     = model.AsyncBlueprint(model.Blueprint{Classification: "android_ion_allocations", Name: "mem.ion_buffer"})
	dmaHeap        = counters("android_dma_heap", "mem.dma_heap")
	dmaHeapChange  = counters("android_dma_heap_change", "mem.dma_heap_change", "utid")
	dmaHeapBuffers = model.AsyncBlueprint(model.Blueprint{Classification: "android_dma_allocations", Name: "mem.dma_buffer"})
	fastrpc        = &model.Blueprint{Classification: "fastrpc", Event: model.CounterTrack, Dims: []string{"cid"}, NameOf: dspName("mem.fastrpc")}
	fastrpcChange  = &model.Blueprint{Classification: "fastrpc_change", Event: model.CounterTrack, Dims: []string{"cid", "utid"}, NameOf: dspName("mem.fastrpc_change")}
)

func heapName(name string) func(*model.Store, []model.Dim) string {
	return func(s *model.Store, dims []model.Dim) string {
		if heap := s.Strings.Get(dims[0].String()); heap != "" {
			return name + "." + heap
		}
		return name
	}
}

// ionHeap returns a handler for Pixel kernels' events, which give the total
// before the change.
func ionHeap(sign int64) handler {
	return func(p *Parser, e *Event) {
		heap := p.word("unknown")
		if e.Has("heap_name") {
			heap = p.text(e, "heap_name")
		}
		change := sign * e.Int("len")
		p.count(e, p.Tracks.Intern(ion, nil, model.StringDim(heap)), float64(e.Int("total_allocated")+change), nil)
		p.count(e, p.Tracks.Intern(ionChange, nil, model.StringDim(heap), model.IntDim(p.thread(e))), float64(change), nil)
	}
}

// ionStat handles an event of kernels since 4.19.
func ionStat(p *Parser, e *Event) {
	heap := model.StringDim(0)
	p.count(e, p.Tracks.Intern(ion, nil, heap), e.Float("total_allocated"), nil)
	p.count(e, p.Tracks.Intern(ionChange, nil, heap, model.IntDim(p.thread(e))), e.Float("len"), nil)
	p.buffer(e, ionBuffers, e.Int("buffer_id"))
}

func dmaHeapStat(p *Parser, e *Event) {
	p.count(e, p.Tracks.Intern(dmaHeap, nil), e.Float("total_allocated"), nil)
	p.count(e, p.Tracks.Intern(dmaHeapChange, nil, model.IntDim(p.thread(e))), e.Float("len"),
		p.list().add("inode", model.UintArg(e.Uint("inode"))))
	p.buffer(e, dmaHeapBuffers, e.Int("inode"))
}

// buffer adds a slice that lasts from a buffer's allocation until it is freed.
func (p *Parser) buffer(e *Event, b *model.Blueprint, id int64) {
	if size := e.Int("len"); size > 0 {
		p.Slices.Begin(e.TS, p.Async.Begin(b, nil, id), 0, p.word(strconv.FormatInt(size/1024, 10)+" kB"), nil)
		return
	}
	p.Slices.End(e.TS, p.Async.End(b, nil, id), 0, 0, nil)
}

// dspName names a counter of a signal processor.
func dspName(name string) func(*model.Store, []model.Dim) string {
	dsps := []string{"ASDP", "MDSP", "SDSP", "CDSP"}
	return func(_ *model.Store, dims []model.Dim) string {
		if id := dims[0].Int(); id >= 0 && id < int64(len(dsps)) {
			return name + "[" + dsps[id] + "]"
		}
		return name + "[" + strconv.FormatInt(dims[0].Int(), 10) + "]"
	}
}

func fastrpcStat(p *Parser, e *Event) {
	cid := model.IntDim(e.Int("cid"))
	p.count(e, p.Tracks.Intern(fastrpc, nil, cid), e.Float("total_allocated"), nil)
	p.count(e, p.Tracks.Intern(fastrpcChange, nil, cid, model.IntDim(p.thread(e))), e.Float("len"), nil)
}

// Linux 5.10 to 6.0 report an allocation of the contiguous memory allocator by
// cma_alloc_start and cma_alloc_info; since 6.1 by cma_alloc_start,
// mm_alloc_contig_migrate_range_info and cma_alloc_finish.

func cmaAllocStart(p *Parser, e *Event) {
	if !p.Machine.KernelAtLeast(5, 10) {
		return
	}
	delete(p.memory.cma, p.thread(e))
	p.Slices.Begin(e.TS, onThread(p, e), 0, p.word("mm_cma_alloc"), nil)
}

func cmaMigrateRange(p *Parser, e *Event) {
	p.memory.cma[p.thread(e)] = cmaMigrated{e.Uint("nr_migrated"), e.Uint("nr_reclaimed"), e.Uint("nr_mapped")}
}

func cmaAllocFinish(p *Parser, e *Event) {
	if !p.Machine.KernelAtLeast(6, 1) {
		return
	}
	p.Slices.End(e.TS, onThread(p, e), 0, 0, p.cmaArgs(e, p.memory.cma[p.thread(e)]))
}

func cmaAllocInfo(p *Parser, e *Event) {
	if !p.Machine.KernelAtLeast(5, 10) || p.Machine.KernelAtLeast(6, 1) {
		return
	}
	args := p.cmaArgs(e, cmaMigrated{e.Uint("nr_migrated"), e.Uint("nr_reclaimed"), e.Uint("nr_mapped")})
	args.add("cma_nr_isolate_fail", model.UintArg(e.Uint("err_iso")))
	args.add("cma_nr_migrate_fail", model.UintArg(e.Uint("err_mig")))
	args.add("cma_nr_test_fail", model.UintArg(e.Uint("err_test")))
	p.Slices.End(e.TS, onThread(p, e), 0, 0, args)
}

func (p *Parser) cmaArgs(e *Event, m cmaMigrated) *argList {
	return p.list().
		add("cma_name", model.StringArg(p.text(e, "name"))).
		add("cma_pfn", model.UintArg(e.Uint("pfn"))).
		add("cma_req_pages", model.UintArg(e.Uint("count"))).
		add("cma_nr_migrated", model.UintArg(m.migrated)).
		add("cma_nr_reclaimed", model.UintArg(m.reclaimed)).
		add("cma_nr_mapped", model.UintArg(m.mapped))
}

func shrinkSlabStart(p *Parser, e *Event) {
	name := bySymbol("shrink")(p, e)
	p.Slices.Begin(e.TS, onThread(p, e), 0, p.word("mm_vmscan_shrink_slab"), p.list().
		add("shrink_name", model.StringArg(name)).
		add("total_scan", model.UintArg(e.Uint("total_scan"))).
		add("priority", model.IntArg(e.Int("priority"))))
}

// kswapdDone ends the slice of a kswapd run on Pixel kernels.
func kswapdDone(p *Parser, e *Event) {
	args := p.list()
	scanned, reclaimed := e.Uint("delta_nr_scanned"), e.Uint("delta_nr_reclaimed")
	if e.Has("delta_nr_scanned") {
		args.add("pages scanned", model.UintArg(scanned))
	}
	if e.Has("delta_nr_reclaimed") {
		args.add("pages reclaimed", model.UintArg(reclaimed))
		if scanned > 0 {
			args.add("efficiency %", model.UintArg(uint64(float64(reclaimed)*100/float64(scanned)+0.5)))
		}
	}
	if e.Has("delta_nr_allocated") {
		args.add("pages allocated", model.UintArg(e.Uint("delta_nr_allocated")))
	}
	p.Slices.End(e.TS, onThread(p, e), 0, p.word("kswapd_efficiency"), args)
}

// gpuMemTotal handles the amount of a GPU's memory in use. Kernel threads also
// report it for dead processes, which are left out.
func gpuMemTotal(p *Parser, e *Event) {
	pid := e.Int("pid")
	if pid != 0 && p.Machine.LiveThread(pid) == model.None {
		return
	}
	tracks.GPUMemory(p.Context, e.TS, e.Int("gpu_id"), pid, e.Float("size"))
}
