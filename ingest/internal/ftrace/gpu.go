package ftrace

import (
	"fmt"
	"slices"

	"github.com/tpconvert/tpconvert/ingest/internal/linux"
	"github.com/tpconvert/tpconvert/model"
)

// gpu is the state of GPU driver events.
type gpu struct {
	adreno    map[int64]int64 // thread that last queued a context's commands
	mali      model.StringID  // current state of the microcontroller
	rings     map[string]*drmRing
	running   map[drmJob]*drmRing
	timelines map[int64]*fenceTimeline
	virtio    map[virtioCommand]int64 // when a command was queued, ns
}

func (g *gpu) init() {
	g.adreno, g.virtio = map[int64]int64{}, map[virtioCommand]int64{}
	g.rings, g.running, g.timelines = map[string]*drmRing{}, map[drmJob]*drmRing{}, map[int64]*fenceTimeline{}
}

var (
	adrenoCommands = model.AsyncBlueprint(model.Blueprint{Classification: "adreno_gpu_cmdbatch", Dims: []string{"context_id", "prio"}})
	maliIRQ        = spans("cpu_mali_irq", "Mali Irq Cpu %[1]d", "cpu")
	maliStates     = &model.Blueprint{Classification: "mali_mcu_state"}
	maliPower      = counters("mali_gpu_power_state", "mali_gpu_power_state")
	powerVR        = spans("powervr_gpu_power_state", "powervr_gpu_power_state")
	workPeriod     = &model.Blueprint{Classification: "android_gpu_work_period", Dims: []string{"ugpu", "gpu", "uid"}}
	vblanks        = spans("drm_vblank", "vblank-%[1]d", "drm_crtc")
	drmRings       = spans("drm_sched_ring", "sched-%[1]s", "name")
	drmFences      = spans("drm_fence", "fence-%[1]s-%[2]d", "name", "context")
	virtioQueues   = model.AsyncBlueprint(model.Blueprint{Classification: "virtgpu_queue_event", Dims: []string{"virtgpu_name"}, NameOf: model.NameOf("Virtgpu %[1]s Queue")})
	virtioFree     = counters("virtgpu_num_free", "Virtgpu %[1]s Free", "virtgpu_name")
	virtioLatency  = counters("virtgpu_latency", "Virtgpu %[1]s Latency", "virtgpu_name")
)

// AdrenoClock is the clock rate of timestamps in Adreno's events, in Hz.
const AdrenoClock = 19_200_000

func adrenoQueued(p *Parser, e *Event) { p.gpu.adreno[e.Int("id")] = e.TID }

// adrenoRetired adds a slice for commands that a GPU has finished; the event's
// time is their start.
func adrenoRetired(p *Parser, e *Event) {
	start, retire := e.Uint("start"), e.Uint("retire")
	if retire < start {
		return
	}
	dur := int64(retire-start) * 1_000_000_000 / AdrenoClock
	context, prio := e.Int("id"), unsigned(e.Int("prio"))
	process := ""
	if tid, ok := p.gpu.adreno[context]; ok {
		if upid := p.Machine.ProcessOf(p.Machine.Thread(tid)); upid != model.None {
			if name := p.Machine.ProcessName(upid); name != 0 {
				process = p.Store.Strings.Get(name) + " "
			}
		}
	}
	name := p.word(fmt.Sprintf("GPU %s(Ctx=%d, Prio=%d)", process, context, prio))
	track := p.Async.Scoped(adrenoCommands, &model.TrackOptions{Name: name}, e.TS, dur, model.IntDim(context), model.IntDim(prio))
	if process != "" { // it may have been unknown when the track was created
		p.Store.Track.Name.Set(int64(track), name)
	}
	p.Slices.Scoped(e.TS, dur, track, 0, p.word("GPU"), nil)
}

// maliState returns a handler for events that begin a state of the GPU's
// microcontroller.
func maliState(name string) handler {
	return func(p *Parser, e *Event) {
		track := p.Tracks.Intern(maliStates, nil)
		if p.gpu.mali != 0 {
			p.Slices.End(e.TS, track, 0, p.gpu.mali, nil)
		}
		p.gpu.mali = p.word(name)
		p.Slices.Begin(e.TS, track, 0, p.gpu.mali, nil)
	}
}

