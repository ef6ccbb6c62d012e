package profiles

import "github.com/tpconvert/tpconvert/internal/wire"

// role is what a field is. The numbers of fields changed between releases of OpenTelemetry's protocol.
type role uint8

const (
	unread role = iota

	// Of a Profile, or of the message with the tables.
	sampleType
	sample
	startTime
	duration
	periodType
	period
	locationIndices
	comments
	payload
	identity
	mappingTable
	locationTable
	functionTable
	linkTable
	stringTable
	attributeTable
	attributeUnits
	stackTable

	// Of the messages of a profile.
	stackIndex
	stackStart
	stackLength
	stackLocations
	values
	labels
	attributes // indices of the table
	keyValues  // attributes themselves
	linkIndex
	timestamps
	memoryStart
	memoryLimit
	fileOffset
	fileName
	buildID
	mappingIndex
	address
	line
	frameType
	functionName
	systemName
	startLine
	ignored // makes no rows anywhere, or is said elsewhere
)

// release has the roles of fields by their numbers.
type release struct {
	profile, sample, mapping, location, function []role
	// zeroIsNone says that the first entry of each table stands for nothing.
	zeroIsNone bool
	tables     []role // of the dictionary, if it has others
}

// The parts that several releases have in common.
var (
	developmentMapping  = []role{1: memoryStart, memoryLimit, fileOffset, fileName, attributes, ignored, ignored, ignored, ignored}
	developmentFunction = []role{1: functionName, systemName, fileName, startLine}
	foldedLocation      = []role{1: mappingIndex, address, line, ignored, attributes}
	slicedSample        = []role{1: stackStart, stackLength, values, attributes, linkIndex, timestamps}
	stackLocation       = []role{1: mappingIndex, address, line, attributes}
)

// The releases, by the first version of opentelemetry-proto that has them. experimental is pprofextended.proto.
var (
	experimental = &release{
		profile: []role{1: sampleType, sample, mappingTable, locationTable, functionTable, stringTable, unread, unread, startTime, duration,
			periodType, period, comments, ignored, locationIndices, attributeTable, attributeUnits, linkTable},
		sample: []role{1: stackLocations, values, labels, unread, unread, unread, stackStart, stackLength, unread, attributes, unread, linkIndex,
			timestamps},
		mapping:  []role{1: ignored, memoryStart, memoryLimit, fileOffset, fileName, buildID, ignored, ignored, ignored, ignored, ignored, attributes},
		location: []role{1: ignored, mappingIndex, address, line, ignored, frameType, attributes},
		function: []role{1: ignored, functionName, systemName, fileName, startLine},
	}
	version14 = &release{
		profile: []role{1: sampleType, sample, mappingTable, locationTable, locationIndices, functionTable, attributeTable, attributeUnits,
			linkTable, stringTable, startTime, duration, periodType, period, comments, ignored, identity, keyValues, unread, ignored, payload, attributes},
		sample: slicedSample, mapping: developmentMapping, location: foldedLocation, function: developmentFunction,
	}
	version16 = &release{
		profile: []role{1: sampleType, sample, locationIndices, startTime, duration, periodType, period, comments, ignored, identity, unread, ignored,
			payload, attributes},
		sample: slicedSample, mapping: developmentMapping, location: foldedLocation, function: developmentFunction,
	}
	version18 = &release{
		profile: []role{1: sampleType, sample, startTime, duration, periodType, period, comments, identity, unread, ignored, payload, attributes},
		sample:  []role{1: stackIndex, values, attributes, linkIndex, timestamps},
		mapping: developmentMapping, location: stackLocation, function: developmentFunction, zeroIsNone: true,
	}
	version19 = &release{
		profile: []role{1: sampleType, sample, startTime, duration, periodType, period, identity, unread, ignored, payload, attributes},
		sample:  version18.sample, mapping: developmentMapping, location: stackLocation, function: developmentFunction, zeroIsNone: true,
	}
	version110 = &release{
		profile: version19.profile,
		sample:  []role{1: stackIndex, attributes, linkIndex, values, timestamps},
		mapping: developmentMapping, location: stackLocation, function: developmentFunction, zeroIsNone: true,
	}
	// unclear is version 1.9 or 1.10, whose samples look the same without a link and with either values or attributes.
	unclear = &release{
		profile: version19.profile,
		sample:  []role{1: stackIndex, unread, unread, unread, timestamps},
		mapping: developmentMapping, location: stackLocation, function: developmentFunction, zeroIsNone: true,
	}
)

// The tables of version 1.6, which are fields of the message itself, and of the dictionary, which later ones have.
var (
	dataTables       = []role{1: ignored, mappingTable, locationTable, functionTable, linkTable, stringTable, attributeTable, attributeUnits}
	dictionaryTables = []role{1: mappingTable, locationTable, functionTable, linkTable, stringTable, attributeTable, stackTable}
	version17Tables  = []role{1: mappingTable, locationTable, functionTable, linkTable, stringTable, attributeTable, attributeUnits}
)

// roleOf returns the role of a field.
func roleOf(roles []role, f *wire.Field) role {
	if int(f.Number) < len(roles) {
		return roles[f.Number]
	}
	return unread
}

// fields of the messages around a profile.
const (
	dataResources  = 1
	dataDictionary = 2

	resourceResource = 1
	resourceScopes   = 2
	resourceSchema   = 3

	scopeScope    = 1
	scopeProfiles = 2
	scopeSchema   = 3

	containerID      = 1
	containerStart   = 2
	containerEnd     = 3
	containerProfile = 8
)

