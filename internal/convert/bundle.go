package convert

import (
	"bytes"
	"io"
	"slices"

	"github.com/tpconvert/tpconvert/ingest/archive"
	"github.com/tpconvert/tpconvert/internal/tracefile"
)

// manifestMember is the manifest's name in an archive, as Trace Processor expects it.
const manifestMember = "perfetto_manifest.json"

// Bundle is an archive of traces and the manifest that says how they relate. It reads as one trace.
type Bundle struct {
	Names []string // of its traces

	archive archive.Bundle
	files   []tracefile.File
}

// NewBundle makes an archive of the traces at paths. manifest returns the manifest for traces with these names, or nil.
func NewBundle(paths []string, manifest func(names []string) ([]byte, error), stdin io.Reader) (_ *Bundle, err error) {
	b := new(Bundle)
	defer func() {
		if err != nil {
			b.Close()
		}
	}()
	for _, path := range paths {
		name := tracefile.Name(path)
		if slices.Contains(b.Names, name) {
			return nil, OptionError("two traces have the name %s, but merged traces must have different names", name)
		}
		b.Names = append(b.Names, name)
	}
	text, err := manifest(b.Names)
	if err != nil {
		return nil, err
	}
	if text != nil {
		if err := b.archive.Add(manifestMember, int64(len(text)), bytes.NewReader(text)); err != nil {
			return nil, err
		}
	}
	for i, path := range paths {
		file, size, err := tracefile.OpenReaderAt(path, stdin)
		if err != nil {
			return nil, err
		}
		b.files = append(b.files, file)
		if err := b.archive.Add(b.Names[i], size, file); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// Reader returns a reader of the archive.
func (b *Bundle) Reader() *io.SectionReader {
	return io.NewSectionReader(&b.archive, 0, b.archive.Size())
}

// Close closes the files of the traces.
func (b *Bundle) Close() {
	for _, f := range b.files {
		f.Close()
	}
}
