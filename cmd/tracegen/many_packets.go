package main

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"strconv"
)

// Perfetto traces.
var manyPackets = []manyFormat{
	packetsOf("proto-open", func(p *packets) { p.event(1, message{}) }),
	packetsOf("proto-nested", func(p *packets) {
		if p.i < p.n/2 {
			p.event(1, message{})
		} else {
			p.event(2, message{})
		}
	}),
	packetsOf("proto-backwards", func(p *packets) {
		p.add(message{}.number(8, uint64(p.n-p.i)).number(10, 1).bytes(11, message{}.number(9, 3).number(11, 7).bytes(23, []byte("n"))))
	}),
	packetsOf("proto-compressed", func(p *packets) {
		var b bytes.Buffer
		w := zlib.NewWriter(&b)
		w.Write(message{}.bytes(1, message{}.number(8, uint64(p.i)).number(10, 1).bytes(11, message{}.number(9, 3).number(11, 7).bytes(23, []byte("n")))))
		w.Close()
		p.add(message{}.bytes(50, b.Bytes()))
	}),
	packetsOf("proto-parents", func(p *packets) {
		p.track(message{}.number(1, 1000+uint64(p.i)).bytes(2, p.name("t")).number(5, 999+uint64(p.i)))
		p.eventOn(1000+uint64(p.i), 3, message{})
	}),
	packetsOf("proto-parents-last", func(p *packets) {
		p.track(message{}.number(1, 1000+uint64(p.n-p.i)).bytes(2, p.name("t")).number(5, 999+uint64(p.n-p.i)))
		p.eventOn(1000+uint64(p.i), 3, message{})
	}),
	packetsOf("proto-siblings", func(p *packets) {
		p.track(message{}.number(1, 1000+uint64(p.i)).bytes(2, []byte("same")).number(5, 7))
		p.eventOn(1000+uint64(p.i), 1, message{})
	}),
	packetsOf("proto-redefined-track", func(p *packets) {
		p.track(message{}.number(1, 7).bytes(2, p.name("t")))
		p.event(3, message{})
	}),
	packetsOf("proto-thread-tracks", func(p *packets) {
		p.track(message{}.number(1, 1000+uint64(p.i)).bytes(4, message{}.number(1, 5).number(2, 10+uint64(p.i)).bytes(5, p.name("thread"))))
		p.eventOn(1000+uint64(p.i), 1, message{})
	}),
	packetsOf("proto-process-tracks", func(p *packets) {
		p.track(message{}.number(1, 1000+uint64(p.i)).bytes(3, message{}.number(1, 5+uint64(p.i)).bytes(6, p.name("process"))))
		p.eventOn(1000+uint64(p.i), 1, message{})
	}),
	packetsOf("proto-counter-tracks", func(p *packets) {
		p.track(message{}.number(1, 1000+uint64(p.i)).bytes(2, p.name("c")).bytes(8, nil))
		p.eventOn(1000+uint64(p.i), 4, message{}.number(30, 1))
	}),
	packetsOf("proto-flows-of-slice", func(p *packets) { p.event(3, message{}.fixed64(47, uint64(p.i))) }),
	packetsOf("proto-steps-of-flow", func(p *packets) { p.event(3, message{}.fixed64(47, 1)) }),
	packetsOf("proto-ended-flows", func(p *packets) { p.event(3, message{}.fixed64(48, 1)) }),
	wholePacket("proto-flow-ids", func(n int) message {
		var m message
		for i := range n {
			m = m.fixed64(47, uint64(i))
		}
		return trackEvent(m)
	}),
	wholePacket("proto-annotations", func(n int) message {
		var m message
		for i := range n {
			m = m.bytes(4, message{}.bytes(10, strconv.AppendInt([]byte("a"), int64(i), 10)).number(4, 1))
		}
		return trackEvent(m)
	}),
	wholePacket("proto-array", func(n int) message {
		a := message{}.bytes(10, []byte("a"))
		for range n {
			a = a.bytes(12, message{}.number(4, 1))
		}
		return trackEvent(message{}.bytes(4, a))
	}),
	wholePacket("proto-same-annotation", func(n int) message {
		var m message
		for i := range n {
			m = m.bytes(4, message{}.bytes(10, []byte("a")).number(4, uint64(i)))
		}
		return trackEvent(m)
	}),
	wholePacket("proto-extra-counters", func(n int) message {
		var m message
		for i := range n {
			m = m.number(31, uint64(i)+10).number(12, uint64(i))
		}
		return trackEvent(m)
	}),
	wholePacket("proto-nested-annotations", func(n int) message {
		// Written from the inside out, backwards, because a message begins with its size.
		b := []byte{4 << 3, 1}
		reversed := make([]byte, 0, 8*n)
		size := len(b)
		for range n {
			head := binary.AppendUvarint(message{}.bytes(10, []byte("a")), 11<<3|2)
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
		return trackEvent(message{}.bytes(4, append(nested, b...)))
	}),
	packetsOf("proto-clock-snapshots", func(p *packets) {
		p.add(message{}.number(10, 1).bytes(6, clockAt(6, 10*uint64(p.i)).bytes(1, clock(3, 10*uint64(p.i)+5)).bytes(1, clock(1, 10*uint64(p.i)+uint64(p.i)%7))))
		p.add(message{}.number(8, 10*uint64(p.i)).number(58, 3).number(10, 1).bytes(11, message{}.number(9, 3).number(11, 7).bytes(23, []byte("n"))))
	}),
	packetsOf("proto-clocks", func(p *packets) {
		p.add(message{}.number(10, 1).bytes(6, clockAt(6, 10).bytes(1, clock(1000+uint64(p.i), 20))))
		p.add(message{}.number(8, 30).number(58, 1000+uint64(p.i)).number(10, 1).bytes(11, message{}.number(9, 3).number(11, 7).bytes(23, []byte("n"))))
	}),
	packetsOf("proto-clock-chain", func(p *packets) {
		if p.i == 0 {
			p.add(message{}.number(10, 1).bytes(6, clockAt(6, 10).bytes(1, clock(1000, 10))))
		}
		p.add(message{}.number(10, 1).bytes(6, clockAt(1000+uint64(p.i), 10).bytes(1, clock(1001+uint64(p.i), 10))))
		p.add(message{}.number(8, 30).number(58, 1001+uint64(p.i)).number(10, 1).bytes(11, message{}.number(9, 3).number(11, 7).bytes(23, []byte("n"))))
	}),
	packetsOf("proto-unknown-clocks", func(p *packets) {
		p.add(message{}.number(8, 30).number(58, 1001+uint64(p.i)).number(10, 1).bytes(11, message{}.number(9, 3).number(11, 7).bytes(23, []byte("n"))))
	}),
	wholePacket("proto-clocks-of-snapshot", func(n int) message {
		snapshot := clockAt(6, 10)
		for i := range n {
			snapshot = snapshot.bytes(1, clock(1000+uint64(i), 10))
		}
		return message{}.number(10, 1).bytes(6, snapshot)
	}),
	packetsOf("proto-sequence-clocks", func(p *packets) {
		p.add(message{}.number(10, 1+uint64(p.i)).number(13, 1).bytes(6, clockAt(6, 10).bytes(1, clock(64, 20))))
		p.add(message{}.number(8, 30).number(58, 64).number(10, 1+uint64(p.i)).bytes(11, message{}.number(9, 3).number(11, 7).bytes(23, []byte("n"))))
	}),
	packetsOf("proto-machines", func(p *packets) {
		p.add(message{}.number(8, 1+uint64(p.i)).number(10, 1).number(98, 1+uint64(p.i)).bytes(2, message{}.bytes(1, message{}.number(1, 5).bytes(3, p.name("p")))))
	}),
	packetsOf("proto-cleared-state", func(p *packets) {
		p.add(message{}.number(8, 1+uint64(p.i)).number(10, 1).number(13, 1).bytes(12, message{}.bytes(2, message{}.number(1, 1).bytes(2, []byte("n")))).
			bytes(11, message{}.number(9, 3).number(11, 7).number(10, 1)))
	}),
	packetsOf("proto-defaults", func(p *packets) {
		p.add(message{}.number(8, 1+uint64(p.i)).number(10, 1).number(13, 3).bytes(59, message{}.number(58, 6).bytes(11, message{}.number(11, 7))).
			bytes(11, message{}.number(9, 3).bytes(23, []byte("n"))))
	}),
	packetsOf("proto-processes", func(p *packets) {
		p.add(message{}.number(8, 1+uint64(p.i)).number(10, 1).bytes(2, message{}.bytes(1, message{}.number(1, 5+uint64(p.i)).number(2, 4+uint64(p.i)).bytes(3, p.name("p")))))
	}),
	packetsOf("proto-process-stats", func(p *packets) {
		p.add(message{}.number(8, 1+uint64(p.i)).number(10, 1).bytes(9, message{}.bytes(1, message{}.number(1, 5+uint64(p.i)).number(2, 4))))
	}),
	packetsOf("proto-logs", func(p *packets) {
		p.add(message{}.number(8, 1+uint64(p.i)).number(10, 1).bytes(39, message{}.bytes(1, message{}.number(2, 5).number(3, 6+uint64(p.i)).number(5, uint64(p.i)).bytes(6, p.name("t")).bytes(8, p.name("m")))))
	}),
	packetsOf("proto-packages", func(p *packets) {
		p.add(message{}.number(8, 1).number(10, 1).bytes(47, message{}.bytes(1, message{}.bytes(1, p.name("com.app")).number(2, uint64(p.i)))))
	}),
	packetsOf("proto-obfuscated", func(p *packets) {
		p.add(message{}.number(10, 1).bytes(64, message{}.bytes(1, []byte("com.app")).bytes(3, message{}.bytes(1, p.name("a")).bytes(2, p.name("com.app.A")))))
	}),
	packetsOf("proto-symbols", func(p *packets) {
		p.add(message{}.number(10, 1).bytes(61, message{}.bytes(1, []byte("/lib")).bytes(2, []byte("id")).bytes(3, message{}.number(1, uint64(p.i)).bytes(2, message{}.bytes(1, p.name("f"))))))
	}),
	packetsOf("proto-samples", func(p *packets) {
		interned := message{}.bytes(5, message{}.number(1, uint64(p.i)+1).bytes(2, p.name("f"))).
			bytes(6, message{}.number(1, uint64(p.i)+1).number(2, uint64(p.i)+1).number(3, 1).number(4, uint64(p.i))).
			bytes(7, message{}.number(1, uint64(p.i)+1).number(2, 1).number(2, uint64(p.i)+1))
		flags := uint64(2)
		if p.i == 0 {
			flags = 1
			interned = interned.bytes(17, message{}.number(1, 1).bytes(2, []byte("lib"))).bytes(19, message{}.number(1, 1).number(7, 1))
		}
		p.add(message{}.number(8, 1+uint64(p.i)).number(10, 1).number(13, flags).bytes(12, interned).bytes(66, message{}.number(2, 5).number(3, 6+uint64(p.i)).number(4, uint64(p.i)+1)))
	}),
	wholePacket("proto-frames", func(n int) message {
		stack := message{}.number(1, 1)
		interned := message{}.bytes(17, message{}.number(1, 1).bytes(2, []byte("lib"))).bytes(19, message{}.number(1, 1).number(7, 1))
		for i := range uint64(n) {
			interned = interned.bytes(6, message{}.number(1, i+1).number(3, 1).number(4, i))
			stack = stack.number(2, i+1)
		}
		return message{}.number(8, 1).number(10, 1).number(13, 1).bytes(12, interned.bytes(7, stack)).bytes(66, message{}.number(2, 5).number(3, 6).number(4, 1))
	}),
	packetsOf("proto-heap-samples", func(p *packets) {
		m := message{}.bytes(1, message{}.number(1, 10+uint64(p.i)).bytes(2, p.name("f"))).
			bytes(2, message{}.number(1, uint64(p.i)+1).number(2, 10+uint64(p.i)).number(3, 1).number(4, uint64(p.i))).
			bytes(3, message{}.number(1, uint64(p.i)+1).number(2, 1).number(2, uint64(p.i)+1)).
			bytes(5, message{}.number(1, 5).number(9, 5).bytes(2, message{}.number(1, uint64(p.i)+1).number(2, 5).number(4, 1))).number(7, uint64(p.i))
		if p.i == 0 {
			m = m.bytes(1, message{}.number(1, 1).bytes(2, []byte("lib"))).bytes(4, message{}.number(1, 1).number(7, 1))
		}
		if p.i < p.n-1 {
			m = m.number(6, 1)
		}
		p.add(message{}.number(8, 1+uint64(p.i)).number(10, 1).bytes(37, m))
	}),
	heapGraph("proto-heap-chain", func(i, n uint64) message {
		return message{}.number(1, i+1).number(2, 1).number(3, 16).number(4, 1).number(5, i+2)
	}),
	heapGraph("proto-heap-chain-backwards", func(i, n uint64) message {
		return message{}.number(1, n-i).number(2, 1).number(3, 16).number(4, 1).number(5, n-i+1)
	}),
	wholePacket("proto-heap-references", func(n int) message {
		o := message{}.number(1, 1).number(2, 1).number(3, 16)
		for i := range uint64(n) {
			o = o.number(5, i%7+1)
		}
		return message{}.number(8, 1).number(10, 1).bytes(56, message{}.number(1, 5).bytes(2, o).bytes(9, message{}.number(1, 1).bytes(3, []byte("A[]"))).bytes(7, message{}.number(1, 1).number(2, 1)))
	}),
	wholePacket("proto-heap-classes", func(n int) message {
		g := message{}.number(1, 5)
		for i := range uint64(n) {
			g = g.bytes(2, message{}.number(1, i+1).number(2, i+1).number(5, i+2)).
				bytes(9, message{}.number(1, i+1).bytes(3, strconv.AppendUint([]byte("C"), i, 10)).number(4, 16).number(5, i+2).number(6, i+1)).
				bytes(4, message{}.number(1, i+1).bytes(2, strconv.AppendUint([]byte("A C.f"), i, 10)))
		}
		return message{}.number(8, 1).number(10, 1).bytes(56, g.bytes(7, message{}.number(1, 1).number(2, 1)))
	}),
	packetsOf("proto-smaps", func(p *packets) {
		p.add(message{}.number(8, 1).number(10, 1).bytes(68, message{}.number(1, 5).bytes(2, message{}.bytes(1, p.name("/lib")).number(2, 4))))
	}),
	packetsOf("proto-bundles", func(p *packets) {
		p.add(message{}.number(10, 1).bytes(1, message{}.number(1, uint64(p.i)%8).bytes(2, message{}.number(1, uint64(p.i)).number(2, 5).bytes(3, message{}.bytes(2, []byte("B|5|n\n"))))))
	}),
	packetsOf("proto-cpus", func(p *packets) {
		p.add(message{}.number(10, 1).bytes(1, message{}.number(1, uint64(p.i)).bytes(2, message{}.number(1, uint64(p.i)).number(2, 5).bytes(3, message{}.bytes(2, []byte("I|5|n\n"))))))
	}),
	wholePacket("proto-ftrace-events", func(n int) message {
		b := message{}.number(1, 0)
		for i := range uint64(n) {
			b = b.bytes(2, message{}.number(1, 10*i).number(2, i).bytes(4, message{}.bytes(1, []byte("a")).number(2, i).number(3, 120).bytes(5, []byte("b")).number(6, i+1).number(7, 120)))
		}
		return message{}.number(10, 1).bytes(1, b)
	}),
	packetsOf("proto-chrome-legacy", func(p *packets) {
		p.event(0, message{}.bytes(6, message{}.number(2, 'b').number(6, uint64(p.i))))
	}),
	packetsOf("proto-legacy-complete", func(p *packets) {
		p.event(0, message{}.bytes(6, message{}.number(2, 'X').number(3, uint64(p.n)).number(18, 5).number(19, 6)))
	}),
	packetsOf("proto-cpu-times", func(p *packets) {
		p.add(message{}.number(8, 1+uint64(p.i)).number(10, 1).bytes(7, message{}.bytes(3, message{}.number(1, uint64(p.i)).number(2, 5))))
	}),
	packetsOf("proto-surfaces", func(p *packets) {
		p.add(message{}.number(8, 1+uint64(p.i)).number(10, 1).bytes(76, message{}.bytes(3, message{}.number(1, uint64(p.i)).number(2, uint64(p.i)).number(3, uint64(p.i)).number(4, 5).bytes(5, p.name("layer")))))
	}),
	wholePacket("proto-layers", func(n int) message {
		var layers message
		for i := range uint64(n) {
			layers = layers.bytes(1, message{}.number(1, i+1).bytes(2, strconv.AppendUint([]byte("layer"), i, 10)).number(3, i+2))
		}
		return message{}.number(8, 1).number(10, 1).bytes(93, message{}.number(1, 5).bytes(3, layers))
	}),
	packetsOf("proto-unknown-fields", func(p *packets) { p.add(message{}.number(10, 1).bytes(3000+p.i, nil)) }),
}

// packets builds the packets of the i-th of n things.
type packets struct {
	b    message
	i, n int
}

func (p *packets) add(packet message) { p.b = p.b.bytes(1, packet) }

func (p *packets) name(prefix string) []byte {
	return strconv.AppendInt([]byte(prefix), int64(p.i), 10)
}

func (p *packets) track(descriptor message) { p.add(message{}.number(10, 1).bytes(60, descriptor)) }

// event adds a track event with further fields at the time i.
func (p *packets) event(kind uint64, fields message) { p.eventOn(7, kind, fields) }

func (p *packets) eventOn(track, kind uint64, fields message) {
	event := message{}.number(9, kind).number(11, track).bytes(23, []byte("n"))
	p.add(message{}.number(8, uint64(p.i)).number(10, 1).bytes(11, append(event, fields...)))
}

func packetsOf(name string, each func(*packets)) manyFormat {
	head := message{}.bytes(1, message{}.number(10, 1).number(13, 1).bytes(60, message{}.number(1, 7).bytes(2, []byte("track"))))
	return manyFormat{name: name, head: string(head), each: func(b []byte, i, n int) []byte {
		p := packets{b, i, n}
		each(&p)
		return p.b
	}}
}

func wholePacket(name string, packet func(n int) message) manyFormat {
	return manyFormat{name: name, whole: func(b []byte, n int) []byte { return message(b).bytes(1, packet(n)) }}
}

func trackEvent(fields message) message {
	event := message{}.number(9, 3).number(11, 7).bytes(23, []byte("n"))
	return message{}.number(8, 1).number(10, 1).bytes(11, append(event, fields...))
}

func clock(id, ts uint64) message { return message{}.number(1, id).number(2, ts) }

// clockAt is a snapshot of a first clock.
func clockAt(id, ts uint64) message { return message{}.bytes(1, clock(id, ts)) }

// heapGraph is a dump of n objects, the first of which is a root.
func heapGraph(name string, object func(i, n uint64) message) manyFormat {
	return wholePacket(name, func(n int) message {
		g := message{}.number(1, 5)
		for i := range uint64(n) {
			g = g.bytes(2, object(i, uint64(n)))
		}
		g = g.bytes(9, message{}.number(1, 1).bytes(3, []byte("A"))).bytes(4, message{}.number(1, 1).bytes(2, []byte("A A.next"))).bytes(7, message{}.number(1, 1).number(2, 1))
		return message{}.number(8, 1).number(10, 1).bytes(56, g)
	})
}
