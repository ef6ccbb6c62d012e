// Package machine has the processes, threads and CPUs of the machines that traces come from.
package machine

import (
	"iter"
	"maps"
	"slices"

	"github.com/tpconvert/tpconvert/internal/attached"
	"github.com/tpconvert/tpconvert/internal/paged"
	"github.com/tpconvert/tpconvert/model/args"
	"github.com/tpconvert/tpconvert/model/facts"
	"github.com/tpconvert/tpconvert/model/schema"
	"github.com/tpconvert/tpconvert/model/table"
)

// Machine is the state of one machine: its processes, threads and CPUs. All trace
// files recorded on it share this state. Two machines may use the same pid.
type Machine struct {
	facts.Facts
	ID schema.MachineID

	all     *Machines
	tids    tidIndex
	changes int         // see ThreadChanges
	pids    paged.Index // the process that currently has each pid
	strays  int         // threads whose process is unknown
	// Only a few threads and processes have hints.
	threadHints  map[schema.UTID]*hints
	processHints map[schema.UPID]*hints
	cpus         cpus
	gpus         map[int64]schema.UGPU
	assocs       [][2]schema.UTID     // pairs of threads in the same, still unknown process
	inner        map[int64]*namespace // by pid
	children     []pendingChild

	invented invented

	swapperThread  schema.UTID
	swapperProcess schema.UPID

	kernel kernelVersion
	arch   string

	values attached.Values
}

// ThreadPriority orders the sources of thread names: a name replaces another of the
// same or a lower priority.
type ThreadPriority uint8

// The priorities of thread names.
const (
	ThreadNameOther          ThreadPriority = iota
	ThreadNameFtrace                        // the kernel's comm in events
	ThreadNameSystem                        // process trees and perf's comm records
	ThreadNameDescriptorType                // the kind of thread in a track descriptor
	ThreadNameDescriptor
	ThreadNameConstant // fixed names such as swapper
)

// ProcessPriority orders the sources of process names in the same way.
type ProcessPriority uint8

// The priorities of process names.
const (
	ProcessNameOther ProcessPriority = iota
	ProcessNameChromeLabel
	ProcessNameDescriptor
	ProcessNameChromeRenderer
	ProcessNameSystem
)

// SortPriority orders the sources of sort indices in the same way.
type SortPriority uint8

// The priorities of sort indices.
const (
	SortOther SortPriority = iota
	SortDescriptor
)

// none is table.None in 32 bits.
const none int32 = table.None

// There may be millions of threads and processes, so ids have 32 bits here. none
// stands for a missing id.
type threadState struct {
	tid          uint32 // the lower half
	upid         int32
	older, newer int32 // threads with the tid
	member       int32 // next thread of the process
	live         bool  // it is the newest living thread with its tid
	listed       bool  // only a list has named it so far, see List
	ended        bool
	awaited      bool // its process is that of other threads, or the parent of processes: see resolve
	namePriority ThreadPriority
}

type processState struct {
	pid          uint32 // the lower half
	parent       int32
	members      int32 // the first thread
	ended        bool
	started      bool
	namePriority ProcessPriority
}

// hints are the args of a thread or a process, and its position in sorted lists.
type hints struct {
	args     args.Set
	sorted   bool
	sort     int64
	priority SortPriority
}

type pendingChild struct {
	parent schema.UTID
	child  schema.UPID
}

// Values are what formats know about the machine from all of its files.
func (m *Machine) Values() *attached.Values { return &m.values }

func (m *Machine) addThread(tid int64) schema.UTID {
	t := &m.all.tables.Thread
	row := t.Append()
	t.TID.Set(row, tid)
	t.MachineID.Set(row, m.ID)
	t.IsIdle.Set(row, false)
	utid := schema.UTID(row)
	m.all.threads.list.Extend(int(utid) + 1)
	*m.thread(utid) = threadState{tid: uint32(tid), upid: none, older: none, newer: none, member: none}
	m.strays++
	if upper := int32(tid >> 32); upper != 0 {
		*m.all.threads.wide.At(int(utid)) = upper
	}
	return utid
}

