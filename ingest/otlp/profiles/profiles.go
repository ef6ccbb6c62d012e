// Package profiles reads the profiles of OpenTelemetry's protocol: opentelemetry/proto/profiles, v1development/profiles.proto of
// version 1.4 and later, and v1experimental of version 1.3. Samples with times are rows of stack_sample, others are sums.
package profiles

import (
	"encoding/hex"
	"fmt"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/aggregate"
	"github.com/tpconvert/tpconvert/ingest/internal/spans"
	"github.com/tpconvert/tpconvert/ingest/internal/token"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/profile"
	"github.com/tpconvert/tpconvert/sort"
)

// StatErrors counts what is damaged in a profile.
var StatErrors = model.NewStat(1058, model.StatInfo{
	Name: "otlp_profile_errors", Severity: model.DataLoss, Effect: model.Damaged,
	Description: "Parts of OpenTelemetry profiles that cannot be read, or that refer to what is not there.",
})

// Reader takes the messages of a file.
type Reader struct {
	in     *format.Input
	spans  *spans.Reader // describes resources
	stream *sort.Stream
	token  *token.Writer

	sums      *aggregate.Profile
	measures  map[measure]int
	people    map[person]model.UTID
	processes map[person]model.UPID
	sessions  map[model.StringID]profile.SessionID
	unnamed   map[model.StringID]profile.MappingID // for locations without a mapping, by their kind of frame
	facts     map[fact]bool                        // those that are stored
	from, to  uint64                               // ns since 1970: the time of all profiles
	profiles  int
	found     bool
	set       model.ArgSet // of the sample being read

	// Of the message being read.
	release     *release
	dictionary  dictionary
	unitIndices [][2]int
	offset      int64
	budget      int // bytes that may yet be copied of what a message has once and refers to
}

// A message may be copied several times, in parts that many others refer to. A frame of a stack counts as more than its index.
const (
	copies    = 16
	minBudget = 64 << 20
	frameCost = 16
)

// spend takes bytes from the budget, or returns false if it does not have them.
func (r *Reader) spend(n int) bool {
	if n > r.budget {
		return false
	}
	r.budget -= n
	return true
}

// measure is what is summed up. profile is that of a profile whose sums last from one profile to the next, or 0.
type measure struct {
	upid              model.UPID
	scope, kind, unit model.StringID
	profile           int
}

// person is a process of a resource, or a thread of a process, by its number.
type person struct {
	of     int64
	number int64
}

// New returns a reader for the input.
func New(in *format.Input, s *spans.Reader) *Reader {
	r := &Reader{in: in, spans: s, token: token.NewWriter(in.Store), sums: aggregate.New(in.Store), measures: map[measure]int{},
		people: map[person]model.UTID{}, processes: map[person]model.UPID{}, sessions: map[model.StringID]profile.SessionID{},
		unnamed: map[model.StringID]profile.MappingID{}, facts: map[fact]bool{}, from: math.MaxUint64}
	r.stream = in.Sorter.NewStream((*sink)(r))
	return r
}

// Found reports whether there was a sample.
func (r *Reader) Found() bool { return r.found }

func (r *Reader) damaged() { r.in.File.LogAt(StatErrors, r.offset, nil) }

func (r *Reader) unread(what string) {
	r.in.File.Unread(model.StatUnreadFact, model.None, what).AddAt(r.offset)
}

func (r *Reader) unreadField(owner string, f *wire.Field) {
	r.unread(fmt.Sprintf("%s field %d", owner, f.Number))
}

// Read reads a message ProfilesData at an offset of the input.
func (r *Reader) Read(message []byte, offset int64) error {
	return r.read(message, offset, findRelease(message))
}

// ReadOwn reads a message with the field numbers of Own.
func (r *Reader) ReadOwn(message []byte, offset int64, zeroIsNone bool) error {
	return r.read(message, offset, ownRelease(zeroIsNone))
}

func (r *Reader) read(message []byte, offset int64, as *release) error {
	r.release, r.dictionary, r.unitIndices, r.offset = as, dictionary{}, r.unitIndices[:0], offset
	r.budget = minBudget + copies*len(message)
	switch as {
	case nil:
		r.unread("profile without its tables")
		r.damaged()
		return nil
	case unclear:
		r.unread("values or attributes of the samples of an unclear release")
	}
	r.tables(message)
	r.resolve()
	m := wire.Read(message)
	for m.Next() {
		if m.Number == dataResources && m.Type == wire.Bytes {
			if err := r.resource(m.Bytes()); err != nil {
				return err
			}
		}
	}
	if m.Bad() {
		r.damaged()
	}
	return nil
}

// tables reads the tables outside of profiles.
func (r *Reader) tables(message []byte) {
	flat := false
	for m := wire.Read(message); m.Next(); {
		flat = flat || m.Number > dataDictionary
	}
	tables := version17Tables
	switch {
	case r.release.tables != nil:
		tables = r.release.tables
	case r.release.zeroIsNone:
		tables = dictionaryTables
	}
	for m := wire.Read(message); m.Next(); {
		switch {
		case m.Number == dataResources:
		case flat && r.release == version16:
			r.tableField("ProfilesData", dataTables, &m.Field)
		case m.Number == dataDictionary:
			entries := wire.Read(m.Bytes())
			for entries.Next() {
				r.tableField("dictionary", tables, &entries.Field)
			}
			if entries.Bad() {
				r.damaged()
			}
		default:
			r.unreadField("ProfilesData", &m.Field)
		}
	}
}

