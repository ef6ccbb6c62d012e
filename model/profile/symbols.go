package profile

import "github.com/tpconvert/tpconvert/model/table"

// Symbols are the functions at addresses in binaries. They usually come after the
// stacks they belong to, so they are assigned to frames once all stacks are known.
type Symbols struct {
	modules  []*module // in order of arrival
	byBinary map[dso][]*module
}

// dso identifies a binary that mappings refer to.
type dso struct {
	path    table.StringID
	buildID table.StringID // in hexadecimal
}

// module has the symbols of one binary that came together.
type module struct {
	of        dso
	addresses []symbolized
	lines     []Symbol         // lines of all addresses, concatenated
	index     map[uint64]int32 // index in addresses of the first indexed ones; made on demand
	indexed   int
}

type symbolized struct {
	address uint64
	end     int32 // end of its lines
}

// NewSymbols returns an empty collection.
func NewSymbols() *Symbols { return &Symbols{byBinary: map[dso][]*module{}} }

// Module begins the symbols of a binary, identified by its path and its build id in
// hexadecimal.
func (s *Symbols) Module(path, buildID table.StringID) {
	m := &module{of: dso{path, buildID}}
	s.modules = append(s.modules, m)
	s.byBinary[m.of] = append(s.byBinary[m.of], m)
}

// Add adds the functions at an address in the binary of the last Module call,
// innermost first. An address without functions has no symbols.
func (s *Symbols) Add(address uint64, lines []Symbol) {
	if len(lines) == 0 {
		return
	}
	m := s.modules[len(s.modules)-1]
	m.lines = append(m.lines, lines...)
	m.addresses = append(m.addresses, symbolized{address, int32(len(m.lines))})
}

// Outermost returns the function at an address of a mapping into which the others
// there are inlined, using the symbols so far. It returns false if there is none.
func (s *Symbols) Outermost(stacks *Stacks, mapping MappingID, address uint64) (name table.StringID, ok bool) {
	modules := s.byBinary[stacks.dso(mapping)]
	for i := len(modules) - 1; i >= 0; i-- {
		if at, ok := modules[i].find(address); ok {
			return modules[i].lines[modules[i].addresses[at].end-1].Name, true
		}
	}
	return 0, false
}

func (m *module) find(address uint64) (int32, bool) {
	if m.index == nil {
		m.index = map[uint64]int32{}
	}
	for ; m.indexed < len(m.addresses); m.indexed++ {
		m.index[m.addresses[m.indexed].address] = int32(m.indexed)
	}
	i, ok := m.index[address]
	return i, ok
}

// linesAt returns the lines of the i-th address.
func (m *module) linesAt(i int) []Symbol {
	start := int32(0)
	if i > 0 {
		start = m.addresses[i-1].end
	}
	return m.lines[start:m.addresses[i].end]
}

// dso returns the binary of a mapping.
func (s *Stacks) dso(mapping MappingID) dso {
	t, row := &s.tables.StackProfileMapping, int64(mapping)
	path, _ := t.Name.Get(row)
	buildID, _ := t.BuildID.Get(row)
	return dso{path, buildID}
}

// Symbolize assigns the symbols to the frames at their addresses; later symbols win.
// It returns the numbers of binaries and addresses that no stack has.
func (s *Symbols) Symbolize(stacks *Stacks) (binaries, addresses int64) {
	frames := s.frames(stacks)
	for _, m := range s.modules {
		mappings := frames[m.of]
		if len(mappings) == 0 {
			binaries++
			continue
		}
		for i, at := range m.addresses {
			set := stacks.symbolSet(m.linesAt(i))
			found := false
			for _, byAddress := range mappings {
				for _, frame := range byAddress[at.address] {
					stacks.tables.StackProfileFrame.SymbolSetID.Set(int64(frame), set)
					found = true
				}
			}
			if !found {
				addresses++
			}
		}
	}
	return binaries, addresses
}

// frames returns, for each binary with symbols, the frames in each of its mappings by
// address.
func (s *Symbols) frames(stacks *Stacks) map[dso][]map[uint64][]FrameID {
	byDSO := map[dso][]map[uint64][]FrameID{}
	if len(s.modules) == 0 {
		return byDSO
	}
	byMapping := map[MappingID]map[uint64][]FrameID{}
	for mapping := range MappingID(stacks.tables.StackProfileMapping.Rows()) {
		if b := stacks.dso(mapping); s.byBinary[b] != nil {
			byMapping[mapping] = map[uint64][]FrameID{}
			byDSO[b] = append(byDSO[b], byMapping[mapping])
		}
	}
	t := &stacks.tables.StackProfileFrame
	for row := range t.Rows() {
		mapping, _ := t.Mapping.Get(row)
		if byAddress := byMapping[mapping]; byAddress != nil {
			pc, _ := t.RelPC.Get(row)
			byAddress[uint64(pc)] = append(byAddress[uint64(pc)], FrameID(row))
		}
	}
	return byDSO
}
