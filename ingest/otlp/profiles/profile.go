package profiles

import (
	"math"

	"github.com/tpconvert/tpconvert/ingest/internal/token"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/profile"
)

// profileReader reads a profile.
type profileReader struct {
	*Reader
	upid    model.UPID
	scope   model.StringID
	types   []valueType
	every   valueType // what is counted between samples
	period  int64
	startOf uint64 // ns since 1970
	lasts   uint64 // ns
	indices []uint64
	scratch sampled
	path    []uint64
}

type valueType struct {
	kind, unit int // texts
	cumulative bool
	measure    int // in sums plus one, or 0
}

// stack is a stack as sums and as samples know it.
type stack struct {
	sum      profile.StackNumber
	callsite profile.CallsiteID
}

// cumulative is the temporality of values that last from one profile to the next.
const cumulative = 2

func (p *profileReader) read(message []byte) error {
	p.profiles++
	if p.release == experimental {
		message = p.container(message)
	}
	local := false
	for m := wire.Read(message); m.Next(); {
		if t := roleOf(p.release.profile, &m.Field); t >= mappingTable && t <= stackTable {
			if !local {
				p.dictionary, p.unitIndices, local = dictionary{}, p.unitIndices[:0], true
			}
			if !p.table(t, &m.Field) {
				p.damaged()
			}
		}
	}
	if local {
		p.resolve()
	}
	m := wire.Read(message)
	for m.Next() {
		p.field(&m.Field)
	}
	if m.Bad() {
		p.damaged()
	}
	p.facts()
	if p.dictionary.known == nil || !p.release.zeroIsNone {
		p.dictionary.known = map[uint64]stack{}
	}
	for m := wire.Read(message); m.Next(); {
		if roleOf(p.release.profile, &m.Field) == sample && m.Type == wire.Bytes {
			if err := p.sample(m.Bytes()); err != nil {
				return err
			}
		}
	}
	return nil
}

// container reads a ProfileContainer, and returns its profile.
func (p *profileReader) container(message []byte) (inner []byte) {
	m := wire.Read(message)
	for m.Next() {
		switch {
		case m.Number == containerProfile && m.Type == wire.Bytes:
			inner = m.Bytes()
		case m.Number == containerStart:
			p.startOf = m.Uint64()
		case m.Number == containerEnd && m.Uint64() >= p.startOf:
			p.lasts = m.Uint64() - p.startOf
		case m.Number == containerID:
			p.unread("profile id")
		default:
			p.unreadField("ProfileContainer", &m.Field)
		}
	}
	if m.Bad() {
		p.damaged()
	}
	return inner
}

// field reads a field that is about the profile.
func (p *profileReader) field(f *wire.Field) {
	switch roleOf(p.release.profile, f) {
	case sampleType:
		p.types = append(p.types, typeOf(f.Bytes()))
	case periodType:
		p.every = typeOf(f.Bytes())
	case period:
		p.period = f.Int64()
	case startTime:
		if f.Uint64() != 0 {
			p.startOf = f.Uint64()
		}
	case duration:
		p.lasts = max(p.lasts, f.Uint64())
	case locationIndices:
		p.indices = f.AppendVarints(p.indices)
	case comments:
		for _, index := range f.AppendVarints(nil) {
			p.textFact("otlp_profile_comment", int(int32(index)))
		}
	case attributes:
		for _, index := range f.AppendVarints(nil) {
			if i, ok := p.entry(index, len(p.dictionary.attributes)); ok {
				p.unreadAttribute("profile", &p.dictionary.attributes[i])
			}
		}
	case payload:
		p.unread("original payload")
	case identity:
		p.unread("profile id")
	case keyValues, unread:
		p.unreadField("profile", f)
	}
}

func typeOf(message []byte) (t valueType) {
	for m := wire.Read(message); m.Next(); {
		switch m.Number {
		case typeKind:
			t.kind = int(m.Int32())
		case typeUnit:
			t.unit = int(m.Int32())
		case typeTemporality:
			t.cumulative = m.Uint64() == cumulative
		}
	}
	return t
}

