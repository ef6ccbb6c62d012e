package main

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"github.com/tpconvert/tpconvert/cmd/tracegen/pb"
	"github.com/tpconvert/tpconvert/cmd/tracegen/template"
)

// A phone whose kernel is traced: its 8 CPUs take turns to run tasks, which sleep the rest of the time. Run i is on CPU i%8, of two of the
// 40 tasks that are always on that CPU. Thirteen tasks are a process.
const (
	taskA = "(600+i/8*7%40*8+i%8)"
	taskB = "(600+(i/8*7+1+i/8%38)%40*8+i%8)"
	idle  = "0"
)

func processOf(task string) string { return "((" + task + "-600)/13*13+600)" }

func commOf(task string) string {
	if task == idle {
		return "swapper/$(i%8)"
	}
	return "Binder:$" + task
}

// taskState is a task's state, as the kernel numbers and names it.
type taskState struct {
	number int
	name   string
}

var (
	running   = taskState{0, "R"}
	sleeping  = taskState{1, "S"}
	blocking  = taskState{2, "D"}
	preempted = taskState{256, "R+"}
)

// kernelEvent is an event of a run.
type kernelEvent struct {
	name   string
	number int         // field of Perfetto's FtraceEvent
	fields [][2]string // as text and as a message: one of some. COMM, TASK and PROCESS are those that run.
	state  taskState   // of the task before a switch
	to     string      // the task that a switch or wakeup is for
}

func tracepoint(name string, number int, text, message string) kernelEvent {
	return kernelEvent{name: name, number: number, fields: [][2]string{{text, message}}}
}

// printed is a mark that an app writes, with one of some texts.
func printed(mark string, texts ...string) kernelEvent {
	e := kernelEvent{name: "tracing_mark_write", number: 3}
	for _, text := range texts {
		e.fields = append(e.fields, [2]string{mark + text, `1:0 2:"` + mark + text + "\n\""})
	}
	return e
}

// switched is a switch to a task. In Perfetto's traces, it and a wakeup are in columns.
func switched(state taskState, to string) kernelEvent {
	e := tracepoint("sched_switch", 0, "prev_comm=COMM prev_pid=$(TASK) prev_prio=120 prev_state="+state.name+
		" ==> next_comm="+commOf(to)+" next_pid=$("+to+") next_prio=120", "")
	e.state, e.to = state, to
	return e
}

func waking(task string) kernelEvent {
	e := tracepoint("sched_waking", 0, "comm="+commOf(task)+" pid=$"+task+" prio=120 target_cpu=00$(i%8)", "")
	e.to = task
	return e
}

func binder(node, task, reply, flags string) kernelEvent {
	process := processOf(task)
	return tracepoint("binder_transaction", 50,
		"transaction=$(2*i+"+reply+") dest_node="+node+" dest_proc=$"+process+" dest_thread=$"+task+" reply="+reply+" flags=0x"+flags+" code=0x3",
		"1:2*i+"+reply+" 2:"+node+" 3:"+process+" 4:"+task+" 5:"+reply+" 6:3 7:0x"+flags)
}

func binderBuffer(reply string) kernelEvent {
	return tracepoint("binder_transaction_alloc_buf", 323, "transaction=$(2*i+"+reply+") data_size=$(i%100*8) offsets_size=0 extra_buffers_size=0", "1:i%100*8 2:2*i+"+reply+" 3:0 4:0")
}

func binderReceived(reply string) kernelEvent {
	return tracepoint("binder_transaction_received", 51, "transaction=$(2*i+"+reply+")", "1:2*i+"+reply)
}

