package perfdata

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"strings"

	"github.com/tpconvert/tpconvert/ingest/internal/binaries"
	"github.com/tpconvert/tpconvert/ingest/internal/ranges"
	"github.com/tpconvert/tpconvert/ingest/internal/rawftrace"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/profile"
)

// profiler is the name of perf and simpleperf in stack_sample.
const profiler = "linux.perf"

// cpuMode is a CPU's privilege level, as in a record's misc field.
type cpuMode byte

const (
	modeUnknown cpuMode = iota
	modeKernel
	modeUser
	modeHypervisor
	modeGuestKernel
	modeGuestUser
)

var cpuModes = [...]string{modeKernel: "kernel", modeUser: "user", modeHypervisor: "hypervisor",
	modeGuestKernel: "guest_kernel", modeGuestUser: "guest_user"}

// A stack's addresses include markers for the context of the addresses after them.
const firstContext = math.MaxUint64 - 4095 + 1

// contextDeferred is the marker for callers in user code that a later record has. A cookie follows it, which that record has too.
const contextDeferred = math.MaxUint64 - 640 + 1

var contexts = map[uint64]cpuMode{
	math.MaxUint64 - 32 + 1:   modeHypervisor,
	math.MaxUint64 - 128 + 1:  modeKernel,
	math.MaxUint64 - 512 + 1:  modeUser,
	contextDeferred:           modeUser,
	math.MaxUint64 - 2176 + 1: modeGuestKernel,
	math.MaxUint64 - 2560 + 1: modeGuestUser,
}

// parser turns tokens into rows.
type parser struct {
	*model.Context
	recording   *recording
	processes   map[uint32]*process // by pid
	kernel      kernel
	changes     int // count of changes to the mappings of kernels
	modes       [len(cpuModes)]model.StringID
	noName      model.StringID
	counters    []model.CounterID // of a sample's values
	frames      []frame
	codes       *codes
	space       space
	registers   []uint64 // of user code
	users       []uint64 // its frames
	sums        sums
	deferred    map[uint32][]deferred // by tid
	forks       map[uint32]*fork      // by tid
	ends        map[model.UPID]int64  // of processes, if all their threads have ended, ns
	parents     map[uint32]uint32     // of processes that ran before the recording, by pid
	tracepoints *rawftrace.Decoder    // nil without descriptions of tracepoints
}

// deferred is a sample whose callers in user code a later record has.
type deferred struct {
	row    int64 // of stack_sample, pinned
	mode   cpuMode
	kernel []byte // its frames in the kernel
	cookie uint64
}

// mapping is a file mapped into memory.
type mapping struct {
	id         profile.MappingID
	start, end uint64
	offset     uint64 // in the file
	code       *code  // nil in the kernel
}

// kernel holds the mappings of a kernel.
type kernel struct {
	image   *mapping
	modules ranges.Map[mapping]
}

// process holds a process's mappings and its latest stack, outermost frame first,
// which is valid until the mappings change.
type process struct {
	files   ranges.Map[mapping]
	guest   kernel   // of the machine that the process emulates; process 0 has the one of all others
	unknown *mapping // for addresses without a mapping, nil until needed
	latest  []reached
	changes int // the parser's changes when the latest stack was found
}

type frame struct {
	mode cpuMode
	ip   uint64
}

// reached is the state after a frame of a stack. The next stack of a process usually
// has the same outer frames.
type reached struct {
	frame
	callsite profile.CallsiteID
	unknown  int64 // frames without a mapping so far
}

func newParser(c *model.Context, r *recording, finder *binaries.Finder) *parser {
	p := &parser{Context: c, recording: r, processes: map[uint32]*process{}, noName: c.Store.Strings.Intern(""),
		codes: newCodes(finder, c.File), deferred: map[uint32][]deferred{}, forks: map[uint32]*fork{}, ends: map[model.UPID]int64{}, parents: map[uint32]uint32{}}
	p.space.codes = p.codes
	for mode, name := range cpuModes {
		if name != "" {
			p.modes[mode] = c.Store.Strings.Intern(name)
		}
	}
	return p
}

