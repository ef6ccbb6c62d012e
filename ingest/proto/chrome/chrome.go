// Package chrome reads what Chrome reports about itself, and the events of old
// versions. Current versions write track events.
package chrome

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
)

// Modules read the packets of the family.
var Modules = proto.Family{translations, chromeMetadata, chromeBenchmark, chromeEvents}

// Fields of TracePacket.

// benchmarkFacts are the names that the fields of ChromeBenchmarkMetadata have in
// metadata.
var benchmarkFacts = [...]string{
	pb.ChromeBenchmarkMetadata_BenchmarkStartTimeUS: "benchmark_start_time_us",
	pb.ChromeBenchmarkMetadata_StoryRunTimeUS:       "benchmark_story_run_time_us",
	pb.ChromeBenchmarkMetadata_BenchmarkName:        "benchmark_name",
	pb.ChromeBenchmarkMetadata_BenchmarkDescription: "benchmark_description",
	pb.ChromeBenchmarkMetadata_Label:                "benchmark_label",
	pb.ChromeBenchmarkMetadata_StoryName:            "benchmark_story_name",
	pb.ChromeBenchmarkMetadata_StoryTags:            "benchmark_story_tags",
	pb.ChromeBenchmarkMetadata_StoryRunIndex:        "benchmark_story_run_index",
	pb.ChromeBenchmarkMetadata_HadFailures:          "benchmark_had_failures",
}

// chromeFacts are the same for the fields of ChromeMetadataPacket that are not
// messages.
var chromeFacts = [...]string{
	pb.ChromeMetadataPacket_ChromeVersionCode: "playstore_version_code",
	pb.ChromeMetadataPacket_EnabledCategories: "enabled_categories",
	pb.ChromeMetadataPacket_AppPackageName:    "package-name",
	pb.ChromeMetadataPacket_AppVersion:        "product-version",
	pb.ChromeMetadataPacket_Channel:           "channel",
	pb.ChromeMetadataPacket_OSName:            "os-name",
}

// chromeMetadata reads what Chrome reports about itself.
func chromeMetadata(r *proto.Reader) *proto.Module {
	instances := 0
	return &proto.Module{
		Fields:   []uint32{pb.TracePacket_ChromeMetadata},
		OldClock: true,
		Tokenize: func(_ *proto.Packet, f *wire.Field) bool {
			chromeInstance(r, "cr-"+string(rune('a'+instances%26))+"-", f.Bytes())
			instances++
			return true
		},
	}
}

// chromeBenchmark reads which benchmark Chrome ran.
func chromeBenchmark(r *proto.Reader) *proto.Module {
	return &proto.Module{
		Fields: []uint32{pb.TracePacket_ChromeBenchmarkMetadata},
		Tokenize: func(_ *proto.Packet, f *wire.Field) bool {
			benchmark(r, f.Bytes())
			return true
		},
	}
}

// value returns a scalar field as a metadata value: text or a number.
func value(r *proto.Reader, f *wire.Field) model.ArgValue {
	if f.Type == wire.Bytes {
		return model.StringArg(r.Store.Strings.InternBytes(f.Bytes()))
	}
	return model.IntArg(f.Int64())
}

func benchmark(r *proto.Reader, data []byte) {
	for f := wire.Read(data); f.Next(); {
		switch {
		case f.Number >= uint32(len(benchmarkFacts)):
		case f.Number == pb.ChromeBenchmarkMetadata_StoryTags:
			r.File.AddMetadata(benchmarkFacts[f.Number], value(r, &f.Field))
		default:
			r.File.SetMetadata(benchmarkFacts[f.Number], value(r, &f.Field))
		}
	}
}

