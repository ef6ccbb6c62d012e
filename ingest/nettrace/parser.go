package nettrace

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tpconvert/tpconvert/ingest/internal/token"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/profile"
)

// parser turns events, in order of time, into samples and slices.
type parser struct {
	*model.Context
	pid     int64
	pointer int // bytes
	types   []*eventType
	lines   map[string][]string // of the runtime's manifest

	threads   []thread
	labels    [][]label
	stacks    []codeStack
	callsites []profile.CallsiteID // of the stacks, or unresolved
	methods   []method             // sorted by the time of the first stack
	sorted    bool
	modules   map[uint64]model.StringID // paths
	mappings  map[model.StringID]profile.MappingID
	unmanaged profile.FrameID // or None
	images    images
}

// thread is what events say their thread is.
type thread struct {
	pid, tid int64 // tid is None if it is not known
	name     model.StringID
	facts    []model.Arg
	utid     model.UTID // None until it is looked up
}

// method is code at a range of addresses.
type method struct {
	start, end uint64
	module     uint64
	name       model.StringID
}

// unresolved is a callsite that is not known yet.
const unresolved profile.CallsiteID = -2

func newParser(c *model.Context) *parser {
	return &parser{Context: c, modules: map[uint64]model.StringID{}, mappings: map[model.StringID]profile.MappingID{}, unmanaged: model.None,
		images: images{ofProcess: map[int64][]image{}, symbols: map[uint64][]function{}, builds: map[uint64]string{}}}
}

// addStack returns the number of a stack.
func (p *parser) addStack(s codeStack) int32 {
	p.stacks = append(p.stacks, s)
	p.callsites = append(p.callsites, unresolved)
	return int32(len(p.stacks) - 1)
}

// addThread returns the number of a thread.
func (p *parser) addThread(t thread) int32 {
	p.threads = append(p.threads, t)
	return int32(len(p.threads) - 1)
}

// utid returns a thread by its number.
func (p *parser) utid(number uint64) model.UTID {
	t := &p.threads[number]
	switch {
	case t.utid != model.None:
		return t.utid
	case t.tid == model.None:
		t.utid = p.Machine.AddThread(int64(number), p.Machine.Process(t.pid), false)
	case t.tid == 0: // of events about the process
		t.utid = p.Machine.ThreadOf(t.pid, t.pid)
	default:
		t.utid = p.Machine.ThreadOf(t.tid, t.pid)
	}
	if t.name != 0 {
		p.Machine.SetThreadName(t.utid, t.name, model.ThreadNameOther)
	}
	for _, fact := range t.facts {
		p.Machine.ThreadArgs(t.utid).Add(fact.Key, fact.Value)
	}
	return t.utid
}

// learners read names of code and processes. They report whether an event has such.
var learners = map[string]func(p *parser, pid int64, payload []byte) bool{
	runtime + " MethodLoadVerbose":     (*parser).learnMethod,
	rundown + " MethodDCStartVerbose":  (*parser).learnMethod,
	rundown + " MethodDCEndVerbose":    (*parser).learnMethod,
	runtime + " ModuleLoad":            (*parser).learnModule,
	rundown + " ModuleDCStart":         (*parser).learnModule,
	rundown + " ModuleDCEnd":           (*parser).learnModule,
	pipe + " ProcessInfo":              (*parser).learnProcess,
	system + " ExistingProcess":        (*parser).learnName,
	system + " ProcessCreate":          (*parser).learnName,
	system + " ProcessMapping":         (*parser).learnImage,
	system + " ProcessMappingMetadata": (*parser).learnBuild,
	system + " ProcessSymbol":          (*parser).learnSymbol,
}

// silent are the events that only name code and processes.
var silent = []string{"ExistingProcess", "ProcessMapping", "ProcessMappingMetadata", "ProcessSymbol"}

func (p *parser) learnMethod(_ int64, payload []byte) bool {
	c := cursor{b: payload}
	c.uint(8) // the method's id
	m := method{module: c.uint(8), start: c.uint(8)}
	m.end = m.start + c.uint(4)
	c.uint(4) // the token
	c.uint(4) // flags
	namespace, name := c.text(), c.text()
	if c.failed {
		return false
	}
	if namespace != "" {
		name = namespace + "." + name
	}
	m.name = p.Store.Strings.Intern(name)
	p.methods = append(p.methods, m)
	return true
}