// facts stores what is known of all samples.
func (p *profileReader) facts() {
	if p.period != 0 {
		p.fact("otlp_profile_period", model.IntArg(p.period), p.period)
	}
	p.textFact("otlp_profile_period_type", p.every.kind)
	p.textFact("otlp_profile_period_unit", p.every.unit)
	if p.release.zeroIsNone && len(p.types) == 0 {
		p.types = append(p.types, valueType{})
	}
	if p.startOf < math.MaxInt64 && p.lasts < math.MaxInt64 {
		p.Reader.from = min(p.Reader.from, p.startOf)
		p.Reader.to = max(p.Reader.to, p.startOf+p.lasts)
	}
}

func (p *profileReader) textFact(name string, index int) {
	if id := p.text(index); !p.isEmpty(id) {
		p.fact(name, model.StringArg(id), int64(id))
	}
}

// sampled is a sample.
type sampled struct {
	values, times, attributes []uint64
	start, length             uint64   // of its stack in indices
	locations                 []uint64 // its stack, if it has it itself
	stack                     uint64
	link                      uint64
	linked                    bool
	labels                    [][]byte
}

func (p *profileReader) sample(message []byte) error {
	s := &p.scratch
	*s = sampled{values: s.values[:0], times: s.times[:0], attributes: s.attributes[:0], locations: s.locations[:0], labels: s.labels[:0]}
	m := wire.Read(message)
	for m.Next() {
		switch roleOf(p.release.sample, &m.Field) {
		case stackIndex:
			s.stack = m.Uint64()
		case stackStart:
			s.start = m.Uint64()
		case stackLength:
			s.length = m.Uint64()
		case stackLocations:
			s.locations = m.AppendVarints(s.locations)
		case values:
			s.values = m.AppendVarints(s.values)
		case attributes:
			s.attributes = m.AppendVarints(s.attributes)
		case labels:
			s.labels = append(s.labels, m.Bytes())
		case linkIndex:
			s.link, s.linked = m.Uint64(), !p.release.zeroIsNone || m.Uint64() != 0
		case timestamps:
			s.times = appendTimes(s.times, &m.Field)
		case unread:
			p.unreadField("sample", &m.Field)
		}
	}
	if m.Bad() {
		p.damaged()
	}
	return p.store(s)
}

// appendTimes appends the times of a field: fixed64, or varints in older releases.
func appendTimes(to []uint64, f *wire.Field) []uint64 {
	switch {
	case f.Type == wire.Fixed64:
		return append(to, f.Uint64())
	case f.Number != fixedTimes:
		return f.AppendVarints(to)
	}
	for v := range f.Fixed(8) {
		to = append(to, v)
	}
	return to
}

// fixedTimes is the number of the field with times of the releases in which they are fixed64.
const fixedTimes = 5

// store makes rows of a sample. Its values are a sum at its stack, unless there is one for each of its times.
func (p *profileReader) store(s *sampled) error {
	if len(s.values) == 0 && len(s.times) == 0 {
		if p.release != unclear {
			p.damaged()
		}
		return nil
	}
	p.found = true
	at := p.stackOf(s)
	each := p.release.zeroIsNone && len(s.values) == len(s.times)
	if !each && len(s.values) > 0 {
		p.sum(s, at)
	}
	if len(s.times) == 0 {
		return nil
	}
	who := p.whose(s, !each && len(s.values) > 0)
	event := model.StringID(0)
	if len(p.types) > 0 {
		event = p.kind(&p.types[0])
	}
	for i, time := range s.times {
		period := int64(model.None)
		switch {
		case each:
			period = int64(s.values[i])
		case len(s.values) == 0 && p.release.zeroIsNone && p.release != unclear:
			period = 1
		}
		if err := p.push(time, who, at.callsite, event, period); err != nil {
			return err
		}
	}
	return nil
}

