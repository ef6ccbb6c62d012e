package perfdata

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"
)

// untimed is the time of records without a time.
const untimed = math.MinInt64 + 1

// tokenKind is the first byte of a token.
type tokenKind byte

const (
	sampleToken tokenKind = iota
	mmapToken
	commToken
	execToken
	forkToken
	exitToken
	parentToken
	deferredToken
	switchToken
)

// tokenTie puts thread names after all other tokens of the same time, because the
// kernel may write a new name before it writes events under the old one.
func tokenTie(token []byte) int64 {
	if tokenKind(token[0]) == commToken {
		return 1
	}
	return 0
}

// The optional fields that a sample's token has.
const (
	hasCPU byte = 1 << iota
	hasPeriod
	hasOtherABI // registers of a program for a machine that is not the kernel's
)

// The layout of a sample's token: these fields, then its counter values, then the
// addresses of its stack, innermost first, with context markers in between, then the
// event of a tracepoint, then the registers and the copy of the stack from which the
// callers of user code are found.
const (
	sampleMode    = 1 // CPU mode
	sampleHas     = 2
	sampleEvent   = 4
	samplePID     = 8
	sampleThread  = 12
	sampleOnCPU   = 16
	sampleReads   = 20 // number of counter values
	sampleWeight  = 24 // the period
	sampleChain   = 32 // number of addresses
	sampleRegs    = 36 // number of registers
	sampleRecord  = 40 // size of the tracepoint's event
	sampleFixed   = 44
	sampleReadLen = 16 // id of the counter, 0 for the sample's own, and value
)

// appendSample appends the token of a sample. It returns false if the record is
// truncated or inconsistent.
func appendSample(b []byte, rec *record, index int, e *event) ([]byte, bool) {
	var fixed [sampleFixed]byte
	fixed[0] = byte(sampleToken)
	fixed[sampleMode] = byte(rec.misc & miscCPUMode)
	put := func(at int, v uint32) { binary.LittleEndian.PutUint32(fixed[at:], v) }
	put(sampleEvent, uint32(index))
	from := len(b)
	has := func(field uint64) bool { return e.sampleType&field != 0 }

	var identifier, ip uint64
	if has(sampleIdentifier) {
		identifier = rec.uint64()
	}
	if has(sampleIP) {
		ip = rec.uint64()
	}
	if has(sampleTID) {
		put(samplePID, rec.uint32())
		put(sampleThread, rec.uint32())
	}
	if has(sampleTime) {
		rec.uint64()
	}
	if has(sampleAddr) {
		rec.uint64()
	}
	if has(sampleID) {
		if id := rec.uint64(); has(sampleIdentifier) && id != identifier {
			return b, false
		}
	}
	if has(sampleStreamID) {
		rec.uint64()
	}
	if has(sampleCPU) {
		put(sampleOnCPU, rec.uint32())
		rec.uint32()
		fixed[sampleHas] |= hasCPU
	}
	if has(samplePeriod) {
		binary.LittleEndian.PutUint64(fixed[sampleWeight:], rec.uint64())
		fixed[sampleHas] |= hasPeriod
	}
	b = append(b, fixed[:]...)
	if has(sampleRead) {
		var n uint32
		b, n = appendReads(b, rec, e.readFormat)
		if n == 0 {
			return b, false
		}
		binary.LittleEndian.PutUint32(b[from+sampleReads:], n)
	}
	frames, users := 0, false
	if has(sampleCallchain) {
		b, frames, users = appendCallchain(b, rec)
	}
	if frames == 0 && has(sampleIP) {
		b = binary.LittleEndian.AppendUint64(b, ip)
	}
	length := len(b) - from - sampleFixed - sampleReadLen*int(binary.LittleEndian.Uint32(b[from+sampleReads:]))
	binary.LittleEndian.PutUint32(b[from+sampleChain:], uint32(length/8))
	if has(sampleRaw) {
		raw := rec.take(uint64(rec.uint32()))
		if e.isTracepoint() {
			binary.LittleEndian.PutUint32(b[from+sampleRecord:], uint32(len(raw)))
			b = append(b, raw...)
		}
	}
	if e.unwinds() && !users && !rec.short {
		b = appendUserStack(b, rec, e, from)
	}
	return b, !rec.short
}

// appendUserStack appends the registers of user code and the copy of its stack to the token that starts at from, if the sample
// has both.
func appendUserStack(b []byte, rec *record, e *event, from int) []byte {
	if e.sampleType&sampleBranches != 0 {
		n := rec.uint64()
		if e.branches&branchIndex != 0 {
			rec.uint64()
		}
		size := uint64(branchSize)
		if e.branches&branchCounters != 0 {
			size += 8
		}
		if n > uint64(len(rec.data)) {
			rec.short = true
			return b
		}
		rec.take(n * size)
	}
	abi := rec.uint64()
	if abi == abiNone {
		return b
	}
	n := bits.OnesCount64(e.registers)
	registers := rec.take(8 * uint64(n))
	size := rec.uint64()
	stack := rec.take(size)
	if size > 0 {
		size = min(size, rec.uint64()) // what the kernel could copy
	}
	if rec.short || size == 0 {
		return b
	}
	if abi != abi64 || rec.swapped {
		b[from+sampleHas] |= hasOtherABI
		return b
	}
	binary.LittleEndian.PutUint32(b[from+sampleRegs:], uint32(n))
	return append(append(b, registers...), stack[:size]...)
}

// The kinds of programs whose registers samples have, enum perf_sample_regs_abi.
const (
	abiNone = 0
	abi64   = 2
)

