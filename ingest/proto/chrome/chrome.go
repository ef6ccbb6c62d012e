// Package chrome reads what Chrome says of itself, and the events of its old
// versions. Those of today are track events.
package chrome

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/ingest/wire"
	"github.com/tpconvert/tpconvert/model"
)

// Modules read the packets of the family.
var Modules = proto.Family{translations, chromeMetadata, chromeEvents}

// Fields of TracePacket.
const (
	fieldChromeEvents    = 5
	fieldChromeBenchmark = 48
	fieldChromeMetadata  = 51
)

// benchmarkFacts are the fields of ChromeBenchmarkMetadata as metadata has them.
var benchmarkFacts = [...]string{
	1: "benchmark_start_time_us", 2: "benchmark_story_run_time_us", 3: "benchmark_name", 4: "benchmark_description",
	5: "benchmark_label", 6: "benchmark_story_name", 7: "benchmark_story_tags", 8: "benchmark_story_run_index",
	9: "benchmark_had_failures",
}

// chromeFacts are the fields of ChromeMetadataPacket likewise, but for those that
// are messages.
var chromeFacts = [...]string{
	2: "playstore_version_code", 3: "enabled_categories", 5: "package-name", 6: "product-version", 7: "channel", 8: "os-name",
}

// chromeMetadata reads what Chrome says of itself.
func chromeMetadata(r *proto.Reader) *proto.Module {
	instances := 0
	return &proto.Module{
		Fields: []uint32{fieldChromeMetadata, fieldChromeBenchmark},
		Read: func(_ *proto.Packet, f *wire.Field) bool {
			if f.Number == fieldChromeBenchmark {
				benchmark(r, f.Bytes())
				return true
			}
			chromeInstance(r, "cr-"+string(rune('a'+instances%26))+"-", f.Bytes())
			instances++
			return true
		},
	}
}

// value is a scalar field as metadata: text or a number.
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
		case f.Number == 7:
			r.File.AddMetadata(benchmarkFacts[f.Number], value(r, &f.Field))
		default:
			r.File.SetMetadata(benchmarkFacts[f.Number], value(r, &f.Field))
		}
	}
}

// chromeInstance adds the facts of one of the Chromes in a trace.
func chromeInstance(r *proto.Reader, prefix string, data []byte) {
	strs := r.Store.Strings
	var trials strings.Builder
	n := 0
	for f := wire.Read(data); f.Next(); {
		switch {
		case f.Number == 1:
			r.SetMetadata("cr-background_tracing_metadata", model.StringArg(strs.Intern(base64.StdEncoding.EncodeToString(f.Bytes()))))
			if hash, ok := wire.Find(f.Bytes(), 3); ok {
				r.SetMetadata("cr-scenario_name_hash", model.IntArg(int64(hash.Uint32())))
			}
		case f.Number == 4:
			if n > 0 && n%2 == 0 {
				trials.WriteByte('\n')
			}
			n++
			name, _ := wire.Find(f.Bytes(), 1)
			group, _ := wire.Find(f.Bytes(), 2)
			fmt.Fprintf(&trials, "{ name: %d, group: %d } ", name.Uint32(), group.Uint32())
		case f.Number < uint32(len(chromeFacts)) && chromeFacts[f.Number] != "":
			r.SetMetadata(prefix+chromeFacts[f.Number], value(r, &f.Field))
		}
	}
	if n > 0 {
		r.SetMetadata(prefix+"field_trial_hashes", model.StringArg(strs.Intern(trials.String())))
	}
}

// userTrace is the type of a ChromeLegacyJsonTrace with events.
const userTrace = 0

// chromeEvents reads the events of old versions of Chrome, as far as they are
// kept at all.
func chromeEvents(r *proto.Reader) *proto.Module {
	bundles := 0
	return &proto.Module{
		Fields:   []uint32{fieldChromeEvents},
		OldClock: true,
		Parse: func(e *proto.Event) {
			facts := new(model.ArgSet)
			var ftrace []byte
			var hasMetadata bool
			for f := wire.Read(e.Data); f.Next(); {
				switch f.Number {
				case 2:
					if !hasMetadata {
						hasMetadata = true
						bundles++
					}
					chromeFact(r, f.Bytes(), bundles, facts)
				case 4:
					ftrace = append(ftrace, f.Bytes()...)
				case 5:
					kind, _ := wire.Find(f.Bytes(), 1)
					text, _ := wire.Find(f.Bytes(), 2)
					if kind.Int32() == userTrace {
						rawText(r, e.TS, "chrome_event.legacy_user_trace", text.Bytes())
					}
				}
			}
			if hasMetadata {
				r.AddRaw(e.TS, "chrome_event.metadata", 0, facts)
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
	r.AddRaw(ts, name, 0, set)
}

// chromeFact adds a ChromeMetadata to metadata and to the args of its bundle.
func chromeFact(r *proto.Reader, data []byte, bundle int, set *model.ArgSet) {
	strs := r.Store.Strings
	var name string
	value := model.NullArg()
	for f := wire.Read(data); f.Next(); {
		switch f.Number {
		case 1:
			name = string(f.Bytes())
		case 2:
			value = model.StringArg(strs.InternBytes(f.Bytes()))
		case 3, 4:
			value = model.IntArg(f.Int64())
		case 5:
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
