package many

// Spans of distributed traces.
var spans = []Format{
	otlp("otlp-spans", `2:{1:##1 2:#i+1 5:"n" 7=10*i+1 8=10*i+6 4:#1}`),
	otlp("otlp-chain", `2:{1:##1 2:#i+1 5:"n" 7=10*i+1 8=10*i+6 (0<i)[4:#i]}`),
	otlp("otlp-late-parents", `2:{1:##1 2:#n-i 5:"n" 7=10*i+1 8=10*i+6 (i<n-1)[4:#n-i-1]}`),
	otlp("otlp-traces", `2:{1:##i+1 2:#1 5:"n" 7=10*i+1 8=10*i+6}`),
	otlp("otlp-missing-parents", `2:{1:##1 2:#i+1 5:"n" 7=10*i+1 8=10*i+6 4:#i+n+1}`),
	otlp("otlp-overlapping", `2:{1:##1 2:#i+1 5:"n" 7=i 8=i+n 4:#n+1}`),
	otlp("otlp-links", `2:{1:##1 2:#i+1 5:"n" 7=10*i+1 8=10*i+6 13:{1:##1 2:#1}}`),
	otlp("otlp-events", `2:{1:##1 2:#i+1 5:"n" 7=10*i+1 8=10*i+6 11:{1=i 2:"e"}}`),
	otlp("otlp-same-id", `2:{1:##1 2:#1 5:"n" 7=10*i+1 8=10*i+6 4:#1}`),
	message("otlp-services", `[1:{1:{1:{1:"service.name" 2:{1:"s$i"}}} 2:{2:{1:##1 2:#i+1 5:"n" 7=10*i+1 8=10*i+6}}}]`),
	message("otlp-attributes", `1:{`+oneService+`2:{2:{1:##1 2:#1 5:"n" 7=1 8=6 [9:{1:"k$i" 2:{1:"v"}}]}}}`),
	message("otlp-links-of-span", `1:{`+oneService+`2:{2:{1:##1 2:#1 5:"n" 7=1 8=6 [13:{1:##1 2:#i+1}]}}}`),
	lines("otlp-json-lines", "",
		`{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"s$(i%8)"}}]},"scopeSpans":[{"spans":[`+jsonSpan+"]}]}]}\n"),
	whole("otlp-json-nested", `{"resourceSpans":[{"scopeSpans":[{"spans":[`+jsonSpan+`]}]},{"resource":{"attributes":[{"key":"k","value":`,
		each("", `{"arrayValue":{"values":[`), `{"intValue":"1"}`, each("", "]}}"), "}]}}]}"),
	whole("otlp-json-shared-scope", `{"resourceSpans":[{"scopeSpans":[{"scope":{"name":"s","attributes":[`,
		each(",", `{"key":"k$i","value":{"intValue":"1"}}`),
		`]},"spans":[`, each(",", jsonSpan), "]}]}]}"),
	otlpProfiles("otlp-profiles-stacks", // with a function and an attribute each
		`1:{1:{1:{1:"k" 2:{8:0}}} 2:{2:{1:{1:1} [2:{1:i+1 2:<i+1> 4:<1>}]}}}`,
		`[5:"f$(i+1)" 3:{1:2*i+2} 2:{3:{1:i+1}} 7:{1:<i+1>} 5:"k$(i+1)" 6:{1:2*i+3 2:{1:"v"}}]`),
	otlpProfiles("otlp-profiles-shared-stack", // of many profiles
		`1:{1:{1:{1:"k" 2:{8:0}}} 2:{[2:{1:{1:1} 2:{1:1 2:<> 4:<1>}}]}}`,
		`[5:"f$(i+1)" 3:{1:i+2} 2:{3:{1:i+1}}] 7:{1:<[i+1]>}`),
	otlpProfiles("otlp-profiles-shared-attributes", // of many values
		`1:{1:{1:{1:"k" 2:{8:0}}} 2:{2:{1:{1:1} 2:{1:0 2:<[i+1]> 4:<[i+1]>}}}}`,
		`[5:"k$(i+1)" 6:{1:i+2 2:{1:"v"}}]`),
	otlpProfiles("otlp-profiles-shared-text", // of n times v, in many resources
		`[1:{1:{1:{1:"k" 2:{8:2}}} 2:{2:{1:{1:1} 2:{1:0 2:<> 4:<1>}}}}]`,
		`5:<[0x76]>`),
	whole("jaeger-spans", `{"data":[{"traceID":"1","spans":[`,
		each(",", `{"traceID":"1","spanID":"$(i+1:x)","operationName":"n","references":[{"refType":"CHILD_OF","traceID":"1","spanID":"$(i:x)"}],"startTime":$(1000+i),"duration":5,"tags":[],"logs":[{"timestamp":$(1001+i),"fields":[]}],"processID":"p$(i%8)"}`),
		`],"processes":{}}]}`),
	whole("jaeger-processes", `{"data":[{"traceID":"1","spans":[`,
		each(",", `{"traceID":"1","spanID":"$(i+1:x)","operationName":"n","startTime":$(1000+i),"duration":5,"processID":"p$i"}`),
		`],"processes":{`, each(",", `"p$i":{"serviceName":"s$i","tags":[]}`), "}}]}"),
	whole("jaeger-references",
		`{"data":[{"traceID":"1","spans":[{"traceID":"1","spanID":"1","operationName":"n","startTime":1000,"duration":5,"processID":"p","references":[`,
		each(",", `{"refType":"FOLLOWS_FROM","traceID":"1","spanID":"$(i+2:x)"}`), `]}],"processes":{"p":{"serviceName":"s"}}}]}`),
	zipkin("zipkin-spans", `{"traceId":"1","id":"$(i+1:x)","parentId":"$(i:x)","name":"n","timestamp":$(1000+i),"duration":5,"localEndpoint":{"serviceName":"s"}}`),
	zipkin("zipkin-shared", `{"traceId":"1","id":"$(i/2+1:x)","kind":"$(i%2<1?CLIENT|SERVER)"$(i%2<1?|,"shared":true),"name":"n","timestamp":$(1000+i),"duration":5,"localEndpoint":{"serviceName":"s$(i%2)"}}`),
	zipkin("zipkin-services", `{"traceId":"1","id":"$(i+1:x)","name":"n","timestamp":$(1000+i),"duration":5,"localEndpoint":{"serviceName":"s$i"}}`),
	zipkin("zipkin-same-id", `{"traceId":"1","id":"1","parentId":"2","name":"n","timestamp":$(1000+i),"duration":5,"localEndpoint":{"serviceName":"s"}}`),
	zipkin("zipkin-traces", `{"traceId":"$(i+1:x)","id":"1","name":"n","timestamp":$(1000+i),"duration":5,"annotations":[{"timestamp":$(1001+i),"value":"a"}]}`),
}

func zipkin(name, span string) Format { return whole(name, "[", each(",", span), "]") }

// oneService is a resource of OTLP.
const oneService = `1:{1:{1:"service.name" 2:{1:"s"}}} `

// otlp is a span of one service for each thing.
func otlp(name, span string) Format { return message(name, "1:{"+oneService+"2:{["+span+"]}}") }

// otlpProfiles is a message ProfilesData of version 1.10: resources with profiles, and the dictionary. The first entry of each table
// there stands for none.
func otlpProfiles(name, resources, dictionary string) Format {
	return message(name, resources+` 2:{1:{} 2:{} 3:{} 4:{} 5:{} 6:{} 7:{} 5:"cpu" `+dictionary+`}`)
}

// jsonSpan is a span as JSON of OTLP, which has that before it as its parent.
const jsonSpan = `{"traceId":"00000000000000000000000000000001","spanId":"$((1<<60)+i+1:x)","parentSpanId":"$((1<<60)+i:x)","name":"n","startTimeUnixNano":"$(10*i+10)","endTimeUnixNano":"$(10*i+15)"}`
