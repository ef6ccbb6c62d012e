// Package javanames restores the names that stack frames and the classes and fields of
// heaps had before an obfuscator such as R8 changed them. The name mappings may come
// after the data they apply to, so frames and classes are renamed at the end.
package javanames

import (
	"slices"
	"strings"

	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/ingest/proto/message"
	"github.com/tpconvert/tpconvert/ingest/proto/packages"
	"github.com/tpconvert/tpconvert/internal/attached"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/heap"
	"github.com/tpconvert/tpconvert/model/profile"
)

// Names holds the name mappings in the traces of a machine, and what they may apply to.
type Names struct {
	reader  *proto.Reader   // of the first trace
	readers []*proto.Reader // that joined
	left    int             // how many of them are done
	maps    []nameMap       // in file order
	fields  map[model.StringID]model.StringID
	known   map[model.StringID]model.StringID // what Field returned
	classes map[classKey][]heap.ClassID

	allocations, samples, threads stackSet
}

// nameMap is a DeobfuscationMapping without its fields.
type nameMap struct {
	pkg     model.StringID
	classes []renamed
	methods map[model.StringID][]method // by class and method
	order   []model.StringID            // of methods
}

type renamed struct{ from, to model.StringID }

// method is the original method for a range of lines in the obfuscated program. Several
// with the same lines are inlined in each other, innermost first.
type method struct {
	name              model.StringID
	firstLine, toLine uint32 // 0 if any line matches
	source            int64  // line in the source file
	hasFirst, hasTo   bool
}

type classKey struct{ pkg, name model.StringID }

// stackSet is a set of processes' stacks, in the order of their first sample.
type stackSet struct {
	known map[stackOf]bool
	order []stackOf
}

type stackOf struct {
	upid     model.UPID
	callsite profile.CallsiteID
}

func (s *stackSet) add(upid model.UPID, callsite profile.CallsiteID) {
	stack := stackOf{upid, callsite}
	if upid == model.None || callsite == model.None || s.known[stack] {
		return
	}
	if s.known == nil {
		s.known = map[stackOf]bool{}
	}
	s.known[stack] = true
	s.order = append(s.order, stack)
}

// ofMachine keeps what all readers of a machine share.
type ofMachine struct{ *proto.Reader }

func (r ofMachine) Values() *attached.Values { return r.Machine.Values() }

var names = attached.Value[ofMachine, Names]{New: func(r ofMachine) *Names {
	return &Names{reader: r.Reader, fields: map[model.StringID]model.StringID{}, known: map[model.StringID]model.StringID{},
		classes: map[classKey][]heap.ClassID{}}
}}

// Of returns the names of a reader's machine.
func Of(r *proto.Reader) *Names { return names.Of(ofMachine{r}) }

// Join returns the names of a reader's machine, which wait until the reader leaves.
func Join(r *proto.Reader) *Names {
	n := Of(r)
	n.readers = append(n.readers, r)
	return n
}

// Leave says that a reader that joined is done. After the last, all names are set.
func (n *Names) Leave() {
	if n.left++; n.left == len(n.readers) {
		n.apply()
	}
}

// packageOfProcess returns the package of the app that a process belongs to, or zero.
func (n *Names) packageOfProcess(upid model.UPID) model.StringID {
	for _, r := range n.readers {
		if pkg := packages.Of(r).OfProcess(upid); pkg != 0 {
			return pkg
		}
	}
	return 0
}

// Allocated notes the process of a stack that allocated memory. Frames whose file does
// not identify their package belong to the process's package.
func (n *Names) Allocated(upid model.UPID, callsite profile.CallsiteID) {
	n.allocations.add(upid, callsite)
}

// Sampled notes the process of a stack that a profiler sampled, like Allocated.
func (n *Names) Sampled(upid model.UPID, callsite profile.CallsiteID) { n.samples.add(upid, callsite) }

// Stacked notes the process of a thread's stack in a heap dump, like Allocated.
func (n *Names) Stacked(upid model.UPID, callsite profile.CallsiteID) { n.threads.add(upid, callsite) }

// Class notes a class in a process's heap, and the file with the class.
func (n *Names) Class(id heap.ClassID, name, location model.StringID, upid model.UPID) {
	strs := n.reader.Store.Strings
	pkg := model.StringID(0)
	if location != 0 {
		pkg = n.packageOf(strs.Get(location))
	}
	if pkg == 0 {
		pkg = n.packageOfProcess(upid)
	}
	key := classKey{pkg, strs.Intern(heap.ParseJavaType(strs.Get(name)).Name)}
	n.classes[key] = append(n.classes[key], id)
}

// Field returns a field's original name according to the mappings so far, or zero if it
// is unchanged.
func (n *Names) Field(name model.StringID) model.StringID {
	n.known[name] = n.fields[name]
	return n.fields[name]
}

