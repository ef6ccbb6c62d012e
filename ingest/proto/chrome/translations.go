package chrome

import (
	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/ingest/proto/message"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model/table"
)

// Fields of a map's entries.
const (
	mapKey   = 1
	mapValue = 2
)

// translations reads the translation tables for names.
func translations(r *proto.Reader) *proto.Module {
	t := proto.TranslationsOf(r)
	return &proto.Module{
		Fields: []uint32{pb.TracePacket_TranslationTable, pb.TracePacket_DeobfuscationMapping},
		Read: func(_ *proto.Packet, f *wire.Field) bool {
			if f.Number == pb.TracePacket_DeobfuscationMapping {
				readClasses(t, r.Store.Strings, f.Bytes())
				return false
			}
			for table := wire.Read(f.Bytes()); table.Next(); {
				for entry := wire.Read(table.Bytes()); entry.Next(); {
					key, _ := wire.Find(entry.Bytes(), mapKey)
					name := r.Store.Strings.InternBytes(message.Bytes(entry.Bytes(), mapValue))
					switch {
					case table.Number == pb.TranslationTable_ChromeHistogram:
						t.Histograms[key.Uint64()] = name
					case table.Number == pb.TranslationTable_ChromeUserEvent:
						t.UserEvents[key.Uint64()] = name
					case table.Number == pb.TranslationTable_ChromePerformanceMark &&
						entry.Number == pb.ChromePerformanceMarkTranslationTable_SiteHashToName:
						t.Sites[key.Uint64()] = name
					case table.Number == pb.TranslationTable_ChromePerformanceMark &&
						entry.Number == pb.ChromePerformanceMarkTranslationTable_MarkHashToName:
						t.Marks[key.Uint64()] = name
					case table.Number == pb.TranslationTable_SliceName:
						t.Slices[r.Store.Strings.InternBytes(key.Bytes())] = name
					case table.Number == pb.TranslationTable_ProcessTrackName:
						t.ProcessTracks[r.Store.Strings.InternBytes(key.Bytes())] = name
					case table.Number == pb.TranslationTable_ChromeStudy:
						t.Studies[key.Uint64()] = name
					}
				}
			}
			return true
		},
	}
}

// readClasses reads the classes of a DeobfuscationMapping.
func readClasses(t *proto.Translations, strs *table.StringPool, data []byte) {
	name := string(message.Bytes(data, pb.DeobfuscationMapping_PackageName))
	if t.Package == "" {
		t.Package = name
	}
	if t.Package != name {
		return
	}
	for class := range message.Messages(data, pb.DeobfuscationMapping_ObfuscatedClasses) {
		if id := strs.InternBytes(message.Bytes(class, pb.ObfuscatedClass_ObfuscatedName)); t.Classes[id] == 0 {
			t.Classes[id] = strs.InternBytes(message.Bytes(class, pb.ObfuscatedClass_DeobfuscatedName))
		}
	}
}