func (m *Machine) addProcess(pid int64) schema.UPID {
	m.changes++
	t := &m.all.tables.Process
	row := t.Append()
	t.PID.Set(row, pid)
	t.MachineID.Set(row, m.ID)
	upid := schema.UPID(row)
	m.all.processes.list.Extend(int(upid) + 1)
	*m.proc(upid) = processState{pid: uint32(pid), parent: none, members: none}
	if upper := int32(pid >> 32); upper != 0 {
		*m.all.processes.wide.At(int(upid)) = upper
	}
	return upid
}

// AddProcess adds a process that cannot be looked up by its pid.
func (m *Machine) AddProcess(pid int64) schema.UPID { return m.addProcess(pid) }

// AddThread adds a thread to a process, which is table.None until Join. The thread
// cannot be looked up by its tid, because the tid is not the kernel's: goroutines, for
// example, have their own numbers.
func (m *Machine) AddThread(tid int64, upid schema.UPID, main bool) schema.UTID {
	utid := m.addThread(tid)
	if upid != table.None {
		m.setProcess(utid, upid, main)
	}
	return utid
}

// Join makes a thread without a process one of a process.
func (m *Machine) Join(utid schema.UTID, upid schema.UPID, main bool) {
	m.setProcess(utid, upid, main)
}

func (m *Machine) thread(utid schema.UTID) *threadState { return m.tids.thread(utid) }

func (m *Machine) proc(upid schema.UPID) *processState { return m.all.processes.list.At(int(upid)) }

func (m *Machine) pidOf(upid int) uint64 { return uint64(m.PID(schema.UPID(upid))) }

// List notes that a list named the tid's thread, at a time that it does not say. If the first event that is about the
// tid starts a thread, it is this one: see StartListed and StartProcess.
func (m *Machine) List(tid int64) {
	if utid := m.tids.newest(tid); utid != table.None {
		m.thread(utid).listed = true
		m.tids.forgetRecent(tid)
	}
}

// StartThread adds a thread, even if another one has the tid.
func (m *Machine) StartThread(ts *int64, tid int64) schema.UTID {
	m.changes++
	utid := m.addThread(tid)
	if ts != nil {
		m.all.tables.Thread.StartTS.Set(int64(utid), *ts)
	}
	m.tids.chain(tid, utid)
	m.tids.setLive(tid, utid)
	return utid
}

// StartListed starts the thread that List noted, or returns table.None if there is none. Its process must be upid,
// unless one of them is not known.
func (m *Machine) StartListed(ts, tid int64, upid schema.UPID) schema.UTID {
	utid := m.tids.newest(tid)
	if utid == table.None || !m.thread(utid).listed {
		return table.None
	}
	if owner := m.ProcessOf(utid); owner != upid && owner != table.None && upid != table.None {
		return table.None
	}
	m.thread(utid).listed = false
	m.all.tables.Thread.StartTS.Set(int64(utid), ts)
	return utid
}

// EndThread ends the tid's thread, if any, at ts (ns). The end of the main thread
// also ends the process, because the kernel frees the main thread last.
func (m *Machine) EndThread(ts, tid int64) {
	utid, ok := m.tids.live(tid)
	if !ok {
		return
	}
	m.changes++
	m.all.tables.Thread.EndTS.Set(int64(utid), ts)
	m.thread(utid).ended = true
	m.tids.unchain(tid, utid)
	m.refresh(tid)
	upid := m.ProcessOf(utid)
	if upid == table.None || m.PID(upid) != tid {
		return
	}
	m.all.tables.Process.EndTS.Set(int64(upid), ts)
	m.proc(upid).ended = true
	m.pids.Delete(uint64(tid), m.pidOf)
	m.refreshMembers(upid)
}

// LiveThread returns the newest living thread with the tid, or table.None.
func (m *Machine) LiveThread(tid int64) schema.UTID {
	if utid, ok := m.tids.live(tid); ok {
		return utid
	}
	return table.None
}

// Thread returns the thread with the tid, and adds one if there is none.
func (m *Machine) Thread(tid int64) schema.UTID {
	if utid, ok := m.tids.live(tid); ok {
		return utid
	}
	return m.StartThread(nil, tid)
}

