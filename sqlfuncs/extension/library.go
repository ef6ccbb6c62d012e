//go:build cgo

package main

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/tpconvert/tpconvert"
	"github.com/tpconvert/tpconvert/internal/memory"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/table"
)

// release is the version of tpconvert. The linker sets it.
var release string

// options say how a trace is read.
type options struct {
	memory  int64 // for its rows, in bytes; those beyond it go to a temporary file
	strict  bool  // lost data is an error
	symbols []string
}

// defaultMemory is the default of options.memory.
const defaultMemory = 1 << 30

// trace is a trace that was read.
type trace struct {
	*table.Kept
	facts    *tpconvert.Facts
	manifest *tpconvert.Manifest
}

// readTrace reads the trace in a file or folder.
func readTrace(path string, o options) (*trace, error) {
	ctx, done := context.WithCancel(context.Background())
	defer done()
	memory.Limit(ctx, memory.Limits{Sorting: tpconvert.DefaultMemory, Small: memory.SmallHeap})
	read := tpconvert.Options{Symbols: o.symbols, Version: release}
	t := &trace{Kept: table.Keep(o.memory)}
	var err error
	if t.facts, err = tpconvert.ReadFile(ctx, path, t.Kept, read); err != nil {
		return nil, err
	}
	t.manifest = t.facts.Manifest(read)
	go debug.FreeOSMemory() // what only reading needed
	return t, t.manifest.Describe(t.Kept)
}

// library has the traces that were read last, of all databases of the process.
type library struct {
	mu   sync.Mutex
	kept []*kept // the one that was used last comes last
}

// kept is a trace in the library.
type kept struct {
	path string
	key  string // names the trace's path, size and time of change, and the options
	read func() (*trace, error)
	size int64 // bytes of its rows in memory
	done bool
}

// mostKept is the number of traces that are kept.
const mostKept = 64

var traces library

// open returns a trace, which is read again if it has changed.
func (l *library) open(path string, o options) (*trace, error) {
	k := l.find(path, o)
	t, err := k.read()
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err != nil:
		l.kept = slices.DeleteFunc(l.kept, func(other *kept) bool { return other == k })
		return nil, err
	case !k.done:
		k.size, k.done = t.Bytes(), true
		l.trim(o.memory)
	}
	if text := t.facts.Losses().Describe(model.Lost, model.Damaged); o.strict && text != "" {
		return nil, fmt.Errorf("%s: %w: %s", path, tpconvert.ErrDataLost, text)
	}
	return t, nil
}

// find returns the place of a trace, which may have to be read yet.
func (l *library) find(path string, o options) *kept {
	source, _ := tpconvert.SourceOf(path) // reading reports any error
	key := fmt.Sprintf("%+v %d %q", source, o.memory, o.symbols)
	l.mu.Lock()
	defer l.mu.Unlock()
	var k *kept
	l.kept = slices.DeleteFunc(l.kept, func(other *kept) bool {
		if other.key == key {
			k = other
		}
		return other.path == path
	})
	if k == nil {
		k = &kept{path: path, key: key, read: sync.OnceValues(func() (*trace, error) { return readTrace(path, o) })}
	}
	l.kept = append(l.kept, k)
	return k
}

// trim forgets the traces that were not used for longest, so that the rows of all fit in the memory.
func (l *library) trim(memory int64) {
	for _, k := range l.kept {
		memory -= k.size
	}
	for len(l.kept) > 1 && (memory < 0 || len(l.kept) > mostKept) {
		memory += l.kept[0].size
		l.kept = l.kept[1:]
	}
}

// known returns a trace if it has been read.
func (l *library) known(path string) *trace {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, k := range l.kept {
		if k.path == path && k.done {
			t, _ := k.read()
			return t
		}
	}
	return nil
}
