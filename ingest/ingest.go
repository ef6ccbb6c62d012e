// Package ingest reads traces: it detects a file's format among Formats, decompresses and
// unpacks the file, and passes its events through the sorter to the trackers.
package ingest

//go:generate go test -vet=off . -run StatKeys -generate

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/binaries"
	"github.com/tpconvert/tpconvert/internal/pipeline"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/sort"
)

// maxNesting is how many files a file may be nested in.
const maxNesting = 8

// Options control how a trace is read.
type Options struct {
	Memory  int64  // bytes of events to hold before they spill to disk; 0 means the sorter's default
	TempDir string // directory to spill to; "" means the system's
	// Version is the converter's version, for metadata; "" leaves it out.
	Version string
	// Crop leaves out track events before the range of interest that a trace names.
	Crop bool
	// Analyze adds up the sizes of the fields in Perfetto traces.
	Analyze bool
	// Cut copies a part of a Perfetto trace, without making rows.
	Cut *format.Cut
	// Context stops the reading once it is done, at the latest when the next events
	// are parsed. nil means that nothing stops it.
	Context context.Context
	// Sorted receives the sorter's progress, unless it is nil.
	Sorted *sort.Progress
	// At gives random access to the trace's bytes. It is nil if they can only be read in
	// order; archives are then copied first.
	At *io.SectionReader
	// Binaries are the folders that may have the binaries of a trace, and BinaryCache is that of perf, "" for none. No others are
	// opened.
	Binaries    []string
	BinaryCache string
	// Formats are the formats to choose from; nil means all.
	Formats []*format.Format
	// Detected is called with the format of each file in the input as soon as it is
	// known.
	Detected func(name, format string)
}

// Read reads a trace into the store. name is the file's name in messages and in
// trace_file. After an error the store holds what was read until then, and can still be
// finished.
func Read(store *model.Store, name string, r io.Reader, o Options) error {
	if o.Formats == nil {
		o.Formats = Formats
	}
	if o.Context == nil {
		o.Context = context.Background()
	}
	in := &reading{name: name, options: o, store: store, overrides: format.Overrides{Files: map[string]*format.Override{}}, sorter: sort.New(sort.Options{Memory: o.Memory, TempDir: o.TempDir, Progress: o.Sorted, Context: o.Context})}
	defer in.sorter.Close()
	err := in.file(origin{name: name, shown: name}, r)
	if flushed := in.sorter.Flush(); err == nil {
		err = flushed
	}
	for _, f := range in.atEnd {
		if ended := f(); err == nil {
			err = ended
		}
	}
	if late := in.sorter.OutOfOrder(); late > 0 {
		in.files[len(in.files)-1].Add(model.StatSorterPushEventOutOfOrder, model.None, late)
	}
	named := false
	for _, f := range in.files {
		f.Finish()
		named = named || f.MetadataText("trace_uuid") != ""
	}
	if err == nil {
		err = in.nothing(named)
	}
	if !named && in.traces > 0 {
		store.SetMetadata("trace_uuid", model.StringArg(store.Strings.Intern(in.uuid)))
	}
	if err == nil {
		err = store.Err()
	}
	return err
}

// reading is the state of one call of Read.
type reading struct {
	name      string           // of the input
	formats   []*format.Format // of the files that were read
	options   Options
	store     *model.Store
	sorter    *sort.Sorter
	files     []*model.File
	input     *counter
	uuid      string // of the trace, unless it names one itself
	several   bool   // there is more than one trace in the input
	traces    int    // number of traces read so far, including the current one
	overrides format.Overrides
	beside    []string
	atEnd     []func() error
	head      []byte // the buffer of begin
}

// begin reads the first bytes of a file. They are valid until the next call.
func (rd *reading) begin(r io.Reader) (head []byte, err error) {
	if rd.head == nil {
		rd.head = make([]byte, format.HeadBytes)
	}
	n := 0
	for n < len(rd.head) && err == nil {
		var more int
		more, err = r.Read(rd.head[n:])
		n += more
	}
	if err == io.EOF {
		err = nil
	}
	return rd.head[:n], err
}

