package proto

import "github.com/tpconvert/tpconvert/ingest/wire"

type trackEventDefaults struct {
	trackUUID    uint64
	hasTrackUUID bool
	extra        []uint64 // tracks of extra_counter_values
	extraDouble  []uint64 // tracks of extra_double_counter_values
}

func readTrackEventDefaults(data []byte) (d trackEventDefaults) {
	for f := wire.Read(data); f.Next(); {
		switch f.Number {
		case 11:
			d.trackUUID, d.hasTrackUUID = f.Uint64(), true
		case 31:
			for uuid := range f.Varints {
				d.extra = append(d.extra, uuid)
			}
		case 45:
			for uuid := range f.Varints {
				d.extraDouble = append(d.extraDouble, uuid)
			}
		}
	}
	return d
}

// threadDescriptor is the thread that a sequence's events are of.
type threadDescriptor struct {
	valid     bool
	pid       int32
	tid       int64
	synthetic bool // the tid is one of a sandbox
}
