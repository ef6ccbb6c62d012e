package model

import (
	"cmp"
	"maps"
	"slices"

	"github.com/tpconvert/tpconvert/internal/paged"
	"github.com/tpconvert/tpconvert/model/table"
)

// Machine is the state of one machine: its processes, threads and CPUs, which
// all trace files recorded on it share. Two machines may use the same pid.
type Machine struct {
	facts
	ID int64 // machine.id

	clocksOf *File // the file whose clocks are the machine's own
	tids     tidIndex
	changes  int                      // of which threads the ids mean
	pids     paged.Index              // of the process that has the pid now
	procs    paged.List[processState] // by upid, of all machines
	// What few of them have.
	threadHints  map[UTID]*hints
	processHints map[UPID]*hints
	cpus         cpus
	gpus         map[int64]int64
	assocs       [][2]UTID            // threads of one process, which is not known yet
	inner        map[int64]*namespace // by pid
	children     []pendingChild

	swapperThread  UTID
	swapperProcess UPID

	kernel kernelVersion
	arch   string
}

// ThreadPriority orders the sources of thread names: a name replaces one of the
// same or of a lower priority.
type ThreadPriority uint8

// The priorities of thread names.
const (
	ThreadNameOther          ThreadPriority = iota
	ThreadNameFtrace                        // the kernel's comm in events
	ThreadNameSystem                        // process trees and perf's comm records
	ThreadNameDescriptorType                // the kind of thread in a track descriptor
	ThreadNameDescriptor
	ThreadNameConstant // names that are always the same, such as swapper
)

// ProcessPriority orders the sources of process names likewise.
type ProcessPriority uint8

// The priorities of process names.
const (
	ProcessNameOther ProcessPriority = iota
	ProcessNameChromeLabel
	ProcessNameDescriptor
	ProcessNameChromeRenderer
	ProcessNameSystem
)

// SortPriority orders the sources of sort indices likewise.
type SortPriority uint8

// The priorities of sort indices.
const (
	SortOther SortPriority = iota
	SortDescriptor
)

// none is None in 32 bits.
const none = int32(None)

// There may be millions of threads and processes, so ids take 32 bits here.
// They are None where there is nothing.
type threadState struct {
	tid          int64
	upid         int32
	older        int32 // thread that had the tid before
	member       int32 // next thread of the process
	live         bool  // the newest of its tid that is alive
	ended        bool
	namePriority ThreadPriority
}

type processState struct {
	pid          int64
	parent       int32
	members      int32 // the first thread
	ended        bool
	started      bool
	namePriority ProcessPriority
}

// hints are args of a thread or a process, and where it stands in a list of them.
type hints struct {
	args     ArgSet
	sorted   bool
	sort     int64
	priority SortPriority
}

type pendingChild struct {
	parent UTID
	child  UPID
}

// Machine returns the state of the machine with this raw id, 0 for the one that
// the trace was recorded on.
func (s *Store) Machine(raw int64) *Machine {
	if m, ok := s.machines[raw]; ok {
		return m
	}
	id := s.machineRow(raw)
	m := &Machine{
		ID:    id,
		facts: newFacts(s, None, id),
		gpus:  map[int64]int64{},

		threadHints:  map[UTID]*hints{},
		processHints: map[UPID]*hints{},
	}
	// utid 0 and upid 0 are the idle process even where no event names it.
	m.swapperProcess = m.addProcess(0)
	m.swapperThread = m.addThread(0)
	m.setProcess(m.swapperThread, m.swapperProcess, true)
	s.Thread.IsIdle.Set(m.swapperThread, true)
	s.machines[raw] = m
	return m
}

// machineRow returns the id of the machine with a raw id.
func (s *Store) machineRow(raw int64) int64 {
	id, ok := s.machineRows[raw]
	if !ok {
		id = s.Tables.Machine.Append()
		s.Tables.Machine.RawID.Set(id, raw)
		s.machineRows[raw] = id
	}
	return id
}

// firstNamed is the raw id of the first machine that a manifest names. The ids that
// packets have are of 32 bits.
const firstNamed = 1 << 32

// NameMachine adds a machine of a name and returns its raw id.
func (s *Store) NameMachine(name string) (raw int64) {
	raw = firstNamed + s.namedMachines
	s.namedMachines++
	s.Tables.Machine.Name.Set(s.machineRow(raw), s.Strings.Intern(name))
	return raw
}

