package many

import (
	"encoding/binary"
	"strconv"
	"strings"
)

// Profiles without times, and logs that are JSON.
var profiles = []Format{
	snapshotOf("heapsnapshot-chain", func(s *snapshot, i int) {
		s.node(3, 1, i, 1)
		s.edge(2, 1, (i+1)%s.n)
	}),
	snapshotOf("heapsnapshot-array", func(s *snapshot, i int) {
		if i > 0 {
			s.node(3, 1, i, 0)
			return
		}
		s.node(3, 1, 0, s.n-1)
		for to := 1; to < s.n; to++ {
			s.edge(1, to, to)
		}
	}),
	snapshotOf("heapsnapshot-names", func(s *snapshot, i int) {
		s.node(3, len(s.strings), i, 1)
		s.edge(2, len(s.strings), 0)
		s.strings = append(s.strings, `"n`+strconv.Itoa(i)+`"`)
	}),
	heapProfile("heapprofile-nested", func(e *textOf) {
		e.repeat("", func(i int) { e.text(`{"callFrame":{"functionName":"f`, i, `"},"selfSize":1,"children":[`) })
		e.repeat("", func(int) { e.text("]}") })
	}),
	heapProfile("heapprofile-children", func(e *textOf) {
		e.text(`{"callFrame":{"functionName":"(root)"},"selfSize":0,"children":[`)
		e.repeat(",", func(i int) { e.text(`{"callFrame":{"functionName":"f`, i, `"},"selfSize":1,"children":[]}`) })
		e.text("]}")
	}),
	speedscopeOf("speedscope-frames", func(e *textOf) {
		e.text(`{"type":"sampled","name":"p","unit":"none","samples":[[`)
		e.repeat(",", func(i int) { e.text(i) })
		e.text(`]],"weights":[1]}`)
	}),
	speedscopeOf("speedscope-samples", func(e *textOf) {
		e.text(`{"type":"sampled","name":"p","unit":"none","samples":[`)
		e.repeat(",", func(i int) { e.text("[0,", i, "]") })
		e.text(`],"weights":[`)
		e.repeat(",", func(int) { e.text(1) })
		e.text("]}")
	}),
	speedscopeOf("speedscope-open", func(e *textOf) {
		e.text(`{"type":"evented","name":"p","unit":"nanoseconds","startValue":0,"endValue":`, e.n, `,"events":[`)
		e.repeat(",", func(i int) { e.text(`{"type":"O","frame":`, i, `,"at":`, i, `}`) })
		e.text("]}")
	}),
	speedscopeOf("speedscope-wrong-ends", func(e *textOf) {
		e.text(`{"type":"evented","name":"p","unit":"nanoseconds","startValue":0,"endValue":`, 2*e.n, `,"events":[`)
		e.repeat(",", func(i int) { e.text(`{"type":"O","frame":`, i, `,"at":`, i, `}`) })
		e.repeat("", func(i int) { e.text(`,{"type":"C","frame":`, i, `,"at":`, e.n+i, `}`) })
		e.text("]}")
	}),
	speedscopeOf("speedscope-profiles", func(e *textOf) {
		e.repeat(",", func(i int) {
			e.text(`{"type":"sampled","name":"p`, i, `","unit":"none","samples":[[`, i, `]],"weights":[1]}`)
		})
	}),
	stackprofOf("stackprof-frames", func(e *textOf) {
		e.text(e.n, ",")
		e.repeat(",", func(i int) { e.text(i + 1) })
		e.text(",1")
	}),
	stackprofOf("stackprof-samples", func(e *textOf) { e.repeat(",", func(i int) { e.text("2,1,", i+1, ",1") }) }),
	callgrindOf("callgrind-functions", func(e *textOf) { e.text("fn=(", e.i+1, ") f", e.i, "\n", e.i, " 1\n") }),
	callgrindOf("callgrind-lines", func(e *textOf) { e.text("+1 1\n") }),
	callgrindOf("callgrind-calls", func(e *textOf) { e.text("cfn=(", e.i+2, ") g", e.i, "\ncalls=1 5\n5 1\n") }),
	callgrindOf("callgrind-files", func(e *textOf) { e.text("fi=(", e.i+2, ") a", e.i, ".c\n5 1\n") }),
	gperftoolsOf("gperftools-stacks", func(words *words) { words.add(1, 2, 0x401000, 0x401001+uint64(words.i)) }),
	{Name: "gperftools-mappings", whole: func(b []byte, n int) []byte {
		w := words{b: b}
		w.add(0, 3, 0, 10_000, 0, 1, 1, 0x1000, 0, 1, 0)
		for i := range n {
			w.b = append(w.b, strconv.FormatInt(int64(i+1)<<12, 16)+"-"+strconv.FormatInt(int64(i+2)<<12, 16)+" r-xp 00000000 08:01 1 /bin/"+strconv.Itoa(i)+"\n"...)
		}
		return w.b
	}},
	textOfAll("gperftools-heap", func(e *textOf) {
		e.text("heap profile:      1:       64 [     1:      64] @ heapprofile\n")
		e.repeat("", func(i int) {
			e.text("     1:       64 [     1:      64] @ 0x00401000 0x", strconv.FormatInt(0x402000+int64(i), 16), "\n")
		})
		e.text("\nMAPPED_LIBRARIES:\n00400000-00500000 r-xp 00000000 08:01 1 /bin/app\n")
	}),
	flameGraph("asyncprofiler-children", func(e *textOf) {
		e.repeat("", func(i int) { e.text("f(1,", i, ",1,1,'f", i, "')\n") })
	}),
	flameGraph("asyncprofiler-nested", func(e *textOf) {
		e.repeat("", func(i int) { e.text("f(", i+1, ",0,", e.n-i, ",1,'f", i, "')\n") })
	}),
	netlogOf("netlog-sources", func(e *textOf, i int) {
		e.text(`{"phase":1,"source":{"id":`, i, `,"start_time":"1","type":1},"time":"`, i, `","type":1}`)
	}),
	netlogOf("netlog-open", func(e *textOf, i int) {
		e.text(`{"phase":1,"source":{"id":1,"start_time":"1","type":1},"time":"`, i, `","type":`, i, `}`)
	}),
	netlogOf("netlog-wrong-ends", func(e *textOf, i int) {
		phase, kind := 1, i
		if i >= e.n/2 {
			phase, kind = 2, i-e.n/2
		}
		e.text(`{"phase":`, phase, `,"source":{"id":1,"start_time":"1","type":1},"time":"`, i, `","type":`, kind, `}`)
	}),
	netlogOf("netlog-dependencies", func(e *textOf, i int) {
		e.text(`{"params":{"source_dependency":{"id":`, i+1, `,"type":1}},"phase":0,"source":{"id":`, i, `,"start_time":"1","type":1},"time":"`, i, `","type":1}`)
	}),
	netlogOf("netlog-late-dependencies", func(e *textOf, i int) {
		e.text(`{"params":{"source_dependency":{"id":`, e.n, `,"type":1}},"phase":0,"source":{"id":`, i, `,"start_time":"1","type":1},"time":"`, i, `","type":1}`)
	}),
}