// kind returns the name of what is measured.
func (p *profileReader) kind(t *valueType) model.StringID {
	if name := p.text(t.kind); !p.isEmpty(name) {
		return name
	}
	return p.in.Store.Strings.Intern("unknown")
}

// stackOf returns the stack of a sample.
func (p *profileReader) stackOf(s *sampled) stack {
	key, own := s.stack, false
	if !p.release.zeroIsNone {
		key, own = s.start<<32|s.length, len(s.locations) > 0
	}
	if at, ok := p.dictionary.known[key]; ok && !own {
		return at
	}
	at := stack{profile.EmptyStack, model.None}
	path, ok := p.pathOf(s)
	if !ok {
		return at
	}
	if !p.spend(frameCost * len(path)) {
		p.damaged()
		return at
	}
	for i := len(path) - 1; i >= 0; i-- {
		if frame := p.frame(path[i]); frame != model.None {
			at.sum = p.sums.Push(at.sum, int32(frame))
			at.callsite = p.in.Store.Stacks.Callsite(at.callsite, frame)
		}
	}
	if !own {
		p.dictionary.known[key] = at
	}
	return at
}

// pathOf returns the locations of a sample's stack, the innermost first, or false if it has none.
func (p *profileReader) pathOf(s *sampled) ([]uint64, bool) {
	all := p.indices
	switch {
	case p.release.zeroIsNone:
		i, ok := p.entry(s.stack, len(p.dictionary.stacks))
		if ok {
			p.path = appendVarints(p.path[:0], p.dictionary.stacks[i])
		}
		return p.path, ok
	case len(s.locations) > 0:
		return s.locations, true
	case s.length == 0:
		return nil, false
	case s.start > uint64(len(all)) || s.length > uint64(len(all))-s.start:
		p.damaged()
		return nil, false
	}
	return all[s.start : s.start+s.length], true
}

// appendVarints appends packed numbers.
func appendVarints(to []uint64, b []byte) []uint64 {
	for len(b) > 0 {
		v, n := wire.Uvarint(b)
		if n <= 0 {
			break
		}
		to, b = append(to, v), b[n:]
	}
	return to
}

// sum adds the values of a sample to the sums at its stack. Those with attributes are also kept by themselves.
func (p *profileReader) sum(s *sampled, at stack) {
	number := p.in.Store.AggregateSampleLabel.Rows()
	var unshared, old int
	s.attributes, unshared = profile.Share(s.attributes, len(s.values))
	s.labels, old = profile.Share(s.labels, len(s.values))
	for range unshared + old {
		p.unread("shared label")
	}
	for i, v := range s.values {
		t := i
		if p.release.zeroIsNone {
			t = 0 // the values are of one type
		}
		if t >= len(p.types) {
			p.damaged()
			break
		}
		m := p.measureOf(&p.types[t])
		value := float64(int64(v))
		p.sums.Add(m, at.sum, value)
		p.storeLabels(s, number, p.sums.ID(m), at.callsite, value)
	}
}

// measureOf returns the number of a measure in the sums.
func (p *profileReader) measureOf(t *valueType) int {
	if t.measure > 0 {
		return t.measure - 1
	}
	key := measure{upid: p.upid, scope: p.scopeText(p.scope), kind: p.kind(t), unit: p.text(t.unit)}
	if t.cumulative {
		key.profile = p.profiles
	}
	number, ok := p.measures[key]
	if !ok {
		strings := p.in.Store.Strings
		name, unit := strings.Get(key.kind), strings.Get(key.unit)
		if process := p.in.Machine.ProcessName(p.upid); process != 0 {
			name = strings.Get(process) + " " + name
		}
		if unit == "" {
			unit = "count"
		}
		number = p.sums.Measure(p.in.Name, name, strings.Get(key.kind), unit)
		p.measures[key] = number
	}
	t.measure = number + 1
	return number
}

