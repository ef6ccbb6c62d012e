package main

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
	config := message{}.bytes(1, message{}.number(1, 64<<10))
	for _, name := range sources {
		config = config.bytes(2, message{}.bytes(1, message{}.bytes(1, []byte(name)).number(2, 0)))
	}
	s.packet(message{}.bytes(packetConfig, config.number(8, 1).number(9, writePeriod/1e6).number(13, writePeriod/1e6)))
	name := message{}.bytes(1, []byte("Linux")).bytes(2, []byte("#1 SMP PREEMPT")).bytes(3, []byte("5.10.157-android13-4")).bytes(4, []byte("aarch64"))
	s.packet(message{}.bytes(packetSystemInfo, message{}.bytes(1, name).number(3, 100).bytes(4, []byte("Perfetto v58.2")).number(6, 4096).number(8, phoneCores)))
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
	s.packet(message{}.bytes(packetTraceStats, message{}.number(2, 2).number(3, 2).number(6, 1).number(15, 1)))
}

func (s *service) clocks(now int64) {
	var m message
	offsets := []struct{ clock, offset int64 }{{boottime, 0}, {2, 1.6e18}, {4, -6e13}, {1, 1.6e18}, {3, -6e13}, {5, -6e13}}
	for _, c := range offsets {
		m = m.bytes(1, message{}.number(1, uint64(c.clock)).number(2, uint64(now+c.offset)))
	}
	s.packet(message{}.number(packetTime, uint64(now)).bytes(packetClocks, m))
}

// event writes a step of the recording.
func (s *service) event(now int64, step int) {
	s.packet(message{}.number(packetTime, uint64(now)).bytes(packetService, message{}.number(step, 1)))
}

// packet writes one of the service's own packets.
func (s *service) packet(m message) {
	s.sequence(daemons, serviceSequence, []message{m})
}

// sequence writes the packets of a sequence.
func (s *service) sequence(from producer, id uint64, packets []message) {
	for _, m := range packets {
		s.out.packet(m.number(packetUID, from.uid).number(packetSequence, id).number(packetPID, from.pid))
	}
}
