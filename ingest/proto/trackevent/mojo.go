package trackevent

import (
	"strings"

	"github.com/tpconvert/tpconvert/ingest/proto/args"
	"github.com/tpconvert/tpconvert/ingest/proto/message"
	"github.com/tpconvert/tpconvert/ingest/proto/stacks"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
)

// mojoMethod writes the interface method that Mojo called: its symbol or, if that is
// unknown, its location in a binary.
func (p *eventParser) mojoMethod(w *args.Writer, _ *args.Path, f *wire.Field) bool {
	data, ok := w.State().Interned(pb.InternedData_UnsymbolizedSourceLocations, f.Uint64())
	if !ok {
		return false
	}
	mapping, ok := stacks.MappingOf(w.State(), message.Uint64(data, pb.UnsymbolizedSourceLocation_MappingID))
	if !ok {
		return false
	}
	pc := message.Uint64(data, pb.UnsymbolizedSourceLocation_RelPC)
	at := w.Named(w.Root(), "chrome_mojo_event_info")
	symbol, ok := stacks.SymbolsOf(p.Reader).Outermost(p.Store.Stacks, mapping, pc)
	if !ok {
		at = w.Named(at, "mojo_interface_method.native_symbol")
		w.Add(w.Named(at, "mapping_id"), model.UintArg(uint64(mapping)))
		w.Add(w.Named(at, "rel_pc"), model.UintArg(pc))
		return true
	}
	name := p.Store.Strings.Get(symbol)
	w.Add(w.Named(at, "mojo_method_name"), w.Text(mojoMethodName(name)))
	w.AddIfAbsent(w.Named(at, "mojo_interface_tag"), w.Text(mojoInterface(name)))
	return true
}

// mojoMethodName returns space::Interface::Method for the symbol
// space::Interface::Method_Sym::IPCStableHash.
func mojoMethodName(symbol string) string {
	return strings.TrimSuffix(strings.TrimSuffix(symbol, "()"), "_Sym::IPCStableHash")
}

// mojoInterface returns space.Interface for such a symbol, and other symbols
// unchanged.
func mojoInterface(symbol string) string {
	parts := strings.Split(symbol, "::")
	if len(parts) <= 2 {
		return symbol
	}
	return strings.Join(parts[:len(parts)-2], ".")
}