var (
	idleExit  = tracepoint("cpu_idle", 13, "state=4294967295 cpu_id=$(i%8)", "1:4294967295 2:i%8")
	idleEnter = tracepoint("cpu_idle", 13, "state=$(i%3) cpu_id=$(i%8)", "1:i%3 2:i%8")
	frequency = tracepoint("cpu_frequency", 11, "state=$(300000+i%16*140800) cpu_id=$(i%8)", "1:300000+i%16*140800 2:i%8")
	clockRate = tracepoint("clock_set_rate", 16, "gcc_ufs_phy_clk_$(i%5) state=$(r%800000*1000) cpu_id=$(i%8)", `1:"gcc_ufs_phy_clk_$(i%5)" 2:r%800000*1000 3:i%8`)
	gpuJob    = tracepoint("kgsl_gpu_job", 327, "ctx=$(4+i%8) id=$(i%1048576) queue=$(i%3) state=$(i%5)", // which Perfetto has no message for
		`1:"kgsl_gpu_job" 2:{1:"ctx" 5:4+i%8} 2:{1:"id" 5:i%1048576} 2:{1:"queue" 5:i%3} 2:{1:"state" 5:i%5}`)
	blocked = tracepoint("sched_blocked_reason", 18, "pid=$"+taskA+" iowait=$(i%2) caller=jbd2_log_wait_$(i%10)+0x7c/0x1f0", "1:"+taskA+" 2:i%10+1 3:i%2")
	rss     = tracepoint("rss_stat", 313, "mm_id=$(PROCESS*40503%65536) curr=1 member=$(r%4) size=$(r%50000*4096)", "1:r%4 2:r%50000*4096 3:1 4:PROCESS*40503%65536")
	counter = printed("C|$PROCESS|", "TX - com.example.browser/Main#$(r%5)|$(r%5000)")
	end     = printed("E|$PROCESS", "")
	// Names of slices are 40 bytes long on average, with few long ones, as on real phones.
	begin = printed("B|$PROCESS|", "traversal", "draw-VRI[MainActivity]", "DrawFrames $(7421+i%1000)", "Choreographer#doFrame $(7421+i%1000)",
		"dequeueBuffer - VRI[MainActivity]#0", "eglSwapBuffersWithDamageKHR", "onMessageReceived", "postAndWait", "Record View#draw()",
		"com.example.launcher/.WorkspaceActivity#1421", "setTransactionState com.example.browser", "AIDL::java::IActivityManager::startService::server",
		"Handler: android.view.ViewRootImpl$$ViewRootHandler", "binder transaction com.example.camera.CameraDeviceClient",
		"composite display 4619827677550801152 with 3 layers",
		"monitor contention with owner Binder:600_2 (612) at void com.example.server.WindowService.relayout(com.example.server.Session, "+
			"android.view.IWindow, int, int)(WindowService.java:2231) waiters=1 blocking from boolean com.example.server.Input.focus(int)(Input.java:87)")
)

// runs are runs as they occur in turn, in the proportions found in traces of real phones. In the last one, task a calls b.
var runs = [][]kernelEvent{
	{
		waking(taskA), idleExit, switched(running, taskA), rss, begin, begin, end, counter, clockRate, waking(taskB), end, switched(sleeping, taskB), begin, rss, end,
		frequency, switched(sleeping, idle), idleEnter,
	},
	{
		waking(taskB), idleExit, switched(running, taskB), begin, rss, begin, end, waking(taskA), switched(preempted, taskA), rss, begin, counter, end, gpuJob,
		switched(sleeping, taskB), end, clockRate, switched(sleeping, idle), idleEnter,
	},
	{
		blocked, waking(taskA), idleExit, switched(running, taskA), begin, rss, binder("1000", taskB, "0", "10"), binderBuffer("0"), waking(taskB), switched(sleeping, taskB),
		binderReceived("0"), begin, end, binder("0", taskA, "1", "0"), binderBuffer("1"), waking(taskA), switched(sleeping, taskA), binderReceived("1"), rss, counter, end,
		switched(blocking, idle), idleEnter,
	},
}

// at is the time of the k-th event of a run, in µs.
func at(k int) string {
	return fmt.Sprintf("(%s/1000+i/8*5000+i%%8*625+%d+i*%d%%20)", startTime, 25*k, 37*k+11)
}

// eachEvent calls a function with each event of a run and the task that runs.
func eachEvent(run []kernelEvent, use func(k int, e kernelEvent, task string)) {
	task := idle
	for k, e := range run {
		use(k, e, task)
		if e.name == "sched_switch" {
			task = e.to
		}
	}
}

// shape is one of the fields of the k-th event of a run, in a form of them that is parsed.
func (e kernelEvent) shape(k int, task string, form int, parse func(fields string) template.Shape) template.Shape {
	values := strings.NewReplacer("COMM", commOf(task), "TASK", task, "PROCESS", processOf(task))
	var all []template.Shape
	for _, fields := range e.fields {
		all = append(all, parse(values.Replace(fields[form])))
	}
	return template.Pick(at(k), all)
}

// ftraceText is ftrace text as atrace records it.
func ftraceText() format {
	var shapes []template.Shape
	for _, run := range runs {
		var lines []template.Shape
		eachEvent(run, func(k int, e kernelEvent, task string) {
			head := "          <idle>-0     (-----)"
			if task != idle {
				head = fmt.Sprintf("      %s-$%s   (  $%s)", commOf(task), task, processOf(task))
			}
			head += fmt.Sprintf(" [00$(i%%8)] d..2 $(%s/1000000).$(%[1]s%%1000000:06d): %s: ", at(k), e.name)
			lines = append(lines, e.shape(k, task, 0, func(text string) template.Shape { return template.Text(head + text + "\n") }))
		})
		shapes = append(shapes, template.Join(lines...))
	}
	each := func(b []byte, i, n int) []byte { return shapes[i%len(runs)](b, i, n) }
	return format{template.Text("# tracer: nop\n#\n"), each, template.Join()}
}

