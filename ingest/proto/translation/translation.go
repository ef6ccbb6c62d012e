// Package translation holds translation tables, which give names for hashes and for
// obfuscated names.
package translation

import (
	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/model"
)

// Tables are the translation tables by what they translate.
type Tables struct {
	Histograms, UserEvents, Sites, Marks, Studies map[uint64]model.StringID // by hash
	Slices, ProcessTracks                         map[model.StringID]model.StringID

	// Classes are the names of the obfuscated classes in Package, the first package
	// that has any.
	Classes map[model.StringID]model.StringID
	Package string
}

var shared = proto.Shared[Tables]{New: func(*proto.Reader) *Tables {
	hashes := func() map[uint64]model.StringID { return map[uint64]model.StringID{} }
	names := func() map[model.StringID]model.StringID { return map[model.StringID]model.StringID{} }
	return &Tables{
		Histograms: hashes(), UserEvents: hashes(), Sites: hashes(), Marks: hashes(), Studies: hashes(),
		Slices: names(), ProcessTracks: names(), Classes: names(),
	}
}}

// Of returns the tables in a machine's packets.
func Of(r *proto.Reader) *Tables { return shared.Of(r) }
