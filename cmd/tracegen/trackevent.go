package main

import (
	"fmt"

	"github.com/tpconvert/tpconvert/cmd/tracegen/template"
)

// Packets of Perfetto's service, traced, as it streams a trace into a file: every 2.5 s it flushes the producers and writes their packets,
// one sequence after another, between the events for the flush and for the completed write. Times are of boottime, in ns.
const (
	startTime = "122411211067000"
	ofService = "3:9999 10:1 79:1178"

	serviceConfig = `1:{33:{1:{1:65536} 2:{1:{1:"linux.ftrace" 2:0}} 2:{1:{1:"track_event" 2:0}} 8:1 9:2500 13:2500} ` + ofService + `} ` +
		`1:{45:{1:{1:"Linux" 2:"#1 SMP PREEMPT" 3:"5.10.157-android13-4" 4:"aarch64"} 3:100 4:"Perfetto v58.2" 6:4096 8:8} ` + ofService + `} `
	serviceStats = `1:{35:{2:2 3:2 6:1 15:1} ` + ofService + `}`
)

// serviceEvent is an event of the service at a time: 1 and 2 as it starts, 3 for a flush, 4 for a completed write, 5 as it stops.
func serviceEvent(event, at string) string {
	return "1:{8:" + at + " 69:{" + event + ":1} " + ofService + "} "
}

// serviceClocks is a snapshot of clocks.
func serviceClocks(at string) string {
	const real, mono = "+1600000000000000000", "-60000000000000"
	return "1:{8:" + at + " 6:{1:{1:6 2:" + at + "} 1:{1:2 2:" + at + real + "} 1:{1:4 2:" + at + mono + "} 1:{1:1 2:" + at + real + "} 1:{1:3 2:" + at + mono +
		"} 1:{1:5 2:" + at + mono + "}} " + ofService + "} "
}

// streamed is a trace of parts, so many of which the service writes each time.
func streamed(head string, periodic int, part template.Shape) format {
	at := fmt.Sprintf("%s+(i+%d)/%[2]d*2500000000", startTime, periodic)
	first := template.Message(serviceClocks(at) + serviceEvent("3", at))
	last := template.Message(serviceEvent("4", at))
	return format{
		head: template.Message(serviceClocks(startTime) + serviceConfig + serviceEvent("2", startTime) + serviceEvent("1", startTime) + head),
		each: func(b []byte, i, n int) []byte {
			if i%periodic == 0 {
				b = first(b, i, n)
			}
			b = part(b, i, n)
			if i%periodic == periodic-1 {
				b = last(b, i, n)
			}
			return b
		},
		tail: template.Message(serviceEvent("5", at) + serviceStats),
	}
}

// Names of track events, and names of args with the fields of their values.
var (
	trackNames = []string{
		"ThreadControllerImpl::RunTask", "Scheduler::BeginFrame", "Graphics.Pipeline", "Blink.Style.UpdateTime",
		"LocalFrameView::layout", "V8.CompileCode", "MessageLoop::PostTask", "SimpleURLLoader::Start", "GPUTask", "Decode Image",
	}
	trackArgs = [][2]string{
		{"src_file", `6:"content/browser/renderer_host/render_process_host_$(r%4).cc"`}, {"src_func", `6:"Function$(r%100)"`}, {"frame_id", "4:r%1048576"},
		{"sequence", "4:r%1048576"}, {"url", `6:"https://example.com/$(r%5000)"`}, {"elapsed_ms", "4:r%1048576"},
	}
)

// trackEvents is a trace of only track events. Perfetto's SDK writes them in one sequence per thread, with delta times and interned
// names, which start anew each time that traced writes them.
func trackEvents() format {
	interned := ""
	for i := range 400 {
		interned += fmt.Sprintf(`2:{1:%d 2:"%s%[1]d"} `, i+1, trackNames[i%len(trackNames)])
	}
	for i := range 5 {
		interned += fmt.Sprintf(`1:{1:%d 2:"category%[1]d"} `, i+1)
	}
	args := ""
	for i, arg := range trackArgs {
		interned += fmt.Sprintf(`3:{1:%d 2:"%s"} `, i+1, arg[0])
		args += fmt.Sprintf("(r%%4<1)[4:{1:%d %s}] ", i+1, arg[1])
	}
	// In what a thread writes, i is a task, and n counts the times that threads write. Every second task has a flow to the next one.
	const of = "3:9999 10:2+n%24 79:1000+n%24/6*240} "
	const at = startTime + "+n/24*2500000000"
	start := "1:{13:1 59:{58:64 11:{11:n%24+1}} 6:{1:{1:6 2:" + at + "} 1:{1:64 2:" + at + " 3:1}} 12:{" + interned + "} " + of +
		`1:{13:2 8:0 60:{1:1000+n%24/6 3:{1:1000+n%24/6*240 6:"app-$(n%24/6)"}} ` + of +
		`1:{13:2 8:0 60:{1:n%24+1 5:1000+n%24/6 4:{1:1000+n%24/6*240 2:1000+n%24/6*240+n%6 5:"worker-$(n%24)"}} ` + of
	event := func(kind int, fields string) string {
		return fmt.Sprintf("1:{8:r%%400000 13:2 11:{9:%d %s} ", kind, fields) + of
	}
	named := "10:r%400+1 3:r%5+1 " + args
	flows := " (i%2<1)[47=n*1000+i] (0<i%2)[48=n*1000+i-1]"
	begin, end, instant := event(1, named), event(2, ""), event(3, named)
	task := begin + event(1, named+flows) + begin + instant + end + begin + end + end + begin + begin + end + end + end
	return streamed("", 24, template.Message("*1["+start+"] *940["+task+"]"))
}
