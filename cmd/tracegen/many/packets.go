package many

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"strconv"

	"github.com/tpconvert/tpconvert/cmd/tracegen/pb"
)

// Perfetto traces.
var packetFormats = []Format{
	packetsOf("proto-open", func(p *packets) { p.event(1, pb.Message{}) }),
	packetsOf("proto-nested", func(p *packets) {
		if p.i < p.n/2 {
			p.event(1, pb.Message{})
		} else {
			p.event(2, pb.Message{})
		}
	}),
	packetsOf("proto-backwards", func(p *packets) {
		p.add(pb.Message{}.Number(8, uint64(p.n-p.i)).Number(10, 1).Bytes(11, pb.Message{}.Number(9, 3).Number(11, 7).Bytes(23, []byte("n"))))
	}),
	packetsOf("proto-compressed", func(p *packets) {
		var b bytes.Buffer
		w := zlib.NewWriter(&b)
		w.Write(pb.Message{}.Bytes(1, pb.Message{}.Number(8, uint64(p.i)).Number(10, 1).Bytes(11, pb.Message{}.Number(9, 3).Number(11, 7).Bytes(23, []byte("n")))))
		w.Close()
		p.add(pb.Message{}.Bytes(50, b.Bytes()))
	}),
	packetsOf("proto-parents", func(p *packets) {
		p.track(pb.Message{}.Number(1, 1000+uint64(p.i)).Bytes(2, p.name("t")).Number(5, 999+uint64(p.i)))
		p.eventOn(1000+uint64(p.i), 3, pb.Message{})
	}),
	packetsOf("proto-parents-last", func(p *packets) {
		p.track(pb.Message{}.Number(1, 1000+uint64(p.n-p.i)).Bytes(2, p.name("t")).Number(5, 999+uint64(p.n-p.i)))
		p.eventOn(1000+uint64(p.i), 3, pb.Message{})
	}),
	packetsOf("proto-siblings", func(p *packets) {
		p.track(pb.Message{}.Number(1, 1000+uint64(p.i)).Bytes(2, []byte("same")).Number(5, 7))
		p.eventOn(1000+uint64(p.i), 1, pb.Message{})
	}),
	packetsOf("proto-redefined-track", func(p *packets) {
		p.track(pb.Message{}.Number(1, 7).Bytes(2, p.name("t")))
		p.event(3, pb.Message{})
	}),
	packetsOf("proto-thread-tracks", func(p *packets) {
		p.track(pb.Message{}.Number(1, 1000+uint64(p.i)).Bytes(4, pb.Message{}.Number(1, 5).Number(2, 10+uint64(p.i)).Bytes(5, p.name("thread"))))
		p.eventOn(1000+uint64(p.i), 1, pb.Message{})
	}),
	packetsOf("proto-process-tracks", func(p *packets) {
		p.track(pb.Message{}.Number(1, 1000+uint64(p.i)).Bytes(3, pb.Message{}.Number(1, 5+uint64(p.i)).Bytes(6, p.name("process"))))
		p.eventOn(1000+uint64(p.i), 1, pb.Message{})
	}),
	packetsOf("proto-counter-tracks", func(p *packets) {
		p.track(pb.Message{}.Number(1, 1000+uint64(p.i)).Bytes(2, p.name("c")).Bytes(8, nil))
		p.eventOn(1000+uint64(p.i), 4, pb.Message{}.Number(30, 1))
	}),
	packetsOf("proto-flows-of-slice", func(p *packets) { p.event(3, pb.Message{}.Fixed64(47, uint64(p.i))) }),
	packetsOf("proto-steps-of-flow", func(p *packets) { p.event(3, pb.Message{}.Fixed64(47, 1)) }),
	packetsOf("proto-ended-flows", func(p *packets) { p.event(3, pb.Message{}.Fixed64(48, 1)) }),
	wholePacket("proto-flow-ids", func(n int) pb.Message {
		var m pb.Message
		for i := range n {
			m = m.Fixed64(47, uint64(i))
		}
		return trackEvent(m)
	}),
	wholePacket("proto-annotations", func(n int) pb.Message {
		var m pb.Message
		for i := range n {
			m = m.Bytes(4, pb.Message{}.Bytes(10, strconv.AppendInt([]byte("a"), int64(i), 10)).Number(4, 1))
		}
		return trackEvent(m)
	}),
	wholePacket("proto-array", func(n int) pb.Message {
		a := pb.Message{}.Bytes(10, []byte("a"))
		for range n {
			a = a.Bytes(12, pb.Message{}.Number(4, 1))
		}
		return trackEvent(pb.Message{}.Bytes(4, a))
	}),
	wholePacket("proto-same-annotation", func(n int) pb.Message {
		var m pb.Message
		for i := range n {
			m = m.Bytes(4, pb.Message{}.Bytes(10, []byte("a")).Number(4, uint64(i)))
		}
		return trackEvent(m)
	}),
	wholePacket("proto-extra-counters", func(n int) pb.Message {
		var m pb.Message
		for i := range n {
			m = m.Number(31, uint64(i)+10).Number(12, uint64(i))
		}
		return trackEvent(m)
	}),
	wholePacket("proto-nested-annotations", func(n int) pb.Message {
		// Written from the inside out, backwards, because a message begins with its size.
		b := []byte{4 << 3, 1}
		reversed := make([]byte, 0, 8*n)
		size := len(b)
		for range n {
			head := binary.AppendUvarint(pb.Message{}.Bytes(10, []byte("a")), 11<<3|2)
			head = binary.AppendUvarint(head, uint64(size))
			for i := len(head) - 1; i >= 0; i-- {
				reversed = append(reversed, head[i])
			}
			size += len(head)
		}
		nested := make([]byte, 0, size)
		for i := len(reversed) - 1; i >= 0; i-- {
			nested = append(nested, reversed[i])
		}
		return trackEvent(pb.Message{}.Bytes(4, append(nested, b...)))
	}),
	packetsOf("proto-clock-snapshots", func(p *packets) {
		p.add(pb.Message{}.Number(10, 1).Bytes(6, clockAt(6, 10*uint64(p.i)).Bytes(1, clock(3, 10*uint64(p.i)+5)).Bytes(1, clock(1, 10*uint64(p.i)+uint64(p.i)%7))))
		p.add(pb.Message{}.Number(8, 10*uint64(p.i)).Number(58, 3).Number(10, 1).Bytes(11, pb.Message{}.Number(9, 3).Number(11, 7).Bytes(23, []byte("n"))))
	}),
	packetsOf("proto-clocks", func(p *packets) {
		p.add(pb.Message{}.Number(10, 1).Bytes(6, clockAt(6, 10).Bytes(1, clock(1000+uint64(p.i), 20))))
		p.add(pb.Message{}.Number(8, 30).Number(58, 1000+uint64(p.i)).Number(10, 1).Bytes(11, pb.Message{}.Number(9, 3).Number(11, 7).Bytes(23, []byte("n"))))
	}),
	packetsOf("proto-clock-chain", func(p *packets) {
		if p.i == 0 {
			p.add(pb.Message{}.Number(10, 1).Bytes(6, clockAt(6, 10).Bytes(1, clock(1000, 10))))
		}
		p.add(pb.Message{}.Number(10, 1).Bytes(6, clockAt(1000+uint64(p.i), 10).Bytes(1, clock(1001+uint64(p.i), 10))))
		p.add(pb.Message{}.Number(8, 30).Number(58, 1001+uint64(p.i)).Number(10, 1).Bytes(11, pb.Message{}.Number(9, 3).Number(11, 7).Bytes(23, []byte("n"))))
	}),
	packetsOf("proto-unknown-clocks", func(p *packets) {
		p.add(pb.Message{}.Number(8, 30).Number(58, 1001+uint64(p.i)).Number(10, 1).Bytes(11, pb.Message{}.Number(9, 3).Number(11, 7).Bytes(23, []byte("n"))))
	}),
	wholePacket("proto-clocks-of-snapshot", func(n int) pb.Message {
		snapshot := clockAt(6, 10)
		for i := range n {
			snapshot = snapshot.Bytes(1, clock(1000+uint64(i), 10))
		}
		return pb.Message{}.Number(10, 1).Bytes(6, snapshot)
	}),
	packetsOf("proto-sequence-clocks", func(p *packets) {
		p.add(pb.Message{}.Number(10, 1+uint64(p.i)).Number(13, 1).Bytes(6, clockAt(6, 10).Bytes(1, clock(64, 20))))
		p.add(pb.Message{}.Number(8, 30).Number(58, 64).Number(10, 1+uint64(p.i)).Bytes(11, pb.Message{}.Number(9, 3).Number(11, 7).Bytes(23, []byte("n"))))
	}),
	packetsOf("proto-machines", func(p *packets) {
		p.add(pb.Message{}.Number(8, 1+uint64(p.i)).Number(10, 1).Number(98, 1+uint64(p.i)).Bytes(2, pb.Message{}.Bytes(1, pb.Message{}.Number(1, 5).Bytes(3, p.name("p")))))
	}),
	packetsOf("proto-cleared-state", func(p *packets) {
		p.add(pb.Message{}.Number(8, 1+uint64(p.i)).Number(10, 1).Number(13, 1).Bytes(12, pb.Message{}.Bytes(2, pb.Message{}.Number(1, 1).Bytes(2, []byte("n")))).
			Bytes(11, pb.Message{}.Number(9, 3).Number(11, 7).Number(10, 1)))
	}),
	packetsOf("proto-defaults", func(p *packets) {
		p.add(pb.Message{}.Number(8, 1+uint64(p.i)).Number(10, 1).Number(13, 3).Bytes(59, pb.Message{}.Number(58, 6).Bytes(11, pb.Message{}.Number(11, 7))).
			Bytes(11, pb.Message{}.Number(9, 3).Bytes(23, []byte("n"))))
	}),
	packetsOf("proto-processes", func(p *packets) {
		p.add(pb.Message{}.Number(8, 1+uint64(p.i)).Number(10, 1).Bytes(2, pb.Message{}.Bytes(1, pb.Message{}.Number(1, 5+uint64(p.i)).Number(2, 4+uint64(p.i)).Bytes(3, p.name("p")))))
	}),
	packetsOf("proto-process-stats", func(p *packets) {
		p.add(pb.Message{}.Number(8, 1+uint64(p.i)).Number(10, 1).Bytes(9, pb.Message{}.Bytes(1, pb.Message{}.Number(1, 5+uint64(p.i)).Number(2, 4))))
	}),
	packetsOf("proto-logs", func(p *packets) {
		p.add(pb.Message{}.Number(8, 1+uint64(p.i)).Number(10, 1).Bytes(39, pb.Message{}.Bytes(1, pb.Message{}.Number(2, 5).Number(3, 6+uint64(p.i)).Number(5, uint64(p.i)).Bytes(6, p.name("t")).Bytes(8, p.name("m")))))
	}),
	packetsOf("proto-packages", func(p *packets) {
		p.add(pb.Message{}.Number(8, 1).Number(10, 1).Bytes(47, pb.Message{}.Bytes(1, pb.Message{}.Bytes(1, p.name("com.app")).Number(2, uint64(p.i)))))
	}),
	packetsOf("proto-obfuscated", func(p *packets) {
		if p.i == 0 { // names alone have no rows
			p.add(pb.Message{}.Number(8, 1).Number(10, 1).Bytes(47, pb.Message{}.Bytes(1, pb.Message{}.Bytes(1, []byte("com.app")))))
		}
		p.add(pb.Message{}.Number(10, 1).Bytes(64, pb.Message{}.Bytes(1, []byte("com.app")).Bytes(3, pb.Message{}.Bytes(1, p.name("a")).Bytes(2, p.name("com.app.A")))))
	}),
	packetsOf("proto-symbols", func(p *packets) {
		p.add(pb.Message{}.Number(10, 1).Bytes(61, pb.Message{}.Bytes(1, []byte("/lib")).Bytes(2, []byte("id")).Bytes(3, pb.Message{}.Number(1, uint64(p.i)).Bytes(2, pb.Message{}.Bytes(1, p.name("f"))))))
	}),
	packetsOf("proto-samples", func(p *packets) {
		interned := pb.Message{}.Bytes(5, pb.Message{}.Number(1, uint64(p.i)+1).Bytes(2, p.name("f"))).
			Bytes(6, pb.Message{}.Number(1, uint64(p.i)+1).Number(2, uint64(p.i)+1).Number(3, 1).Number(4, uint64(p.i))).
			Bytes(7, pb.Message{}.Number(1, uint64(p.i)+1).Number(2, 1).Number(2, uint64(p.i)+1))
		flags := uint64(2)
		if p.i == 0 {
			flags = 1
			interned = interned.Bytes(17, pb.Message{}.Number(1, 1).Bytes(2, []byte("lib"))).Bytes(19, pb.Message{}.Number(1, 1).Number(7, 1))
		}
		p.add(pb.Message{}.Number(8, 1+uint64(p.i)).Number(10, 1).Number(13, flags).Bytes(12, interned).Bytes(66, pb.Message{}.Number(2, 5).Number(3, 6+uint64(p.i)).Number(4, uint64(p.i)+1)))
	}),
	wholePacket("proto-frames", func(n int) pb.Message {
		stack := pb.Message{}.Number(1, 1)
		interned := pb.Message{}.Bytes(17, pb.Message{}.Number(1, 1).Bytes(2, []byte("lib"))).Bytes(19, pb.Message{}.Number(1, 1).Number(7, 1))
		for i := range uint64(n) {
			interned = interned.Bytes(6, pb.Message{}.Number(1, i+1).Number(3, 1).Number(4, i))
			stack = stack.Number(2, i+1)
		}
		return pb.Message{}.Number(8, 1).Number(10, 1).Number(13, 1).Bytes(12, interned.Bytes(7, stack)).Bytes(66, pb.Message{}.Number(2, 5).Number(3, 6).Number(4, 1))
	}),
	packetsOf("proto-heap-samples", func(p *packets) {
		m := pb.Message{}.Bytes(1, pb.Message{}.Number(1, 10+uint64(p.i)).Bytes(2, p.name("f"))).
			Bytes(2, pb.Message{}.Number(1, uint64(p.i)+1).Number(2, 10+uint64(p.i)).Number(3, 1).Number(4, uint64(p.i))).
			Bytes(3, pb.Message{}.Number(1, uint64(p.i)+1).Number(2, 1).Number(2, uint64(p.i)+1)).
			Bytes(5, pb.Message{}.Number(1, 5).Number(9, 5).Bytes(2, pb.Message{}.Number(1, uint64(p.i)+1).Number(2, 5).Number(4, 1))).Number(7, uint64(p.i))
		if p.i == 0 {
			m = m.Bytes(1, pb.Message{}.Number(1, 1).Bytes(2, []byte("lib"))).Bytes(4, pb.Message{}.Number(1, 1).Number(7, 1))
		}
		if p.i < p.n-1 {
			m = m.Number(6, 1)
		}
		p.add(pb.Message{}.Number(8, 1+uint64(p.i)).Number(10, 1).Bytes(37, m))
	}),
	heapGraph("proto-heap-chain", func(i, n uint64) pb.Message {
		return pb.Message{}.Number(1, i+1).Number(2, 1).Number(3, 16).Number(4, 1).Number(5, i+2)
	}),
	heapGraph("proto-heap-chain-backwards", func(i, n uint64) pb.Message {
		return pb.Message{}.Number(1, n-i).Number(2, 1).Number(3, 16).Number(4, 1).Number(5, n-i+1)
	}),
	wholePacket("proto-heap-references", func(n int) pb.Message {
		o := pb.Message{}.Number(1, 1).Number(2, 1).Number(3, 16)
		for i := range uint64(n) {
			o = o.Number(5, i%7+1)
		}
		return pb.Message{}.Number(8, 1).Number(10, 1).Bytes(56, pb.Message{}.Number(1, 5).Bytes(2, o).Bytes(9, pb.Message{}.Number(1, 1).Bytes(3, []byte("A[]"))).Bytes(7, pb.Message{}.Number(1, 1).Number(2, 1)))
	}),
	wholePacket("proto-heap-classes", func(n int) pb.Message {
		g := pb.Message{}.Number(1, 5)
		for i := range uint64(n) {
			g = g.Bytes(2, pb.Message{}.Number(1, i+1).Number(2, i+1).Number(5, i+2)).
				Bytes(9, pb.Message{}.Number(1, i+1).Bytes(3, strconv.AppendUint([]byte("C"), i, 10)).Number(4, 16).Number(5, i+2).Number(6, i+1)).
				Bytes(4, pb.Message{}.Number(1, i+1).Bytes(2, strconv.AppendUint([]byte("A C.f"), i, 10)))
		}
		return pb.Message{}.Number(8, 1).Number(10, 1).Bytes(56, g.Bytes(7, pb.Message{}.Number(1, 1).Number(2, 1)))
	}),
	packetsOf("proto-smaps", func(p *packets) {
		p.add(pb.Message{}.Number(8, 1).Number(10, 1).Bytes(68, pb.Message{}.Number(1, 5).Bytes(2, pb.Message{}.Bytes(1, p.name("/lib")).Number(2, 4))))
	}),
	packetsOf("proto-bundles", func(p *packets) {
		p.add(pb.Message{}.Number(10, 1).Bytes(1, pb.Message{}.Number(1, uint64(p.i)%8).Bytes(2, pb.Message{}.Number(1, uint64(p.i)).Number(2, 5).Bytes(3, pb.Message{}.Bytes(2, []byte("B|5|n\n"))))))
	}),
	packetsOf("proto-cpus", func(p *packets) {
		p.add(pb.Message{}.Number(10, 1).Bytes(1, pb.Message{}.Number(1, uint64(p.i)).Bytes(2, pb.Message{}.Number(1, uint64(p.i)).Number(2, 5).Bytes(3, pb.Message{}.Bytes(2, []byte("I|5|n\n"))))))
	}),
	wholePacket("proto-ftrace-events", func(n int) pb.Message {
		b := pb.Message{}.Number(1, 0)
		for i := range uint64(n) {
			b = b.Bytes(2, pb.Message{}.Number(1, 10*i).Number(2, i).Bytes(4, pb.Message{}.Bytes(1, []byte("a")).Number(2, i).Number(3, 120).Bytes(5, []byte("b")).Number(6, i+1).Number(7, 120)))
		}
		return pb.Message{}.Number(10, 1).Bytes(1, b)
	}),
	packetsOf("proto-chrome-legacy", func(p *packets) {
		p.event(0, pb.Message{}.Bytes(6, pb.Message{}.Number(2, 'b').Number(6, uint64(p.i))))
	}),
	packetsOf("proto-legacy-complete", func(p *packets) {
		p.event(0, pb.Message{}.Bytes(6, pb.Message{}.Number(2, 'X').Number(3, uint64(p.n)).Number(18, 5).Number(19, 6)))
	}),
	packetsOf("proto-cpu-times", func(p *packets) {
		p.add(pb.Message{}.Number(8, 1+uint64(p.i)).Number(10, 1).Bytes(7, pb.Message{}.Bytes(3, pb.Message{}.Number(1, uint64(p.i)).Number(2, 5))))
	}),
	packetsOf("proto-surfaces", func(p *packets) {
		p.add(pb.Message{}.Number(8, 1+uint64(p.i)).Number(10, 1).Bytes(76, pb.Message{}.Bytes(3, pb.Message{}.Number(1, uint64(p.i)).Number(2, uint64(p.i)).Number(3, uint64(p.i)).Number(4, 5).Bytes(5, p.name("layer")))))
	}),
	wholePacket("proto-layers", func(n int) pb.Message {
		var layers pb.Message
		for i := range uint64(n) {
			layers = layers.Bytes(1, pb.Message{}.Number(1, i+1).Bytes(2, strconv.AppendUint([]byte("layer"), i, 10)).Number(3, i+2))
		}
		return pb.Message{}.Number(8, 1).Number(10, 1).Bytes(93, pb.Message{}.Number(1, 5).Bytes(3, layers))
	}),
	packetsOf("proto-unknown-fields", func(p *packets) { p.add(pb.Message{}.Number(10, 1).Bytes(3000+p.i, nil)) }),
}

