package chrome

import (
	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/ingest/proto/message"
	"github.com/tpconvert/tpconvert/ingest/proto/translation"
	"github.com/tpconvert/tpconvert/ingest/wire"
	"github.com/tpconvert/tpconvert/model/table"
)

const (
	fieldDeobfuscation    = 64
	fieldTranslationTable = 82
)

// translations reads the tables that translate names.
func translations(r *proto.Reader) *proto.Module {
	t := translation.Of(r)
	return &proto.Module{
		Fields: []uint32{fieldTranslationTable, fieldDeobfuscation},
		Read: func(_ *proto.Packet, f *wire.Field) bool {
			if f.Number == fieldDeobfuscation {
				readClasses(t, r.Store.Strings, f.Bytes())
				return false
			}
			for table := wire.Read(f.Bytes()); table.Next(); {
				for entry := wire.Read(table.Bytes()); entry.Next(); {
					key, _ := wire.Find(entry.Bytes(), 1)
					name := r.Store.Strings.InternBytes(message.Bytes(entry.Bytes(), 2))
					switch {
					case table.Number == 1:
						t.Histograms[key.Uint64()] = name
					case table.Number == 2:
						t.UserEvents[key.Uint64()] = name
					case table.Number == 3 && entry.Number == 1:
						t.Sites[key.Uint64()] = name
					case table.Number == 3 && entry.Number == 2:
						t.Marks[key.Uint64()] = name
					case table.Number == 4:
						t.Slices[r.Store.Strings.InternBytes(key.Bytes())] = name
					case table.Number == 5:
						t.ProcessTracks[r.Store.Strings.InternBytes(key.Bytes())] = name
					case table.Number == 6:
						t.Studies[key.Uint64()] = name
					}
				}
			}
			return true
		},
	}
}

// readClasses reads the classes of a DeobfuscationMapping.
func readClasses(t *translation.Tables, strs *table.StringPool, data []byte) {
	name := string(message.Bytes(data, 1))
	if t.Package == "" {
		t.Package = name
	}
	if t.Package != name {
		return
	}
	for class := range message.Messages(data, 3) {
		if id := strs.InternBytes(message.Bytes(class, 1)); t.Classes[id] == 0 {
			t.Classes[id] = strs.InternBytes(message.Bytes(class, 2))
		}
	}
}