// Add reads a DeobfuscationMapping.
func (n *Names) Add(data []byte) {
	strs := n.reader.Store.Strings
	m := nameMap{methods: map[model.StringID][]method{}}
	if pkg := message.Bytes(data, pb.DeobfuscationMapping_PackageName); len(pkg) > 0 {
		m.pkg = strs.InternBytes(pkg)
	}
	for class := range message.Messages(data, pb.DeobfuscationMapping_ObfuscatedClasses) {
		from, to := message.Bytes(class, pb.ObfuscatedClass_ObfuscatedName), message.Bytes(class, pb.ObfuscatedClass_DeobfuscatedName)
		m.classes = append(m.classes, renamed{strs.InternBytes(from), strs.InternBytes(to)})
		names := func(member []byte) (before, after model.StringID) {
			name := string(message.Bytes(member, pb.ObfuscatedMember_DeobfuscatedName))
			if !strings.Contains(name, ".") {
				name = string(to) + "." + name
			}
			return strs.Intern(string(from) + "." + string(message.Bytes(member, pb.ObfuscatedMember_ObfuscatedName))), strs.Intern(name)
		}
		for f := wire.Read(class); f.Next(); {
			switch f.Number {
			case pb.ObfuscatedClass_ObfuscatedMembers:
				obfuscated, name := names(f.Bytes())
				n.fields[obfuscated] = name
			case pb.ObfuscatedClass_ObfuscatedMethods:
				obfuscated, name := names(f.Bytes())
				if m.methods[obfuscated] == nil {
					m.order = append(m.order, obfuscated)
				}
				m.methods[obfuscated] = append(m.methods[obfuscated], readMethod(f.Bytes(), name))
			}
		}
	}
	n.maps = append(n.maps, m)
}

func readMethod(data []byte, name model.StringID) method {
	m := method{name: name}
	for f := wire.Read(data); f.Next(); {
		switch f.Number {
		case pb.ObfuscatedMember_ObfuscatedLineStart:
			m.firstLine, m.hasFirst = f.Uint32(), true
		case pb.ObfuscatedMember_ObfuscatedLineEnd:
			m.toLine, m.hasTo = f.Uint32(), true
		case pb.ObfuscatedMember_SourceLineStart:
			m.source = int64(f.Uint32())
		}
	}
	return m
}

func (m *method) has(line int64) bool {
	return (!m.hasFirst || line >= int64(m.firstLine)) && (!m.hasTo || line <= int64(m.toLine))
}

// apply sets the names of all frames, classes and fields.
func (n *Names) apply() {
	frames := n.javaFrames()
	memory := n.reader.Store.Strings.Intern(inMemory)
	for i := range n.maps {
		m := &n.maps[i]
		if m.pkg != 0 {
			for _, name := range m.order {
				for _, frame := range slices.Concat(frames[classKey{m.pkg, name}], frames[classKey{memory, name}]) {
					n.rename(frame, m.methods[name])
				}
			}
		}
		for _, class := range m.classes {
			n.renameClasses(classKey{0, class.from}, class.to)
			if m.pkg != 0 {
				n.renameClasses(classKey{m.pkg, class.from}, class.to)
			}
		}
	}
	n.renameFields()
	n.maps = nil
}

func (n *Names) renameClasses(key classKey, to model.StringID) {
	t, strs := &n.reader.Store.HeapGraphClass, n.reader.Store.Strings
	for _, id := range n.classes[key] {
		row := int64(id)
		name, _ := t.Name.Get(row)
		javaType := heap.ParseJavaType(strs.Get(name))
		javaType.Name = strs.Get(to)
		t.DeobfuscatedName.Set(row, strs.Intern(javaType.String()))
	}
}

// renameFields sets the names of fields that were stored before their mapping came.
func (n *Names) renameFields() {
	late := map[model.StringID]model.StringID{}
	for field, name := range n.known {
		if n.fields[field] != name {
			late[field] = n.fields[field]
		}
	}
	if len(late) == 0 {
		return
	}
	t := &n.reader.Store.HeapGraphReference
	for row := range t.Rows() {
		field, _ := t.FieldName.Get(row)
		if name, is := late[field]; is {
			t.DeobfuscatedFieldName.Set(row, name)
		}
	}
}

// rename sets a frame's name: the method at its line, with methods inlined there as
// symbols, or, if the line does not decide, all methods it can be.
func (n *Names) rename(frame profile.FrameID, methods []method) {
	store := n.reader.Store
	var inlined []profile.Symbol
	if line, ok := store.Stacks.LineOf(frame); ok {
		for i := range methods {
			if m := &methods[i]; m.has(line) {
				inlined = append(inlined, profile.Symbol{Name: m.name, Line: m.source})
			}
		}
	}
	if n := len(inlined); n > 0 {
		yes, no := true, false
		for i := range inlined {
			inlined[i].Inlined = &yes
		}
		inlined[n-1].Inlined = &no
		store.Stacks.AddSymbols(frame, inlined)
		store.StackProfileFrame.DeobfuscatedName.Set(int64(frame), inlined[n-1].Name)
		return
	}
	var names []string
	for _, m := range methods {
		names = append(names, store.Strings.Get(m.name))
	}
	slices.Sort(names)
	name := strings.Join(slices.Compact(names), " | ")
	store.StackProfileFrame.DeobfuscatedName.Set(int64(frame), store.Strings.Intern(name))
}

