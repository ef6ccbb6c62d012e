package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// phone simulates a phone whose kernel is traced: the scheduling of tasks on CPUs, the
// marks that apps write, and events of memory, power, interrupts and binder, in the
// proportions found in traces of real phones.
type phone struct {
	rng      *rand.Rand
	record   func(c *core, p *tracepoint, fields ...any)
	now      int64 // ns
	cores    [phoneCores]*core
	idle     *task
	tasks    []*task
	runnable []*task // in the order in which they will run
	pid      int     // the last one
	calls    int     // number of binder calls
}

const phoneCores = 8

// core is a CPU.
type core struct {
	index   int
	running *task
	context context
}

// context is the kind of interrupt that a CPU is handling, if any.
type context byte

const (
	inTask    context = '.'
	inHardIRQ context = 'h'
	inSoftIRQ context = 's'
)

type task struct {
	comm      string
	tid, tgid int
	priority  int
	state     taskState
	marks     int    // open ones
	renamed   string // its name once it runs
	mortal    bool   // started during the trace
	mailbox   call   // a binder call that it must answer
	calling   bool   // waits for the reply to a call
}

// call is a binder transaction.
type call struct {
	id   int
	from *task // the task that waits for the reply
}

// taskState is a task's state, numbered as in the kernel's sched_switch.
type taskState int64

const (
	running   taskState = 0
	sleeping  taskState = 1
	blocked   taskState = 2
	dead      taskState = 16
	preempted taskState = 256
)

func (s taskState) String() string {
	return map[taskState]string{running: "R", sleeping: "S", blocked: "D", dead: "X", preempted: "R+"}[s]
}

// tracepoint is a kernel tracepoint. Its format covers the event's fields, in the order
// of their numbers in Perfetto's message.
type tracepoint struct {
	name   string
	number int // field of FtraceEvent
	format string
}

// genericEvent is the number of tracepoints that Perfetto has no message for.
const genericEvent = 327

var (
	tracePrint         = &tracepoint{"tracing_mark_write", 3, "%[2]s"}
	schedSwitch        = &tracepoint{"sched_switch", 4, "prev_comm=%s prev_pid=%d prev_prio=%d prev_state=%s ==> next_comm=%s next_pid=%d next_prio=%d"}
	cpuFrequency       = &tracepoint{"cpu_frequency", 11, "state=%d cpu_id=%d"}
	cpuIdle            = &tracepoint{"cpu_idle", 13, "state=%d cpu_id=%d"}
	clockSetRate       = &tracepoint{"clock_set_rate", 16, "%s state=%d cpu_id=%d"}
	schedBlockedReason = &tracepoint{"sched_blocked_reason", 18, "pid=%d iowait=%[3]d caller=%[2]s"}
	schedWaking        = &tracepoint{"sched_waking", 20, "comm=%s pid=%d prio=%d target_cpu=%03[5]d"}
	softirqEntry       = &tracepoint{"softirq_entry", 24, "vec=%d [action=%[1]s]"}
	softirqExit        = &tracepoint{"softirq_exit", 25, "vec=%d [action=%[1]s]"}
	softirqRaise       = &tracepoint{"softirq_raise", 26, "vec=%d [action=%[1]s]"}
	irqHandlerEntry    = &tracepoint{"irq_handler_entry", 36, "irq=%d name=%s"}
	irqHandlerExit     = &tracepoint{"irq_handler_exit", 37, "irq=%d ret=%s"}
	binderTransaction  = &tracepoint{"binder_transaction", 50,
		"transaction=%d dest_node=%d dest_proc=%d dest_thread=%d reply=%d flags=0x%[7]x code=0x%[6]x"}
	binderReceived    = &tracepoint{"binder_transaction_received", 51, "transaction=%d"}
	schedWakeupNew    = &tracepoint{"sched_wakeup_new", 114, "comm=%s pid=%d prio=%d target_cpu=%03[5]d"}
	taskNewtask       = &tracepoint{"task_newtask", 235, "pid=%d comm=%s clone_flags=%x oom_score_adj=%d"}
	taskRename        = &tracepoint{"task_rename", 236, "pid=%d oldcomm=%s newcomm=%s oom_score_adj=%d"}
	schedProcessExit  = &tracepoint{"sched_process_exit", 238, "comm=%s pid=%d prio=%[4]d"}
	schedProcessFree  = &tracepoint{"sched_process_free", 240, "comm=%s pid=%d prio=%d"}
	rssStat           = &tracepoint{"rss_stat", 313, "mm_id=%[4]d curr=%[3]d member=%[1]d size=%[2]d"}
	driverMark        = &tracepoint{"tracing_mark_write", 331, "%s|%[3]d|%[2]s"}
	gpuJob            = &tracepoint{"kgsl_gpu_job", genericEvent, "ctx=%d id=%d queue=%d state=%d"}
	binderAllocBuf    = &tracepoint{"binder_transaction_alloc_buf", 323, "transaction=%[2]d data_size=%[1]d offsets_size=%[3]d extra_buffers_size=%[4]d"}
	oomScoreAdjUpdate = &tracepoint{"oom_score_adj_update", 326, "pid=%[3]d comm=%[1]s oom_score_adj=%[2]d"}
)

