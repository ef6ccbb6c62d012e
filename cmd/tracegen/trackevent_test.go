package main

import (
	"bytes"
	"testing"

	"github.com/tpconvert/tpconvert/ingest/wire"
)

func TestTrackEvents(t *testing.T) {
	const size = 40_000_000
	trace := generate(t, "track-event", size, 3)
	if !bytes.Equal(trace, generate(t, "track-event", size, 3)) {
		t.Error("two runs differ")
	}
	if n := len(trace); n < size || n > size+size/200 {
		t.Errorf("%d bytes", n)
	}
	threads := map[uint64]*generatedThread{}
	var steps, kinds [8]int
	parts, sequence := 0, uint64(0) // runs of packets of one sequence, and the last one's
	for packet := wire.Read(trace); packet.Next(); {
		p := packetOf(packet.Bytes())
		if p.service != nil {
			step := wire.Read(p.service)
			step.Next()
			steps[step.Number]++
		}
		if p.sequence == serviceSequence {
			sequence = p.sequence
			continue
		}
		if p.sequence != sequence {
			parts++
			sequence = p.sequence
		}
		thread := threads[p.sequence]
		if thread == nil {
			thread = &generatedThread{}
			threads[p.sequence] = thread
		}
		thread.check(t, p, &kinds)
	}
	if len(threads) != trackEventThreads {
		t.Errorf("%d sequences", len(threads))
	}
	if n := steps[buffersRead]; n < 3 || steps[sourcesFlushed] != n || parts != n*trackEventThreads {
		t.Errorf("%d parts of sequences in %d writes after %d flushes", parts, n, steps[sourcesFlushed])
	}
	if steps[tracingStarted] != 1 || steps[sourcesStarted] != 1 || steps[tracingDisabled] != 1 {
		t.Errorf("steps %d", steps)
	}
	if begins, ends, instants := kinds[1], kinds[2], kinds[3]; ends > begins || begins-ends > trackEventThreads*14 || instants < begins/15 || instants > begins/5 {
		t.Errorf("%d begins, %d ends, %d instants", begins, ends, instants)
	}
}

// generatedPacket is what the test looks at.
type generatedPacket struct {
	sequence, flags, pid                      uint64
	hasUID                                    bool
	defaults, event, interned, track, service []byte
}

func packetOf(data []byte) (p generatedPacket) {
	for f := wire.Read(data); f.Next(); {
		switch f.Number {
		case packetSequence:
			p.sequence = f.Uint64()
		case packetFlags:
			p.flags = f.Uint64()
		case packetPID:
			p.pid = f.Uint64()
		case packetUID:
			p.hasUID = true
		case packetDefaults:
			p.defaults = f.Bytes()
		case packetTrackEvent:
			p.event = f.Bytes()
		case packetInterned:
			p.interned = f.Bytes()
		case packetTrack:
			p.track = f.Bytes()
		case packetService:
			p.service = f.Bytes()
		}
	}
	return p
}

// generatedThread is a sequence so far: the names that are interned, by the field
// of InternedData, and how many slices are open.
type generatedThread struct {
	names map[uint32]map[uint64]bool
	depth int
}

func (g *generatedThread) check(t *testing.T, p generatedPacket, kinds *[8]int) {
	t.Helper()
	if p.flags == clearedState {
		g.names = map[uint32]map[uint64]bool{1: {}, 2: {}, 3: {}}
		if p.defaults == nil {
			t.Fatal("a sequence begins without defaults")
		}
	}
	if p.pid == 0 || !p.hasUID || g.names == nil {
		t.Fatalf("packet of sequence %d, pid %d", p.sequence, p.pid)
	}
	for f := wire.Read(p.interned); f.Next(); {
		iid, _ := wire.Find(f.Bytes(), 1)
		g.names[f.Number][iid.Uint64()] = true
	}
	known := func(field uint32, iid uint64) {
		if !g.names[field][iid] {
			t.Fatalf("name %d of field %d is not interned", iid, field)
		}
	}
	for f := wire.Read(p.event); f.Next(); {
		switch f.Number {
		case 3:
			known(1, f.Uint64())
		case 4:
			name, _ := wire.Find(f.Bytes(), 1)
			known(3, name.Uint64())
		case 9:
			kinds[f.Uint64()]++
			switch f.Uint64() {
			case 1:
				g.depth++
			case 2:
				if g.depth--; g.depth < 0 {
					t.Fatal("a slice ends that did not begin")
				}
			}
		case 10:
			known(2, f.Uint64())
		}
	}
}