func (p *parser) learnModule(_ int64, payload []byte) bool {
	c := cursor{b: payload}
	id := c.uint(8)
	c.uint(8) // the assembly
	c.uint(8) // flags
	path := c.text()
	if c.failed {
		return false
	}
	p.modules[id] = p.Store.Strings.Intern(path)
	return true
}

func (p *parser) learnProcess(pid int64, payload []byte) bool {
	c := cursor{b: payload}
	line := c.text()
	if c.failed || line == "" {
		return false
	}
	upid := p.Machine.Process(pid)
	p.Machine.SetCmdline(upid, p.Store.Strings.Intern(line))
	program, _, _ := strings.Cut(line, " ")
	program = program[strings.LastIndexAny(program, `/\`)+1:]
	p.Machine.SetProcessName(upid, p.Store.Strings.Intern(program), model.ProcessNameOther)
	return true
}

// pair is the slice that two kinds of events begin and end.
type pair struct {
	name string
	ends bool
	// process is set for slices of the process, which may overlap and end in other threads. Their payload begins with a
	// number that both events have.
	process bool
}

// pairs are the events that begin and end slices.
var pairs = map[string]*pair{
	runtime + " GCStart": {"GC", false, true}, runtime + " GCEnd": {"GC", true, true},
	runtime + " GCSuspendEEBegin": {"GCSuspendEE", false, false}, runtime + " GCSuspendEEEnd": {"GCSuspendEE", true, false},
	runtime + " GCRestartEEBegin": {"GCRestartEE", false, false}, runtime + " GCRestartEEEnd": {"GCRestartEE", true, false},
	runtime + " GCFinalizersBegin": {"GCFinalizers", false, false}, runtime + " GCFinalizersEnd": {"GCFinalizers", true, false},
	runtime + " ContentionStart": {"Contention", false, false}, runtime + " ContentionStop": {"Contention", true, false},
	runtime + " ExceptionCatchStart": {"ExceptionCatch", false, false}, runtime + " ExceptionCatchStop": {"ExceptionCatch", true, false},
	runtime + " ExceptionFinallyStart": {"ExceptionFinally", false, false}, runtime + " ExceptionFinallyStop": {"ExceptionFinally", true, false},
	runtime + " ExceptionFilterStart": {"ExceptionFilter", false, false}, runtime + " ExceptionFilterStop": {"ExceptionFilter", true, false},
	runtime + " AssemblyLoadStart": {"AssemblyLoad", false, false}, runtime + " AssemblyLoadStop": {"AssemblyLoad", true, false},
	runtime + " WaitHandleWaitStart": {"WaitHandleWait", false, false}, runtime + " WaitHandleWaitStop": {"WaitHandleWait", true, false},
	runtime + " TieredCompilationBackgroundJitStart": {"TieredCompilationBackgroundJit", false, false},
	runtime + " TieredCompilationBackgroundJitStop":  {"TieredCompilationBackgroundJit", true, false},
}

var collections = model.AsyncBlueprint(model.Blueprint{Classification: "dotnet_gc", Dims: []string{"upid"}, Name: "Garbage collections"})

// Event parses an event.
func (p *parser) Event(ts int64, event []byte) error {
	r := token.Reader(event)
	t, utid, stack, labels, cpu := p.types[r.Uint()], p.utid(r.Uint()), r.Int(), r.Int(), r.Uint()
	activity, related := r.Raw(), r.Raw()
	upid := p.Machine.ProcessOf(utid)
	switch {
	case t.provider == sampler && t.id == sampleID:
		p.sample(ts, utid, stack, r)
		return nil
	case t.provider == universal && t.title == "cpu":
		p.universalSample(ts, utid, stack, labels, cpu, r)
		return nil
	}
	args := model.ArgFunc(func(set *model.ArgSet) {
		v := values{parser: p, cursor: cursor{b: r}, set: set, ts: ts, left: maxArgs}
		v.fields(t.fields, "")
		if v.failed {
			p.File.LogTime(statParseErrors, ts, nil)
		} else if max(v.at, v.end) < len(v.b) {
			p.File.Unread(model.StatUnreadFact, model.None, "unknown field").Add(model.LogEntry{TS: ts, HasTS: true})
		}
		for i, id := range [][]byte{activity, related} {
			if len(id) > 0 {
				v.addText(activityKeys[i], activityKeys[i], guid(id))
			}
		}
		p.addLabels(set, labels)
	})
	track := p.Tracks.Thread(utid)
	switch pair := t.pair; {
	case pair == nil:
		p.callstack(p.Slices.Instant(ts, track, t.category, t.name, args), track, stack, false)
	case pair.process && !pair.ends:
		track = p.Async.Begin(collections, nil, number(r), model.IntDim(upid))
		p.callstack(p.Slices.Begin(ts, track, t.category, t.name, args), track, stack, false)
	case pair.process:
		track = p.Async.End(collections, nil, number(r), model.IntDim(upid))
		p.callstack(p.Slices.End(ts, track, t.category, t.name, args), track, stack, true)
	case !pair.ends:
		p.callstack(p.Slices.Begin(ts, track, t.category, t.name, args), track, stack, false)
	default:
		p.callstack(p.Slices.End(ts, track, t.category, t.name, args), track, stack, true)
	}
	return nil
}

// addLabels adds a list of labels, or none.
func (p *parser) addLabels(set *model.ArgSet, number int64) {
	if number == noLabels {
		return
	}
	for _, l := range p.labels[number] {
		set.Add(l.key, l.value)
	}
}

var activityKeys = [...]string{"ActivityId", "RelatedActivityId"}

// number returns the number that a payload begins with.
func number(payload []byte) int64 {
	c := cursor{b: payload}
	return int64(c.uint(4))
}

// callstack adds the stack at the beginning or end of a slice.
func (p *parser) callstack(slice model.SliceID, track model.TrackID, stack int64, atEnd bool) {
	if slice == model.None || stack == noStack {
		return
	}
	p.Store.Stacks.AddToSlice(slice, track, p.callsite(stack), atEnd)
}

// external is the type of a sample of a thread that ran no managed code, or waited.
const external = 1

// sample stores a sample of the profiler.
func (p *parser) sample(ts int64, utid model.UTID, stack int64, payload []byte) {
	v := profile.NewSample(ts, "nettrace")
	v.UTID, v.UPID = utid, p.Machine.ProcessOf(utid)
	if stack != noStack {
		v.Callsite = p.callsite(stack)
	}
	if number(payload) == external {
		if p.unmanaged == model.None {
			p.unmanaged = p.Store.Stacks.Frame(p.mapping(0), 0, p.Store.Strings.Intern("UNMANAGED_CODE_TIME"))
		}
		v.Callsite = p.Store.Stacks.Callsite(v.Callsite, p.unmanaged)
	}
	p.Store.Stacks.AddSample(v)
}

// callsite returns the call stack of a stack.
func (p *parser) callsite(number int64) profile.CallsiteID {
	if p.callsites[number] != unresolved {
		return p.callsites[number]
	}
	if !p.sorted {
		slices.SortStableFunc(p.methods, func(a, b method) int { return cmp.Compare(a.start, b.start) })
		p.sorted = true
	}
	callsite := profile.CallsiteID(model.None)
	s := p.stacks[number]
	for b := s.addresses; len(b) > 0; b = b[:len(b)-p.pointer] {
		c := cursor{b: []byte(b[len(b)-p.pointer:])}
		address := c.uint(p.pointer)
		frame, ok := p.images.frame(p, s.pid, address)
		if !ok {
			frame = p.frame(address)
		}
		callsite = p.Store.Stacks.Callsite(callsite, frame)
	}
	p.callsites[number] = callsite
	return callsite
}

// frame returns the frame of the code at an address.
func (p *parser) frame(address uint64) profile.FrameID {
	after, _ := slices.BinarySearchFunc(p.methods, address, func(m method, address uint64) int {
		if m.start > address {
			return 1
		}
		return -1
	})
	if after > 0 {
		if m := p.methods[after-1]; address < m.end {
			return p.Store.Stacks.Frame(p.mapping(p.modules[m.module]), address, m.name)
		}
	}
	return p.Store.Stacks.Frame(p.mapping(0), address, 0)
}

// mapping returns the mapping of a module, 0 for unknown code. Modules have no addresses of their own.
func (p *parser) mapping(path model.StringID) profile.MappingID {
	id, ok := p.mappings[path]
	if !ok {
		id = p.Store.Stacks.DummyMapping(p.Store.Strings.Get(path))
		p.mappings[path] = id
	}
	return id
}
