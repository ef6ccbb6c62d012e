package proto

import "github.com/tpconvert/tpconvert/model"

// Translations are the names that translation tables of a trace give for hashes and for obfuscated names.
type Translations struct {
	Histograms, UserEvents, Sites, Marks, Studies map[uint64]model.StringID // by hash
	Slices, ProcessTracks                         map[model.StringID]model.StringID

	// Classes are the names of the obfuscated classes in Package, the first package
	// that has any.
	Classes map[model.StringID]model.StringID
	Package string
}

var translations = Shared[Translations]{New: func(*Reader) *Translations {
	hashes := func() map[uint64]model.StringID { return map[uint64]model.StringID{} }
	names := func() map[model.StringID]model.StringID { return map[model.StringID]model.StringID{} }
	return &Translations{
		Histograms: hashes(), UserEvents: hashes(), Sites: hashes(), Marks: hashes(), Studies: hashes(),
		Slices: names(), ProcessTracks: names(), Classes: names(),
	}
}}

// TranslationsOf returns the tables in a machine's packets.
func TranslationsOf(r *Reader) *Translations { return translations.Of(r) }