// ThreadOf returns the thread with the tid in the process with the pid, and adds
// whichever is missing.
func (m *Machine) ThreadOf(tid, pid int64) schema.UTID {
	return m.threadIn(tid, m.Process(pid), tid == pid, true)
}

// ThreadChanges counts the changes to the meaning of tids and pids. Until it changes,
// Thread and ThreadOf return the same results.
func (m *Machine) ThreadChanges() int { return m.changes }

// ThreadIn returns the thread with the tid in a process. Threads known to share its
// process join that process; mains says whether one of them can be the main thread.
func (m *Machine) ThreadIn(tid int64, upid schema.UPID, mains bool) schema.UTID {
	return m.threadIn(tid, upid, false, mains)
}

func (m *Machine) threadIn(tid int64, upid schema.UPID, main, mains bool) schema.UTID {
	if utid, ok := m.tids.live(tid); ok && m.ProcessOf(utid) == upid && !m.thread(utid).awaited {
		return utid
	}
	utid, ok := m.member(tid, upid)
	if !ok {
		utid = m.find(tid, m.PID(upid))
	}
	if utid == table.None {
		utid = m.StartThread(nil, tid)
	} else {
		m.changes++
		if m.tids.newest(tid) != utid {
			m.tids.unchain(tid, utid)
			m.tids.chain(tid, utid)
		}
		m.tids.setLive(tid, utid)
	}
	if m.ProcessOf(utid) == table.None {
		m.setProcess(utid, upid, main)
	}
	m.resolve(utid, m.ProcessOf(utid), mains)
	return utid
}

// fewMembers are so many that looking at them is quick.
const fewMembers = 32

// member is find for a process of few threads: thousands of processes may each have a thread with the tid. It says nothing if the
// order of threads, or one whose process is unknown, matters.
func (m *Machine) member(tid int64, upid schema.UPID) (found schema.UTID, ok bool) {
	if m.strays > 0 || m.LiveProcess(m.PID(upid)) != upid {
		return table.None, false
	}
	found = table.None
	at := schema.UTID(m.proc(upid).members)
	for n := 0; at != table.None; n++ {
		if n == fewMembers {
			return table.None, false
		}
		if m.TID(at) == tid && m.tids.has(tid, at) && m.alive(at) {
			if found != table.None {
				return table.None, false
			}
			found = at
		}
		at = schema.UTID(m.thread(at).member)
	}
	return found, true
}

// find returns the newest living thread with the tid whose process has the pid or is
// unknown, or table.None.
func (m *Machine) find(tid, pid int64) schema.UTID {
	for utid := m.tids.newest(tid); utid != table.None; utid = m.tids.older(utid) {
		if upid := m.ProcessOf(utid); (upid == table.None || m.PID(upid) == pid) && m.alive(utid) {
			return utid
		}
	}
	return table.None
}

// alive reports whether neither the thread nor its process has ended, and the pid
// still belongs to that process.
func (m *Machine) alive(utid schema.UTID) bool {
	t := m.thread(utid)
	if t.ended {
		return false
	}
	if t.upid == none {
		return true
	}
	p := m.proc(schema.UPID(t.upid))
	if p.ended {
		return false
	}
	current := m.LiveProcess(m.PID(schema.UPID(t.upid)))
	return current == table.None || current == schema.UPID(t.upid)
}

func (m *Machine) refresh(tid int64) {
	utid := m.tids.newest(tid)
	for utid != table.None && !m.alive(utid) {
		utid = m.tids.older(utid)
	}
	m.tids.setLive(tid, utid)
}

func (m *Machine) refreshMembers(upid schema.UPID) {
	for at := m.proc(upid).members; at != none; {
		m.refresh(m.TID(schema.UTID(at)))
		at = m.thread(schema.UTID(at)).member
	}
}

func (m *Machine) setProcess(utid schema.UTID, upid schema.UPID, main bool) {
	m.changes++
	t, p := m.thread(utid), m.proc(upid)
	if t.upid != int32(upid) {
		m.leaveProcess(utid)
		t.upid, t.member, p.members = int32(upid), p.members, int32(utid)
	}
	m.all.tables.Thread.UPID.Set(int64(utid), upid)
	m.all.tables.Thread.IsMainThread.Set(int64(utid), main)
}

