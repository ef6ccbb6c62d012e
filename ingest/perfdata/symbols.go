package perfdata

import (
	"strings"

	"github.com/tpconvert/tpconvert/ingest/internal/ranges"
	"github.com/tpconvert/tpconvert/internal/perfetto/simpleperfpb"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/table"
)

// symbols are the functions of the files for which simpleperf collected symbols, and those that the kernel made while it ran, such
// as programs of BPF.
type symbols struct {
	kernel ranges.Map[model.StringID]
	files  map[model.StringID]*symbolFile
}

// symbolFile contains a file's functions. Their addresses are relative to the file,
// or absolute memory addresses for code of a JIT compiler.
type symbolFile struct {
	loadBias  uint64
	absolute  bool
	functions ranges.Map[model.StringID]
}

// add adds the symbols of a file from a FileFeature message. The first message
// about a file wins. It returns false if the message is damaged.
func (s *symbols) add(texts *table.StringPool, message []byte) bool {
	var path string
	var kind, minAddress, offset uint64
	var functions ranges.Map[model.StringID]
	r := wire.Read(message)
	for r.Next() {
		switch r.Number {
		case simpleperfpb.FileFeature_Path:
			path = string(r.Bytes())
		case simpleperfpb.FileFeature_Type:
			kind = r.Uint64()
		case simpleperfpb.FileFeature_MinVaddr:
			minAddress = r.Uint64()
		case simpleperfpb.FileFeature_Symbol:
			if !addFunction(&functions, texts, r.Bytes()) {
				return false
			}
		case simpleperfpb.FileFeature_ElfFile:
			f, _ := wire.Find(r.Bytes(), simpleperfpb.FileFeature_ElfFile_FileOffsetOfMinVaddr)
			offset = f.Uint64()
		case simpleperfpb.FileFeature_KernelModule:
			f, _ := wire.Find(r.Bytes(), simpleperfpb.FileFeature_KernelModule_MemoryOffsetOfMinVaddr)
			offset = f.Uint64()
		}
	}
	file := &symbolFile{functions: functions}
	switch kind {
	case simpleperfpb.FileFeature_DsoType_DsoKernel:
		functions.All(s.kernel.Set)
		return !r.Bad()
	case simpleperfpb.FileFeature_DsoType_DsoElfFile, simpleperfpb.FileFeature_DsoType_DsoKernelModule:
		file.loadBias = minAddress - offset
	case simpleperfpb.FileFeature_DsoType_DsoDexFile:
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

// addKernel adds a function from a ksymbol record. One that the kernel removes keeps its name, because names are looked up at the
// end. It returns false if the record is truncated.
func (s *symbols) addKernel(texts *table.StringPool, rec *record) bool {
	const unregister = 1
	start, length := rec.uint64(), rec.uint32()
	rec.uint16() // its kind
	flags := rec.uint16()
	name, ok := rec.text()
	if rec.short || !ok {
		return false
	}
	if flags&unregister == 0 {
		s.kernel.Set(start, start+uint64(length), texts.InternBytes(name))
	}
	return true
}

func addFunction(to *ranges.Map[model.StringID], texts *table.StringPool, message []byte) bool {
	var address, size uint64
	var name model.StringID
	r := wire.Read(message)
	for r.Next() {
		switch r.Number {
		case simpleperfpb.FileFeature_Symbol_Vaddr:
			address = r.Uint64()
		case simpleperfpb.FileFeature_Symbol_Len:
			size = uint64(r.Uint32())
		case simpleperfpb.FileFeature_Symbol_Name:
			name = texts.InternBytes(r.Bytes())
		}
	}
	to.Set(address, address+size, name)
	return !r.Bad()
}

// resolve names the frames that have no name yet.
func (s *symbols) resolve(c *model.Context) {
	if len(s.files) == 0 && s.kernel.Empty() {
		return
	}
	frames, mappings := &c.Store.StackProfileFrame, &c.Store.StackProfileMapping
	empty := c.Store.Strings.Intern("")
	for row := range frames.Rows() {
		if name, _ := frames.Name.Get(row); name != empty {
			continue
		}
		mapping, _ := frames.Mapping.Get(row)
		pc, _ := frames.RelPC.Get(row)
		path, _ := mappings.Name.Get(int64(mapping))
		start, _ := mappings.Start.Get(int64(mapping))
		offset, _ := mappings.ExactOffset.Get(int64(mapping))
		loadBias, _ := mappings.LoadBias.Get(int64(mapping))
		name, ok := s.files[path].at(pc, start, offset, loadBias)
		if !ok {
			name, ok = s.kernel.Find(uint64(pc + start))
		}
		if ok {
			frames.Name.Set(row, name)
		}
	}
}

// at returns the function at an address relative to a mapping.
func (f *symbolFile) at(pc, start, offset, loadBias int64) (model.StringID, bool) {
	if f == nil {
		return 0, false
	}
	pc += int64(f.loadBias) - loadBias
	if f.absolute {
		pc += start - offset
	}
	return f.functions.Find(uint64(pc))
}
