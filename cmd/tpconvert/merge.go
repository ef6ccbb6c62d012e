package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/tpconvert/tpconvert/ingest/archive"
	"github.com/tpconvert/tpconvert/ingest/manifest"
)

const (
	// mergedTraces is the TRACE that stands for all merged traces.
	mergedTraces = "(merged traces)"
	// mergedName is the name of their archive in trace_file.
	mergedName = "merged.tar"
	// manifestMember is the manifest's name in an archive, as Trace Processor expects it.
	manifestMember = "perfetto_manifest.json"
)

// mergeOptions are the flags for merging traces into one.
type mergeOptions struct {
	merge    bool
	manifest string
	machines []string // NAME=FILE
	offsets  []string // FILE=DURATION
}

func (o *mergeOptions) register(flags *pflag.FlagSet) {
	flags.BoolVar(&o.merge, "merge", false, "merge all traces into one, on one timeline")
	o.registerManifest(flags)
	flags.StringArrayVar(&o.offsets, "offset", nil, "FILE=DURATION: shift the times of the merged trace FILE, such as app.json=+1.5s")
}

// registerManifest registers the flags whose meaning a manifest of Trace Processor can express.
func (o *mergeOptions) registerManifest(flags *pflag.FlagSet) {
	flags.StringVar(&o.manifest, "manifest", "", "perfetto_manifest that says how the merged traces relate")
	flags.StringArrayVar(&o.machines, "machine", nil, "NAME=FILE: the merged trace FILE was recorded on the machine NAME")
}

// check rejects invalid combinations of flags.
func (o *mergeOptions) check() error {
	switch {
	case !o.merge && (o.manifest != "" || len(o.machines) > 0 || len(o.offsets) > 0):
		return usageError{errors.New("--manifest, --machine and --offset require --merge")}
	case o.manifest != "" && len(o.machines)+len(o.offsets) > 0:
		return usageError{errors.New("--manifest cannot be combined with --machine and --offset")}
	}
	return nil
}

// mergedFiles are traces in one archive.
type mergedFiles struct {
	archive.Bundle
	names []string // of its traces
	files []*os.File
}

// bundle makes an archive of the traces at the paths and their manifest. The
// members have the base names of the paths.
func (o *mergeOptions) bundle(paths []string, stdin io.Reader) (_ *mergedFiles, err error) {
	merged := new(mergedFiles)
	defer func() {
		if err != nil {
			merged.Close()
		}
	}()
	for _, path := range paths {
		name := traceName(path)
		if slices.Contains(merged.names, name) {
			return nil, usageError{fmt.Errorf("two traces have the name %s, but merged traces must have different names", name)}
		}
		merged.names = append(merged.names, name)
	}
	text, err := o.manifestOf(merged.names)
	if err != nil {
		return nil, err
	}
	if text != nil {
		if err := merged.Add(manifestMember, int64(len(text)), bytes.NewReader(text)); err != nil {
			return nil, err
		}
	}
	for i, path := range paths {
		file, err := openAnywhere(path, stdin)
		if err != nil {
			return nil, err
		}
		merged.files = append(merged.files, file)
		info, err := file.Stat()
		if err != nil {
			return nil, err
		}
		if err := merged.Add(merged.names[i], info.Size(), file); err != nil {
			return nil, err
		}
	}
	return merged, nil
}

// merge makes the reader read the traces, and those in folders, as one trace.
func (r *traceReader) merge(o *mergeOptions, traces []string) error {
	paths, err := expandFolders(traces, leftOut(r.ui))
	if err == nil {
		r.merged, err = o.bundle(paths, r.stdin)
	}
	return err
}

// Close closes the traces' files.
func (m *mergedFiles) Close() {
	for _, f := range m.files {
		f.Close()
	}
}

// open returns a reader of the archive.
func (m *mergedFiles) open() io.ReadCloser {
	return archiveReader{io.NewSectionReader(m, 0, m.Size())}
}

// archiveReader reads an archive, and leaves its files open.
type archiveReader struct{ *io.SectionReader }

func (archiveReader) Close() error { return nil }

// openAnywhere opens a file for random access. It copies other inputs, such as the
// standard input, to a temporary file.
func openAnywhere(path string, stdin io.Reader) (*os.File, error) {
	from := stdin
	if path != standardInput {
		file, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		if info, err := file.Stat(); err != nil || info.Mode().IsRegular() {
			return file, err
		}
		defer file.Close()
		from = file
	}
	copied, err := os.CreateTemp("", "tpconvert-input-*")
	if err != nil {
		return nil, err
	}
	_ = os.Remove(copied.Name()) // Windows keeps it: it removes no open file
	if _, err = io.Copy(copied, from); err != nil {
		copied.Close()
		return nil, err
	}
	return copied, nil
}

// manifestOf returns the manifest for traces with these names: the file of
// --manifest, one made from the other flags, or nil.
func (o *mergeOptions) manifestOf(names []string) ([]byte, error) {
	if o.manifest != "" {
		text, err := os.ReadFile(o.manifest)
		if err != nil {
			return nil, err
		}
		paths, err := manifest.Paths(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", o.manifest, err)
		}
		for _, path := range paths {
			if !slices.Contains(names, path) {
				return nil, usageError{fmt.Errorf("%s names %s, but no trace has that name; the traces are named %s",
					o.manifest, path, strings.Join(names, ", "))}
			}
		}
		return text, nil
	}
	if len(o.machines)+len(o.offsets) == 0 {
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
	find := func(path string) (*file, error) {
		i := slices.Index(names, traceName(path))
		if i < 0 {
			return nil, usageError{fmt.Errorf("%s is not one of the merged traces", path)}
		}
		return &files[i], nil
	}
	for _, value := range o.machines {
		name, path, ok := strings.Cut(value, "=")
		if !ok || name == "" {
			return nil, usageError{fmt.Errorf("--machine %s is not NAME=FILE", value)}
		}
		f, err := find(path)
		if err != nil {
			return nil, err
		}
		if f.Machine != nil {
			return nil, usageError{fmt.Errorf("--machine gives two machines to %s", path)}
		}
		f.Machine = &machine{name}
	}
	for _, value := range o.offsets {
		i := strings.LastIndexByte(value, '=')
		if i < 0 {
			return nil, usageError{fmt.Errorf("--offset %s is not FILE=DURATION", value)}
		}
		by, err := time.ParseDuration(value[i+1:])
		if err != nil {
			return nil, usageError{fmt.Errorf("--offset %s: %s is not a duration such as +1.5s or -20ms", value, value[i+1:])}
		}
		f, err := find(value[:i])
		if err != nil {
			return nil, err
		}
		f.Offset += by.Nanoseconds()
	}
	return json.Marshal(map[string]any{"perfetto_manifest": map[string]any{"version": 1, "files": files}})
}