// storeLabels stores a value with the attributes, labels and link of its sample.
func (p *profileReader) storeLabels(s *sampled, number int64, aggregate profile.AggregateID, callsite profile.CallsiteID, value float64) {
	strings := p.in.Store.Strings
	t := &p.in.Store.AggregateSampleLabel
	label := func(key model.StringID) int64 {
		row := t.Append()
		t.SampleID.Set(row, number)
		t.AggregateProfileID.Set(row, aggregate)
		if callsite != model.None {
			t.CallsiteID.Set(row, callsite)
		}
		t.Value.Set(row, value)
		t.Key.Set(row, key)
		return row
	}
	for _, index := range s.attributes {
		i, ok := p.entry(index, len(p.dictionary.attributes))
		if !ok {
			continue
		}
		a := &p.dictionary.attributes[i]
		text, integer, ok := p.plain(a)
		if !ok {
			p.unreadAttribute("sample", a)
			continue
		}
		row := label(a.key)
		if text != 0 {
			t.StringValue.Set(row, text)
			continue
		}
		t.IntValue.Set(row, integer)
		if !p.isEmpty(a.unit) {
			t.Unit.Set(row, a.unit)
		}
	}
	for _, message := range s.labels {
		p.oldLabel(message, label)
	}
	if l := p.linkOf(s); l != nil {
		t.StringValue.Set(label(strings.Intern("trace_id")), l.traceID)
		t.StringValue.Set(label(strings.Intern("span_id")), l.spanID)
	}
}

// oldLabel stores a Label, as pprof has them.
func (p *profileReader) oldLabel(message []byte, label func(key model.StringID) int64) {
	var key, text, unit int
	var number int64
	for m := wire.Read(message); m.Next(); {
		switch m.Number {
		case labelKey:
			key = int(m.Int32())
		case labelText:
			text = int(m.Int32())
		case labelNumber:
			number = m.Int64()
		case labelUnit:
			unit = int(m.Int32())
		}
	}
	t := &p.in.Store.AggregateSampleLabel
	row := label(p.text(key))
	if text != 0 {
		t.StringValue.Set(row, p.text(text))
		return
	}
	t.IntValue.Set(row, number)
	if unit != 0 {
		t.Unit.Set(row, p.text(unit))
	}
}

// linkOf returns the link of a sample, or nil.
func (p *profileReader) linkOf(s *sampled) *link {
	if !s.linked {
		return nil
	}
	i, ok := p.entry(s.link, len(p.dictionary.links))
	if !ok {
		return nil
	}
	l := &p.dictionary.links[i]
	if l.traceID == 0 {
		l.traceID, l.spanID = p.hexText(l.trace), p.hexText(l.span)
	}
	return l
}

// whose is who was sampled.
type whose struct {
	upid model.UPID
	utid model.UTID
	cpu  int64
	args model.ArgSetID // other attributes
}

// whose returns who was sampled. summed says that the sample has labels, too.
func (p *profileReader) whose(s *sampled, summed bool) whose {
	p.set.Reset()
	w := whose{p.upid, model.None, model.None, model.None}
	strings := p.in.Store.Strings
	tid, thread, process := int64(model.None), model.StringID(0), model.StringID(0)
	for _, index := range s.attributes {
		i, ok := p.entry(index, len(p.dictionary.attributes))
		if !ok {
			continue
		}
		a := &p.dictionary.attributes[i]
		text, number, ok := p.plain(a)
		switch key := strings.Get(a.key); {
		case key == "thread.id" && ok && text == 0:
			tid = number
		case key == "thread.name" && ok:
			thread = text
		case key == "process.pid" && ok && text == 0:
			w.upid = p.process(number)
		case key == executable && ok:
			process = text
		case key == "cpu.logical_number" && ok && text == 0:
			w.cpu = number
		case !ok:
			p.unreadAttribute("sample", a)
		default:
			if a.argKey == 0 {
				a.argKey = strings.Intern("attributes." + key)
			}
			value := model.IntArg(number)
			if text != 0 {
				value = model.StringArg(text)
			}
			p.set.Add(a.argKey, value)
		}
	}
	if !summed {
		for range s.labels {
			p.unread("sample label")
		}
	}
	if l := p.linkOf(s); l != nil {
		p.set.Add(strings.Intern("trace_id"), model.StringArg(l.traceID))
		p.set.Add(strings.Intern("span_id"), model.StringArg(l.spanID))
	}
	if p.set.Len() > 0 {
		w.args = p.in.Store.InternArgs(&p.set)
	}
	if p.in.Machine.ProcessName(w.upid) == 0 && process != 0 {
		p.in.Machine.SetProcessName(w.upid, process, model.ProcessNameOther)
	}
	if tid != model.None {
		w.utid = p.thread(w.upid, tid)
		if thread != 0 {
			p.in.Machine.SetThreadName(w.utid, thread, model.ThreadNameOther)
		}
	}
	return w
}