// snapshot builds a heap snapshot of V8 with n nodes.
type snapshot struct {
	n            int
	nodes, edges textOf
	strings      []string
}

func (s *snapshot) node(kind, name, id, edges int) {
	if len(s.nodes.b) > 0 {
		s.nodes.text(",")
	}
	s.nodes.text(kind, ",", name, ",", 2*id+1, ",16,", edges, "\n")
}

func (s *snapshot) edge(kind, name, to int) {
	if len(s.edges.b) > 0 {
		s.edges.text(",")
	}
	s.edges.text(kind, ",", name, ",", 5*to, "\n")
}

func snapshotOf(name string, each func(s *snapshot, i int)) Format {
	return textOfAll(name, func(e *textOf) {
		s := snapshot{n: e.n, strings: []string{`""`, `"next"`}}
		for i := range e.n {
			each(&s, i)
		}
		edges := 1
		for _, c := range s.edges.b {
			if c == '\n' {
				edges++
			}
		}
		e.text(`{"snapshot":{"meta":{"node_fields":["type","name","id","self_size","edge_count"],"node_types":[["hidden","array","string","object"],"string","number","number","number"],`,
			`"edge_fields":["type","name_or_index","to_node"],"edge_types":[["context","element","property"],"string_or_number","node"]},"node_count":`, e.n, `,"edge_count":`, edges-1, `},"nodes":[`,
			string(s.nodes.b), `],"edges":[`, string(s.edges.b), `],"strings":[`, strings.Join(s.strings, ","), `]}`)
	})
}

