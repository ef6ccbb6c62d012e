package ftrace

import (
	"math"

	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/ingest/proto/message"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
)

// cpuStats maps fields of FtraceCpuStats to the stats for their values at the start,
// at the end, and for the difference.
var cpuStats = map[uint32][3]model.Stat{
	pb.FtraceCpuStats_Entries:       {model.StatFtraceCPUEntriesBegin, model.StatFtraceCPUEntriesEnd, model.StatFtraceCPUEntriesDelta},
	pb.FtraceCpuStats_Overrun:       {model.StatFtraceCPUOverrunBegin, model.StatFtraceCPUOverrunEnd, model.StatFtraceCPUOverrunDelta},
	pb.FtraceCpuStats_CommitOverrun: {model.StatFtraceCPUCommitOverrunBegin, model.StatFtraceCPUCommitOverrunEnd, model.StatFtraceCPUCommitOverrunDelta},
	pb.FtraceCpuStats_BytesRead:     {model.StatFtraceCPUBytesBegin, model.StatFtraceCPUBytesEnd, model.StatFtraceCPUBytesDelta},
	pb.FtraceCpuStats_DroppedEvents: {model.StatFtraceCPUDroppedEventsBegin, model.StatFtraceCPUDroppedEventsEnd, model.StatFtraceCPUDroppedEventsDelta},
	pb.FtraceCpuStats_ReadEvents:    {model.StatFtraceCPUReadEventsBegin, model.StatFtraceCPUReadEventsEnd, model.StatFtraceCPUReadEventsDelta},
}

// cpuTimes does the same for fields that are times, in seconds. They have no
// difference.
var cpuTimes = map[uint32][2]model.Stat{
	pb.FtraceCpuStats_OldestEventTS: {model.StatFtraceCPUOldestEventTSBegin, model.StatFtraceCPUOldestEventTSEnd},
	pb.FtraceCpuStats_NowTS:         {model.StatFtraceCPUNowTSBegin, model.StatFtraceCPUNowTSEnd},
}

var kprobeStats = map[uint32][3]model.Stat{
	pb.FtraceKprobeStats_Hits:   {model.StatFtraceKprobeHitsBegin, model.StatFtraceKprobeHitsEnd, model.StatFtraceKprobeHitsDelta},
	pb.FtraceKprobeStats_Misses: {model.StatFtraceKprobeMissesBegin, model.StatFtraceKprobeMissesEnd, model.StatFtraceKprobeMissesDelta},
}

// Phases of FtraceStats, minus one.
const (
	atStart = 0
	atEnd   = 1
)

// stats reads the kernel's statistics about its ring buffers, from the start and the
// end of the recording.
func (m *ftraceModule) stats(p *proto.Packet, data []byte) {
	phase := message.Int64(data, pb.FtraceStats_Phase) - 1
	if phase != atStart && phase != atEnd {
		m.File.LogAt(model.StatFtraceBundleTokenizerErrors, p.Offset, nil)
		return
	}
	var kprobes []byte
	for f := wire.Read(data); f.Next(); {
		switch f.Number {
		case pb.FtraceStats_CPUStats:
			m.cpuStats(f.Bytes(), phase)
		case pb.FtraceStats_PreserveFtraceBuffer:
			m.preserve = m.preserve || phase == atStart && f.Bool()
		case pb.FtraceStats_FtraceParseErrors:
			for status := range f.Varints {
				if !m.broken[status] { // of bundles that are not in the trace
					m.parseError(p, status)
				}
			}
		case pb.FtraceStats_KprobeStats:
			kprobes = f.Bytes()
		}
	}
	m.counts(kprobes, kprobeStats, model.None, phase)
	if phase == atStart && !m.failed[p.Sequence] {
		m.setupErrors(p, data)
	}
}

func (m *ftraceModule) cpuStats(data []byte, phase int64) {
	cpu := message.Int64(data, pb.FtraceCpuStats_CPU)
	m.counts(data, cpuStats, cpu, phase)
	for number, stats := range cpuTimes {
		f, _ := wire.Find(data, number)
		ns := math.Round(f.Float64() * 1e9)
		value := int64(math.MaxInt64) // times wrap around into nonsense
		if ns < math.MaxInt64 {
			value = int64(ns)
		}
		m.SetStat(stats[phase], cpu, value)
	}
}

func (m *ftraceModule) counts(data []byte, stats map[uint32][3]model.Stat, index, phase int64) {
	for number, stat := range stats {
		value := message.Int64(data, number)
		m.SetStat(stat[phase], index, value)
		if begin, known := m.Stat(stat[atStart], index); known && phase == atEnd {
			m.SetStat(stat[2], index, value-begin)
		}
	}
}

// zeroLengthRecord is a parse status with which no data is lost.
const zeroLengthRecord = 12

// parseError counts what the recorder could not read of the kernel's buffers.
func (m *ftraceModule) parseError(p *proto.Packet, status uint64) {
	if status == zeroLengthRecord {
		m.File.Count(model.StatFtraceABIErrorsSkippedZeroDataLength)
		return
	}
	m.File.LogAt(model.StatFtraceSetupErrors, p.Offset, nil)
}

// setupErrors logs what the recorder could not enable.
func (m *ftraceModule) setupErrors(p *proto.Packet, data []byte) {
	messages := map[uint32]string{
		pb.FtraceStats_FailedFtraceEvents: "Ftrace event failed: ", pb.FtraceStats_UnknownFtraceEvents: "Ftrace event unknown: ",
		pb.FtraceStats_AtraceErrors: "Atrace failures: ", pb.FtraceStats_ExclusiveFeatureError: "Ftrace exclusive feature error: ",
	}
	for f := wire.Read(data); f.Next(); {
		if message, ok := messages[f.Number]; ok && len(f.Bytes()) > 0 {
			m.failed[p.Sequence] = true
			m.File.Log(model.StatFtraceSetupErrors, model.LogEntry{Args: model.ArgFunc(func(set *model.ArgSet) {
				set.Add(m.Store.Strings.Intern("message"), model.StringArg(m.Store.Strings.Intern(message+string(f.Bytes()))))
			})})
		}
	}
}