// leaveProcess takes a thread from the members of its process, if that is known.
func (m *Machine) leaveProcess(utid schema.UTID) {
	t := m.thread(utid)
	if t.upid == none {
		m.strays--
		return
	}
	at := &m.proc(schema.UPID(t.upid)).members
	for *at != int32(utid) {
		at = &m.thread(schema.UTID(*at)).member
	}
	*at = t.member
}

// Threads yields the threads of a process, the last one to join it first.
func (m *Machine) Threads(upid schema.UPID) iter.Seq[schema.UTID] {
	return func(yield func(schema.UTID) bool) {
		for at := m.proc(upid).members; at != none && yield(schema.UTID(at)); at = m.thread(schema.UTID(at)).member {
		}
	}
}

// Process returns the process with the pid. If there is none, it adds one with its main thread.
func (m *Machine) Process(pid int64) schema.UPID { return m.process(pid, true) }

// ProcessWithoutThread is Process without the main thread.
func (m *Machine) ProcessWithoutThread(pid int64) schema.UPID { return m.process(pid, false) }

func (m *Machine) process(pid int64, main bool) schema.UPID {
	if upid := m.LiveProcess(pid); upid != table.None {
		return upid
	}
	upid := m.addProcess(pid)
	m.pids.Set(uint64(pid), int(upid), m.pidOf)
	if main {
		m.ThreadOf(pid, pid)
	}
	return upid
}

// LiveProcess returns the process with the pid, or table.None.
func (m *Machine) LiveProcess(pid int64) schema.UPID {
	if upid, ok := m.pids.Find(uint64(pid), m.pidOf); ok {
		return schema.UPID(upid)
	}
	return table.None
}

// StartProcess adds a process with its main thread. If another process has the pid, that process is over.
// ts (ns) is nil and parent is table.None if unknown.
func (m *Machine) StartProcess(ts *int64, parent schema.UPID, pid int64, name table.StringID, priority ThreadPriority) schema.UPID {
	m.changes++
	former := m.LiveProcess(pid)
	if former != table.None && ts != nil {
		if utid := m.StartListed(*ts, pid, former); utid != table.None {
			m.SetThreadName(utid, name, priority)
			m.SetProcessStart(former, *ts)
			return former // with the name in the list, which is not that of the parent
		}
	}
	m.pids.Delete(uint64(pid), m.pidOf)
	m.tids.forget(pid)
	m.SetThreadName(m.StartThread(ts, pid), name, priority)
	upid := m.Process(pid)
	if ts != nil {
		m.all.tables.Process.StartTS.Set(int64(upid), *ts)
		m.proc(upid).started = true
	}
	m.SetProcessName(upid, name, ProcessNameSystem)
	if parent != table.None {
		m.setParent(upid, parent)
	}
	if former != table.None {
		m.refreshMembers(former)
	}
	return upid
}

// SetProcessStart sets the start of a process, in ns, unless it is already known.
func (m *Machine) SetProcessStart(upid schema.UPID, ts int64) {
	if !m.proc(upid).started {
		m.proc(upid).started = true
		m.all.tables.Process.StartTS.Set(int64(upid), ts)
	}
}

func (m *Machine) setParent(upid, parent schema.UPID) {
	m.proc(upid).parent = int32(parent)
	m.all.tables.Process.ParentUPID.Set(int64(upid), parent)
}

// SetParent sets the parent of a process. If the process already has another parent,
// it was adopted: SetParent keeps the first parent and returns false.
func (m *Machine) SetParent(upid, parent schema.UPID) bool {
	if had := schema.UPID(m.proc(upid).parent); had != table.None {
		return had == parent
	}
	m.setParent(upid, parent)
	return true
}

// SetParentThread makes the thread's process the parent of a new process, either now
// or when the thread's process becomes known.
func (m *Machine) SetParentThread(upid schema.UPID, parent schema.UTID) {
	if owner := m.ProcessOf(parent); owner != table.None {
		m.setParent(upid, owner)
		return
	}
	m.children = append(m.children, pendingChild{parent, upid})
	m.thread(parent).awaited = true
}

// ProcessOf returns the thread's process, or table.None.
func (m *Machine) ProcessOf(utid schema.UTID) schema.UPID { return schema.UPID(m.thread(utid).upid) }