// chromeInstance adds the metadata of one Chrome instance. A trace may have several.
func chromeInstance(r *proto.Reader, prefix string, data []byte) {
	strs := r.Store.Strings
	var trials strings.Builder
	n := 0
	for f := wire.Read(data); f.Next(); {
		switch {
		case f.Number == pb.ChromeMetadataPacket_BackgroundTracingMetadata:
			r.SetMetadata("cr-background_tracing_metadata", model.StringArg(strs.Intern(base64.StdEncoding.EncodeToString(f.Bytes()))))
			if hash, ok := wire.Find(f.Bytes(), pb.BackgroundTracingMetadata_ScenarioNameHash); ok {
				r.SetMetadata("cr-scenario_name_hash", model.IntArg(int64(hash.Uint32())))
			}
		case f.Number == pb.ChromeMetadataPacket_FieldTrialHashes:
			if n > 0 && n%2 == 0 {
				trials.WriteByte('\n')
			}
			n++
			name, _ := wire.Find(f.Bytes(), pb.ChromeMetadataPacket_FinchHash_Name)
			group, _ := wire.Find(f.Bytes(), pb.ChromeMetadataPacket_FinchHash_Group)
			fmt.Fprintf(&trials, "{ name: %d, group: %d } ", name.Uint32(), group.Uint32())
		case f.Number < uint32(len(chromeFacts)) && chromeFacts[f.Number] != "":
			r.SetMetadata(prefix+chromeFacts[f.Number], value(r, &f.Field))
		}
	}
	if n > 0 {
		r.SetMetadata(prefix+"field_trial_hashes", model.StringArg(strs.Intern(trials.String())))
	}
}

// userTrace is the type of a ChromeLegacyJsonTrace that holds events.
const userTrace = 0

// chromeEvents reads the events of old Chrome versions, as far as they are kept.
func chromeEvents(r *proto.Reader) *proto.Module {
	bundles := 0
	return &proto.Module{
		Fields:   []uint32{pb.TracePacket_ChromeEvents},
		OldClock: true,
		Parse: func(e *proto.Event) {
			facts := new(model.ArgSet)
			var ftrace []byte
			var hasMetadata bool
			for f := wire.Read(e.Data); f.Next(); {
				switch f.Number {
				case pb.ChromeEventBundle_Metadata:
					if !hasMetadata {
						hasMetadata = true
						bundles++
					}
					chromeFact(r, f.Bytes(), bundles, facts)
				case pb.ChromeEventBundle_LegacyFtraceOutput:
					ftrace = append(ftrace, f.Bytes()...)
				case pb.ChromeEventBundle_LegacyJSONTrace:
					kind, _ := wire.Find(f.Bytes(), pb.ChromeLegacyJsonTrace_Type)
					text, _ := wire.Find(f.Bytes(), pb.ChromeLegacyJsonTrace_Data)
					if kind.Int32() == userTrace {
						rawText(r, e.TS, "chrome_event.legacy_user_trace", text.Bytes())
					}
				}
			}
			if hasMetadata {
				r.AddChromeRaw(e.TS, "chrome_event.metadata", 0, facts)
			}
			if ftrace != nil {
				rawText(r, e.TS, "chrome_event.legacy_system_trace", ftrace)
			}
		},
	}
}

func rawText(r *proto.Reader, ts int64, name string, text []byte) {
	strs := r.Store.Strings
	set := new(model.ArgSet)
	set.Add(strs.Intern("data"), model.StringArg(strs.InternBytes(text)))
	r.AddChromeRaw(ts, name, 0, set)
}

// chromeFact adds a ChromeMetadata to metadata and to the args of its bundle.
func chromeFact(r *proto.Reader, data []byte, bundle int, set *model.ArgSet) {
	strs := r.Store.Strings
	var name string
	value := model.NullArg()
	for f := wire.Read(data); f.Next(); {
		switch f.Number {
		case pb.ChromeMetadata_Name:
			name = string(f.Bytes())
		case pb.ChromeMetadata_StringValue:
			value = model.StringArg(strs.InternBytes(f.Bytes()))
		case pb.ChromeMetadata_BoolValue, pb.ChromeMetadata_IntValue:
			value = model.IntArg(f.Int64())
		case pb.ChromeMetadata_JSONValue:
			value = model.JSONArg(strs.InternBytes(f.Bytes()))
		}
	}
	if value.Kind == model.ArgNull {
		r.File.Count(model.StatEmptyChromeMetadata)
		return
	}
	set.Add(strs.Intern(name), value)
	key := "cr-"
	if bundle > 1 {
		key += fmt.Sprint(bundle) + "-"
	}
	if value.Kind == model.ArgJSON {
		value = model.StringArg(value.String())
	}
	r.SetMetadata(key+name, value)
}