// softirq is the number of a soft interrupt.
type softirq int

func (s softirq) String() string {
	return [...]string{"HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"}[s]
}

// irqResult is the return value of an interrupt handler.
type irqResult int

func (r irqResult) String() string { return [...]string{"unhandled", "handled"}[r] }

// driverPhase says whether a driver's mark begins or ends a slice.
type driverPhase int

const (
	driverBegin driverPhase = 1
	driverEnd   driverPhase = 2
)

func (p driverPhase) String() string { return [...]string{driverBegin: "B", driverEnd: "E"}[p] }

// kernelFunction is a place in the kernel, an index of kernelFunctions.
type kernelFunction int

func (f kernelFunction) String() string { return kernelFunctions[f] + "+0x7c/0x1f0" }

var (
	kernelFunctions = []string{"do_page_fault", "filemap_fault", "__lock_page_killable", "io_schedule", "jbd2_log_wait_commit", "f2fs_issue_flush",
		"kgsl_thread_wait", "__wait_on_bit", "msleep", "worker_thread"}
	interrupts = []string{"arch_timer", "ufshcd", "dwc3", "msm_drm", "kgsl-3d0", "gpi-dma", "qcom,rpmh", "IPI0"}

	phoneProcesses = []string{"system_server", "surfaceflinger", "audioserver", "cameraserver", "media.codec", "media.swcodec", "netd", "vold",
		"logd", "lmkd", "android.hardware.power-service", "android.hardware.sensors-service", "android.hardware.composer-service",
		"com.android.systemui", "com.android.phone", "com.android.bluetooth", "com.example.launcher", "com.example.inputmethod",
		"com.example.browser", "com.example.browser:sandboxed", "com.example.camera", "com.example.mail", "com.example.maps", "com.example.music"}
	phoneThreads = []string{"RenderThread", "Jit thread pool", "HeapTaskDaemon", "FinalizerDaemon", "Signal Catcher", "Binder:600_1", "Binder:600_2",
		"Binder:600_3", "pool-1-thread-1", "GLThread 42", "OkHttp Dispatch", "DefaultDispatch"}
	// phoneMarks are 40 bytes long on average, with few long ones, as on real phones.
	phoneMarks = []string{
		"traversal", "draw-VRI[MainActivity]", "DrawFrames 7421", "Choreographer#doFrame 7421", "queueBuffer", "dequeueBuffer - VRI[MainActivity]#0",
		"eglSwapBuffersWithDamageKHR", "onMessageReceived", "handleMessageRefresh", "Record View#draw()", "postAndWait", "syncFrameState",
		"com.example.launcher/.WorkspaceActivity#1421", "setTransactionState com.example.browser", "prepareFrame for internal display 0",
		"AIDL::java::IActivityManager::startService::server", "Handler: android.view.ViewRootImpl$ViewRootHandler",
		"binder transaction com.example.camera.CameraDeviceClient", "composite display 4619827677550801152 with 3 layers",
		"Lock contention on InternTable lock (owner tid: 1234)",
		"monitor contention with owner Binder:600_2 (612) at void com.example.server.WindowService.relayout(com.example.server.Session, " +
			"android.view.IWindow, int, int)(WindowService.java:2231) waiters=1 blocking from boolean com.example.server.Input.focus(int)(Input.java:87)",
	}
	phoneCounters = []string{"HW_VSYNC_0", "VSYNC-app", "Heap size (KB)", "TX - com.example.browser/Main#0", "TransactionQueue"}
	phoneDrivers  = []string{"acpm_ipc_send_data_lazy", "exynos_cpufreq_target", "__exynos_cpufreq_target", "dm_cpu_cl0", "exynos_atomic_commit", "modeset"}
	phoneClocks   = []string{"gcc_ufs_phy_axi_clk", "disp_cc_mdss_mdp_clk", "video_cc_mvs0_clk", "bus_mif", "bus_int"}
)