// AdoptMachine gives the machine 0 that a trace was recorded on the id that its
// events have. It returns false if it has another, or there is a machine with
// that id.
func (s *Store) AdoptMachine(raw int64) bool {
	m := s.Machine(0)
	_, taken := s.machineRows[raw]
	if had, _ := s.Tables.Machine.RawID.Get(m.ID); had != 0 || taken {
		return false
	}
	s.Tables.Machine.RawID.Set(m.ID, raw)
	s.machineRows[raw] = m.ID
	s.machines[raw] = m
	return true
}

func (s *Store) sortedMachines() []*Machine {
	all := slices.SortedFunc(maps.Values(s.machines), func(a, b *Machine) int { return cmp.Compare(a.ID, b.ID) })
	return slices.Compact(all)
}

func (m *Machine) addThread(tid int64) UTID {
	t := &m.store.Thread
	utid := t.Append()
	t.TID.Set(utid, tid)
	t.MachineID.Set(utid, m.ID)
	t.IsIdle.Set(utid, false)
	m.tids.threads.Extend(int(utid) + 1)
	*m.thread(utid) = threadState{tid: tid, upid: none, older: none, member: none}
	return utid
}

func (m *Machine) addProcess(pid int64) UPID {
	m.changes++
	t := &m.store.Process
	upid := t.Append()
	t.PID.Set(upid, pid)
	t.MachineID.Set(upid, m.ID)
	m.procs.Extend(int(upid) + 1)
	*m.proc(upid) = processState{pid: pid, parent: none, members: none}
	return upid
}

// AddProcess adds a process that no pid leads to.
func (m *Machine) AddProcess(pid int64) UPID { return m.addProcess(pid) }

// AddThread adds a thread to a process that no tid leads to, as goroutines are: their
// numbers are not the kernel's.
func (m *Machine) AddThread(tid int64, upid UPID, main bool) UTID {
	utid := m.addThread(tid)
	m.setProcess(utid, upid, main)
	return utid
}

func (m *Machine) thread(utid UTID) *threadState { return m.tids.thread(utid) }

func (m *Machine) proc(upid UPID) *processState { return m.procs.At(int(upid)) }

func (m *Machine) pidOf(upid int) uint64 { return uint64(m.procs.At(upid).pid) }

// StartThread adds a thread, even if the tid has one.
func (m *Machine) StartThread(ts *int64, tid int64) UTID {
	m.changes++
	utid := m.addThread(tid)
	if ts != nil {
		m.store.Thread.StartTS.Set(utid, *ts)
	}
	m.tids.chain(tid, utid)
	m.tids.setLive(tid, utid)
	return utid
}

// EndThread ends the tid's thread at ts, ns, if it has one, and its process if
// it is the main thread: the kernel frees that last.
func (m *Machine) EndThread(ts, tid int64) {
	utid, ok := m.tids.live(tid)
	if !ok {
		return
	}
	m.changes++
	m.store.Thread.EndTS.Set(utid, ts)
	m.thread(utid).ended = true
	m.tids.unchain(tid, utid)
	m.refresh(tid)
	upid := m.ProcessOf(utid)
	if upid == None || m.proc(upid).pid != tid {
		return
	}
	m.store.Process.EndTS.Set(upid, ts)
	m.proc(upid).ended = true
	m.pids.Delete(uint64(tid), m.pidOf)
	m.refreshMembers(upid)
}

// LiveThread returns the newest thread of the tid that is alive, or None.
func (m *Machine) LiveThread(tid int64) UTID {
	if utid, ok := m.tids.live(tid); ok {
		return utid
	}
	return None
}

// Thread returns the tid's thread, which it adds if there is none.
func (m *Machine) Thread(tid int64) UTID {
	if utid, ok := m.tids.live(tid); ok {
		return utid
	}
	return m.StartThread(nil, tid)
}

// ThreadOf returns the thread of the tid in the pid's process; both are added
// if they are not known.
func (m *Machine) ThreadOf(tid, pid int64) UTID {
	return m.threadIn(tid, m.Process(pid), tid == pid, true)
}

// ThreadChanges counts the changes of which threads the ids mean: while it stays
// the same, so do the results of Thread and ThreadOf.
func (m *Machine) ThreadChanges() int { return m.changes }

// ThreadIn returns the thread of the tid in a process. Threads that are known to
// share its process join it; mains says whether one of them can be the main
// thread.
func (m *Machine) ThreadIn(tid int64, upid UPID, mains bool) UTID {
	return m.threadIn(tid, upid, false, mains)
}