// appendReads appends counter values, and returns their number.
func appendReads(b []byte, rec *record, layout uint64) ([]byte, uint32) {
	n, value := uint64(1), rec.uint64()
	if layout&readTotalTimeEnabled != 0 {
		rec.uint64()
	}
	if layout&readTotalTimeRunning != 0 {
		rec.uint64()
	}
	group := layout&readGroup != 0
	if group {
		n = value
	}
	if n > uint64(len(rec.data))/8+1 {
		rec.short = true
		return b, 0
	}
	for range n {
		if group {
			value = rec.uint64()
		}
		var id uint64
		if layout&readID != 0 {
			id = rec.uint64()
		}
		if layout&readLost != 0 {
			rec.uint64()
		}
		b = binary.LittleEndian.AppendUint64(b, id)
		b = binary.LittleEndian.AppendUint64(b, value)
	}
	return b, uint32(n)
}

// appendCallchain appends a stack, and returns its number of frames and whether user code is among them.
func appendCallchain(b []byte, rec *record) (_ []byte, frames int, users bool) {
	n, last := rec.uint64(), uint64(0)
	if n > uint64(len(rec.data))/8 {
		rec.short = true
		return b, 0, false
	}
	for i := range n {
		ip := rec.uint64()
		if ip < firstContext && (i == 0 || last != contextDeferred) {
			frames++
		}
		last = ip
		users = users || contexts[ip] == modeUser && ip >= firstContext
		b = binary.LittleEndian.AppendUint64(b, ip)
	}
	return b, frames, users
}

// The layout of a mapping's token: these fields, then the build id, then the path.
const (
	mmapMode      = 1 // CPU mode
	mmapBuildID   = 2 // size in bytes
	mmapHasID     = 3
	mmapPID       = 4
	mmapThread    = 8
	mmapStart     = 12
	mmapLength    = 20
	mmapOffset    = 28
	mmapFixed     = 36
	maxBuildID    = 20 // bytes
	buildIDFields = 24
)

// appendMmap appends the token of a mapping. It returns false if the record is
// truncated or invalid.
func appendMmap(b []byte, rec *record) ([]byte, bool) {
	var fixed [mmapFixed]byte
	fixed[0] = byte(mmapToken)
	fixed[mmapMode] = byte(rec.misc & miscCPUMode)
	binary.LittleEndian.PutUint32(fixed[mmapPID:], rec.uint32())
	binary.LittleEndian.PutUint32(fixed[mmapThread:], rec.uint32())
	start, length := rec.uint64(), rec.uint64()
	if start+length < start {
		return b, false
	}
	binary.LittleEndian.PutUint64(fixed[mmapStart:], start)
	binary.LittleEndian.PutUint64(fixed[mmapLength:], length)
	binary.LittleEndian.PutUint64(fixed[mmapOffset:], rec.uint64())
	var buildID []byte
	if rec.kind == recordMmap2 {
		id := rec.take(buildIDFields) // build id or inode
		// Kernels before 3.16 have the path here, CentOS 7's among them. No protection has four bytes other than zero.
		if len(rec.data) < 8 || bytes.IndexByte(rec.data[:4], 0) >= 0 {
			rec.take(8) // protection and flags
		}
		if rec.misc&miscMmapBuildID != 0 && !rec.short {
			if id[0] > maxBuildID {
				return b, false
			}
			fixed[mmapHasID] = 1
			buildID = id[4 : 4+id[0]]
		}
	}
	fixed[mmapBuildID] = byte(len(buildID))
	path, ok := rec.text()
	if rec.short || !ok {
		return b, false
	}
	return append(append(append(b, fixed[:]...), buildID...), path...), true
}

// The layout of a thread name's token: these fields, then the name.
const (
	commPID    = 1
	commThread = 5
	commFixed  = 9
)

// appendComm appends the token of a thread's name. It returns false if the record is
// truncated.
func appendComm(b []byte, rec *record) ([]byte, bool) {
	b = append(b, byte(commToken))
	b = binary.LittleEndian.AppendUint32(b, rec.uint32())
	b = binary.LittleEndian.AppendUint32(b, rec.uint32())
	name, ok := rec.text()
	return append(b, name...), ok && !rec.short
}

// The layout of the token for a process that executes another program.
const execPID = 1

func appendExec(b []byte, comm []byte) []byte {
	return append(append(b, byte(execToken)), comm[commPID:commThread]...)
}

// The layout of the token for a thread that begins or ends, or ran before.
const (
	forkPID          = 1
	forkParent       = 5
	forkThread       = 9
	forkParentThread = 13
)

// appendTask appends the token of a thread that begins or ends. It returns false if the record is truncated.
func appendTask(b []byte, kind tokenKind, rec *record) ([]byte, bool) {
	b = append(b, byte(kind))
	for range 4 {
		b = binary.LittleEndian.AppendUint32(b, rec.uint32())
	}
	return b, !rec.short
}

// The layout of the token for the callers in user code of earlier samples: these fields, then their addresses.
const (
	deferredPID    = 1
	deferredThread = 5
	deferredCookie = 9
	deferredFixed  = 17
)

// appendDeferred appends the token of the callers in user code. It returns false if the record is truncated.
func appendDeferred(b []byte, rec *record, id sampleIDs) ([]byte, bool) {
	b = append(b, byte(deferredToken))
	b = binary.LittleEndian.AppendUint32(b, id.pid)
	b = binary.LittleEndian.AppendUint32(b, id.tid)
	b = binary.LittleEndian.AppendUint64(b, rec.uint64())
	b, _, _ = appendCallchain(b, rec)
	return b, !rec.short
}