// process returns the process of a pid that the resource does not have.
func (p *profileReader) process(pid int64) model.UPID {
	if p.in.Machine.PID(p.upid) == pid {
		return p.upid
	}
	key := person{int64(p.upid), pid}
	upid, ok := p.processes[key]
	if !ok {
		upid = p.in.Machine.AddProcess(pid)
		p.processes[key] = upid
	}
	return upid
}

func (p *profileReader) thread(upid model.UPID, tid int64) model.UTID {
	key := person{int64(upid), tid}
	utid, ok := p.people[key]
	if !ok {
		utid = p.in.Machine.AddThread(tid, upid, tid == p.in.Machine.PID(upid))
		p.people[key] = utid
	}
	return utid
}

// push has a sample stored when its time has come.
func (p *profileReader) push(time uint64, w whose, callsite profile.CallsiteID, event model.StringID, period int64) error {
	if time > math.MaxInt64/2 { // the year 2116
		p.damaged()
		return nil
	}
	ts, ok := p.in.TraceTime(int64(time), p.offset)
	if !ok {
		return nil
	}
	t := p.token
	t.Reset()
	t.Int(int64(w.upid))
	t.Int(int64(w.utid))
	t.Int(w.cpu)
	t.Int(int64(callsite))
	t.Uint(uint64(event))
	t.Int(period)
	t.Uint(uint64(p.scopeText(p.scope)))
	t.Int(int64(p.session()))
	t.Int(int64(w.args))
	return p.stream.Push(ts, t.Bytes())
}

// scopeText returns the name of a profiler.
func (r *Reader) scopeText(scope model.StringID) model.StringID {
	if scope == 0 {
		return r.in.Store.Strings.Intern("otlp")
	}
	return scope
}

// session returns the session of the profiler.
func (p *profileReader) session() profile.SessionID {
	scope := p.scopeText(p.scope)
	id, ok := p.sessions[scope]
	if !ok {
		strings := p.in.Store.Strings
		id = p.in.Store.Stacks.NewSession(strings.Get(scope), strings.Get(p.text(p.every.unit)))
		p.sessions[scope] = id
	}
	return id
}

// sink stores samples in the order of time.
type sink Reader

// Event stores a sample.
func (s *sink) Event(ts int64, event []byte) error {
	r := token.Reader(event)
	sample := profile.NewSample(ts, "")
	sample.UPID, sample.UTID, sample.CPU = model.UPID(r.Int()), model.UTID(r.Int()), r.Int()
	if sample.CPU != model.None {
		sample.UCPU = s.in.Machine.CPU(sample.CPU)
	}
	sample.Callsite = profile.CallsiteID(r.Int())
	kind, period := model.StringID(r.Uint()), r.Int()
	sample.Source = s.in.Store.Strings.Get(model.StringID(r.Uint()))
	sample.Session = profile.SessionID(r.Int())
	row := s.in.Store.Stacks.AddSampleEvent(s.in.Store.Stacks.AddSample(sample), kind, period)
	if args := r.Int(); args != model.None {
		s.in.Store.StackSampleEvent.ArgSetID.Set(row, model.ArgSetID(args))
	}
	return nil
}