// PID returns the process's pid.
func (m *Machine) PID(upid schema.UPID) int64 {
	return int64(m.all.processes.wide.Get(int(upid)))<<32 | int64(m.proc(upid).pid)
}

// TID returns the thread's tid.
func (m *Machine) TID(utid schema.UTID) int64 { return int64(m.tids.key(int(utid))) }

// SetThreadName names a thread, unless it has a name of a higher priority.
func (m *Machine) SetThreadName(utid schema.UTID, name table.StringID, priority ThreadPriority) {
	if name == 0 || priority < m.thread(utid).namePriority {
		return
	}
	m.thread(utid).namePriority = priority
	m.all.tables.Thread.Name.Set(int64(utid), name)
}

// SetThreadAndProcessName names a thread and, if it is the main thread, its
// process.
func (m *Machine) SetThreadAndProcessName(utid schema.UTID, name table.StringID, priority ThreadPriority) {
	m.SetThreadName(utid, name, priority)
	if upid := m.ProcessOf(utid); upid != table.None && m.PID(upid) == m.TID(utid) {
		m.SetProcessName(upid, name, ProcessNameSystem)
	}
}

// SetProcessName names a process, unless it has a name of a higher priority.
func (m *Machine) SetProcessName(upid schema.UPID, name table.StringID, priority ProcessPriority) {
	if name == 0 || priority < m.proc(upid).namePriority {
		return
	}
	m.proc(upid).namePriority = priority
	m.all.tables.Process.Name.Set(int64(upid), name)
}

// SetCmdline sets the command line of a process.
func (m *Machine) SetCmdline(upid schema.UPID, cmdline table.StringID) {
	m.all.tables.Process.Cmdline.Set(int64(upid), cmdline)
}

// SetUID sets the user of a process. Android combines a user and an app into a uid:
// user*100000 + app.
func (m *Machine) SetUID(upid schema.UPID, uid int64) {
	t, row := &m.all.tables.Process, int64(upid)
	t.UID.Set(row, uid)
	t.AndroidAppID.Set(row, uid%100000)
	t.AndroidUserID.Set(row, uid/100000)
}

// SetMainThread sets whether a thread is the main thread of its process.
func (m *Machine) SetMainThread(utid schema.UTID, main bool) {
	m.all.tables.Thread.IsMainThread.Set(int64(utid), main)
}

// SetIdleThread sets whether a thread is a CPU's idle thread.
func (m *Machine) SetIdleThread(utid schema.UTID, idle bool) {
	m.all.tables.Thread.IsIdle.Set(int64(utid), idle)
}

// IdleThread is the thread of the idle process, which exists even if no event mentions it.
func (m *Machine) IdleThread() schema.UTID { return m.swapperThread }

// UseIdleProcess makes tid 0 and pid 0 refer to the idle process, utid 0 and upid 0,
// as in Linux traces.
func (m *Machine) UseIdleProcess() {
	m.changes++
	m.tids.forget(0)
	m.tids.chain(0, m.swapperThread)
	m.tids.setLive(0, m.swapperThread)
	m.pids.Set(0, int(m.swapperProcess), m.pidOf)
	m.SetThreadName(m.swapperThread, m.all.strings.Intern("swapper"), ThreadNameConstant)
}

// ProcessArgs returns the args of a process, for the caller to add to.
func (m *Machine) ProcessArgs(upid schema.UPID) *args.Set {
	return &hintsOf(m.processHints, upid).args
}

// SetProcessLabels sets what a process does, such as "GPU 3", as args. Perfetto's UI shows them beside
// the name.
func (m *Machine) SetProcessLabels(upid schema.UPID, labels ...table.StringID) {
	if len(labels) == 0 {
		return
	}
	const key = "chrome.process_label"
	set, strings := m.ProcessArgs(upid), m.all.strings
	for i, label := range labels {
		set.AddFlat(strings.Intern(key), strings.Intern(args.ArrayKey(key, i)), args.String(label))
	}
}

// ThreadArgs returns the args of a thread, for the caller to add to.
func (m *Machine) ThreadArgs(utid schema.UTID) *args.Set {
	return &hintsOf(m.threadHints, utid).args
}