var powerVRStates = [...]string{"OFF", "PG", "ON"}

func powerVRState(p *Parser, e *Event) {
	track, name := p.Tracks.Intern(powerVR, nil), "Unknown"
	if state := e.Uint("new_state"); state < uint64(len(powerVRStates)) {
		name = powerVRStates[state]
	}
	p.Slices.End(e.TS, track, 0, 0, nil)
	p.Slices.Begin(e.TS, track, 0, p.word(name), nil)
}

// gpuWorkPeriod adds a slice of how busy a user kept a GPU; the event's time is
// its start.
func gpuWorkPeriod(p *Parser, e *Event) {
	gpu, start, end := e.Int("gpu_id"), e.Int("start_time_ns"), e.Int("end_time_ns")
	dur, active := end-start, e.Int("total_active_duration_ns")
	track := p.Tracks.Intern(workPeriod, nil, model.IntDim(p.Machine.GPU(gpu)), model.IntDim(gpu), model.IntDim(int64(int32(e.Int("uid")))))
	if dur < 0 {
		p.File.LogTime(model.StatGPUWorkPeriodNegativeDuration, e.TS, p.list().
			add("start_time_ns", model.IntArg(start)).
			add("end_time_ns", model.IntArg(end)).
			add("gpu_id", model.IntArg(gpu)))
		return
	}
	name := fmt.Sprintf("%%%.2f", 100*float64(active)/float64(dur))
	if slice := p.Slices.Scoped(e.TS, dur, track, 0, p.word(name), nil); slice != model.None {
		p.Store.Slice.ThreadTS.Set(int64(slice), e.TS)
		p.Store.Slice.ThreadDur.Set(int64(slice), active)
	}
}

// drmRing is a queue of the kernel's GPU scheduler.
type drmRing struct {
	track   model.TrackID
	running []drmJob
	queued  map[drmJob]model.SliceID // where each job was queued
}

// drmJob identifies a job by its fence since Linux 6.17, before that by a number
// within its ring. Before 6.17 some events have only the fence's address.
type drmJob struct {
	context, seqno uint64
	fence          uint64
	id             uint64
}

func (p *Parser) drmRing(e *Event) *drmRing {
	name := e.Text("name")
	ring := p.gpu.rings[string(name)]
	if ring == nil {
		ring = &drmRing{track: on(drmRings, "name")(p, e), queued: map[drmJob]model.SliceID{}}
		p.gpu.rings[string(name)] = ring
	}
	return ring
}

// drmJobOf returns an event's key for its job.
func drmJobOf(e *Event) drmJob {
	if e.Tracepoint.FieldNamed("fence_context") != nil {
		return drmJob{context: e.Uint("fence_context"), seqno: e.Uint("fence_seqno")}
	}
	return drmJob{id: e.Uint("id")}
}

func (p *Parser) jobArgs(args *argList, e *Event, job drmJob) *argList {
	if e.Tracepoint.FieldNamed("fence_context") != nil {
		return args.add("fence context", model.UintArg(job.context)).add("fence seqno", model.UintArg(job.seqno))
	}
	return args.add("gpu sched job", model.UintArg(job.id))
}

func drmQueue(p *Parser, e *Event) {
	job := drmJobOf(e)
	args := p.jobArgs(p.list().add("gpu sched ring", model.StringArg(p.text(e, "name"))), e, job)
	if slice := p.Slices.Scoped(e.TS, 0, onThread(p, e), 0, p.word("drm_sched_job_queue"), args); slice != model.None {
		p.drmRing(e).queued[job] = slice
	}
}

func drmRun(p *Parser, e *Event) {
	ring, job := p.drmRing(e), drmJobOf(e)
	ring.running = append(ring.running, job)
	p.gpu.running[drmDone(e, job)] = ring
	if len(ring.running) == 1 {
		p.beginJob(e, ring)
	}
}

// drmDone returns the key that the event of the job's end will have.
func drmDone(e *Event, job drmJob) drmJob {
	if e.Tracepoint.FieldNamed("fence") != nil {
		return drmJob{fence: e.Uint("fence")}
	}
	return job
}