// Event parses a token.
func (p *parser) Event(ts int64, token []byte) error {
	timed := ts != untimed
	if !timed {
		ts = 0
		if p.recording.start != nil {
			ts = *p.recording.start
		}
	}
	switch tokenKind(token[0]) {
	case sampleToken:
		p.sample(ts, timed, token)
	case mmapToken:
		p.mmap(ts, token)
	case commToken:
		utid := p.thread(token, commPID, commThread)
		name := p.Store.Strings.InternBytes(token[commFixed:])
		p.Machine.SetThreadAndProcessName(utid, name, model.ThreadNameSystem)
	case execToken:
		p.process(pidOf(token, execPID)).exec()
	case forkToken:
		if timed {
			p.fork(&ts, token)
		} else {
			p.fork(nil, token)
		}
	case exitToken:
		if timed {
			p.exit(ts, token)
		}
	case parentToken:
		p.parents[pidOf(token, forkPID)] = pidOf(token, forkParent)
	case deferredToken:
		p.complete(token)
	case switchToken:
		p.switched(ts, token)
	}
	return nil
}

// gone is the kernel's -1: the id of a task that has ended, though its CPU still runs it.
const gone = math.MaxUint32

func pidOf(token []byte, at int) uint32 { return binary.LittleEndian.Uint32(token[at:]) }

func (p *parser) mmap(ts int64, token []byte) {
	number := func(at int) uint64 { return binary.LittleEndian.Uint64(token[at:]) }
	m := mapping{start: number(mmapStart), offset: number(mmapOffset)}
	m.end = m.start + number(mmapLength)
	rest := token[mmapFixed:]
	raw, path := rest[:token[mmapBuildID]], string(rest[token[mmapBuildID]:])
	buildID := string(raw)
	if token[mmapHasID] == 0 {
		buildID = p.recording.buildID(pidOf(token, mmapPID), path)
	}
	owner := p.process(pidOf(token, mmapPID))
	mode := cpuMode(token[mmapMode])
	switch mode {
	case modeKernel:
		p.mapKernel(&p.kernel, ts, m, path, buildID)
		return
	case modeGuestKernel:
		p.mapKernel(&owner.guest, ts, m, path, buildID)
		return
	}
	upid := p.Machine.ProcessOf(p.thread(token, mmapPID, mmapThread))
	p.addMapping(&m, path, buildID)
	m.code = p.codes.of(path, buildID)
	p.codes.byMapping[m.id] = m.code
	if mode != modeGuestUser {
		owner.files.Set(m.start, m.end, m)
		owner.latest = nil
	}
	p.mmapRecord(ts, upid, m.id)
}

func (p *parser) process(pid uint32) *process {
	owner := p.processes[pid]
	if owner == nil {
		owner = &process{changes: p.changes}
		p.processes[pid] = owner
	}
	return owner
}

// exec forgets the mappings of the program that ran in the process before.
func (p *process) exec() {
	p.files = ranges.Map[mapping]{}
	p.latest = nil
}

func (p *parser) addMapping(m *mapping, path, buildID string) {
	m.id = p.Store.Stacks.AddMapping(profile.Mapping{
		BuildID:     p.Store.Strings.Intern(profile.BuildID(buildID)),
		ExactOffset: m.offset,
		Start:       m.start,
		End:         m.end,
		Name:        p.Store.Strings.Intern(path),
	})
}

func (p *parser) mmapRecord(ts int64, upid model.UPID, mapping profile.MappingID) {
	t := &p.Store.MmapRecord
	row := t.Append()
	t.TS.Set(row, ts)
	if upid != model.None {
		t.UPID.Set(row, upid)
	}
	t.MappingID.Set(row, mapping)
}

// The names that perf gives to kernels begin with these; modules have their paths.
const (
	kernelImage = "[kernel.kallsyms]"
	guestImage  = "[guest.kernel.kallsyms" // and a pid, or none
)

func (p *parser) mapKernel(to *kernel, ts int64, m mapping, path, buildID string) {
	if path == "[bpf]" && m.end-m.start == math.MaxUint64 {
		return // covers the whole address space
	}
	image := strings.HasPrefix(path, kernelImage) || strings.HasPrefix(path, guestImage)
	if image {
		m.offset = 0 // perf writes the address of _text here
	}
	image = image || m.start == m.end
	switch {
	case image && to.image != nil:
		m = *to.image
	case image:
		p.addMapping(&m, path, buildID)
		to.image = &m
	default:
		p.addMapping(&m, path, buildID)
		to.modules.Set(m.start, m.end, m)
	}
	p.changes++
	p.mmapRecord(ts, model.None, m.id)
}

