package main

import (
	"testing"

	"github.com/tpconvert/tpconvert/internal/wire"
)

func TestTrackEvents(t *testing.T) {
	trace := generate(t, "track-event", 60_000_000)
	threads := map[uint64]*generatedThread{}
	var kinds [8]int
	var steps []uint32
	for packet := wire.Read(trace); packet.Next(); {
		p := packetOf(packet.Bytes())
		if event := p[packetService]; event.Bytes() != nil {
			step := wire.Read(event.Bytes())
			step.Next()
			steps = append(steps, step.Number)
		}
		sequence := p[10]
		id := sequence.Uint64()
		if id == 1 { // the service's
			continue
		}
		if threads[id] == nil {
			threads[id] = &generatedThread{}
		}
		threads[id].check(t, p, &kinds)
	}
	if len(threads) != 24 {
		t.Errorf("%d sequences", len(threads))
	}
	checkSteps(t, steps)
	if begins, ends, instants := kinds[1], kinds[2], kinds[3]; ends != begins || instants < begins/15 || instants > begins/5 {
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
	flags, defaults, interned, event := p[13], p[59], p[packetInterned], p[packetTrackEvent]
	if flags.Uint64() == 1 {
		g.names = map[uint32]map[uint64]bool{1: {}, 2: {}, 3: {}}
		if defaults.Bytes() == nil {
			t.Fatal("a sequence begins without defaults")
		}
	}
	uid, pid := p[3], p[79]
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
