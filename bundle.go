package tpconvert

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/tpconvert/tpconvert/ingest/manifest"
	"github.com/tpconvert/tpconvert/internal/convert"
	"github.com/tpconvert/tpconvert/internal/tracefile"
)

// MergedName is the name of the archive of merged traces in the tables.
const MergedName = tracefile.MergedName

// Merge says how traces that become one relate. Their clocks say the rest.
type Merge struct {
	Manifest string       // path of a perfetto_manifest that says all, or ""
	Files    []MergedFile // what to say about files without one
}

// MergedFile says something about a merged trace.
type MergedFile struct {
	Path    string        // or its last part
	Machine string        // name of the machine that recorded it, or ""
	Offset  time.Duration // to add to its times
}

// Bundle is an archive of traces and the manifest that says how they relate. It reads as one trace.
type Bundle struct{ made *convert.Bundle }

// NewBundle makes an archive of traces, and of those in folders. The members have the base names of the traces. Stdin and Log of
// the options apply. The error is an ErrOption if the names are not unique or m names others.
func NewBundle(inputs []string, m Merge, o Options) (*Bundle, error) {
	paths, err := tracefile.List(inputs, o.log())
	if err != nil {
		return nil, err
	}
	made, err := convert.NewBundle(paths, m.text, o.Stdin)
	if err != nil {
		return nil, err
	}
	return &Bundle{made}, nil
}

// Reader returns a reader of the archive, for Read or to copy it to a file.
func (b *Bundle) Reader() *io.SectionReader { return b.made.Reader() }

// Len is the number of traces.
func (b *Bundle) Len() int { return len(b.made.Names) }

// Close closes the files of the traces.
func (b *Bundle) Close() { b.made.Close() }

// text returns the manifest for traces with these names, or nil.
func (m *Merge) text(names []string) ([]byte, error) {
	if m.Manifest != "" {
		return m.read(names)
	}
	if len(m.Files) == 0 {
		return nil, nil
	}
	type machine struct {
		Name string `json:"name"`
	}
	type file struct {
		Path    string   `json:"path"`
		Machine *machine `json:"machine,omitempty"`
		Offset  int64    `json:"offset_ns,omitempty"`
	}
	files := make([]file, len(names))
	for i, name := range names {
		files[i].Path = name
	}
	for _, said := range m.Files {
		i := slices.Index(names, tracefile.Name(said.Path))
		switch {
		case i < 0:
			return nil, convert.OptionError("%s is not one of the merged traces", said.Path)
		case said.Machine != "" && files[i].Machine != nil:
			return nil, convert.OptionError("--machine gives two machines to %s", said.Path)
		case said.Machine != "":
			files[i].Machine = &machine{said.Machine}
		}
		files[i].Offset += said.Offset.Nanoseconds()
	}
	return json.Marshal(map[string]any{"perfetto_manifest": map[string]any{"version": 1, "files": files}})
}

// read reads the manifest's file.
func (m *Merge) read(names []string) ([]byte, error) {
	if len(m.Files) > 0 {
		return nil, convert.OptionError("--manifest cannot be combined with --machine and --offset")
	}
	text, err := os.ReadFile(m.Manifest)
	if err != nil {
		return nil, err
	}
	paths, err := manifest.Paths(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.Manifest, err)
	}
	for _, path := range paths {
		if !slices.Contains(names, path) {
			return nil, convert.OptionError("%s names %s, but no trace has that name; the traces are named %s",
				m.Manifest, path, strings.Join(names, ", "))
		}
	}
	return text, nil
}
