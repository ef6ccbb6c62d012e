package many

// JSON traces, and profiles that are JSON: each has very many of one thing that its
// parser must find, nest or follow.
var jsonEvents = []Format{
	events("json-nested-slices", `"ph":"$(i<n/2?B|E)","pid":1,"tid":2,"ts":$i$(i<n/2?,"name":"n"|)`),
	events("json-nested-complete", `"ph":"X","pid":1,"tid":2,"ts":$i,"dur":$(2*(n-i)),"name":"n"`),
	events("json-overlapping", `"ph":"X","pid":1,"tid":2,"ts":$i,"dur":$n,"name":"n"`),
	events("json-backwards", `"ph":"X","pid":1,"tid":2,"ts":$(10*(n-i)),"dur":5,"name":"n"`),
	events("json-same-time", `"ph":"X","pid":1,"tid":2,"ts":5,"dur":5,"name":"n"`),
	events("json-wrong-ends", `"ph":"$(i<n/2?B|E)","pid":1,"tid":2,"ts":$i,"name":"$(i<n/2?n$i|other)"`),
	whole("json-flows-of-slice", `[{"ph":"X","pid":1,"tid":2,"ts":0,"dur":$(2*n),"name":"n"},`+"\n", each("", `{"ph":"s","cat":"c","id":$i,"pid":1,"tid":2,"ts":$(i+1),"name":"n"},`+"\n"), work+"]"),
	events("json-steps-of-flow", `"ph":"X","pid":1,"tid":2,"ts":$(i*10),"dur":5,"name":"n"`, `"ph":"$(i<1?s|t)","cat":"c","id":1,"pid":1,"tid":2,"ts":$(i*10+1),"name":"n"`),
	events("json-bound-flows", `"ph":"X","pid":1,"tid":2,"ts":$(i*10),"dur":5,"name":"n","bind_id":"0x1","flow_in":true,"flow_out":true`),
	events("json-nested-async", `"ph":"$(i<n/2?b|e)","cat":"c","id":1,"pid":1,"tid":2,"ts":$i,"name":"n"`),
	events("json-old-async", `"ph":"S","cat":"c","id":$i,"pid":1,"tid":2,"ts":$i,"name":"n"`),
	events("json-async-names", `"ph":"b","cat":"c","id":1,"pid":1,"tid":2,"ts":$i,"name":"n$i"`),
	events("json-counter-values", `"ph":"C","pid":1,"ts":$i,"name":"c","args":{"v":$i}`),
	events("json-process-names", `"ph":"M","pid":1,"ts":$i,"name":"process_name","args":{"name":"n$i"}`),
	events("json-thread-names", `"ph":"M","pid":1,"tid":2,"ts":$i,"name":"thread_name","args":{"name":"n$i"}`),
	events("json-late-processes", `"ph":"X","pid":1,"tid":$(i+10),"ts":$i,"dur":1,"name":"n"`, `"ph":"X","pid":$(i+10),"tid":$(i+10),"ts":$i,"dur":1,"name":"n"`),
	events("json-objects", `"ph":"O","pid":1,"tid":2,"ts":$i,"id":$i,"name":"n","args":{"snapshot":{"a":1}}`),
	whole("json-series", "["+work+`,{"ph":"C","pid":1,"ts":5,"name":"c","args":{`, each(",", `"v$i":$i`), "}}]"),
	whole("json-args-of-slice", `[{"ph":"X","pid":1,"tid":2,"ts":5,"dur":5,"name":"n","args":{`, each(",", `"k$i":$i`), "}}]"),
	whole("json-same-key", `[{"ph":"X","pid":1,"tid":2,"ts":5,"dur":5,"name":"n","args":{`, each(",", `"k":$i`), "}}]"),
	whole("json-array", `[{"ph":"X","pid":1,"tid":2,"ts":5,"dur":5,"name":"n","args":{"a":[`, each(",", "$i"), "]}}]"),
	whole("json-nested-args", "["+work+`,{"ph":"X","pid":1,"tid":2,"ts":5,"dur":5,"name":"n","args":{"a":`, each("", `{"a":`), "1", each("", "}"), "}}]"),
	whole("json-nested-arrays", `{"traceEvents":[`+work+`],"metadata":`, each("", "["), each("", "]"), "}"),
	whole("json-members", `{"traceEvents":[`+work+`]`, each("", `,"m$i":$i`), "}"),
	whole("json-system-events", `{"traceEvents":[`+work+`],"systemTraceEvents":"# tracer: nop\n`, each("", `  a-1 (1) [000] .... 1.$(100000+i%900000): tracing_mark_write: B|1|n\n`), `"}`),
	whole("json-stack-frames", `{"traceEvents":[`+work, each("", `,{"ph":"P","pid":1,"tid":2,"ts":$i,"name":"s","sf":"$i"}`), `],"stackFrames":{"0":{"name":"f","category":"c"}`, each("", `,"$(i+1)":{"name":"f$i","category":"c","parent":"$i"}`), "}}"),
	whole("json-profile-chunks", `[{"ph":"P","pid":1,"tid":2,"ts":1,"id":"0x1","name":"Profile","args":{"data":{"startTime":1}}},`+"\n",
		`{"ph":"P","pid":1,"tid":2,"ts":1,"id":"0x1","name":"ProfileChunk","args":{"data":{"cpuProfile":{"nodes":[{"id":1,"callFrame":{"functionName":"(root)","scriptId":0}}]}}}},`+"\n",
		each("", `{"ph":"P","pid":1,"tid":2,"ts":$(i+2),"id":"0x1","name":"ProfileChunk","args":{"data":{"cpuProfile":{"nodes":[{"id":$(i+2),`+
			`"parent":$(i+1),"callFrame":{"functionName":"f$i","scriptId":0}}],"samples":[$(i+2)]},"timeDeltas":[1]}}},`+"\n"), work+"]"),
	whole("v8-nodes", `{"nodes":[`, each(",", `{"id":$(i+1),"callFrame":{"functionName":"f$i","scriptId":"0","url":"","lineNumber":1,"columnNumber":1},"hitCount":1,"children":[$(i+1<n?$(i+2)|)]}`),
		`],"startTime":1,"endTime":1000000,"samples":[`, each(",", "$(i+1)"), `],"timeDeltas":[`, each(",", "1"), "]}"),
	whole("v8-children", `{"nodes":[{"id":1,"callFrame":{"functionName":"(root)","scriptId":"0","url":"","lineNumber":-1,"columnNumber":-1},"children":[`, each(",", "$(i+2)"), "]}", each("", `,{"id":$(i+2),"callFrame":{"functionName":"f","scriptId":"0","url":"","lineNumber":$i,"columnNumber":1}}`), `],"startTime":1,"endTime":9,"samples":[2],"timeDeltas":[1]}`),
	whole("gecko-stacks", `{"meta":{"version":31,"startTime":1,"categories":[]},"threads":[{"name":"T","tid":1,"pid":1,"samples":{"stack":[`, each(",", "$i"), `],"time":[`, each(",", "$i"),
		`]},"stringArray":["f"],"funcTable":{"name":[0]},"frameTable":{"func":[0]},"stackTable":{"prefix":[`, each(",", "$(i<1?null|$(i-1))"), `],"frame":[`, each(",", "0"), "]}}]}"),
	whole("gecko-markers", geckoMarkers, each(",", "0"), `],"startTime":[`, each(",", "$i"), `],"endTime":[`, each(",", "$(i+n)"), `],"phase":[`, each(",", "1"), `],"category":[`, each(",", "0"), `],"data":[]}}]}`),
	whole("gecko-open-markers", geckoMarkers, each(",", "0"), `],"startTime":[`, each(",", "$i"), `],"endTime":[`, each(",", "null"), `],"phase":[`, each(",", "2"), `],"category":[`, each(",", "0"), `],"data":[]}}]}`),
	whole("gecko-threads", `{"meta":{"version":31,"startTime":1,"categories":[]},"threads":[`, each(",", `{"name":"T","tid":$(i+1),"pid":1,"samples":{"stack":[0],"time":[1]},"stringArray":["f"],"funcTable":{"name":[0]},"frameTable":{"func":[0]},"stackTable":{"prefix":[null],"frame":[0]}}`), "]}"),
}

const geckoMarkers = `{"meta":{"version":31,"startTime":1,"categories":[{"name":"Other","color":"grey"}]},"threads":[{"name":"T","tid":1,"pid":1,"stringArray":["m"],"markers":{"name":[`
