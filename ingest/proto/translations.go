package proto

import (
	"github.com/tpconvert/tpconvert/ingest/wire"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/table"
)

const (
	fieldDeobfuscation    = 64
	fieldTranslationTable = 82
)

// translations are the names that translation tables give for hashes and for
// names that were obfuscated.
type translations struct {
	histograms, userEvents, sites, marks, studies translation
	slices, processTracks                         map[model.StringID]model.StringID

	// classes are the names of obfuscated classes of the first package that has
	// any.
	classes map[model.StringID]model.StringID
	pkg     string
}

func newTranslations() translations {
	to := func(key string) translation { return translation{names: map[uint64]model.StringID{}, key: key} }
	return translations{
		histograms: to("chrome_histogram_sample.name"), userEvents: to("chrome_user_event.action"),
		sites: to("chrome_hashed_performance_mark.site"), marks: to("chrome_hashed_performance_mark.mark"),
		studies: to("chrome_trigger.name"),
		slices:  map[model.StringID]model.StringID{}, processTracks: map[model.StringID]model.StringID{},
		classes: map[model.StringID]model.StringID{},
	}
}

// translationTables reads the tables.
func translationTables(r *Reader) *Module {
	t := &r.translations
	return &Module{
		Fields: []uint32{fieldTranslationTable, fieldDeobfuscation},
		Read: func(_ *Packet, f *wire.Field) bool {
			if f.Number == fieldDeobfuscation {
				t.readClasses(r.Store.Strings, f.Bytes())
				return false
			}
			for table := wire.Read(f.Bytes()); table.Next(); {
				for entry := wire.Read(table.Bytes()); entry.Next(); {
					key, _ := wire.Find(entry.Bytes(), 1)
					value, _ := wire.Find(entry.Bytes(), 2)
					name := r.Store.Strings.InternBytes(value.Bytes())
					switch {
					case table.Number == 1:
						t.histograms.names[key.Uint64()] = name
					case table.Number == 2:
						t.userEvents.names[key.Uint64()] = name
					case table.Number == 3 && entry.Number == 1:
						t.sites.names[key.Uint64()] = name
					case table.Number == 3 && entry.Number == 2:
						t.marks.names[key.Uint64()] = name
					case table.Number == 4:
						t.slices[r.Store.Strings.InternBytes(key.Bytes())] = name
					case table.Number == 5:
						t.processTracks[r.Store.Strings.InternBytes(key.Bytes())] = name
					case table.Number == 6:
						t.studies.names[key.Uint64()] = name
					}
				}
			}
			return true
		},
	}
}

// readClasses reads the classes of a DeobfuscationMapping.
func (t *translations) readClasses(strs *table.StringPool, data []byte) {
	name, _ := wire.Find(data, 1)
	if t.pkg == "" {
		t.pkg = string(name.Bytes())
	}
	if t.pkg != string(name.Bytes()) {
		return
	}
	for f := wire.Read(data); f.Next(); {
		if f.Number != 3 {
			continue
		}
		from, _ := wire.Find(f.Bytes(), 1)
		to, _ := wire.Find(f.Bytes(), 2)
		if id := strs.InternBytes(from.Bytes()); t.classes[id] == 0 {
			t.classes[id] = strs.InternBytes(to.Bytes())
		}
	}
}
