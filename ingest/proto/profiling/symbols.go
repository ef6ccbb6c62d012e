package profiling

import (
	"strings"

	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/ingest/proto/message"
	"github.com/tpconvert/tpconvert/ingest/proto/stacks"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/profile"
)

// SniffSymbols reports whether the input may be a trace that only holds symbols for
// other traces.
func SniffSymbols(head []byte) bool { return proto.BeginsWith(head, pb.TracePacket_ModuleSymbols) }

// moduleSymbols reads the symbols of binaries, which are added to a trace after
// recording.
func moduleSymbols(r *proto.Reader) *proto.Module {
	return &proto.Module{
		Fields: []uint32{pb.TracePacket_ModuleSymbols},
		Read: func(_ *proto.Packet, f *wire.Field) bool {
			data, symbols := f.Bytes(), stacks.SymbolsOf(r)
			symbols.Module(r.Store.Strings.InternBytes(message.Bytes(data, pb.ModuleSymbols_Path)),
				r.Store.Strings.Intern(profile.BuildID(string(message.Bytes(data, pb.ModuleSymbols_BuildID)))))
			for address := range message.Messages(data, pb.ModuleSymbols_AddressSymbols) {
				symbols.Add(message.Uint64(address, pb.AddressSymbols_Address), symbolsAt(r, address))
			}
			return true
		},
		End: func() {
			binaries, addresses := stacks.SymbolsOf(r).Symbolize(r.Store.Stacks)
			if binaries > 0 {
				r.File.Add(model.StatStackprofileInvalidMappingID, model.None, binaries)
			}
			if addresses > 0 {
				r.File.Add(model.StatStackprofileInvalidFrameID, model.None, addresses)
			}
			countMissingBuildIDs(r)
		},
	}
}

// symbolsAt reads an AddressSymbols.
func symbolsAt(r *proto.Reader, data []byte) (lines []profile.Symbol) {
	for line := range message.Messages(data, pb.AddressSymbols_Lines) {
		symbol := profile.Symbol{Name: r.TextField(line, pb.Line_FunctionName)}
		if file := message.Bytes(line, pb.Line_SourceFileName); len(file) > 0 {
			symbol.File, symbol.Line = r.TextID(file), int64(message.Uint32(line, pb.Line_LineNumber))
		}
		lines = append(lines, symbol)
	}
	return lines
}

// countMissingBuildIDs counts the binaries that a developer pushed to the device without
// a build id. They cannot be symbolized.
func countMissingBuildIDs(r *proto.Reader) {
	t := &r.Store.StackProfileMapping
	for mapping := range t.Rows() {
		name, _ := t.Name.Get(mapping)
		build, _ := t.BuildID.Get(mapping)
		if r.Store.Strings.Get(build) == "" && strings.HasPrefix(r.Store.Strings.Get(name), "/data/local/tmp/") {
			r.File.Count(model.StatSymbolizationTmpBuildIDNotFound)
		}
	}
}