// packets builds the packets of the i-th of n things.
type packets struct {
	b    pb.Message
	i, n int
}

func (p *packets) add(packet pb.Message) { p.b = p.b.Bytes(1, packet) }

func (p *packets) name(prefix string) []byte {
	return strconv.AppendInt([]byte(prefix), int64(p.i), 10)
}

func (p *packets) track(descriptor pb.Message) {
	p.add(pb.Message{}.Number(10, 1).Bytes(60, descriptor))
}

// event adds a track event with further fields at the time i.
func (p *packets) event(kind uint64, fields pb.Message) { p.eventOn(7, kind, fields) }

func (p *packets) eventOn(track, kind uint64, fields pb.Message) {
	event := pb.Message{}.Number(9, kind).Number(11, track).Bytes(23, []byte("n"))
	p.add(pb.Message{}.Number(8, uint64(p.i)).Number(10, 1).Bytes(11, append(event, fields...)))
}

func packetsOf(name string, each func(*packets)) Format {
	head := pb.Message{}.Bytes(1, pb.Message{}.Number(10, 1).Number(13, 1).Bytes(60, pb.Message{}.Number(1, 7).Bytes(2, []byte("track"))))
	return Format{Name: name, head: string(head), each: func(b []byte, i, n int) []byte {
		p := packets{b, i, n}
		each(&p)
		return p.b
	}}
}