func (p *parser) sample(ts int64, timed bool, token []byte) {
	e := p.recording.events[binary.LittleEndian.Uint32(token[sampleEvent:])]
	mode := cpuMode(token[sampleMode])
	if mode >= cpuMode(len(cpuModes)) {
		mode = modeUnknown
	}
	if mode == modeUnknown {
		p.File.Count(model.StatPerfSamplesCPUModeUnknown)
	}
	reads := int(binary.LittleEndian.Uint32(token[sampleReads:])) * sampleReadLen
	rest := token[sampleFixed:]

	v := profile.NewSample(ts, profiler)
	v.Session = e.session
	if pid := pidOf(token, samplePID); pidOf(token, sampleThread) != gone {
		v.UTID = p.thread(token, samplePID, sampleThread)
		v.UPID = p.Machine.ProcessOf(v.UTID)
	} else if pid != gone {
		p.begin(pid, pid)
		v.UPID = p.Machine.Process(int64(pid))
	}
	v.CPUMode = p.modes[mode]
	owner := p.process(pidOf(token, samplePID))
	chain, after := rest[reads:][:8*pidOf(token, sampleChain)], rest[reads:][8*pidOf(token, sampleChain):]
	tracepoint, after := after[:pidOf(token, sampleRecord)], after[pidOf(token, sampleRecord):]
	chain, inKernel, cookie, waits := cutDeferred(chain)
	v.Callsite = p.callsite(owner, mode, chain, p.unwind(ts, owner, e, token, after))
	if !timed {
		p.sums.add(e, token, v.Callsite)
		p.File.Unread(model.StatUnreadFact, model.None, "thread of a sample without a time").
			Say("sample without a time is only in the profile of all threads", "samples without a time are only in the profile of all threads").
			Add(model.LogEntry{})
		if len(tracepoint) > 0 {
			p.unreadTracepoint()
		}
		return
	}
	cpu := int64(model.None)
	if token[sampleHas]&hasCPU != 0 {
		if n := int32(binary.LittleEndian.Uint32(token[sampleOnCPU:])); n >= 0 {
			cpu = int64(n)
		}
	}
	if !p.count(ts, e, cpu, token, rest[:reads]) {
		p.File.Log(model.StatPerfRecordSkipped, model.LogEntry{TS: ts, HasTS: true, Index: recordSample, HasIndex: true})
		return
	}
	if cpu != model.None {
		v.CPU, v.UCPU = cpu, p.Machine.CPU(cpu)
	}
	v.CounterSet = p.Store.Stacks.CounterSet(p.counters)
	row := int64(p.Store.Stacks.AddSample(v))
	if len(tracepoint) > 0 {
		p.tracepoint(ts, cpu, e, tracepoint)
	}
	if waits {
		p.Store.StackSample.Pin(row)
		tid := pidOf(token, sampleThread)
		p.deferred[tid] = append(p.deferred[tid], deferred{row, mode, bytes.Clone(inKernel), cookie})
	}
}

// cutDeferred looks for the marker of callers in user code that a later record has. It returns the stack without them, and what
// of it they continue.
func cutDeferred(chain []byte) (alone, kernel []byte, cookie uint64, found bool) {
	for at := 0; at+16 <= len(chain); at += 8 {
		if binary.LittleEndian.Uint64(chain[at:]) == contextDeferred {
			alone, kernel = chain[:at], chain[:at]
			if rest := chain[at+16:]; len(rest) > 0 { // the address of the sample, which the callers include
				alone = rest
			}
			return alone, kernel, binary.LittleEndian.Uint64(chain[at+8:]), true
		}
	}
	return chain, nil, 0, false
}

