package many

import "strings"

const work = `{"ph":"X","pid":1,"tid":2,"ts":10,"dur":5,"name":"work"}`

// JSON traces, and profiles that are JSON: each has very many of one thing that its
// parser must find, nest or follow.
var jsonEvents = []Format{
	jsonOf("json-nested-slices", func(e *textOf) {
		if e.i < e.n/2 {
			e.event(`"ph":"B","pid":1,"tid":2,"ts":`, e.i, `,"name":"n"`)
		} else {
			e.event(`"ph":"E","pid":1,"tid":2,"ts":`, e.i)
		}
	}),
	jsonOf("json-nested-complete", func(e *textOf) {
		e.event(`"ph":"X","pid":1,"tid":2,"ts":`, e.i, `,"dur":`, 2*(e.n-e.i), `,"name":"n"`)
	}),
	jsonOf("json-overlapping", func(e *textOf) {
		e.event(`"ph":"X","pid":1,"tid":2,"ts":`, e.i, `,"dur":`, e.n, `,"name":"n"`)
	}),
	jsonOf("json-backwards", func(e *textOf) {
		e.event(`"ph":"X","pid":1,"tid":2,"ts":`, 10*(e.n-e.i), `,"dur":5,"name":"n"`)
	}),
	jsonOf("json-same-time", func(e *textOf) {
		e.event(`"ph":"X","pid":1,"tid":2,"ts":5,"dur":5,"name":"n"`)
	}),
	jsonOf("json-wrong-ends", func(e *textOf) {
		if e.i < e.n/2 {
			e.event(`"ph":"B","pid":1,"tid":2,"ts":`, e.i, `,"name":"n`, e.i, `"`)
		} else {
			e.event(`"ph":"E","pid":1,"tid":2,"ts":`, e.i, `,"name":"other"`)
		}
	}),
	jsonOf("json-flows-of-slice", func(e *textOf) {
		if e.i == 0 {
			e.event(`"ph":"X","pid":1,"tid":2,"ts":0,"dur":`, 2*e.n, `,"name":"n"`)
		}
		e.event(`"ph":"s","cat":"c","id":`, e.i, `,"pid":1,"tid":2,"ts":`, e.i+1, `,"name":"n"`)
	}),
	jsonOf("json-steps-of-flow", func(e *textOf) {
		phase := "t"
		if e.i == 0 {
			phase = "s"
		}
		e.event(`"ph":"X","pid":1,"tid":2,"ts":`, e.i*10, `,"dur":5,"name":"n"`)
		e.event(`"ph":"`, phase, `","cat":"c","id":1,"pid":1,"tid":2,"ts":`, e.i*10+1, `,"name":"n"`)
	}),
	jsonOf("json-bound-flows", func(e *textOf) {
		e.event(`"ph":"X","pid":1,"tid":2,"ts":`, e.i*10, `,"dur":5,"name":"n","bind_id":"0x1","flow_in":true,"flow_out":true`)
	}),
	jsonOf("json-nested-async", func(e *textOf) {
		if e.i < e.n/2 {
			e.event(`"ph":"b","cat":"c","id":1,"pid":1,"tid":2,"ts":`, e.i, `,"name":"n"`)
		} else {
			e.event(`"ph":"e","cat":"c","id":1,"pid":1,"tid":2,"ts":`, e.i, `,"name":"n"`)
		}
	}),
	jsonOf("json-old-async", func(e *textOf) {
		e.event(`"ph":"S","cat":"c","id":`, e.i, `,"pid":1,"tid":2,"ts":`, e.i, `,"name":"n"`)
	}),
	jsonOf("json-async-names", func(e *textOf) {
		e.event(`"ph":"b","cat":"c","id":1,"pid":1,"tid":2,"ts":`, e.i, `,"name":"n`, e.i, `"`)
	}),
	jsonOf("json-counter-values", func(e *textOf) {
		e.event(`"ph":"C","pid":1,"ts":`, e.i, `,"name":"c","args":{"v":`, e.i, `}`)
	}),
	jsonOf("json-process-names", func(e *textOf) {
		e.event(`"ph":"M","pid":1,"ts":`, e.i, `,"name":"process_name","args":{"name":"n`, e.i, `"}`)
	}),
	jsonOf("json-thread-names", func(e *textOf) {
		e.event(`"ph":"M","pid":1,"tid":2,"ts":`, e.i, `,"name":"thread_name","args":{"name":"n`, e.i, `"}`)
	}),
	jsonOf("json-late-processes", func(e *textOf) {
		e.event(`"ph":"X","pid":1,"tid":`, e.i+10, `,"ts":`, e.i, `,"dur":1,"name":"n"`)
		e.event(`"ph":"X","pid":`, e.i+10, `,"tid":`, e.i+10, `,"ts":`, e.i, `,"dur":1,"name":"n"`)
	}),
	jsonOf("json-objects", func(e *textOf) {
		e.event(`"ph":"O","pid":1,"tid":2,"ts":`, e.i, `,"id":`, e.i, `,"name":"n","args":{"snapshot":{"a":1}}`)
	}),
	textOfAll("json-series", func(e *textOf) {
		e.text(`[`, work, `,{"ph":"C","pid":1,"ts":5,"name":"c","args":{`)
		e.repeat(",", func(i int) { e.text(`"v`, i, `":`, i) })
		e.text("}}]")
	}),
	textOfAll("json-args-of-slice", func(e *textOf) {
		e.text(`[{"ph":"X","pid":1,"tid":2,"ts":5,"dur":5,"name":"n","args":{`)
		e.repeat(",", func(i int) { e.text(`"k`, i, `":`, i) })
		e.text("}}]")
	}),
	textOfAll("json-same-key", func(e *textOf) {
		e.text(`[{"ph":"X","pid":1,"tid":2,"ts":5,"dur":5,"name":"n","args":{`)
		e.repeat(",", func(i int) { e.text(`"k":`, i) })
		e.text("}}]")
	}),
	textOfAll("json-array", func(e *textOf) {
		e.text(`[{"ph":"X","pid":1,"tid":2,"ts":5,"dur":5,"name":"n","args":{"a":[`)
		e.repeat(",", func(i int) { e.text(i) })
		e.text("]}}]")
	}),
	textOfAll("json-nested-args", func(e *textOf) {
		e.text(`[`, work, `,{"ph":"X","pid":1,"tid":2,"ts":5,"dur":5,"name":"n","args":{"a":`)
		e.repeat("", func(int) { e.text(`{"a":`) })
		e.text("1", strings.Repeat("}", e.n), "}}]")
	}),
	textOfAll("json-nested-arrays", func(e *textOf) {
		e.text(`{"traceEvents":[`, work, `],"metadata":`, strings.Repeat("[", e.n), strings.Repeat("]", e.n), "}")
	}),
	textOfAll("json-members", func(e *textOf) {
		e.text(`{"traceEvents":[`, work, `]`)
		e.repeat("", func(i int) { e.text(`,"m`, i, `":`, i) })
		e.text("}")
	}),
	textOfAll("json-system-events", func(e *textOf) {
		e.text(`{"traceEvents":[`, work, `],"systemTraceEvents":"# tracer: nop\n`)
		e.repeat("", func(i int) { e.text(`  a-1 (1) [000] .... 1.`, 100000+i%900000, `: tracing_mark_write: B|1|n\n`) })
		e.text(`"}`)
	}),
	textOfAll("json-stack-frames", func(e *textOf) {
		e.text(`{"traceEvents":[`, work)
		e.repeat("", func(i int) {
			e.text(`,{"ph":"P","pid":1,"tid":2,"ts":`, i, `,"name":"s","sf":"`, i, `"}`)
		})
		e.text(`],"stackFrames":{"0":{"name":"f","category":"c"}`)
		e.repeat("", func(i int) { e.text(`,"`, i+1, `":{"name":"f`, i, `","category":"c","parent":"`, i, `"}`) })
		e.text("}}")
	}),
	jsonOf("json-profile-chunks", func(e *textOf) {
		if e.i == 0 {
			e.event(`"ph":"P","pid":1,"tid":2,"ts":1,"id":"0x1","name":"Profile","args":{"data":{"startTime":1}}`)
			e.event(`"ph":"P","pid":1,"tid":2,"ts":1,"id":"0x1","name":"ProfileChunk","args":{"data":{"cpuProfile":{"nodes":[{"id":1,"callFrame":{"functionName":"(root)","scriptId":0}}]}}}`)
		}
		e.event(`"ph":"P","pid":1,"tid":2,"ts":`, e.i+2, `,"id":"0x1","name":"ProfileChunk","args":{"data":{"cpuProfile":{"nodes":[{"id":`, e.i+2,
			`,"parent":`, e.i+1, `,"callFrame":{"functionName":"f`, e.i, `","scriptId":0}}],"samples":[`, e.i+2, `]},"timeDeltas":[1]}}`)
	}),
	textOfAll("v8-nodes", func(e *textOf) {
		e.text(`{"nodes":[`)
		e.repeat(",", func(i int) {
			e.text(`{"id":`, i+1, `,"callFrame":{"functionName":"f`, i, `","scriptId":"0","url":"","lineNumber":1,"columnNumber":1},"hitCount":1,"children":[`)
			if i+1 < e.n {
				e.text(i + 2)
			}
			e.text(`]}`)
		})
		e.text(`],"startTime":1,"endTime":1000000,"samples":[`)
		e.repeat(",", func(i int) { e.text(i + 1) })
		e.text(`],"timeDeltas":[`)
		e.repeat(",", func(int) { e.text(1) })
		e.text("]}")
	}),
	textOfAll("v8-children", func(e *textOf) {
		e.text(`{"nodes":[{"id":1,"callFrame":{"functionName":"(root)","scriptId":"0","url":"","lineNumber":-1,"columnNumber":-1},"children":[`)
		e.repeat(",", func(i int) { e.text(i + 2) })
		e.text(`]}`)
		e.repeat("", func(i int) {
			e.text(`,{"id":`, i+2, `,"callFrame":{"functionName":"f","scriptId":"0","url":"","lineNumber":`, i, `,"columnNumber":1}}`)
		})
		e.text(`],"startTime":1,"endTime":9,"samples":[2],"timeDeltas":[1]}`)
	}),
	textOfAll("gecko-stacks", func(e *textOf) {
		e.text(`{"meta":{"version":31,"startTime":1,"categories":[]},"threads":[{"name":"T","tid":1,"pid":1,"samples":{"stack":[`)
		e.repeat(",", func(i int) { e.text(i) })
		e.text(`],"time":[`)
		e.repeat(",", func(i int) { e.text(i) })
		e.text(`]},"stringArray":["f"],"funcTable":{"name":[0]},"frameTable":{"func":[0]},"stackTable":{"prefix":[null`)
		for i := range e.n - 1 {
			e.text(",", i)
		}
		e.text(`],"frame":[`)
		e.repeat(",", func(int) { e.text(0) })
		e.text("]}}]}")
	}),
	textOfAll("gecko-markers", func(e *textOf) {
		e.text(`{"meta":{"version":31,"startTime":1,"categories":[{"name":"Other","color":"grey"}]},"threads":[{"name":"T","tid":1,"pid":1,"stringArray":["m"],"markers":{"name":[`)
		e.repeat(",", func(int) { e.text(0) })
		e.text(`],"startTime":[`)
		e.repeat(",", func(i int) { e.text(i) })
		e.text(`],"endTime":[`)
		e.repeat(",", func(i int) { e.text(i + e.n) })
		e.text(`],"phase":[`)
		e.repeat(",", func(int) { e.text(1) })
		e.text(`],"category":[`)
		e.repeat(",", func(int) { e.text(0) })
		e.text(`],"data":[]}}]}`)
	}),
	textOfAll("gecko-open-markers", func(e *textOf) {
		e.text(`{"meta":{"version":31,"startTime":1,"categories":[{"name":"Other","color":"grey"}]},"threads":[{"name":"T","tid":1,"pid":1,"stringArray":["m"],"markers":{"name":[`)
		e.repeat(",", func(int) { e.text(0) })
		e.text(`],"startTime":[`)
		e.repeat(",", func(i int) { e.text(i) })
		e.text(`],"endTime":[`)
		e.repeat(",", func(int) { e.text("null") })
		e.text(`],"phase":[`)
		e.repeat(",", func(int) { e.text(2) })
		e.text(`],"category":[`)
		e.repeat(",", func(int) { e.text(0) })
		e.text(`],"data":[]}}]}`)
	}),
	textOfAll("gecko-threads", func(e *textOf) {
		e.text(`{"meta":{"version":31,"startTime":1,"categories":[]},"threads":[`)
		e.repeat(",", func(i int) {
			e.text(`{"name":"T","tid":`, i+1, `,"pid":1,"samples":{"stack":[0],"time":[1]},"stringArray":["f"],"funcTable":{"name":[0]},"frameTable":{"func":[0]},"stackTable":{"prefix":[null],"frame":[0]}}`)
		})
		e.text("]}")
	}),
}