const (
	maxTasks   = 350
	firstPID   = 600
	appPID     = 17_000 // the first pid of apps
	spawnedPID = 24_000 // the first pid of tasks that start during the trace
	endOfPIDs  = 32_768
	idleExit   = 1<<32 - 1 // state of cpu_idle
)

func newPhone(rng *rand.Rand) *phone {
	p := &phone{rng: rng, now: startTime, idle: &task{priority: 120}, pid: spawnedPID}
	pid := firstPID
	for _, name := range phoneProcesses {
		if strings.HasPrefix(name, "com.example") {
			pid = max(pid, appPID)
		}
		tgid := pid
		for _, thread := range append([]string{name}, phoneThreads...) {
			p.tasks = append(p.tasks, &task{comm: thread[max(0, len(thread)-15):], tid: pid, tgid: tgid, priority: 96 + rng.IntN(4)*8, state: sleeping})
			pid += 1 + rng.IntN(3)
		}
	}
	for i := range p.cores {
		p.cores[i] = &core{index: i, running: p.idle, context: inTask}
	}
	return p
}

// commOn returns a task's name on a CPU. The idle task has one for each CPU.
func (t *task) commOn(c *core) string {
	if t.tid == 0 {
		return fmt.Sprintf("swapper/%d", c.index)
	}
	return t.comm
}

// step lets some time pass and then makes something happen on a CPU.
func (p *phone) step() {
	p.pass(60_000)
	c := p.cores[p.rng.IntN(len(p.cores))]
	t := c.running
	switch kind := p.rng.IntN(1000); {
	case kind < 190:
		p.schedule(c, sleeping)
	case kind < 240:
		p.wake(c)
	case kind < 245:
		p.interrupt(c)
	case kind < 248:
		p.softInterrupt(c)
	case kind < 264:
		p.record(c, cpuFrequency, 300000+p.rng.IntN(16)*140800, c.index)
	case kind < 286:
		p.record(c, clockSetRate, phoneClocks[p.rng.IntN(len(phoneClocks))], 1000*p.rng.IntN(800_000), c.index)
	case kind < 295:
		p.record(c, gpuJob, 4+p.rng.IntN(8), p.rng.IntN(1<<20), p.rng.IntN(3), p.rng.IntN(5))
	case t.tid == 0: // the idle task does nothing else
	case kind < 465:
		p.record(c, rssStat, p.rng.IntN(4), 4096*p.rng.IntN(50_000), 1, t.tgid*0x9e37&0xffff)
	case kind < 490:
		p.call(c)
	case kind < 491:
		p.record(c, oomScoreAdjUpdate, t.comm, 100*p.rng.IntN(10), t.tgid)
	case kind < 492 && t.mortal:
		p.exit(c)
	case kind < 492:
		p.spawn(c)
	case kind < 560:
		p.drive(c)
	default:
		p.mark(c)
	}
}

