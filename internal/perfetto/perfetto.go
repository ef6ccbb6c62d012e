// Package perfetto describes Perfetto v58.2: its message types, as constants in
// the packages below this one and as descriptors, its stats and its tracepoints.
// Everything is generated from the message types in descriptors.binpb.zst, a
// FileDescriptorSet, and the stats in stats.tsv. atoms.binpb.zst is the
// FileDescriptorSet of what Android's statsd counts.
package perfetto

//go:generate go run ./generate

import (
	_ "embed"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

// Version is the version of Perfetto that this describes, and Release the name of its UI, whose files are in a folder of this name.
const (
	Version = "v58.2"
	Release = Version + "-add693d8b"
)

var (
	//go:embed descriptors.binpb.zst
	compressed []byte

	//go:embed atoms.binpb.zst
	compressedAtoms []byte
)

// Descriptors returns the encoded FileDescriptorSet of all messages. Each file
// comes after the files it imports. Callers must not change it.
var Descriptors = sync.OnceValue(func() []byte { return embedded(compressed) })

// Atoms returns the encoded FileDescriptorSet of android.os.statsd.Atom. Callers must not change it.
var Atoms = sync.OnceValue(func() []byte { return embedded(compressedAtoms) })

func embedded(compressed []byte) []byte {
	set, err := Decompress(compressed)
	if err != nil {
		panic(err) // the data is in the program
	}
	return set
}

// Decompress decompresses the content of descriptors.binpb.zst or atoms.binpb.zst.
func Decompress(compressed []byte) ([]byte, error) {
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	return z.DecodeAll(compressed, nil)
}

// File resolves the types in one file of Descriptors and in those that it imports. The types of all files take much memory.
func File(name string) (*protoregistry.Files, error) {
	var all, some descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(Descriptors(), &all); err != nil {
		return nil, err
	}
	wanted := map[string]bool{name: true}
	for _, f := range slices.Backward(all.File) { // a file comes after what it imports
		if !wanted[f.GetName()] {
			continue
		}
		for _, imported := range f.Dependency {
			wanted[imported] = true
		}
		some.File = append(some.File, f)
	}
	return protodesc.NewFiles(&some)
}

// Files resolves the types of a FileDescriptorSet.
func Files(set []byte) (*protoregistry.Files, error) {
	var files descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(set, &files); err != nil {
		return nil, err
	}
	return protodesc.NewFiles(&files)
}
