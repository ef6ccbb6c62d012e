package many

import (
	"slices"

	"github.com/tpconvert/tpconvert/cmd/tracegen/template"
)

// Profiles without times, and logs that are JSON.
var profiles = []Format{
	snapshot("heapsnapshot-chain", "3,1,$(2*i+1),16,1", "$(0<i?,|)2,1,$((i+1)%n*5)\n", "$n"),
	snapshot("heapsnapshot-array", "3,1,$(2*i+1),16,$(i<1?$(n-1)|0)", "$(1<i?,|)$(0<i?1,$i,$(5*i)\n|)", "$(n-1)"),
	snapshot("heapsnapshot-names", "3,$(i+2),$(2*i+1),16,1", "$(0<i?,|)2,$(i+2),0\n", "$n", each("", `,"n$i"`)),
	heapProfile("heapprofile-nested", each("", `{"callFrame":{"functionName":"f$i"},"selfSize":1,"children":[`), each("", "]}")),
	heapProfile("heapprofile-children", `{"callFrame":{"functionName":"(root)"},"selfSize":0,"children":[`,
		each(",", `{"callFrame":{"functionName":"f$i"},"selfSize":1,"children":[]}`), "]}"),
	speedscope("speedscope-frames", `{"type":"sampled","name":"p","unit":"none","samples":[[`, each(",", "$i"), `]],"weights":[1]}`),
	speedscope("speedscope-samples", `{"type":"sampled","name":"p","unit":"none","samples":[`, each(",", "[0,$i]"), `],"weights":[`,
		each(",", "1"), "]}"),
	speedscope("speedscope-open", `{"type":"evented","name":"p","unit":"nanoseconds","startValue":0,"endValue":$n,"events":[`,
		each(",", `{"type":"O","frame":$i,"at":$i}`), "]}"),
	speedscope("speedscope-wrong-ends", `{"type":"evented","name":"p","unit":"nanoseconds","startValue":0,"endValue":$(2*n),"events":[`,
		each(",", `{"type":"O","frame":$i,"at":$i}`), each("", `,{"type":"C","frame":$i,"at":$(n+i)}`), "]}"),
	speedscope("speedscope-profiles", each(",", `{"type":"sampled","name":"p$i","unit":"none","samples":[[$i]],"weights":[1]}`)),
	stackprof("stackprof-frames", "$n,", each(",", "$(i+1)"), ",1"),
	stackprof("stackprof-samples", each(",", "2,1,$(i+1),1")),
	lines("callgrind-functions", callgrindHead, "fn=($(i+1)) f$i\n$i 1\n"),
	lines("callgrind-lines", callgrindHead, "+1 1\n"),
	lines("callgrind-calls", callgrindHead, "cfn=($(i+2)) g$i\ncalls=1 5\n5 1\n"),
	lines("callgrind-files", callgrindHead, "fi=($(i+2)) a$i.c\n5 1\n"),
	whole("gperftools-stacks", template.Little("8:0 8:3 8:0 8:10000 8:0 [8:1 8:2 8:0x401000 8:0x401001+i] 8:0 8:1 8:0"), "00400000-00500000 r-xp 00000000 08:01 1 /bin/app\n"),
	lines("gperftools-mappings", once(template.Little("8:0 8:3 8:0 8:10000 8:0 8:1 8:1 8:0x1000 8:0 8:1 8:0")),
		"$((i+1)<<12:x)-$((i+2)<<12:x) r-xp 00000000 08:01 1 /bin/$i\n"),
	whole("gperftools-heap", "heap profile:      1:       64 [     1:      64] @ heapprofile\n",
		each("", "     1:       64 [     1:      64] @ 0x00401000 0x$(0x402000+i:x)\n"),
		"\nMAPPED_LIBRARIES:\n00400000-00500000 r-xp 00000000 08:01 1 /bin/app\n"),
	flameGraph("asyncprofiler-children", each("", "f(1,$i,1,1,'f$i')\n")),
	flameGraph("asyncprofiler-nested", each("", "f($(i+1),0,$(n-i),1,'f$i')\n")),
	netlog("netlog-sources", `{"phase":1,"source":{"id":$i,"start_time":"1","type":1},"time":"$i","type":1}`),
	netlog("netlog-open", `{"phase":1,"source":{"id":1,"start_time":"1","type":1},"time":"$i","type":$i}`),
	netlog("netlog-wrong-ends",
		`{"phase":$(2-(i<n/2)),"source":{"id":1,"start_time":"1","type":1},"time":"$i","type":$(i<n/2?$i|$(i-n/2))}`),
	netlog("netlog-dependencies",
		`{"params":{"source_dependency":{"id":$(i+1),"type":1}},"phase":0,"source":{"id":$i,"start_time":"1","type":1},"time":"$i","type":1}`),
	netlog("netlog-late-dependencies",
		`{"params":{"source_dependency":{"id":$n,"type":1}},"phase":0,"source":{"id":$i,"start_time":"1","type":1},"time":"$i","type":1}`),
}

// snapshot is a heap snapshot of V8 with n nodes, of a type, a name, an id, a size and a number of edges, which are of a type, a name and a node.
func snapshot(name, node, edges string, edgeCount string, names ...any) Format {
	return whole(name, slices.Concat([]any{`{"snapshot":{"meta":{"node_fields":["type","name","id","self_size","edge_count"],"node_types":[["hidden","array","string","object"],"string","number","number","number"],` +
		`"edge_fields":["type","name_or_index","to_node"],"edge_types":[["context","element","property"],"string_or_number","node"]},"node_count":$n,"edge_count":` + edgeCount + `},"nodes":[`,
		each(",", node+"\n"), `],"edges":[`, each("", edges), `],"strings":["","next"`}, names, []any{"]}"})...)
}

func heapProfile(name string, head ...any) Format {
	return whole(name, slices.Concat([]any{`{"head":`}, head, []any{"}"})...)
}

func speedscope(name string, profiles ...any) Format {
	return whole(name, slices.Concat([]any{`{"$$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":[`, each(",", `{"name":"f$i"}`), `]},"profiles":[`},
		profiles, []any{"]}"})...)
}

func stackprof(name string, raw ...any) Format {
	return whole(name, slices.Concat([]any{`{"version":1.2,"mode":"wall","interval":1000,"samples":5,"gc_samples":0,"missed_samples":0,"frames":{`,
		each(",", `"$(i+1)":{"name":"f$i","file":"a.rb","line":1}`), `},"raw":[`}, raw, []any{"]}"})...)
}

const callgrindHead = "# callgrind format\npositions: line\nevents: Ir\n\nfl=(1) a.c\nfn=(1) main\n1 1\n"

func flameGraph(name string, frames template.Shape) Format {
	return whole(name, "<!DOCTYPE html>\n<html lang='en'>\n<canvas id='canvas' style='width: 100%'></canvas>\n<h1>CPU profile</h1>\n<script>\n\tfunction f(key, level, left, width) {\n\t}\n\nf(0,0,$n,3,'all')\n",
		frames, "\nsearch();\n</script></body></html>\n")
}

func netlog(name, event string) Format {
	return whole(name, `{"constants":{"clientInfo":{"name":"Chrome"},"logEventPhase":{"PHASE_BEGIN":1,"PHASE_END":2,"PHASE_NONE":0},"logEventTypes":{"A":1},"logSourceType":{"S":1},"timeTickOffset":1700000000000},`+"\n\"events\": [\n",
		each(",\n", event), "]}\n")
}
