package perfdata

import (
	"strings"

	"github.com/tpconvert/tpconvert/ingest/wire"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/table"
)

// symbols are the functions of the files that simpleperf collected.
type symbols struct {
	kernel ranges[model.StringID]
	files  map[model.StringID]*symbolFile
}

// symbolFile is the functions of a file. Their addresses are those of the file, or
// those in memory if it holds code of a JIT compiler.
type symbolFile struct {
	loadBias  uint64
	absolute  bool
	functions ranges[model.StringID]
}

// The types of files, simpleperf's FileFeature.DsoType.
const (
	fileKernel = 0
	fileModule = 1
	fileELF    = 2
	fileDex    = 3
)

// add adds the symbols of a file, a FileFeature. The first that says them is right.
// It returns false if the message is damaged.
func (s *symbols) add(texts *table.StringPool, message []byte) bool {
	var path string
	var kind, minAddress, offset uint64
	var functions ranges[model.StringID]
	r := wire.Read(message)
	for r.Next() {
		switch r.Number {
		case 1:
			path = string(r.Bytes())
		case 2:
			kind = r.Uint64()
		case 3:
			minAddress = r.Uint64()
		case 4:
			if !addFunction(&functions, texts, r.Bytes()) {
				return false
			}
		case 6, 7: // what files and modules of the kernel have of their own
			if f, ok := wire.Find(r.Bytes(), 1); ok {
				offset = f.Uint64()
			}
		}
	}
	file := &symbolFile{functions: functions}
	switch kind {
	case fileKernel:
		functions.root.all(s.kernel.set)
		return !r.Bad()
	case fileELF, fileModule:
		file.loadBias = minAddress - offset
	case fileDex:
	default:
		return !r.Bad()
	}
	file.absolute = strings.Contains(path, "jit_app_cache") || strings.Contains(path, "jit_zygote_cache")
	if s.files == nil {
		s.files = map[model.StringID]*symbolFile{}
	}
	if id := texts.Intern(path); s.files[id] == nil {
		s.files[id] = file
	}
	return !r.Bad()
}

func addFunction(to *ranges[model.StringID], texts *table.StringPool, message []byte) bool {
	var address, size uint64
	var name model.StringID
	r := wire.Read(message)
	for r.Next() {
		switch r.Number {
		case 1:
			address = r.Uint64()
		case 2:
			size = uint64(r.Uint32())
		case 3:
			name = texts.InternBytes(r.Bytes())
		}
	}
	to.set(address, address+size, name)
	return !r.Bad()
}

// resolve names the frames that have no name yet.
func (s *symbols) resolve(c *model.Context) {
	if len(s.files) == 0 && s.kernel.root == nil {
		return
	}
	frames, mappings := &c.Store.StackProfileFrame, &c.Store.StackProfileMapping
	empty := c.Store.Strings.Intern("")
	for row := range frames.Rows() {
		if name, _ := frames.Name.Get(row); name != empty {
			continue
		}
		id, _ := frames.Mapping.Get(row)
		pc, _ := frames.RelPC.Get(row)
		path, _ := mappings.Name.Get(id)
		start, _ := mappings.Start.Get(id)
		offset, _ := mappings.ExactOffset.Get(id)
		loadBias, _ := mappings.LoadBias.Get(id)
		name, ok := s.files[path].at(pc, start, offset, loadBias)
		if !ok {
			name, ok = s.kernel.find(uint64(pc + start))
		}
		if ok {
			frames.Name.Set(row, name)
		}
	}
}

// at returns the function at an address that is relative to a mapping.
func (f *symbolFile) at(pc, start, offset, loadBias int64) (model.StringID, bool) {
	if f == nil {
		return 0, false
	}
	pc += int64(f.loadBias) - loadBias
	if f.absolute {
		pc += start - offset
	}
	return f.functions.find(uint64(pc))
}
