package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
)

// roots are the proto files, and the folders of proto files, to compile together
// with their imports.
var roots = []string{
	"protos/perfetto/trace/trace.proto",
	"protos/perfetto/trace/field_options.proto",
	"protos/perfetto/trace/gpu",
	"protos/perfetto/trace_processor/trace_processor.proto",
	"protos/third_party/android",
	"protos/third_party/chromium/chrome_track_event.proto",
	"protos/third_party/pprof",
	"protos/third_party/primes",
	"protos/third_party/simpleperf",
}

// update replaces the input by that of a checkout of Perfetto.
func update(root, checkout string) error {
	descriptors, err := compile(checkout)
	if err != nil {
		return err
	}
	atoms, err := os.ReadFile(filepath.Join(checkout, "src/trace_processor/importers/proto/atoms.descriptor"))
	if err != nil {
		return err
	}
	if atoms, err = compress(atoms); err != nil {
		return err
	}
	header, err := os.ReadFile(filepath.Join(checkout, "src/trace_processor/storage/stats.h"))
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(root, descriptorsFile), descriptors, 0o666); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(root, atomsFile), atoms, 0o666); err != nil {
		return err
	}
	before, err := os.ReadFile(filepath.Join(root, statsFile))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, statsFile), statsTable(header, before), 0o666)
}

// compile returns a compressed FileDescriptorSet with names, numbers and types.
func compile(checkout string) ([]byte, error) {
	args := []string{"-I" + checkout, "--include_imports", "--descriptor_set_out=/dev/stdout"}
	for _, r := range roots {
		err := filepath.WalkDir(filepath.Join(checkout, r), func(path string, _ fs.DirEntry, err error) error {
			if strings.HasSuffix(path, ".proto") {
				args = append(args, path)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	protoc := exec.Command("protoc", args...)
	protoc.Stderr = os.Stderr
	data, err := protoc.Output()
	if err != nil {
		return nil, fmt.Errorf("protoc: %w", err)
	}
	return compress(data)
}

// compress returns a compressed FileDescriptorSet with names, numbers, types and Perfetto's options.
func compress(data []byte) ([]byte, error) {
	var set descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(data, &set); err != nil {
		return nil, err
	}
	for _, f := range set.File {
		clean(f.Extension, f.MessageType)
	}
	data, err := (proto.MarshalOptions{Deterministic: true}).Marshal(&set)
	if err != nil {
		return nil, err
	}
	z, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	return z.EncodeAll(data, nil), nil
}

// clean removes the JSON names, which can be derived from the field names.
func clean(fields []*descriptorpb.FieldDescriptorProto, messages []*descriptorpb.DescriptorProto) {
	for _, f := range fields {
		f.JsonName = nil
	}
	for _, m := range messages {
		clean(slices.Concat(m.Field, m.Extension), m.NestedType)
	}
}

var statPattern = regexp.MustCompile(`\bF\((\w+),[\s\\]*k(Single|Indexed),[\s\\]*k(\w+),[\s\\]*k(\w+),`)

// statsTable converts Perfetto's C++ list of stats to the table in stats.tsv. Effects, values and descriptions are our own:
// they stay as they were, and those of new stats are empty.
func statsTable(header, before []byte) []byte {
	own := map[string]string{}
	for line := range strings.Lines(string(before)) {
		if words := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 5); len(words) == 5 {
			own[words[0]] = words[4]
		}
	}
	b := bytes.NewBufferString(statColumns)
	for _, stat := range statPattern.FindAllSubmatch(header, -1) {
		name := string(stat[1])
		fmt.Fprintf(b, "%s\t%s\t%s\t%s\t%s\n", name, strings.ToLower(string(stat[2])), snake(string(stat[3])), snake(string(stat[4])),
			cmp.Or(own[name], "\t\t"))
	}
	return b.Bytes()
}