// Fields that have the same numbers in all releases.
const (
	stackIndices = 1

	linkTrace = 1
	linkSpan  = 2

	unitKey  = 1
	unitUnit = 2

	attributeUnit = 3 // of a KeyValueAndUnit

	lineFunction = 1
	lineNumber   = 2
	lineColumn   = 3

	typeKind        = 1
	typeUnit        = 2
	typeTemporality = 3

	labelKey    = 1
	labelText   = 2
	labelNumber = 3
	labelUnit   = 4

	profileSamples = 2
)

// Fields whose numbers tell releases apart, with the first version that has them.
const (
	texts14 = 10

	indices16    = 3
	duration16   = 5
	periodType16 = 6
	length16     = 2 // of a sample

	id18         = 8
	dropped18    = 9
	attributes18 = 12
	times18      = 5 // of a sample, as those below

	values19     = 2
	attributes19 = 3
	link19       = 4

	link110   = 3
	values110 = 4
)

// findRelease finds out which release wrote a message by what no other writes, or returns nil if its tables are missing.
func findRelease(message []byte) *release {
	dictionary := false
	var found *release
	var w samplesWitness
	for r := wire.Read(message); r.Next(); {
		switch {
		case r.Number > dataDictionary:
			return version16
		case r.Number == dataDictionary:
			dictionary = true
			w.dictionary(r.Bytes())
		}
	}
	tell := withDictionary
	if !dictionary {
		tell = withoutDictionary
	}
	eachProfile(message, func(profile []byte) bool {
		found = tell(profile)
		return found == nil
	})
	switch {
	case found != nil || !dictionary:
		return found
	case w.units:
		return version16
	}
	eachProfile(message, func(profile []byte) bool {
		for r := wire.Read(profile); r.Next(); {
			if r.Number == profileSamples && r.Type == wire.Bytes {
				w.sample(r.Bytes())
			}
		}
		return w.strong == nil
	})
	return w.verdict()
}

// eachProfile calls f for each profile of a message, or its container, until f returns false.
func eachProfile(message []byte, f func(profile []byte) bool) {
	for r := wire.Read(message); r.Next(); {
		if r.Number != dataResources {
			continue
		}
		for r := wire.Read(r.Bytes()); r.Next(); {
			if r.Number != resourceScopes {
				continue
			}
			for r := wire.Read(r.Bytes()); r.Next(); {
				if r.Number == scopeProfiles && !f(r.Bytes()) {
					return
				}
			}
		}
	}
}

// withoutDictionary tells a ProfileContainer from a Profile with tables, whose first text is empty. nil means that it is neither: its
// tables are missing.
func withoutDictionary(profile []byte) *release {
	samples, inner, texts := false, false, false
	for r := wire.Read(profile); r.Next(); {
		switch {
		case r.Type == wire.Fixed64:
			return container(r.Number == containerStart || r.Number == containerEnd && !samples)
		case r.Type != wire.Bytes:
		case r.Number == profileSamples:
			samples = true
		case r.Number == containerProfile:
			inner = true
		case r.Number == texts14:
			texts = texts || len(r.Bytes()) == 0
		}
	}
	if texts {
		return version14
	}
	return container(inner && !samples)
}

func container(is bool) *release {
	if is {
		return experimental
	}
	return nil
}

// withDictionary tells versions 1.7 and 1.8 from later ones. nil means that nothing in the profile tells.
func withDictionary(profile []byte) *release {
	for r := wire.Read(profile); r.Next(); {
		switch {
		case r.Number == indices16 && r.Type == wire.Bytes, r.Number == duration16 && r.Type == wire.Varint,
			r.Number == periodType16 && r.Type == wire.Bytes, r.Number > attributes18:
			return version16
		case r.Number == id18 && r.Type == wire.Bytes, r.Number == dropped18 && r.Type == wire.Varint, r.Number == attributes18:
			return version18
		case r.Number == profileSamples && r.Type == wire.Bytes:
			for s := wire.Read(r.Bytes()); s.Next(); {
				if s.Number == length16 && s.Type == wire.Varint || s.Number > times18 {
					return version16
				}
			}
		}
	}
	return nil
}

// samplesWitness tells versions 1.9 and 1.10 by their samples: values were field 2, and are field 4.
type samplesWitness struct {
	strong     *release
	attributes int // in the table
	units      bool
	old, new   bool // weak evidence
	any        bool // a sample with field 2
}

func (w *samplesWitness) dictionary(message []byte) {
	for r := wire.Read(message); r.Next(); {
		switch roleOf(dictionaryTables, &r.Field) {
		case attributeTable:
			w.attributes++
		case stackTable:
			for unit := wire.Read(r.Bytes()); unit.Next(); {
				w.units = w.units || unit.Number > 1 || unit.Type == wire.Varint
			}
		}
	}
}

func (w *samplesWitness) sample(message []byte) {
	two, five, times := -1, -1, false
	outside := false
	for r := wire.Read(message); r.Next(); {
		switch {
		case r.Number == attributes19 && r.Type == wire.Bytes, r.Number == link19 && r.Type == wire.Varint:
			w.strong = version19
		case r.Number == link110 && r.Type == wire.Varint, r.Number == values110 && r.Type == wire.Bytes:
			w.strong = version110
		case r.Number == values19: // or attributes of version 1.10
			two = 0
			for v := range r.Varints {
				two++
				outside = outside || v >= uint64(w.attributes)
			}
		case r.Number == times18:
			five, times = len(r.Bytes())/8, true
		}
	}
	if two >= 0 {
		w.any = true
		// A sample has values or times, and as many values as times if it has both.
		w.old = w.old || outside || !times
		w.new = w.new || times && two != five && !outside
	}
}

func (w *samplesWitness) verdict() *release {
	switch {
	case w.strong != nil:
		return w.strong
	case !w.any, w.new && !w.old:
		return version110
	case w.old && !w.new:
		return version19
	}
	return unclear
}