func (m *Machine) threadIn(tid int64, upid UPID, main, mains bool) UTID {
	if utid, ok := m.tids.live(tid); ok && m.ProcessOf(utid) == upid && len(m.assocs)+len(m.children) == 0 {
		return utid
	}
	utid := m.find(tid, m.proc(upid).pid)
	if utid == None {
		utid = m.StartThread(nil, tid)
	} else {
		m.changes++
		if m.tids.newest(tid) != utid {
			m.tids.unchain(tid, utid)
			m.tids.chain(tid, utid)
		}
		m.tids.setLive(tid, utid)
	}
	if m.ProcessOf(utid) == None {
		m.setProcess(utid, upid, main)
	}
	if len(m.assocs) > 0 || len(m.children) > 0 {
		m.resolve(utid, m.ProcessOf(utid), mains)
	}
	return utid
}

// find returns the newest live thread of the tid that is in the pid's process
// or in none that is known, or None.
func (m *Machine) find(tid, pid int64) UTID {
	for utid := m.tids.newest(tid); utid != None; utid = m.tids.older(utid) {
		if !m.alive(utid) {
			continue
		}
		if upid := m.ProcessOf(utid); upid == None || m.proc(upid).pid == pid {
			return utid
		}
	}
	return None
}

// alive reports whether neither the thread nor its process ended, and the pid
// was not given to another process.
func (m *Machine) alive(utid UTID) bool {
	t := m.thread(utid)
	if t.ended {
		return false
	}
	if t.upid == none {
		return true
	}
	p := m.proc(UPID(t.upid))
	if p.ended {
		return false
	}
	current := m.LiveProcess(p.pid)
	return current == None || current == UPID(t.upid)
}

func (m *Machine) refresh(tid int64) {
	utid := m.tids.newest(tid)
	for utid != None && !m.alive(utid) {
		utid = m.tids.older(utid)
	}
	m.tids.setLive(tid, utid)
}

func (m *Machine) refreshMembers(upid UPID) {
	for at := m.proc(upid).members; at != none; {
		t := m.thread(UTID(at))
		m.refresh(t.tid)
		at = t.member
	}
}

func (m *Machine) setProcess(utid UTID, upid UPID, main bool) {
	m.changes++
	t, p := m.thread(utid), m.proc(upid)
	if t.upid != int32(upid) {
		t.upid, t.member, p.members = int32(upid), p.members, int32(utid)
	}
	m.store.Thread.UPID.Set(utid, upid)
	m.store.Thread.IsMainThread.Set(utid, main)
}

// Process returns the pid's process; it and its main thread are added if they
// are not known.
func (m *Machine) Process(pid int64) UPID { return m.process(pid, true) }

// ProcessWithoutThread is Process without the main thread.
func (m *Machine) ProcessWithoutThread(pid int64) UPID { return m.process(pid, false) }

func (m *Machine) process(pid int64, main bool) UPID {
	if upid := m.LiveProcess(pid); upid != None {
		return upid
	}
	upid := m.addProcess(pid)
	m.pids.Set(uint64(pid), int(upid), m.pidOf)
	if main {
		m.ThreadOf(pid, pid)
	}
	return upid
}

// LiveProcess returns the pid's process, or None.
func (m *Machine) LiveProcess(pid int64) UPID {
	if upid, ok := m.pids.Find(uint64(pid), m.pidOf); ok {
		return UPID(upid)
	}
	return None
}

// StartProcess adds a process, even if the pid has one, which is then over.
// ts, in ns, and parent may be unknown: nil and None.
func (m *Machine) StartProcess(ts *int64, parent UPID, pid int64, name StringID, priority ThreadPriority) UPID {
	return m.startProcess(ts, parent, pid, name, priority, true)
}

// StartProcessWithoutThread is StartProcess without the main thread.
func (m *Machine) StartProcessWithoutThread(ts *int64, parent UPID, pid int64, name StringID, priority ThreadPriority) UPID {
	return m.startProcess(ts, parent, pid, name, priority, false)
}

func (m *Machine) startProcess(ts *int64, parent UPID, pid int64, name StringID, priority ThreadPriority, main bool) UPID {
	m.changes++
	former := m.LiveProcess(pid)
	m.pids.Delete(uint64(pid), m.pidOf)
	m.tids.forget(pid)
	if main {
		m.SetThreadName(m.StartThread(ts, pid), name, priority)
	}
	upid := m.process(pid, main)
	if ts != nil {
		m.store.Process.StartTS.Set(upid, *ts)
		m.proc(upid).started = true
	}
	m.SetProcessName(upid, name, ProcessNameSystem)
	if parent != None {
		m.setParent(upid, parent)
	}
	if former != None {
		m.refreshMembers(former)
	}
	return upid
}