func heapProfile(name string, head func(e *textOf)) Format {
	return textOfAll(name, func(e *textOf) {
		e.text(`{"head":`)
		head(e)
		e.text("}")
	})
}

func speedscopeOf(name string, profiles func(e *textOf)) Format {
	return textOfAll(name, func(e *textOf) {
		e.text(`{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":[`)
		e.repeat(",", func(i int) { e.text(`{"name":"f`, i, `"}`) })
		e.text(`]},"profiles":[`)
		profiles(e)
		e.text("]}")
	})
}

func stackprofOf(name string, raw func(e *textOf)) Format {
	return textOfAll(name, func(e *textOf) {
		e.text(`{"version":1.2,"mode":"wall","interval":1000,"samples":5,"gc_samples":0,"missed_samples":0,"frames":{`)
		e.repeat(",", func(i int) { e.text(`"`, i+1, `":{"name":"f`, i, `","file":"a.rb","line":1}`) })
		e.text(`},"raw":[`)
		raw(e)
		e.text("]}")
	})
}

func callgrindOf(name string, each func(e *textOf)) Format {
	return textsOf(name, "# callgrind format\npositions: line\nevents: Ir\n\nfl=(1) a.c\nfn=(1) main\n1 1\n", "", each)
}

func gperftoolsOf(name string, each func(*words)) Format {
	head, tail := words{}, words{}
	head.add(0, 3, 0, 10_000, 0)
	tail.add(0, 1, 0)
	return Format{Name: name, head: string(head.b), tail: string(tail.b) + "00400000-00500000 r-xp 00000000 08:01 1 /bin/app\n", each: func(b []byte, i, n int) []byte {
		e := words{b, i, n}
		each(&e)
		return e.b
	}}
}

func flameGraph(name string, frames func(e *textOf)) Format {
	return textOfAll(name, func(e *textOf) {
		e.text("<!DOCTYPE html>\n<html lang='en'>\n<canvas id='canvas' style='width: 100%'></canvas>\n<h1>CPU profile</h1>\n<script>\n\tfunction f(key, level, left, width) {\n\t}\n\nf(0,0,", e.n, ",3,'all')\n")
		frames(e)
		e.text("\nsearch();\n</script></body></html>\n")
	})
}

func netlogOf(name string, event func(e *textOf, i int)) Format {
	return textOfAll(name, func(e *textOf) {
		e.text(`{"constants":{"clientInfo":{"name":"Chrome"},"logEventPhase":{"PHASE_BEGIN":1,"PHASE_END":2,"PHASE_NONE":0},"logEventTypes":{"A":1},"logSourceType":{"S":1},"timeTickOffset":1700000000000},`,
			"\n\"events\": [\n")
		e.repeat(",\n", func(i int) { event(e, i) })
		e.text("]}\n")
	})
}

// lengthened appends bytes after their size, as a varint.
func lengthened(b, of []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(of))), of...)
}
