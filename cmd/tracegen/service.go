package main

import "github.com/tpconvert/tpconvert/cmd/tracegen/pb"

// service writes a trace as Perfetto's service, traced, streams it into a file. Every
// writePeriod it flushes the producers and writes their packets, one sequence after
// another, between the event for the flush and the event for the completed write.
// Times are of boottime, in ns.
type service struct{ out *output }

// producer identifies the process that wrote a sequence.
type producer struct{ uid, pid uint64 }

// daemons are the service itself and traced_probes.
var daemons = producer{systemUID, tracedPID}

const (
	writePeriod = 2500e6 // ns

	serviceSequence = 1 // producers have higher ones
	systemUID       = 9999
	tracedPID       = 1178

	clearedState = 1 // flags of a sequence
	needsState   = 2

	boottime = 6
)

// Fields of TracePacket.
const (
	packetFtrace       = 1
	packetProcessTree  = 2
	packetUID          = 3
	packetClocks       = 6
	packetTime         = 8
	packetProcessStats = 9
	packetSequence     = 10
	packetTrackEvent   = 11
	packetInterned     = 12
	packetFlags        = 13
	packetConfig       = 33
	packetFtraceStats  = 34
	packetTraceStats   = 35
	packetSystemInfo   = 45
	packetClock        = 58
	packetDefaults     = 59
	packetTrack        = 60
	packetService      = 69
	packetPID          = 79
)

// Fields of TracingServiceEvent.
const (
	sourcesStarted  = 1
	tracingStarted  = 2
	sourcesFlushed  = 3
	buffersRead     = 4
	tracingDisabled = 5
)

// begin writes the setup of a recording of data sources.
func (s *service) begin(now int64, sources ...string) {
	s.clocks(now)
	config := pb.Message{}.Bytes(1, pb.Message{}.Number(1, 64<<10))
	for _, name := range sources {
		config = config.Bytes(2, pb.Message{}.Bytes(1, pb.Message{}.Bytes(1, []byte(name)).Number(2, 0)))
	}
	s.packet(pb.Message{}.Bytes(packetConfig, config.Number(8, 1).Number(9, writePeriod/1e6).Number(13, writePeriod/1e6)))
	name := pb.Message{}.Bytes(1, []byte("Linux")).Bytes(2, []byte("#1 SMP PREEMPT")).Bytes(3, []byte("5.10.157-android13-4")).Bytes(4, []byte("aarch64"))
	s.packet(pb.Message{}.Bytes(packetSystemInfo, pb.Message{}.Bytes(1, name).Number(3, 100).Bytes(4, []byte("Perfetto v58.2")).Number(6, 4096).Number(8, phoneCores)))
	s.event(now, tracingStarted)
	s.event(now, sourcesStarted)
}

// flushed writes the packets that precede the sequences of a period.
func (s *service) flushed(now int64) {
	s.clocks(now)
	s.event(now, sourcesFlushed)
}

// end writes the packets that follow the sequences of the last period.
func (s *service) end(now int64) {
	s.event(now, tracingDisabled)
	s.packet(pb.Message{}.Bytes(packetTraceStats, pb.Message{}.Number(2, 2).Number(3, 2).Number(6, 1).Number(15, 1)))
}

func (s *service) clocks(now int64) {
	var m pb.Message
	offsets := []struct{ clock, offset int64 }{{boottime, 0}, {2, 1.6e18}, {4, -6e13}, {1, 1.6e18}, {3, -6e13}, {5, -6e13}}
	for _, c := range offsets {
		m = m.Bytes(1, pb.Message{}.Number(1, uint64(c.clock)).Number(2, uint64(now+c.offset)))
	}
	s.packet(pb.Message{}.Number(packetTime, uint64(now)).Bytes(packetClocks, m))
}

// event writes a step of the recording.
func (s *service) event(now int64, step int) {
	s.packet(pb.Message{}.Number(packetTime, uint64(now)).Bytes(packetService, pb.Message{}.Number(step, 1)))
}

// packet writes one of the service's own packets.
func (s *service) packet(m pb.Message) {
	s.sequence(daemons, serviceSequence, []pb.Message{m})
}

// sequence writes the packets of a sequence.
func (s *service) sequence(from producer, id uint64, packets []pb.Message) {
	for _, m := range packets {
		s.out.packet(m.Number(packetUID, from.uid).Number(packetSequence, id).Number(packetPID, from.pid))
	}
}