// SetProcessStart sets when the process started, ns, unless that is known.
func (m *Machine) SetProcessStart(upid UPID, ts int64) {
	if !m.proc(upid).started {
		m.proc(upid).started = true
		m.store.Process.StartTS.Set(upid, ts)
	}
}

func (m *Machine) setParent(upid, parent UPID) {
	m.proc(upid).parent = int32(parent)
	m.store.Process.ParentUPID.Set(upid, parent)
}

// SetParent sets the parent of a process. A process that has another parent
// was adopted and keeps the first; SetParent then returns false.
func (m *Machine) SetParent(upid, parent UPID) bool {
	if had := UPID(m.proc(upid).parent); had != None {
		return had == parent
	}
	m.setParent(upid, parent)
	return true
}

// SetParentThread makes the thread's process the parent of a new process, at
// once or when it becomes known.
func (m *Machine) SetParentThread(upid UPID, parent UTID) {
	if of := m.ProcessOf(parent); of != None {
		m.setParent(upid, of)
		return
	}
	m.children = append(m.children, pendingChild{parent, upid})
}

// ProcessOf returns the thread's process, or None.
func (m *Machine) ProcessOf(utid UTID) UPID { return UPID(m.thread(utid).upid) }

// PID returns the process's pid, TID the thread's tid.
func (m *Machine) PID(upid UPID) int64 { return m.proc(upid).pid }

// TID returns the thread's tid.
func (m *Machine) TID(utid UTID) int64 { return m.thread(utid).tid }

// SetThreadName names a thread, unless it has a name of a higher priority.
func (m *Machine) SetThreadName(utid UTID, name StringID, priority ThreadPriority) {
	if name == 0 || priority < m.thread(utid).namePriority {
		return
	}
	m.thread(utid).namePriority = priority
	m.store.Thread.Name.Set(utid, name)
}

// SetThreadAndProcessName names a thread and, if it is the main thread, its
// process.
func (m *Machine) SetThreadAndProcessName(utid UTID, name StringID, priority ThreadPriority) {
	m.SetThreadName(utid, name, priority)
	if upid := m.ProcessOf(utid); upid != None && m.proc(upid).pid == m.thread(utid).tid {
		m.SetProcessName(upid, name, ProcessNameSystem)
	}
}

// SetProcessName names a process, unless it has a name of a higher priority.
func (m *Machine) SetProcessName(upid UPID, name StringID, priority ProcessPriority) {
	if name == 0 || priority < m.proc(upid).namePriority {
		return
	}
	m.proc(upid).namePriority = priority
	m.store.Process.Name.Set(upid, name)
}

// SetCmdline sets the command line of a process.
func (m *Machine) SetCmdline(upid UPID, cmdline StringID) {
	m.store.Process.Cmdline.Set(upid, cmdline)
}

// SetUID sets the user of a process. Android makes its uids of a user and an
// app: uid = user*100000 + app.
func (m *Machine) SetUID(upid UPID, uid int64) {
	t := &m.store.Process
	t.UID.Set(upid, uid)
	t.AndroidAppID.Set(upid, uid%100000)
	t.AndroidUserID.Set(upid, uid/100000)
}

// SetMainThread says whether a thread is the main thread of its process.
func (m *Machine) SetMainThread(utid UTID, main bool) { m.store.Thread.IsMainThread.Set(utid, main) }

// SetIdleThread says whether a thread is an idle thread of a CPU.
func (m *Machine) SetIdleThread(utid UTID, idle bool) { m.store.Thread.IsIdle.Set(utid, idle) }

// UseIdleProcess makes tid 0 and pid 0 mean the idle process, utid 0 and upid 0,
// as they do in traces of Linux.
func (m *Machine) UseIdleProcess() {
	m.changes++
	m.thread(m.swapperThread).older = none
	m.tids.forget(0)
	m.tids.chain(0, m.swapperThread)
	m.tids.setLive(0, m.swapperThread)
	m.pids.Set(0, int(m.swapperProcess), m.pidOf)
	m.SetThreadName(m.swapperThread, m.store.Strings.Intern("swapper"), ThreadNameConstant)
}

// ProcessArgs returns the args of a process, to add to.
func (m *Machine) ProcessArgs(upid UPID) *ArgSet {
	return &hintsOf(m.processHints, upid).args
}

// ThreadArgs returns the args of a thread, to add to.
func (m *Machine) ThreadArgs(utid UTID) *ArgSet {
	return &hintsOf(m.threadHints, utid).args
}

// SetProcessSortIndex says where a process stands in a list of them.
func (m *Machine) SetProcessSortIndex(upid UPID, index int64, priority SortPriority) {
	hintsOf(m.processHints, upid).setSort(index, priority)
}