// origin is where a file was found.
type origin struct {
	name    string         // name in trace_file
	shown   string         // name in messages: the input's name, or the file's place in the input
	file    *model.File    // the file's row, or nil if it has none yet
	format  *format.Format // the file's format, or nil to detect it from the first bytes
	parent  *model.File    // file that contains this one; nil for the input itself
	parents []string       // formats of the enclosing files, outermost first
	parts   []format.Part  // the trace's other files, or nil
	inner   bool           // the file is a member of an archive, or nested in one
}

// member returns the origin of a member of the file.
func (o origin) member(name string) origin {
	o.name, o.format, o.parts = name, nil, nil
	if o.inner {
		name = o.shown + ": " + name
	}
	o.shown, o.inner = name, true
	return o
}

// file reads one file.
func (rd *reading) file(from origin, r io.Reader) error {
	if len(from.parents) > maxNesting {
		return &format.Error{File: from.shown, Offset: 0, Err: fmt.Errorf("files nested %d levels deep: %w", len(from.parents), format.ErrUnsupported)}
	}
	counted := &counter{r: r}
	if from.parent == nil {
		rd.input = counted
	}
	head, err := rd.begin(counted)
	if err != nil {
		return place(err, from.shown, "")
	}
	id, source := uuid(head), io.Reader(counted)
	text := decode(head, counted)
	if text != nil {
		source = text
		if head, err = rd.begin(text); err != nil {
			return place(err, from.shown, "")
		}
	}
	// The head moves to a buffer of its size: an archive may have very many small files.
	buffered := bufio.NewReaderSize(io.MultiReader(bytes.NewReader(head), source), len(head))
	head, _ = buffered.Peek(len(head))
	if from.parent != nil && len(head) == format.HeadBytes { // there may be much more to decompress
		ahead := pipeline.ReadAhead(rd.options.Context, r)
		defer ahead.Stop()
		counted.r = ahead
	}
	f, err := rd.recognise(from, head, counted.cut)
	if err != nil {
		return err
	}
	file := rd.enter(from, f, id)
	in, err := rd.inputOf(from, f, file)
	if err != nil {
		return err
	}
	in.Reader = buffered
	if from.parent == nil && text == nil {
		in.At = rd.options.At
	}
	err = f.Read(in)
	in.Reader = nil // parsers may live until the end, and the input's buffers would add up
	file.SetSize(counted.n.Load() - int64(buffered.Buffered()))
	if counted.cut {
		file.SetStat(model.StatIncompleteFile, model.None, 1)
	}
	if text != nil {
		err = text.finish(file, err)
	}
	return place(err, from.shown, f.String())
}

// recognise returns the format of a file that starts with head. cut says that the file ended within its compression.
func (rd *reading) recognise(from origin, head []byte, cut bool) (*format.Format, error) {
	fails := func(err error) (*format.Format, error) {
		return nil, &format.Error{File: from.shown, Offset: 0, Err: err}
	}
	f := from.format
	if f == nil {
		if len(bytes.TrimSpace(head)) == 0 && len(head) < format.HeadBytes {
			if cut {
				return fails(fmt.Errorf("truncated before its first bytes: %w", format.ErrCorrupt))
			}
			return fails(format.ErrEmpty)
		}
		if f = detect(rd.options.Formats, head); f == nil {
			return fails(unknown(rd.options.Formats, head))
		}
	}
	if rd.options.Detected != nil {
		rd.options.Detected(from.shown, f.String())
	}
	return f, nil
}

// enter gives a file its row. id is the uuid that a trace without one has.
func (rd *reading) enter(from origin, f *format.Format, id string) *model.File {
	file := from.file
	if file == nil {
		file = rd.store.NewFile(from.name, from.parent)
	}
	file.SetFormat(f.Name, f.Container)
	if from.parent == nil {
		rd.uuid = id
		if rd.options.Version != "" {
			file.SetMetadata("converter_version", model.StringArg(rd.store.Strings.Intern(rd.options.Version)))
		}
	}
	rd.files = append(rd.files, file)
	rd.formats = append(rd.formats, f)
	return file
}