// inMemory stands for the package of code that is not in a file.
const inMemory = "memfd"

// javaFrames finds the frames of Java methods by package and name.
func (n *Names) javaFrames() map[classKey][]profile.FrameID {
	store := n.reader.Store
	frames, unknown := map[classKey][]profile.FrameID{}, map[profile.FrameID]model.StringID{}
	t := &store.StackProfileFrame
	for row := range t.Rows() {
		name, _ := t.Name.Get(row)
		if !strings.Contains(store.Strings.Get(name), ".") {
			continue
		}
		mapping, _ := t.Mapping.Get(row)
		path, _ := store.StackProfileMapping.Name.Get(int64(mapping))
		file := store.Strings.Get(path)
		pkg := n.packageOf(file)
		if pkg == 0 && strings.HasPrefix(file, "/memfd:") {
			pkg = store.Strings.Intern(inMemory)
		}
		if pkg == 0 {
			unknown[profile.FrameID(row)] = name
			continue
		}
		key := classKey{pkg, name}
		frames[key] = append(frames[key], profile.FrameID(row))
	}
	if len(n.maps) == 0 || len(unknown) == 0 {
		return frames
	}
	for _, stack := range slices.Concat(n.allocations.order, n.samples.order, n.threads.order) {
		pkg := n.packageOfProcess(stack.upid)
		if pkg == 0 {
			continue
		}
		for frame := range store.Stacks.Frames(stack.callsite) {
			if name, is := unknown[frame]; is {
				key := classKey{pkg, name}
				frames[key] = append(frames[key], frame)
				delete(unknown, frame)
			}
		}
	}
	return frames
}

// systemPackages are the packages of system files, whose paths do not name them.
var systemPackages = []struct {
	path, pkg string
	anywhere  bool // match anywhere in the path, not only at its beginning
}{
	{"/system_ext/priv-app/SystemUIGoogle/SystemUIGoogle.apk", "com.android.systemui", false},
	{"/product/priv-app/Phonesky/Phonesky.apk", "com.android.vending", false},
	{"/product/app/Maps/Maps.apk", "com.google.android.apps.maps", false},
	{"/system_ext/priv-app/NexusLauncherRelease/NexusLauncherRelease.apk", "com.google.android.apps.nexuslauncher", false},
	{"/product/app/Photos/Photos.apk", "com.google.android.apps.photos", false},
	{"/product/priv-app/WellbeingPrebuilt/WellbeingPrebuilt.apk", "com.google.android.apps.wellbeing", false},
	{"DevicePersonalizationPrebuilt", "com.google.android.as", true},
	{"MatchMaker", "com.google.android.as", true},
	{"DeviceIntelligenceNetworkPrebuilt", "com.google.android.as.oss", true},
	{"SettingsIntelligenceGooglePrebuilt", "com.google.android.settings.intelligence", true},
	{"/product/app/PrebuiltGmail/PrebuiltGmail.apk", "com.google.android.gm", false},
	{"PrebuiltGmsCore", "com.google.android.gms", true},
	{"com.google.android.gms", "com.google.android.gms", true},
	{"/product/priv-app/Velvet/Velvet.apk", "com.google.android.googlequicksearchbox", false},
	{"/product/app/LatinIMEGooglePrebuilt/LatinIMEGooglePrebuilt.apk", "com.google.android.inputmethod.latin", false},
	{"/product/app/PrebuiltBugle/PrebuiltBugle.apk", "com.google.android.apps.messaging", false},
}

// packageOf returns the package of a code file, or zero if its path does not show it.
func (n *Names) packageOf(path string) model.StringID {
	strs := n.reader.Store.Strings
	for _, known := range systemPackages {
		if strings.HasPrefix(path, known.path) || known.anywhere && strings.Contains(path, known.path) {
			return strs.Intern(known.pkg)
		}
	}
	const apps, extracted = "/data/app/", "dex extracted in memory from "
	if i := strings.Index(path, extracted+apps); i >= 0 && !strings.HasPrefix(path, apps) {
		path = path[i+len(extracted):]
	}
	app, ok := strings.CutPrefix(path, apps)
	if !ok {
		return 0
	}
	if pkg, ok := packageOfApp(app); ok {
		return strs.Intern(pkg)
	}
	n.reader.File.Count(model.StatDeobfuscateLocationParseError)
	return 0
}

// packageOfApp returns the package in PACKAGE-RANDOM/base.apk or
// ~~RANDOM/PACKAGE-RANDOM/base.apk.
func packageOfApp(app string) (pkg string, ok bool) {
	if strings.HasPrefix(app, "~") {
		if _, app, ok = strings.Cut(app, "/"); !ok {
			return "", false
		}
	}
	folder, _, ok := strings.Cut(app, "/")
	if !ok {
		return "", false
	}
	pkg, _, ok = strings.Cut(folder, "-")
	return pkg, ok
}
