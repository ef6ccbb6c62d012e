package many

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"strings"

	"github.com/tpconvert/tpconvert/cmd/tracegen/pb"
	"github.com/tpconvert/tpconvert/cmd/tracegen/template"
)

// Perfetto traces.
var packetFormats = []Format{
	packets("proto-open", `8:i 10:1 11:{9:1 11:7 23:"n"}`),
	packets("proto-nested", `8:i 10:1 11:{9:2-(i<n/2) 11:7 23:"n"}`),
	packets("proto-backwards", `8:n-i 10:1 `+event),
	{Name: "proto-compressed", head: trackHead, each: compressed},
	packets("proto-parents", `10:1 60:{1:1000+i 2:"t$i" 5:999+i}`, `8:i 10:1 11:{9:3 11:1000+i 23:"n"}`),
	packets("proto-parents-last", `10:1 60:{1:1000+n-i 2:"t$i" 5:999+n-i}`, `8:i 10:1 11:{9:3 11:1000+i 23:"n"}`),
	packets("proto-siblings", `10:1 60:{1:1000+i 2:"same" 5:7}`, `8:i 10:1 11:{9:1 11:1000+i 23:"n"}`),
	packets("proto-redefined-track", `10:1 60:{1:7 2:"t$i"}`, `8:i 10:1 `+event),
	packets("proto-thread-tracks", `10:1 60:{1:1000+i 4:{1:5 2:10+i 5:"thread$i"}}`, `8:i 10:1 11:{9:1 11:1000+i 23:"n"}`),
	packets("proto-process-tracks", `10:1 60:{1:1000+i 3:{1:5+i 6:"process$i"}}`, `8:i 10:1 11:{9:1 11:1000+i 23:"n"}`),
	packets("proto-counter-tracks", `10:1 60:{1:1000+i 2:"c$i" 8:{}}`, `8:i 10:1 11:{9:4 11:1000+i 23:"n" 30:1}`),
	packets("proto-flows-of-slice", `8:i 10:1 11:{9:3 11:7 23:"n" 47=i}`),
	packets("proto-steps-of-flow", `8:i 10:1 11:{9:3 11:7 23:"n" 47=1}`),
	packets("proto-ended-flows", `8:i 10:1 11:{9:3 11:7 23:"n" 48=1}`),
	packet("proto-flow-ids", `8:1 10:1 11:{9:3 11:7 23:"n" [47=i]}`),
	packet("proto-annotations", `8:1 10:1 11:{9:3 11:7 23:"n" [4:{10:"a$i" 4:1}]}`),
	packet("proto-array", `8:1 10:1 11:{9:3 11:7 23:"n" 4:{10:"a" [12:{4:1}]}}`),
	packet("proto-same-annotation", `8:1 10:1 11:{9:3 11:7 23:"n" [4:{10:"a" 4:i}]}`),
	packet("proto-extra-counters", `8:1 10:1 11:{9:3 11:7 23:"n" [31:i+10 12:i]}`),
	{Name: "proto-nested-annotations", whole: nestedAnnotations},
	packets("proto-clock-snapshots", `10:1 6:{1:{1:6 2:10*i} 1:{1:3 2:10*i+5} 1:{1:1 2:10*i+i%7}}`, `8:10*i 58:3 10:1 `+event),
	packets("proto-clocks", `10:1 6:{1:{1:6 2:10} 1:{1:1000+i 2:20}}`, `8:30 58:1000+i 10:1 `+event),
	packetsAfter("proto-clock-chain", `10:1 6:{1:{1:6 2:10} 1:{1:1000 2:10}}`, `10:1 6:{1:{1:1000+i 2:10} 1:{1:1001+i 2:10}}`,
		`8:30 58:1001+i 10:1 `+event),
	packets("proto-unknown-clocks", `8:30 58:1001+i 10:1 `+event),
	packet("proto-clocks-of-snapshot", `10:1 6:{1:{1:6 2:10} [1:{1:1000+i 2:10}]}`),
	packets("proto-sequence-clocks", `10:1+i 13:1 6:{1:{1:6 2:10} 1:{1:64 2:20}}`, `8:30 58:64 10:1+i `+event),
	packets("proto-machines", `8:1+i 10:1 98:1+i 2:{1:{1:5 3:"p$i"}}`),
	packets("proto-cleared-state", `8:1+i 10:1 13:1 12:{2:{1:1 2:"n"}} 11:{9:3 11:7 10:1}`),
	packets("proto-defaults", `8:1+i 10:1 13:3 59:{58:6 11:{11:7}} 11:{9:3 23:"n"}`),
	packets("proto-processes", `8:1+i 10:1 2:{1:{1:5+i 2:4+i 3:"p$i"}}`),
	packets("proto-process-stats", `8:1+i 10:1 9:{1:{1:5+i 2:4}}`),
	packets("proto-logs", `8:1+i 10:1 39:{1:{2:5 3:6+i 5:i 6:"t$i" 8:"m$i"}}`),
	packets("proto-packages", `8:1 10:1 47:{1:{1:"com.app$i" 2:i}}`),
	packetsAfter("proto-obfuscated", `8:1 10:1 47:{1:{1:"com.app"}}`, `10:1 64:{1:"com.app" 3:{1:"a$i" 2:"com.app.A$i"}}`), // names alone have no rows
	packets("proto-symbols", `10:1 61:{1:"/lib" 2:"id" 3:{1:i 2:{1:"f$i"}}}`),
	packets("proto-samples",
		`8:1+i 10:1 13:2-(i<1) 12:{5:{1:i+1 2:"f$i"} 6:{1:i+1 2:i+1 3:1 4:i} 7:{1:i+1 2:1 2:i+1} (i<1)[17:{1:1 2:"lib"} 19:{1:1 7:1}]} 66:{2:5 3:6+i 4:i+1}`),
	packet("proto-frames", `8:1 10:1 13:1 12:{17:{1:1 2:"lib"} 19:{1:1 7:1} [6:{1:i+1 3:1 4:i}] 7:{1:1 [2:i+1]}} 66:{2:5 3:6 4:1}`),
	packets("proto-heap-samples", `8:1+i 10:1 37:{1:{1:10+i 2:"f$i"} 2:{1:i+1 2:10+i 3:1 4:i} 3:{1:i+1 2:1 2:i+1} 5:{1:5 9:5 2:{1:i+1 2:5 4:1}} 7:i `+
		`(i<1)[1:{1:1 2:"lib"} 4:{1:1 7:1}] (i<n-1)[6:1]}`),
	packet("proto-heap-chain", `8:1 10:1 56:{1:5 [2:{1:i+1 2:1 3:16 4:1 5:i+2}] 9:{1:1 3:"A"} 4:{1:1 2:"A A.next"} 7:{1:1 2:1}}`),
	packet("proto-heap-chain-backwards",
		`8:1 10:1 56:{1:5 [2:{1:n-i 2:1 3:16 4:1 5:n-i+1}] 9:{1:1 3:"A"} 4:{1:1 2:"A A.next"} 7:{1:1 2:1}}`),
	packet("proto-heap-references", `8:1 10:1 56:{1:5 2:{1:1 2:1 3:16 [5:i%7+1]} 9:{1:1 3:"A[]"} 7:{1:1 2:1}}`),
	packet("proto-heap-classes",
		`8:1 10:1 56:{1:5 [2:{1:i+1 2:i+1 5:i+2} 9:{1:i+1 3:"C$i" 4:16 5:i+2 6:i+1} 4:{1:i+1 2:"A C.f$i"}] 7:{1:1 2:1}}`),
	packets("proto-smaps", `8:1 10:1 68:{1:5 2:{1:"/lib$i" 2:4}}`),
	packets("proto-bundles", "10:1 1:{1:i%8 2:{1:i 2:5 3:{2:\"B|5|n\n\"}}}"),
	packets("proto-cpus", "10:1 1:{1:i 2:{1:i 2:5 3:{2:\"I|5|n\n\"}}}"),
	packet("proto-ftrace-events", `10:1 1:{1:0 [2:{1:10*i 2:i 4:{1:"a" 2:i 3:120 5:"b" 6:i+1 7:120}}]}`),
	packets("proto-chrome-legacy", `8:i 10:1 11:{9:0 11:7 23:"n" 6:{2:98 6:i}}`),
	packets("proto-legacy-complete", `8:i 10:1 11:{9:0 11:7 23:"n" 6:{2:88 3:n 18:5 19:6}}`),
	packets("proto-cpu-times", `8:1+i 10:1 7:{3:{1:i 2:5}}`),
	packets("proto-surfaces", `8:1+i 10:1 76:{3:{1:i 2:i 3:i 4:5 5:"layer$i"}}`),
	packet("proto-layers", `8:1 10:1 93:{1:5 3:{[1:{1:i+1 2:"layer$i" 3:i+2}]}}`),
	packets("proto-unknown-fields", `10:1 3000+i:{}`),
}