// inputOf returns what the reader of a format gets, but for the bytes.
func (rd *reading) inputOf(from origin, f *format.Format, file *model.File) (*format.Input, error) {
	inside := origin{name: from.name, shown: from.shown, inner: from.inner, parent: file, parents: append(slices.Clip(from.parents), f.Name)}
	var override format.Override
	context := &model.Context{Store: rd.store, File: file} // for files without events
	switch o := rd.override(from); {
	case f.Turn == format.TurnManifest:
		if err := rd.mayConfigure(o, from); err != nil {
			return nil, place(err, from.shown, f.String())
		}
	case !f.Container:
		rd.traces++
		override, context = o, file.Context(o.Machine)
		file.Shift(o.Offset)
	}
	in := &format.Input{
		Context:   context,
		Override:  override,
		Overrides: &rd.overrides,
		Sorter:    rd.sorter,
		Name:      from.shown,
		Parents:   from.parents,
		Alone:     !rd.several,
		Beside:    rd.beside,
		Parts:     from.parts,
		Taken:     rd.input.n.Load,
		TempDir:   rd.options.TempDir,
		Crop:      rd.options.Crop,
		Analyze:   rd.options.Analyze,
		Cut:       rd.options.Cut,
		Binaries:  &binaries.Finder{Folders: rd.options.Binaries, Cache: rd.options.BinaryCache},
		Member: func(name string, r io.Reader) error {
			if name != "" {
				return rd.file(inside.member(name), r)
			}
			return rd.file(inside, r)
		},
		Members: func(members []format.Member) error { return rd.members(inside, members) },
		AtEnd:   func(f func() error) { rd.atEnd = append(rd.atEnd, f) },
	}
	in.Embedded = func(name string, r io.Reader) error {
		i := slices.IndexFunc(rd.options.Formats, func(f *format.Format) bool { return f.Name == name })
		if i < 0 {
			return format.ErrUnsupported
		}
		embedded := *in
		embedded.Reader, embedded.At, embedded.Part = r, nil, true
		return rd.options.Formats[i].Read(&embedded)
	}
	return in, nil
}

// place adds the file and the format to an error that lacks them.
func place(err error, file, name string) error {
	var e *format.Error
	if !errors.As(err, &e) || e.File != "" {
		return err
	}
	e.File, e.Format = file, name
	return err
}

// Detect returns the format of an input that starts with head, or nil.
func Detect(head []byte) *format.Format { return detect(Formats, decodeHead(head)) }

// IsNotes reports whether a file that starts with head is text for people, and in no known format.
func IsNotes(head []byte) bool {
	cut := len(head) == format.HeadBytes
	head = decodeHead(head)
	if cut { // it may end within a character
		head = head[:bytes.LastIndexFunc(head, func(r rune) bool { return r != utf8.RuneError })]
	}
	strange := func(r rune) bool { return r == utf8.RuneError || r < ' ' && !strings.ContainsRune("\n\r\t\f", r) }
	return len(head) > 0 && bytes.IndexFunc(head, strange) < 0 && Detect(head) == nil
}

func detect(formats []*format.Format, head []byte) *format.Format {
	for _, f := range formats {
		if f.Sniff(head) {
			return f
		}
	}
	return nil
}

// uuid returns the trace_uuid that Trace Processor gives a trace without one: a hash of
// the file's first 4 KiB.
func uuid(head []byte) string {
	hash := fnv.New64a()
	hash.Write(head[:min(len(head), 4096)])
	n := hash.Sum64()
	return fmt.Sprintf("00000000-0000-0000-%04x-%012x", n>>48, n&(1<<48-1))
}

// counter counts the bytes read. If the reader ends too early, as in a truncated
// container, the file ends there.
type counter struct {
	r   io.Reader
	n   atomic.Int64
	cut bool
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n.Add(int64(n))
	if errors.Is(err, io.ErrUnexpectedEOF) {
		c.cut, err = true, io.EOF
	}
	return n, err
}
