// Package profiling reads what profilers record: so far the symbols of binaries.
package profiling

import (
	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/ingest/proto/message"
	"github.com/tpconvert/tpconvert/ingest/proto/stacks"
	"github.com/tpconvert/tpconvert/ingest/wire"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/model"
)

// Modules read the packets of profilers.
var Modules = proto.Family{moduleSymbols}

// SniffSymbols reports whether the input can be a trace that only brings symbols
// for others.
func SniffSymbols(head []byte) bool { return proto.BeginsWith(head, pb.TracePacket_ModuleSymbols) }

// moduleSymbols reads the symbols of binaries, which are added to a trace after it
// was recorded.
func moduleSymbols(r *proto.Reader) *proto.Module {
	return &proto.Module{
		Fields: []uint32{pb.TracePacket_ModuleSymbols},
		Read: func(_ *proto.Packet, f *wire.Field) bool {
			data := f.Bytes()
			path := r.Store.Strings.InternBytes(message.Bytes(data, pb.ModuleSymbols_Path))
			build := r.Store.Strings.Intern(model.BuildID(string(message.Bytes(data, pb.ModuleSymbols_BuildID))))
			for address := range message.Messages(data, pb.ModuleSymbols_AddressSymbols) {
				if lines := symbolsAt(r, address); len(lines) > 0 {
					stacks.SymbolsOf(r).Add(path, build, message.Uint64(address, pb.AddressSymbols_Address), lines)
				}
			}
			return true
		},
	}
}

// symbolsAt reads an AddressSymbols.
func symbolsAt(r *proto.Reader, data []byte) (lines []model.Symbol) {
	for line := range message.Messages(data, pb.AddressSymbols_Lines) {
		symbol := model.Symbol{Name: r.TextField(line, pb.Line_FunctionName)}
		if file := message.Bytes(line, pb.Line_SourceFileName); len(file) > 0 {
			symbol.File, symbol.Line = r.TextID(file), int64(message.Uint32(line, pb.Line_LineNumber))
		}
		lines = append(lines, symbol)
	}
	return lines
}
