package proto

import (
	"strings"

	"github.com/tpconvert/tpconvert/ingest/wire"
	"github.com/tpconvert/tpconvert/model"
)

const fieldModuleSymbols = 61

// codeFile is a file that mappings are of.
type codeFile struct {
	path    model.StringID
	buildID model.StringID // in hexadecimal
}

// symbols are the functions at addresses in a binary, those that are inlined
// first.
type symbols map[uint64][]model.Symbol

// moduleSymbols reads the symbols of binaries, which are added to a trace after it
// was recorded.
func moduleSymbols(r *Reader) *Module {
	return &Module{
		Fields: []uint32{fieldModuleSymbols},
		Read: func(_ *Packet, f *wire.Field) bool {
			data := f.Bytes()
			of := codeFile{
				r.Store.Strings.InternBytes(bytesField(data, 1)),
				r.Store.Strings.Intern(model.BuildID(string(bytesField(data, 2)))),
			}
			if r.symbols[of] == nil {
				r.symbols[of] = symbols{}
			}
			for address := range messages(data, 3) {
				if lines := r.symbolsAt(address); len(lines) > 0 {
					r.symbols[of][uint64(int64Field(address, 1))] = lines
				}
			}
			return true
		},
	}
}

// symbolsAt reads an AddressSymbols.
func (r *Reader) symbolsAt(data []byte) (lines []model.Symbol) {
	for line := range messages(data, 2) {
		symbol := model.Symbol{Name: r.textField(line, 1)}
		if file := bytesField(line, 2); len(file) > 0 {
			symbol.File, symbol.Line = r.textID(file), pidField(line, 3)
		}
		lines = append(lines, symbol)
	}
	return lines
}

// mojoMethod writes the method of an interface that Mojo called, by its symbol or,
// if that is not known, by where it is in a binary.
func (w *argWriter) mojoMethod(_ *argPath, f *wire.Field) bool {
	data, ok := w.state.Interned(internedUnsymbolized, f.Uint64())
	if !ok {
		return false
	}
	mapping, ok := w.state.Mapping(uint64(int64Field(data, 2)))
	if !ok {
		return false
	}
	pc := uint64(int64Field(data, 3))
	at := w.named(&w.root, "chrome_mojo_event_info")
	lines := mapping.symbols[pc]
	if len(lines) == 0 {
		at = w.named(at, "mojo_interface_method.native_symbol")
		w.add(w.named(at, "mapping_id"), model.UintArg(uint64(mapping.id)))
		w.add(w.named(at, "rel_pc"), model.UintArg(pc))
		return true
	}
	name := w.reader.Store.Strings.Get(lines[len(lines)-1].Name)
	w.add(w.named(at, "mojo_method_name"), w.text(mojoMethodName(name)))
	flat, key := w.ids(w.named(at, "mojo_interface_tag"))
	w.set.AddIfAbsent(flat, key, w.text(mojoInterface(name)))
	return true
}

// mojoMethodName is space::Interface::Method of the symbol
// space::Interface::Method_Sym::IPCStableHash.
func mojoMethodName(symbol string) string {
	return strings.TrimSuffix(strings.TrimSuffix(symbol, "()"), "_Sym::IPCStableHash")
}

// mojoInterface is space.Interface of such a symbol. Other symbols stay as they
// are.
func mojoInterface(symbol string) string {
	parts := strings.Split(symbol, "::")
	if len(parts) <= 2 {
		return symbol
	}
	return strings.Join(parts[:len(parts)-2], ".")
}