// event is a track event without a duration.
const event = `11:{9:3 11:7 23:"n"}`

var trackHead = once(template.Message(`1:{10:1 13:1 60:{1:7 2:"track"}}`))

// packets are packets behind that of a track, for each thing.
func packets(name string, each ...string) Format {
	return Format{Name: name, head: trackHead, each: template.Message("1:{" + strings.Join(each, "} 1:{") + "}")}
}

// packet is one packet.
func packet(name, fields string) Format { return message(name, "1:{"+fields+"}") }

// packetsAfter are packets behind a first one.
func packetsAfter(name, first string, each ...string) Format {
	f := packets(name, each...)
	f.head += once(template.Message("1:{" + first + "}"))
	return f
}

var instant = template.Message("1:{8:i 10:1 " + event + "}")

// compressed is a packet with a compressed one.
func compressed(b []byte, i, n int) []byte {
	var zipped bytes.Buffer
	w := zlib.NewWriter(&zipped)
	w.Write(instant(nil, i, n))
	w.Close()
	return pb.Message(b).Bytes(1, pb.Message{}.Bytes(50, zipped.Bytes()))
}

// nestedAnnotations is an event with an annotation in an annotation, and so on.
func nestedAnnotations(n int) []byte {
	head := pb.Message{}.Bytes(10, []byte("a")) // the name
	const entry, number = 11, 4                 // fields of an annotation
	innermost := pb.Message{}.Number(number, 1)
	sizes := []int{len(innermost)} // from the inside out, because a message begins with its size
	for i := range n {
		sizes = append(sizes, len(head)+1+len(binary.AppendUvarint(nil, uint64(sizes[i])))+sizes[i])
	}
	var nested pb.Message
	for i := n - 1; i >= 0; i-- {
		nested = binary.AppendUvarint(append(append(nested, head...), entry<<3|2), uint64(sizes[i]))
	}
	event := pb.Message{}.Number(9, 3).Number(11, 7).Bytes(23, []byte("n")).Bytes(4, append(nested, innermost...))
	return pb.Message{}.Bytes(1, pb.Message{}.Number(8, 1).Number(10, 1).Bytes(11, event))
}