// ftraceProto is a trace as Perfetto's daemons record and stream it: traced_probes reads the kernel's buffers every 250 ms, CPU by CPU, and
// produces a sequence with what they have, and one with what processes there are and how much memory they have.
func ftraceProto() format {
	const ofFtrace, ofProcesses = "3:9999 10:2 79:1178} ", "3:9999 10:3 79:1178} "
	head := "*1[1:{13:1 34:{1:1 *8[2:{1:i 2:100 9:1000}]} 12:{*10[26:{1:i+1 2:\"jbd2_log_wait_$i\"}]} " + ofFtrace +
		"1:{8:" + startTime + " 2:{*25[1:{1:600+i*13 2:1 3:\"com.example.app$i\" 5:10000+i}] *320[2:{1:600+i 3:600+i/13*13}]} " + ofProcesses + "]"
	memory := template.Message("1:{8:" + startTime + "+i*31250000 9:{*25[1:{1:600+i*13 2:10000000+r 3:r%300000 4:r%200000 5:r%100000 6:r%2000 7:4000 10:r%10*100}]} " + ofProcesses)
	flags := template.Message("13:2 " + strings.Trim(ofFtrace, "} "))
	var parts []bundlePart
	for _, run := range runs {
		parts = append(parts, newBundlePart(run))
	}
	return streamed(head, 80, func(b []byte, i, n int) []byte {
		if i%32 == 0 {
			b = memory(b, i, n)
		}
		bundle := bundle{message: pb.Message{}.Number(1, uint64(i%8))}
		const runsOfBundle = 50
		for k := range runsOfBundle {
			run := (i/8*runsOfBundle+k)*8 + i%8
			bundle.add(parts[run%len(parts)], run)
		}
		return pb.Message(b).Bytes(1, flags(pb.Message{}.Bytes(1, bundle.end(i)), i, n))
	})
}

// bundle is an FtraceEventBundle.
type bundle struct {
	message pb.Message
	columns [13][]byte // of CompactSched by field
	times   [13]int    // the last ones in columns of times
}

// bundlePart is the part of a bundle for a run: events, and those of the scheduler, which are values in columns.
type bundlePart struct {
	events template.Shape
	sched  [][]column
}

// column is a value for a column. The first one of an event is its time.
type column struct {
	field int
	value func(i, n int) int
}

func newBundlePart(run []kernelEvent) bundlePart {
	var p bundlePart
	var events []template.Shape
	eachEvent(run, func(k int, e kernelEvent, task string) {
		ns, comm := at(k)+"*1000", "("+e.to+"-600)/8"
		if e.to == idle {
			comm = "40"
		}
		switch e.name {
		case "sched_switch":
			p.sched = append(p.sched, columns([]int{1, 2, 3, 4, 6}, ns, strconv.Itoa(e.state.number), e.to, "120", comm))
		case "sched_waking":
			p.sched = append(p.sched, columns([]int{7, 8, 9, 10, 11, 12}, ns, e.to, "i%8", "120", comm, "1"))
		default:
			events = append(events, e.shape(k, task, 1, func(message string) template.Shape {
				return template.Message(fmt.Sprintf("2:{1:%s 2:%s %d:{%s} 5:1}", ns, task, e.number, message))
			}))
		}
	})
	p.events = template.Join(events...)
	return p
}

func columns(fields []int, values ...string) (all []column) {
	for i, value := range values {
		all = append(all, column{fields[i], template.Number(value)})
	}
	return all
}

// add adds a run.
func (b *bundle) add(p bundlePart, run int) {
	b.message = p.events(b.message, run, 0)
	for _, event := range p.sched {
		for k, column := range event {
			v := column.value(run, 0)
			if k == 0 {
				v, b.times[column.field] = v-b.times[column.field], v
			}
			b.columns[column.field] = binary.AppendUvarint(b.columns[column.field], uint64(v))
		}
	}
}

// comms are the names of the tasks on CPU i%8.
var comms = template.Message(`*40[5:"Binder:$(600+i*8+n%8)"] *1[5:"swapper/$(n%8)"]`)

// end returns the i-th bundle.
func (b *bundle) end(i int) pb.Message {
	sched := pb.Message(comms(nil, i, 0))
	for field, column := range b.columns {
		if column != nil {
			sched = sched.Bytes(field, column)
		}
	}
	return b.message.Bytes(4, sched)
}