// complete adds the callers in user code to the samples of a thread that wait for them.
func (p *parser) complete(token []byte) {
	tid := pidOf(token, deferredThread)
	owner := p.process(pidOf(token, deferredPID))
	for _, d := range p.deferred[tid] {
		if d.cookie == binary.LittleEndian.Uint64(token[deferredCookie:]) {
			id := p.callsite(owner, d.mode, append(d.kernel, token[deferredFixed:]...), nil)
			if id != model.None {
				p.Store.StackSample.CallsiteID.Set(d.row, id)
			}
		}
		p.Store.StackSample.Unpin(d.row)
	}
	delete(p.deferred, tid)
}

// count adds a sample's values to the counters. It returns false if they are
// invalid.
func (p *parser) count(ts int64, e *event, cpu int64, token, reads []byte) bool {
	p.counters = p.counters[:0]
	if len(reads) == 0 {
		period, ok := e.periodOf(token)
		if !ok {
			return false
		}
		c := e.counter(p.Context, cpu)
		c.value += float64(period)
		p.counters = append(p.counters, p.Counters.Push(ts, c.value, c.track))
		return true
	}
	for ; len(reads) > 0; reads = reads[sampleReadLen:] {
		counted, id := e, binary.LittleEndian.Uint64(reads)
		if id != 0 {
			index, ok := p.recording.byID[id]
			if !ok {
				return false
			}
			counted = p.recording.events[index]
		}
		c, value := counted.counter(p.Context, cpu), binary.LittleEndian.Uint64(reads[8:])
		c.value += float64(value) - float64(c.last[id])
		c.last[id] = value
		p.counters = append(p.counters, p.Counters.Push(ts, c.value, c.track))
	}
	return true
}

// callsite returns the callsite of a stack in a process, or None for an empty stack. users are the frames of user code if they
// were unwound.
func (p *parser) callsite(owner *process, mode cpuMode, chain []byte, users []uint64) profile.CallsiteID {
	if owner.changes != p.changes {
		owner.latest = owner.latest[:0]
		owner.changes = p.changes
	}
	p.frames = p.frames[:0]
	for ; len(chain) > 0; chain = chain[8:] {
		ip := binary.LittleEndian.Uint64(chain)
		if ip >= firstContext {
			mode = contexts[ip]
			continue
		}
		if users != nil && mode == modeUser {
			continue // the first of them
		}
		if len(p.frames) > 0 && ip != 0 && !p.recording.simpleperf {
			ip-- // from the return address into the call
		}
		p.frames = append(p.frames, frame{mode, ip})
	}
	for _, pc := range users {
		p.frames = append(p.frames, frame{modeUser, pc})
	}
	slices.Reverse(p.frames)
	same := 0
	for same < min(len(p.frames), len(owner.latest)) && p.frames[same] == owner.latest[same].frame {
		same++
	}
	owner.latest = owner.latest[:same]
	at := reached{callsite: model.None}
	if same > 0 {
		at = owner.latest[same-1]
	}
	for _, at.frame = range p.frames[same:] {
		m, known := p.find(owner, at.mode, at.ip)
		if !known {
			at.unknown++
		}
		at.callsite = p.Store.Stacks.Callsite(at.callsite, p.Store.Stacks.Frame(m.id, at.ip-m.start+m.offset, p.noName))
		owner.latest = append(owner.latest, at)
	}
	if at.unknown > 0 {
		p.File.Add(model.StatPerfDummyMappingUsed, model.None, at.unknown)
	}
	return at.callsite
}

// find returns the mapping at an address.
func (p *parser) find(owner *process, mode cpuMode, ip uint64) (m mapping, ok bool) {
	switch mode {
	case modeKernel:
		m, ok = p.kernel.find(ip)
	case modeGuestKernel:
		if m, ok = owner.guest.find(ip); !ok {
			m, ok = p.process(0).guest.find(ip)
		}
	case modeGuestUser: // perf does not record what the processes of guests map
	default:
		m, ok = owner.files.Find(ip)
	}
	if ok {
		return m, true
	}
	if owner.unknown == nil {
		owner.unknown = &mapping{id: p.Store.Stacks.DummyMapping("")}
	}
	return *owner.unknown, false
}

// find returns the mapping at an address.
func (k *kernel) find(ip uint64) (mapping, bool) {
	if m, ok := k.modules.Find(ip); ok || k.image == nil {
		return m, ok
	}
	return *k.image, k.image.start <= ip && ip < k.image.end
}
