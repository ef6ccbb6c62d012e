// Package metricsv1 computes Trace Processor's metrics of version 1. Their SQL templates and the types of their messages
// come from a checkout of Perfetto.
package metricsv1

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// Library has the metrics of a checkout. The types of messages are read when they are first needed.
type Library struct {
	checkout  string
	templates fs.FS
	once      sync.Once
	err       error                                     // of reading the types
	messages  map[string]protoreflect.MessageDescriptor // by the lower-case name of the function that builds them
	root      protoreflect.MessageDescriptor            // has a field for each metric
	types     *dynamicpb.Types
	paths     map[string]string // templates, by metric
}

const (
	templatesFolder = "src/trace_processor/metrics/sql"
	descriptorsFile = "python/perfetto/trace_processor/metrics.descriptor"
	protoPackage    = "perfetto.protos."
)

// Open opens the metrics in a checkout of Perfetto.
func Open(checkout string) (*Library, error) {
	if _, err := os.Stat(filepath.Join(checkout, filepath.FromSlash(descriptorsFile))); err != nil {
		return nil, fmt.Errorf("%w: %s has no %s", ErrNone, checkout, descriptorsFile)
	}
	return &Library{
		checkout:  checkout,
		templates: os.DirFS(filepath.Join(checkout, filepath.FromSlash(templatesFolder))),
		messages:  map[string]protoreflect.MessageDescriptor{},
		paths:     map[string]string{},
	}, nil
}

// ErrNone is wrapped by errors about folders without metrics.
var ErrNone = errors.New("there are no metrics of version 1")

// load reads the types and the names of the metrics.
func (l *Library) load() error {
	l.once.Do(func() { l.err = l.read() })
	return l.err
}

func (l *Library) read() error {
	encoded, err := os.ReadFile(filepath.Join(l.checkout, filepath.FromSlash(descriptorsFile)))
	if err != nil {
		return err
	}
	var set descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(encoded, &set); err != nil {
		return fmt.Errorf("%s: %w", descriptorsFile, err)
	}
	files, err := protodesc.NewFiles(&set)
	if err != nil {
		return fmt.Errorf("%s: %w", descriptorsFile, err)
	}
	l.types = dynamicpb.NewTypes(files)
	if err := l.readMessages(files); err != nil {
		return err
	}
	return l.readTemplates()
}

func (l *Library) readMessages(files *protoregistry.Files) error {
	var add func(protoreflect.MessageDescriptors)
	add = func(all protoreflect.MessageDescriptors) {
		for i := range all.Len() {
			m := all.Get(i)
			name := strings.TrimPrefix(string(m.FullName()), protoPackage)
			l.messages[strings.ToLower(strings.ReplaceAll(name, ".", "_"))] = m
			add(m.Messages())
		}
	}
	files.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		add(f.Messages())
		return true
	})
	if l.root = l.messages["tracemetrics"]; l.root == nil {
		return fmt.Errorf("%s has no message TraceMetrics", descriptorsFile)
	}
	return nil
}

// readTemplates finds the template of each metric: the file with the name of the metric's field.
func (l *Library) readTemplates() error {
	return fs.WalkDir(l.templates, ".", func(file string, e fs.DirEntry, err error) error {
		name, isTemplate := strings.CutSuffix(path.Base(file), ".sql")
		if err != nil || e.IsDir() || !isTemplate || l.root.Fields().ByName(protoreflect.Name(name)) == nil {
			return err
		}
		if other := l.paths[name]; other != "" {
			return fmt.Errorf("metric %s has two templates: %s and %s", name, other, file)
		}
		l.paths[name] = file
		return nil
	})
}

// Names returns the names of all metrics.
func (l *Library) Names() ([]string, error) {
	if err := l.load(); err != nil {
		return nil, err
	}
	var all []string
	for name := range l.paths {
		all = append(all, name)
	}
	slices.Sort(all)
	return all, nil
}

// Template returns the text of a template that RUN_METRIC names.
func (l *Library) Template(file string) (string, error) {
	text, err := fs.ReadFile(l.templates, file)
	if err != nil {
		return "", fmt.Errorf("there is no template %s", file)
	}
	return string(text), nil
}

// Functions are the names of the functions that build messages.
func (l *Library) Functions() ([]string, error) {
	if err := l.load(); err != nil {
		return nil, err
	}
	return slices.Collect(maps.Keys(l.messages)), nil
}