// SetProcessSortIndex sets the position of a process in sorted lists.
func (m *Machine) SetProcessSortIndex(upid schema.UPID, index int64, priority SortPriority) {
	hintsOf(m.processHints, upid).setSort(index, priority)
}

// SetThreadSortIndex sets the position of a thread in sorted lists.
func (m *Machine) SetThreadSortIndex(utid schema.UTID, index int64, priority SortPriority) {
	hintsOf(m.threadHints, utid).setSort(index, priority)
}

// Associate records that two threads share a process, which may become known later.
// It returns false if they belong to different processes.
func (m *Machine) Associate(a, b schema.UTID, mains bool) bool {
	upidA, upidB := m.ProcessOf(a), m.ProcessOf(b)
	switch {
	case upidA != table.None && upidB == table.None:
		m.join(b, upidA, mains)
	case upidB != table.None && upidA == table.None:
		m.join(a, upidB, mains)
	case upidA != table.None:
		return upidA == upidB
	default:
		m.assocs = append(m.assocs, [2]schema.UTID{a, b})
		m.thread(a).awaited, m.thread(b).awaited = true, true
	}
	return true
}

func (m *Machine) join(utid schema.UTID, upid schema.UPID, mains bool) {
	m.setProcess(utid, upid, mains && m.TID(utid) == m.PID(upid))
	m.resolve(utid, upid, mains)
}

// resolve assigns the process to all threads known to share it with the thread, and
// makes it the parent of the children that waited for it.
func (m *Machine) resolve(utid schema.UTID, upid schema.UPID, mains bool) {
	for work := []schema.UTID{utid}; len(work) > 0; {
		utid := work[len(work)-1]
		work = work[:len(work)-1]
		if !m.thread(utid).awaited {
			continue
		}
		m.thread(utid).awaited = false
		m.children = slices.DeleteFunc(m.children, func(c pendingChild) bool {
			if c.parent != utid {
				return false
			}
			m.setParent(c.child, upid)
			return true
		})
		m.assocs = slices.DeleteFunc(m.assocs, func(pair [2]schema.UTID) bool {
			other := pair[0]
			switch utid {
			case pair[0]:
				other = pair[1]
			case pair[1]:
			default:
				return false
			}
			m.setProcess(other, upid, mains && m.TID(other) == m.PID(upid))
			work = append(work, other)
			return true
		})
	}
}

// namespace holds the ids that the threads of a process have inside a container. A
// thread's ids start with its tid on the machine, followed by its tids in the
// namespaces around the process, outermost first.
type namespace struct {
	pids    []int64
	threads []int64 // tids on the machine, in order of first mention
	tids    map[int64][]int64
}

// SetNamespacedProcess sets the pids of a process in each of its namespaces,
// outermost first.
func (m *Machine) SetNamespacedProcess(pid int64, pids []int64) {
	if m.inner == nil {
		m.inner = map[int64]*namespace{}
	}
	m.inner[pid] = &namespace{pids: pids, tids: map[int64][]int64{}}
}

// SetNamespacedThread sets the tids of a thread in the same way. It returns false if
// SetNamespacedProcess was not called for the process.
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

// ResolveNamespaced converts a tid in the process's innermost namespace to the tid on
// the machine. If there is no such thread, it returns the given tid and false.
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

// hintsOf returns the hints of an id, and adds them if there are none.
func hintsOf[ID comparable](all map[ID]*hints, id ID) *hints {
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
	m.renumber()
	storeHints(m.all, m.processHints, "process_sort_index_hint", &m.all.tables.Process.ArgSetID)
	storeHints(m.all, m.threadHints, "thread_sort_index_hint", &m.all.tables.Thread.ArgSetID)
	m.tids, m.pids = tidIndex{}, paged.Index{}
}

func storeHints[ID ~int64](s *Machines, all map[ID]*hints, sort string, to *table.SetRef[schema.Args]) {
	for _, id := range slices.Sorted(maps.Keys(all)) {
		h := all[id]
		if h.sorted {
			h.args.Add(s.strings.Intern(sort), args.Int(h.sort))
		}
		s.args.Assign(to, int64(id), &h.args)
	}
}
