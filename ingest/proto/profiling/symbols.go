// Package profiling reads what profilers record: so far the symbols of binaries.
package profiling

import (
	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/ingest/proto/message"
	"github.com/tpconvert/tpconvert/ingest/proto/stacks"
	"github.com/tpconvert/tpconvert/ingest/wire"
	"github.com/tpconvert/tpconvert/model"
)

// Modules read the packets of profilers.
var Modules = proto.Family{moduleSymbols}

const fieldModuleSymbols = 61

// SniffSymbols reports whether the input can be a trace that only brings symbols
// for others.
func SniffSymbols(head []byte) bool { return proto.BeginsWith(head, fieldModuleSymbols) }

// moduleSymbols reads the symbols of binaries, which are added to a trace after it
// was recorded.
func moduleSymbols(r *proto.Reader) *proto.Module {
	return &proto.Module{
		Fields: []uint32{fieldModuleSymbols},
		Read: func(_ *proto.Packet, f *wire.Field) bool {
			data := f.Bytes()
			path := r.Store.Strings.InternBytes(message.Bytes(data, 1))
			build := r.Store.Strings.Intern(model.BuildID(string(message.Bytes(data, 2))))
			for address := range message.Messages(data, 3) {
				if lines := symbolsAt(r, address); len(lines) > 0 {
					stacks.SymbolsOf(r).Add(path, build, message.Uint64(address, 1), lines)
				}
			}
			return true
		},
	}
}

// symbolsAt reads an AddressSymbols.
func symbolsAt(r *proto.Reader, data []byte) (lines []model.Symbol) {
	for line := range message.Messages(data, 2) {
		symbol := model.Symbol{Name: r.TextField(line, 1)}
		if file := message.Bytes(line, 2); len(file) > 0 {
			symbol.File, symbol.Line = r.TextID(file), int64(message.Uint32(line, 3))
		}
		lines = append(lines, symbol)
	}
	return lines
}