func (r *Reader) tableField(owner string, tables []role, f *wire.Field) {
	table := roleOf(tables, f)
	if table == unread {
		r.unreadField(owner, f)
	} else if !r.table(table, f) {
		r.damaged()
	}
}

// resource reads a ResourceProfiles.
func (r *Reader) resource(message []byte) error {
	var described []byte
	if f, ok := wire.Find(message, resourceResource); ok {
		described = r.described(f.Bytes(), spans.ResourceAttributes)
	}
	upid := r.spans.Process(r.spans.Resource(described))
	r.nameProcess(upid, described)
	m := wire.Read(message)
	for m.Next() {
		switch {
		case m.Number == resourceScopes && m.Type == wire.Bytes:
			if err := r.scope(upid, m.Bytes()); err != nil {
				return err
			}
		case m.Number != resourceResource && (m.Number != resourceSchema || m.Type != wire.Bytes):
			r.unreadField("ResourceProfiles", &m.Field)
		case m.Number == resourceSchema:
			r.unread("schema URL")
		}
	}
	if m.Bad() {
		r.damaged()
	}
	return nil
}

// executable is the key of an attribute with the name of a process.
const executable = "process.executable.name"

// nameProcess names a process that is no service.
func (r *Reader) nameProcess(upid model.UPID, resource []byte) {
	if r.in.Machine.ProcessName(upid) != 0 {
		return
	}
	for m := wire.Read(resource); m.Next(); {
		key, _ := wire.Find(m.Bytes(), spans.KeyValueKey)
		value, _ := wire.Find(m.Bytes(), spans.KeyValueValue)
		if name, ok := wire.Find(value.Bytes(), spans.ValueText); ok && string(key.Bytes()) == executable {
			r.in.Machine.SetProcessName(upid, r.in.Store.Strings.InternBytes(name.Bytes()), model.ProcessNameOther)
		}
	}
}

// scope reads a ScopeProfiles.
func (r *Reader) scope(upid model.UPID, message []byte) error {
	name := model.StringID(0)
	if f, ok := wire.Find(message, scopeScope); ok {
		name = r.scopeName(f.Bytes())
	}
	m := wire.Read(message)
	for m.Next() {
		switch {
		case m.Number == scopeProfiles && m.Type == wire.Bytes:
			p := profileReader{Reader: r, upid: upid, scope: name, startOf: math.MaxUint64}
			if err := p.read(m.Bytes()); err != nil {
				return err
			}
		case m.Number == scopeSchema && m.Type == wire.Bytes:
			r.unread("schema URL")
		case m.Number != scopeScope:
			r.unreadField("ScopeProfiles", &m.Field)
		}
	}
	if m.Bad() {
		r.damaged()
	}
	return nil
}

// scopeName returns the name of an InstrumentationScope, which is the profiler.
func (r *Reader) scopeName(message []byte) (name model.StringID) {
	for m := wire.Read(r.described(message, spans.ScopeAttributes)); m.Next(); {
		switch m.Number {
		case spans.ScopeName:
			if len(m.Bytes()) > 0 {
				name = r.in.Store.Strings.InternBytes(m.Bytes())
			}
		case spans.ScopeVersion:
			version := r.in.Store.Strings.InternBytes(m.Bytes())
			r.fact("otlp_scope_version", model.StringArg(version), int64(version))
		default:
			r.unreadField("scope", &m.Field)
		}
	}
	return name
}

// maxFacts is how many facts of profiles are stored.
const maxFacts = 1000

// fact is a fact by its name and its value, a number or a text's.
type fact struct {
	name  string
	value int64
}

// fact stores a fact once.
func (r *Reader) fact(name string, value model.ArgValue, number int64) {
	key := fact{name, number}
	switch {
	case r.facts[key]:
	case len(r.facts) >= maxFacts:
		r.unread(name)
	default:
		r.facts[key] = true
		r.in.AddMetadata(name, value)
	}
}

// Finish stores the sums, and the time that the profiles cover.
func (r *Reader) Finish() {
	r.sums.Store(func(number int32) profile.FrameID { return profile.FrameID(number) })
	if r.from != math.MaxUint64 {
		r.in.AddMetadata("otlp_profile_time_unix_nano", model.IntArg(int64(r.from)))
		r.in.AddMetadata("otlp_profile_duration_nano", model.IntArg(int64(r.to-r.from)))
	}
}

// hexText stores an id in hexadecimal.
func (r *Reader) hexText(id []byte) model.StringID {
	return r.in.Store.Strings.Intern(hex.EncodeToString(id))
}

// Numbers that the reader of JSON gives to the fields of profiles that only older releases have. Others have those of version 1.10.
const (
	OwnLocationIndices protowire.Number = 12 + iota
	OwnComments
	OwnTables // the first of the tables of a profile, in the order of a dictionary's

	OwnStackStart  protowire.Number = 6 // of a sample
	OwnStackLength protowire.Number = 7

	OwnAttributeUnits protowire.Number = 8 // of a dictionary
)

// ownRelease is the release of messages that the reader of JSON makes.
func ownRelease(zeroIsNone bool) *release {
	own := *version110
	own.zeroIsNone = zeroIsNone
	own.tables = slices.Concat(dictionaryTables, []role{attributeUnits})
	own.profile = slices.Concat(own.profile, []role{locationIndices, comments}, own.tables[1:])
	own.sample = slices.Concat(own.sample, []role{stackStart, stackLength})
	return &own
}
