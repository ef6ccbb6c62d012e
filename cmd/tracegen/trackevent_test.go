package main

import (
	"bytes"
	"testing"

	"github.com/tpconvert/tpconvert/internal/wire"
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
		if event := p[packetService]; event.Bytes() != nil {
			step := wire.Read(event.Bytes())
			step.Next()
			steps[step.Number]++
		}
		id := p[packetSequence]
		if id.Uint64() != sequence && id.Uint64() != serviceSequence {
			parts++
		}
		if sequence = id.Uint64(); sequence == serviceSequence {
			continue
		}
		thread := threads[sequence]
		if thread == nil {
			thread = &generatedThread{}
			threads[sequence] = thread
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

// packetOf returns the fields of a packet by number.
func packetOf(data []byte) map[uint32]wire.Field {
	fields := map[uint32]wire.Field{}
	for f := wire.Read(data); f.Next(); {
		fields[f.Number] = f.Field
	}
	return fields
}

// generatedThread is the state of a sequence: the interned names, by the field of
// InternedData, and the number of open slices.
type generatedThread struct {
	names map[uint32]map[uint64]bool
	depth int
}

func (g *generatedThread) check(t *testing.T, p map[uint32]wire.Field, kinds *[8]int) {
	t.Helper()
	flags, defaults, interned, event := p[packetFlags], p[packetDefaults], p[packetInterned], p[packetTrackEvent]
	if flags.Uint64() == clearedState {
		g.names = map[uint32]map[uint64]bool{1: {}, 2: {}, 3: {}}
		if defaults.Bytes() == nil {
			t.Fatal("a sequence begins without defaults")
		}
	}
	uid, pid := p[packetUID], p[packetPID]
	if uid.Uint64() == 0 || pid.Uint64() == 0 || g.names == nil {
		t.Fatalf("packet of uid %d, pid %d", uid.Uint64(), pid.Uint64())
	}
	for f := wire.Read(interned.Bytes()); f.Next(); {
		iid, _ := wire.Find(f.Bytes(), 1)
		g.names[f.Number][iid.Uint64()] = true
	}
	known := func(field uint32, iid uint64) {
		if !g.names[field][iid] {
			t.Fatalf("name %d of field %d is not interned", iid, field)
		}
	}
	for f := wire.Read(event.Bytes()); f.Next(); {
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