func (p *Parser) beginJob(e *Event, ring *drmRing) {
	job := ring.running[0]
	slice := p.Slices.Begin(e.TS, ring.track, 0, p.word("job"), p.jobArgs(p.list(), e, job))
	if from, ok := ring.queued[job]; ok && slice != model.None {
		p.Flows.Link(from, slice)
		delete(ring.queued, job)
	}
}

func drmJobDone(p *Parser, e *Event) {
	job := drmDone(e, drmJobOf(e))
	ring, ok := p.gpu.running[job]
	if !ok {
		return
	}
	delete(p.gpu.running, job)
	ring.running = slices.Delete(ring.running, 0, 1)
	p.Slices.End(e.TS, ring.track, 0, 0, nil)
	if len(ring.running) > 0 {
		p.beginJob(e, ring)
	}
}

// fenceTimeline is a context of DMA fences, which are signaled in order.
type fenceTimeline struct {
	track   model.TrackID
	emits   bool // it has dma_fence_emit events, which are more exact than init
	pending []int64
}

// fence returns the timeline of an event, or nil for the timeline "unbound",
// whose fences contain others.
func (p *Parser) fence(e *Event) *fenceTimeline {
	if string(e.Text("timeline")) == "unbound" {
		return nil
	}
	context := e.Int("context")
	t := p.gpu.timelines[context]
	if t == nil {
		t = &fenceTimeline{track: on(drmFences, "timeline", "context")(p, e)}
		p.gpu.timelines[context] = t
	}
	return t
}

func (p *Parser) addFence(e *Event, t *fenceTimeline) {
	t.pending = append(t.pending, e.Int("seqno"))
	if len(t.pending) == 1 {
		p.beginFence(e, t)
	}
}

func (p *Parser) beginFence(e *Event, t *fenceTimeline) {
	p.Slices.Begin(e.TS, t.track, 0, p.word("fence"), p.list().add("fence seqno", model.UintArg(uint64(t.pending[0]))))
}

func fenceInit(p *Parser, e *Event) {
	if t := p.fence(e); t != nil && !t.emits {
		p.addFence(e, t)
	}
}

func fenceEmit(p *Parser, e *Event) {
	t := p.fence(e)
	if t == nil {
		return
	}
	if !t.emits && len(t.pending) > 0 {
		p.Slices.End(e.TS, t.track, 0, 0, nil)
		t.pending = nil
	}
	t.emits = true
	p.addFence(e, t)
}

func fenceSignaled(p *Parser, e *Event) {
	t := p.fence(e)
	if t == nil {
		return
	}
	// The event of an earlier fence may be missing, or come later.
	done := 0
	for done < len(t.pending) && t.pending[done] <= e.Int("seqno") {
		done++
	}
	if done == 0 {
		return
	}
	t.pending = slices.Delete(t.pending, 0, done)
	p.Slices.End(e.TS, t.track, 0, 0, nil)
	if len(t.pending) > 0 {
		p.beginFence(e, t)
	}
}

// virtioCommand identifies a command to a virtual machine's GPU.
type virtioCommand struct {
	queue string
	seqno int64
}

var virtioQueueNames = map[string]string{"control": "Control", "cursor": "Cursor"}

func virtioGPU(response bool) handler {
	return func(p *Parser, e *Event) {
		queue, ok := virtioQueueNames[string(e.Text("name"))]
		if !ok {
			return
		}
		dim, command := model.StringDim(p.word(queue)), virtioCommand{queue, e.Int("seqno")}
		p.count(e, p.Tracks.Intern(virtioFree, nil, dim), e.Float("num_free"), nil)
		if !response {
			p.Slices.Begin(e.TS, p.Async.Begin(virtioQueues, nil, command.seqno, dim), 0, p.word(linux.VirtioGPUCommand(e.Int("type"))), nil)
			if e.Int("fence_id") == 0 { // with a fence the host may respond late
				p.gpu.virtio[command] = e.TS
			}
			return
		}
		p.Slices.End(e.TS, p.Async.End(virtioQueues, nil, command.seqno, dim), 0, 0, nil)
		if queued, ok := p.gpu.virtio[command]; ok {
			delete(p.gpu.virtio, command)
			p.count(e, p.Tracks.Intern(virtioLatency, nil, dim), float64(e.TS-queued), nil)
		}
	}
}