// SetThreadSortIndex says where a thread stands in a list of them.
func (m *Machine) SetThreadSortIndex(utid UTID, index int64, priority SortPriority) {
	hintsOf(m.threadHints, utid).setSort(index, priority)
}

// Associate says that two threads are of one process, which may become known
// later. It returns false if they are of two processes.
func (m *Machine) Associate(a, b UTID, mains bool) bool {
	upidA, upidB := m.ProcessOf(a), m.ProcessOf(b)
	switch {
	case upidA != None && upidB == None:
		m.join(b, upidA, mains)
	case upidB != None && upidA == None:
		m.join(a, upidB, mains)
	case upidA != None:
		return upidA == upidB
	default:
		m.assocs = append(m.assocs, [2]UTID{a, b})
	}
	return true
}

func (m *Machine) join(utid UTID, upid UPID, mains bool) {
	m.setProcess(utid, upid, mains && m.thread(utid).tid == m.proc(upid).pid)
	m.resolve(utid, upid, mains)
}

// resolve puts the threads that wait for the thread's process into it.
func (m *Machine) resolve(utid UTID, upid UPID, mains bool) {
	for work := []UTID{utid}; len(work) > 0; {
		utid := work[len(work)-1]
		work = work[:len(work)-1]
		m.children = slices.DeleteFunc(m.children, func(c pendingChild) bool {
			if c.parent != utid {
				return false
			}
			m.setParent(c.child, upid)
			return true
		})
		m.assocs = slices.DeleteFunc(m.assocs, func(pair [2]UTID) bool {
			other := pair[0]
			switch utid {
			case pair[0]:
				other = pair[1]
			case pair[1]:
			default:
				return false
			}
			m.setProcess(other, upid, mains && m.thread(other).tid == m.proc(upid).pid)
			work = append(work, other)
			return true
		})
	}
}

// namespace is how the threads of a process in a container are numbered there.
// The ids of a thread are its own on the machine, then those in the namespaces
// around the process, outermost first.
type namespace struct {
	pids    []int64
	threads []int64 // tids on the machine, in the order in which they were named
	tids    map[int64][]int64
}

// SetNamespacedProcess says which pids a process has in the namespaces that it is
// in, outermost first.
func (m *Machine) SetNamespacedProcess(pid int64, pids []int64) {
	if m.inner == nil {
		m.inner = map[int64]*namespace{}
	}
	m.inner[pid] = &namespace{pids: pids, tids: map[int64][]int64{}}
}

// SetNamespacedThread does so for a thread of the process. It returns false if
// the process is not known to be in a namespace.
func (m *Machine) SetNamespacedThread(pid, tid int64, tids []int64) bool {
	ns := m.inner[pid]
	if ns == nil {
		return false
	}
	if _, known := ns.tids[tid]; !known {
		ns.threads = append(ns.threads, tid)
	}
	ns.tids[tid] = tids
	return true
}

// ResolveNamespaced returns the tid on the machine of a thread that has this tid
// in the innermost namespace of the process. It returns the tid itself and false
// if there is none.
func (m *Machine) ResolveNamespaced(pid, tid int64) (int64, bool) {
	ns := m.inner[pid]
	if ns == nil || len(ns.pids) == 0 {
		return tid, false
	}
	level := len(ns.pids) - 1
	if ns.pids[level] == tid {
		return pid, true
	}
	for _, outer := range ns.threads {
		if tids := ns.tids[outer]; level < len(tids) && tids[level] == tid {
			return outer, true
		}
	}
	return tid, false
}

// hintsOf returns what is kept under an id.
func hintsOf(all map[int64]*hints, id int64) *hints {
	h := all[id]
	if h == nil {
		h = new(hints)
		all[id] = h
	}
	return h
}

func (h *hints) setSort(index int64, priority SortPriority) {
	if !h.sorted || priority >= h.priority {
		h.sorted, h.sort, h.priority = true, index, priority
	}
}

// finish stores the args of processes and threads.
func (m *Machine) finish() {
	m.storeHints(m.processHints, "process_sort_index_hint", &m.store.Process.ArgSetID)
	m.storeHints(m.threadHints, "thread_sort_index_hint", &m.store.Thread.ArgSetID)
}

func (m *Machine) storeHints(all map[int64]*hints, sort string, to *table.Int64) {
	for _, id := range slices.Sorted(maps.Keys(all)) {
		h := all[id]
		if h.sorted {
			h.args.Add(m.store.Strings.Intern(sort), IntArg(h.sort))
		}
		if h.args.Len() > 0 {
			to.Set(id, m.store.InternArgs(&h.args))
		}
	}
}