// drive runs driver code that writes marks, on behalf of the running task.
func (p *phone) drive(c *core) {
	driver, pid := phoneDrivers[p.rng.IntN(len(phoneDrivers))], c.running.tgid
	p.record(c, driverMark, driverBegin, driver, pid, 0)
	p.pass(5000)
	p.record(c, driverMark, driverEnd, "", pid, 0)
}

// pass lets some nanoseconds pass: at least 200, and up to most more.
func (p *phone) pass(most int64) { p.now += 200 + p.rng.Int64N(most) }

// schedule switches a CPU to the next task. Its current task enters a state.
func (p *phone) schedule(c *core, state taskState) {
	prev, next := c.running, p.idle
	if len(p.runnable) > 0 {
		next, p.runnable = p.runnable[0], p.runnable[1:]
	}
	switch {
	case prev == next:
		return
	case prev == p.idle:
		state = running
		p.record(c, cpuIdle, idleExit, c.index)
		p.pass(2000)
	case state == sleeping && !prev.calling:
		states := []taskState{sleeping, sleeping, sleeping, sleeping, sleeping, blocked, running, preempted}
		if next == p.idle {
			states = states[:6]
		}
		state = states[p.rng.IntN(len(states))]
	}
	p.record(c, schedSwitch, prev.commOn(c), prev.tid, prev.priority, state, next.commOn(c), next.tid, next.priority)
	if prev != p.idle {
		prev.state = state
		if state == running || state == preempted {
			p.runnable = append(p.runnable, prev)
		}
	}
	c.running = next
	p.pass(2000)
	if next == p.idle {
		p.record(c, cpuIdle, p.rng.IntN(3), c.index)
		return
	}
	next.state = running
	if next.renamed != "" {
		p.record(c, taskRename, next.tid, next.comm, next.renamed, 0)
		next.comm, next.renamed = next.renamed, ""
	}
	p.answer(c)
}

// wake wakes a sleeping task.
func (p *phone) wake(c *core) {
	t := p.tasks[p.rng.IntN(len(p.tasks))]
	if t.calling || t.state != sleeping && t.state != blocked {
		return
	}
	p.wakeTask(c, t)
}

func (p *phone) wakeTask(c *core, t *task) {
	if t.state == blocked {
		p.record(c, schedBlockedReason, t.tid, kernelFunction(p.rng.IntN(len(kernelFunctions))), p.rng.IntN(2))
	}
	p.record(c, schedWaking, t.comm, t.tid, t.priority, 1, p.rng.IntN(len(p.cores)))
	t.state = running
	p.runnable = append(p.runnable, t)
}

func (p *phone) interrupt(c *core) {
	irq := p.rng.IntN(len(interrupts))
	c.context = inHardIRQ
	p.record(c, irqHandlerEntry, 10+irq, interrupts[irq])
	p.pass(3000)
	p.wake(c)
	p.pass(3000)
	p.record(c, irqHandlerExit, 10+irq, irqResult(1))
	c.context = inTask
}

func (p *phone) softInterrupt(c *core) {
	vec := []softirq{1, 1, 3, 6, 7, 7, 9, 9}[p.rng.IntN(8)]
	c.context = inHardIRQ
	p.record(c, softirqRaise, vec)
	p.pass(1000)
	c.context = inSoftIRQ
	p.record(c, softirqEntry, vec)
	p.pass(5000)
	p.wake(c)
	p.record(c, softirqExit, vec)
	c.context = inTask
}