func wholePacket(name string, packet func(n int) pb.Message) Format {
	return Format{Name: name, whole: func(b []byte, n int) []byte { return pb.Message(b).Bytes(1, packet(n)) }}
}

func trackEvent(fields pb.Message) pb.Message {
	event := pb.Message{}.Number(9, 3).Number(11, 7).Bytes(23, []byte("n"))
	return pb.Message{}.Number(8, 1).Number(10, 1).Bytes(11, append(event, fields...))
}

func clock(id, ts uint64) pb.Message { return pb.Message{}.Number(1, id).Number(2, ts) }

// clockAt is a snapshot of a first clock.
func clockAt(id, ts uint64) pb.Message { return pb.Message{}.Bytes(1, clock(id, ts)) }

// heapGraph is a dump of n objects, the first of which is a root.
func heapGraph(name string, object func(i, n uint64) pb.Message) Format {
	return wholePacket(name, func(n int) pb.Message {
		g := pb.Message{}.Number(1, 5)
		for i := range uint64(n) {
			g = g.Bytes(2, object(i, uint64(n)))
		}
		g = g.Bytes(9, pb.Message{}.Number(1, 1).Bytes(3, []byte("A"))).Bytes(4, pb.Message{}.Number(1, 1).Bytes(2, []byte("A A.next"))).Bytes(7, pb.Message{}.Number(1, 1).Number(2, 1))
		return pb.Message{}.Number(8, 1).Number(10, 1).Bytes(56, g)
	})
}
