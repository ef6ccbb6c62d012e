package proto

import (
	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
)

const (

	// Clocks with these numbers are local to a sequence.
	firstSequenceClock = 64
	lastSequenceClock  = 127
)

// clockModule reads clock snapshots, which times are converted with.
func (r *Reader) clockModule() *Module {
	return &Module{
		Fields: []uint32{pb.TracePacket_ClockSnapshot, pb.TracePacket_RemoteClockSync},
		Read: func(p *Packet, f *wire.Field) bool {
			if f.Number == pb.TracePacket_ClockSnapshot {
				r.clockSnapshot(p, f.Bytes())
			} else {
				r.remoteClockSync(f.Bytes())
			}
			return true
		},
	}
}

func (r *Reader) clockSnapshot(p *Packet, data []byte) {
	if r.in.Override.OneClock {
		r.file.fail(format.Errorf(format.ErrManifest, p.Offset, "perfetto_manifest: clock overrides require the trace to use a single clock"))
		return
	}
	var primary uint32
	var readings []model.Reading
	boottime, ownClock := false, false
	for f := wire.Read(data); f.Next(); {
		switch f.Number {
		case pb.ClockSnapshot_Clocks:
			id, reading := clockReading(f.Bytes())
			clock, ok := r.clock(p, id)
			if !ok {
				return
			}
			reading.Clock = clock
			readings = append(readings, reading)
			boottime = boottime || id == model.ClockBoottime
			ownClock = ownClock || id == model.ClockTraceFile
		case pb.ClockSnapshot_PrimaryTraceClock:
			primary = f.Uint32()
		}
	}
	// Before the trace clock could be chosen, it was always the boot clock.
	if primary == 0 && boottime && !ownClock {
		primary = model.ClockBoottime
	}
	if primary != 0 {
		r.Clocks.SetDefault(primary)
		r.Clocks.SetTraceClock(primary)
	}
	r.Clocks.AddSnapshot(readings)
}

func clockReading(data []byte) (id uint32, reading model.Reading) {
	reading.Unit = 1
	for f := wire.Read(data); f.Next(); {
		switch f.Number {
		case pb.ClockSnapshot_Clock_ClockID:
			id = f.Uint32()
		case pb.ClockSnapshot_Clock_Timestamp:
			reading.Value = f.Int64()
		case pb.ClockSnapshot_Clock_IsIncremental:
			reading.Incremental = f.Bool()
		case pb.ClockSnapshot_Clock_UnitMultiplierNS:
			if unit := f.Int64(); unit != 0 {
				reading.Unit = unit
			}
		}
	}
	return id, reading
}

// syncRound is the longest time, in ns, between two messages of one exchange.
const syncRound = 30_000_000_000

// remoteClockSync estimates the offsets between a machine's clocks and the
// recorder's. The two exchange messages; each message records the sender's clocks
// and, on receipt, the receiver's. Two messages make two round trips, and the
// one-way delay is taken to be half a round trip.
func (r *Reader) remoteClockSync(data []byte) {
	type pair struct{ host, client int64 }
	var rounds []map[uint32]pair
	var order []uint32
	for f := wire.Read(data); f.Next(); {
		if f.Number != pb.RemoteClockSync_SyncedClocks {
			continue
		}
		round := map[uint32]pair{}
		var own []model.Reading
		for side := wire.Read(f.Bytes()); side.Next(); {
			for c := wire.Read(side.Bytes()); c.Next(); {
				if c.Number != pb.ClockSnapshot_Clocks {
					continue
				}
				id, reading := clockReading(c.Bytes())
				both, ok := round[id]
				if !ok && len(rounds) == 0 {
					order = append(order, id)
				}
				if side.Number == pb.RemoteClockSync_SyncedClocks_ClientClocks {
					both.client = reading.Value
					own = append(own, model.Reading{Clock: model.Clock{ID: id}, Value: reading.Value, Unit: 1})
				} else if side.Number == pb.RemoteClockSync_SyncedClocks_HostClocks {
					both.host = reading.Value
				}
				round[id] = both
			}
		}
		rounds = append(rounds, round)
		r.Clocks.AddSnapshot(own)
	}
	host := r.Clocks.TraceMachine()
	for _, id := range order {
		var sum, n, anchor int64
		for i, round := range rounds {
			b := round[id]
			if b.host != 0 {
				anchor = b.host
			}
			if i == 0 || round[model.ClockBoottime].client-rounds[i-1][model.ClockBoottime].client >= syncRound {
				continue
			}
			a := rounds[i-1][id]
			if a.host == 0 || a.client == 0 || b.host == 0 || b.client == 0 {
				continue
			}
			sum += (a.client+b.client)/2 - a.host
			sum += b.client - (a.host+b.host)/2
			n += 2
		}
		if n > 0 {
			r.Clocks.Link(host, id, anchor, anchor+sum/n)
		}
	}
}