// call makes a binder call to a task of another process and usually waits for the reply.
func (p *phone) call(c *core) {
	t, to := c.running, p.tasks[p.rng.IntN(len(p.tasks))]
	if to.tgid == t.tgid || to.state != sleeping || to.calling || to.mailbox.id != 0 {
		return
	}
	if p.rng.IntN(4) == 0 {
		p.send(c, to, call{}, 0x11)
		return
	}
	p.send(c, to, call{from: t}, 0x10)
	t.calling = true
	p.schedule(c, sleeping)
}

// send sends a call or a reply and wakes its receiver.
func (p *phone) send(c *core, to *task, m call, flags int) {
	p.calls++
	m.id = p.calls
	reply, node, thread := 0, 1000+to.tgid, 0
	if to.calling {
		reply, node, thread = 1, 0, to.tid
	}
	p.record(c, binderTransaction, m.id, node, to.tgid, thread, reply, 1+p.rng.IntN(30), flags)
	p.pass(1000)
	p.record(c, binderAllocBuf, 8*p.rng.IntN(100), m.id, 0, 0)
	to.mailbox = m
	p.pass(1000)
	p.wakeTask(c, to)
}

// answer takes the call for which the running task was woken, and replies to it.
func (p *phone) answer(c *core) {
	t := c.running
	m := t.mailbox
	if m.id == 0 {
		return
	}
	t.mailbox, t.calling = call{}, false
	p.record(c, binderReceived, m.id)
	p.pass(5000)
	if m.from != nil {
		p.send(c, m.from, call{}, 0)
	}
}

// spawn starts a thread in the process of the running task.
func (p *phone) spawn(c *core) {
	if len(p.tasks) >= maxTasks {
		return
	}
	const cloneThread = 0x3d0f00
	if p.pid++; p.pid == endOfPIDs {
		p.pid = spawnedPID
	}
	t := &task{comm: c.running.comm, tid: p.pid, tgid: c.running.tgid, priority: 120, mortal: true, renamed: fmt.Sprintf("worker-%d", p.pid)}
	p.tasks = append(p.tasks, t)
	p.record(c, taskNewtask, t.tid, t.comm, cloneThread, 0)
	p.pass(1000)
	p.record(c, schedWakeupNew, t.comm, t.tid, t.priority, 1, c.index)
	p.runnable = append(p.runnable, t)
}

func (p *phone) exit(c *core) {
	t := c.running
	for ; t.marks > 0; p.pass(1000) {
		t.marks--
		p.print(c, "E|%d", t.tgid)
	}
	p.record(c, schedProcessExit, t.comm, t.tid, t.tgid, t.priority)
	p.pass(1000)
	p.schedule(c, dead)
	p.record(c, schedProcessFree, t.comm, t.tid, t.priority)
	for i := range p.tasks {
		if p.tasks[i] == t {
			p.tasks = append(p.tasks[:i], p.tasks[i+1:]...)
			return
		}
	}
}

// mark makes the running task write an atrace mark.
func (p *phone) mark(c *core) {
	t := c.running
	mark := phoneMarks[p.rng.IntN(len(phoneMarks))]
	switch kind := p.rng.IntN(200); {
	case kind < 38:
		p.print(c, "C|%d|%s|%d", t.tgid, phoneCounters[p.rng.IntN(len(phoneCounters))], p.rng.IntN(5000))
	case kind == 38:
		cookie := p.rng.IntN(1 << 30)
		p.print(c, "S|%d|%s|%d", t.tgid, mark, cookie)
		p.pass(5000)
		p.print(c, "F|%d|%s|%d", t.tgid, mark, cookie)
	case kind == 39:
		p.print(c, "I|%d|%s", t.tgid, mark)
	case t.marks > 0 && (t.marks > 6 || kind%2 == 0):
		t.marks--
		p.print(c, "E|%d", t.tgid)
	default:
		t.marks++
		p.print(c, "B|%d|%s", t.tgid, mark)
	}
}

func (p *phone) print(c *core, format string, args ...any) {
	p.record(c, tracePrint, 0, fmt.Sprintf(format, args...)+"\n")
}
