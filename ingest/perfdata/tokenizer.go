package perfdata

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/spool"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/sort"
)

const (
	fileHeader  = 104 // bytes; the magic, sizes and sections, and the features
	featureBits = 72
	pipeHeader  = 16
	attrTail    = 16 // bytes after each event in a file: the section of its ids

	// maxDescription is the maximum size of the data before a file's records, in
	// bytes: the events and the ids of their counters.
	maxDescription = 64 << 20

	bufferSize = 1 << 20
)

// tokenizer reads the records and pushes the data that becomes rows.
type tokenizer struct {
	in *format.Input
	source
	recording *recording
	parser    *parser
	stream    *sort.Stream
	token     []byte        // of the current record
	exec      []byte        // exec token of the current record
	inflate   *decompressor // nil before the first compressed record
	aux       auxStreams
}

func newTokenizer(in *format.Input) *tokenizer {
	r := newRecording()
	t := &tokenizer{
		in:        in,
		source:    source{Reader: bufio.NewReaderSize(in, bufferSize)},
		recording: r,
		parser:    newParser(in.Context, r, in.Binaries),
	}
	t.aux.tokenizer = t
	t.stream = in.Sorter.NewStream(t.parser)
	t.stream.SetTie(tokenTie)
	in.AtEnd(func() error {
		r.symbols.resolve(in.Context)
		t.parser.codes.resolve(in.Context)
		t.parser.sums.store(in.Context, in.Name)
		t.parser.finishProcesses()
		return nil
	})
	return t
}

func (t *tokenizer) run() error {
	err := t.ended(t.in.File, t.read())
	if err == nil {
		err = t.threads()
	}
	if err != nil {
		return err
	}
	t.aux.finish()
	return nil
}

// ended ends the reading of a file. An end inside of a record is counted.
func (t *tokenizer) ended(f *model.File, err error) error {
	if t.inflate != nil {
		t.inflate.stop()
		t.inflate = nil
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		f.LogAt(model.StatTruncatedInput, t.offset, nil)
		err = nil
	}
	return err
}

// threads reads the records of threads, which have files of their own if the recording is a folder.
func (t *tokenizer) threads() error {
	var parts []format.Part
	for _, part := range t.in.Parts {
		if number, ok := strings.CutPrefix(path.Base(part.Name), "data."); ok && strings.Trim(number, "0123456789") == "" {
			parts = append(parts, part)
		}
	}
	slices.SortFunc(parts, func(a, b format.Part) int {
		return cmp.Or(cmp.Compare(len(a.Name), len(b.Name)), cmp.Compare(a.Name, b.Name))
	})
	for _, part := range parts {
		r, err := part.Open()
		if err != nil {
			return err
		}
		t.source = source{Reader: bufio.NewReaderSize(r, bufferSize), swapped: t.swapped}
		err = t.ended(part.File, t.records(math.MaxInt64))
		if err := cmp.Or(err, r.Close()); err != nil {
			return err
		}
	}
	return nil
}

func (t *tokenizer) read() error {
	head, err := t.Peek(pipeHeader)
	if err != nil {
		return t.corrupt("truncated header")
	}
	switch {
	case bytes.HasPrefix(head, magicSwapped):
		t.swapped = true
	case bytes.HasPrefix(head, magicOld):
		return format.Errorf(format.ErrUnsupported, 0, "perf.data from before Linux 3.3")
	}
	header := words{data: head[len(magic):], swapped: t.swapped}
	switch size := header.uint64(); size {
	case pipeHeader:
		if err := t.discard(pipeHeader); err != nil {
			return err
		}
		return t.records(math.MaxInt64)
	case fileHeader:
		return t.file()
	default:
		return format.Errorf(format.ErrUnsupported, 0, "header of %d bytes, want %d, or %d in a pipe", size, fileHeader, pipeHeader)
	}
}

func (t *tokenizer) corrupt(message string, args ...any) error {
	return format.Errorf(format.ErrCorrupt, t.offset, message, args...)
}

// section is a part of a file.
type section struct{ offset, size uint64 }

func (w *words) section() section { return section{w.uint64(), w.uint64()} }

// piece is a part of a file that was read.
type piece struct {
	offset uint64
	bytes  []byte
}

// of returns the bytes of a section in the piece.
func (s section) of(p piece) ([]byte, bool) {
	at, n := s.offset-p.offset, uint64(len(p.bytes))
	if s.offset < p.offset || at > n || s.size > n-at {
		return nil, false
	}
	return p.bytes[at : at+s.size], true
}

// file reads a file: header, events, records, features.
func (t *tokenizer) file() error {
	head, err := t.take(fileHeader)
	if err != nil {
		return t.corrupt("truncated header")
	}
	header := words{data: head[pipeHeader:], swapped: t.swapped}
	attrSize := header.uint64()
	attrs, data := header.section(), header.section()
	header.section() // event types, obsolete
	var features []uint64
	for i := range 4 {
		for flags, bit := header.uint64(), 0; flags != 0; flags, bit = flags>>1, bit+1 {
			if flags&1 != 0 {
				features = append(features, uint64(64*i+bit))
			}
		}
	}
	if data.offset < fileHeader || data.offset > maxDescription || data.size > math.MaxInt64-maxDescription {
		return t.corrupt("invalid position of the records: byte %d, %d bytes", data.offset, data.size)
	}
	if attrs.offset > data.offset {
		file, err := t.spool(head)
		if err != nil {
			return err
		}
		defer file.Close()
		if err := t.lateEvents(file, attrs, data, attrSize); err != nil {
			return err
		}
	} else {
		description, err := t.take(int64(data.offset) - fileHeader)
		if err != nil {
			return t.corrupt("truncated before its records")
		}
		if err := t.events(piece{bytes: append(head, description...)}, attrs, attrSize); err != nil {
			return err
		}
	}
	end := int64(data.offset + data.size)
	if data.size == 0 && len(features) == 0 {
		// perf did not get to write the size.
		t.in.File.LogAt(model.StatTruncatedInput, t.offset, nil)
		end = math.MaxInt64
	}
	if err := t.records(end); err != nil {
		return err
	}
	return t.features(features)
}

// spool gives random access to the file, whose head was read.
func (t *tokenizer) spool(head []byte) (*spool.File, error) {
	in := *t.in
	in.Reader = io.MultiReader(bytes.NewReader(head), t.Reader)
	return spool.Open(&in)
}

// lateEvents reads the events of a file that has them after its records, as perf inject writes what it read from a pipe, and
// returns to the records.
func (t *tokenizer) lateEvents(file *spool.File, attrs, data section, attrSize uint64) error {
	end := int64(data.offset + data.size)
	if end > file.Size {
		return t.corrupt("truncated before its events")
	}
	tail := make([]byte, min(file.Size-end, maxDescription))
	if _, err := file.ReadAt(tail, end); err != nil && err != io.EOF {
		return err
	}
	records := io.NewSectionReader(file, int64(data.offset), file.Size-int64(data.offset))
	t.source = source{Reader: bufio.NewReaderSize(records, bufferSize), offset: int64(data.offset), swapped: t.swapped}
	return t.events(piece{uint64(end), tail}, attrs, attrSize)
}

// events reads the events of a file from a piece that has them and their ids.
func (t *tokenizer) events(description piece, attrs section, size uint64) error {
	data, ok := attrs.of(description)
	if !ok || size < minAttr+attrTail || uint64(len(data))%size != 0 {
		return format.Errorf(format.ErrCorrupt, 0, "malformed attributes: %d bytes of %d bytes each at byte %d", attrs.size, size, attrs.offset)
	}
	for attr := range slices.Chunk(data, int(size)) {
		tail := words{data: attr[size-attrTail:], swapped: t.swapped}
		s := tail.section()
		ids, ok := s.of(description)
		if !ok || s.size%8 != 0 {
			return format.Errorf(format.ErrCorrupt, 0, "malformed event ids: %d bytes at byte %d", s.size, s.offset)
		}
		if err := t.event(attr[:size-attrTail], ids); err != nil {
			return format.Errorf(format.ErrUnsupported, int64(attrs.offset), "%v", err)
		}
	}
	if len(t.recording.events) == 0 {
		return format.Errorf(format.ErrCorrupt, int64(attrs.offset), "no events")
	}
	return nil
}

// event adds an event of a file or a stream.
func (t *tokenizer) event(attr, ids []byte) error {
	e := readEvent(attr, t.swapped)
	e.countUnread(t.in.File)
	w := words{data: ids, swapped: t.swapped}
	var numbers []uint64
	for len(w.data) >= 8 {
		numbers = append(numbers, w.uint64())
	}
	if len(t.recording.events) == 0 {
		t.in.UseClock(e.clock.ID)
	}
	if e.isTracepoint() {
		t.in.Machine.UseIdleProcess()
	}
	return t.recording.add(t.in.Context, e, numbers)
}

// records reads the records up to an offset in the file.
func (t *tokenizer) records(end int64) error {
	for t.offset < end {
		rec, err := t.next()
		if err == nil {
			err = t.record(&rec)
		}
		switch {
		case err == io.EOF && end < math.MaxInt64:
			return io.ErrUnexpectedEOF
		case err == io.EOF:
			return nil
		case errors.Is(err, errRecordSize) && t.recording.start == nil:
			return format.Errorf(format.ErrCorrupt, rec.offset, "%v", err)
		case errors.Is(err, errRecordSize):
			t.skipped(&rec, err.Error())
			if end == math.MaxInt64 {
				return nil
			}
			return t.discard(end - t.offset)
		case err != nil:
			return err
		}
	}
	return nil
}

// skipped counts a record that cannot be read.
func (t *tokenizer) skipped(rec *record, reason string) {
	strings := t.in.Store.Strings
	t.in.File.Log(model.StatPerfRecordSkipped, model.LogEntry{
		Offset: rec.offset, HasOffset: true, Index: int64(rec.kind), HasIndex: true,
		Args: model.ArgFunc(func(set *model.ArgSet) {
			set.Add(strings.Intern("reason"), model.StringArg(strings.Intern(reason)))
		}),
	})
}

// notRead counts a record without rows.
func (t *tokenizer) notRead(rec *record) {
	noun := cmp.Or(recordNames[rec.kind], fmt.Sprintf("type %d", rec.kind)) + " record"
	t.in.File.Unread(model.StatPerfUnknownRecordType, int64(rec.kind), noun).AddAt(rec.offset)
}

// record reads a record: it handles some at once, and pushes the others as
// tokens.
func (t *tokenizer) record(rec *record) error {
	if rec.kind < recordHeaderAttr {
		return t.kernelRecord(rec)
	}
	switch rec.kind {
	case recordFinishedRound, recordFinishedInit, recordIDIndex, recordCPUMap, recordEventType:
		// The sorter does not need rounds, and ids come with the events.
	case recordHeaderAttr:
		return t.headerAttr(rec)
	case recordHeaderFeature:
		number := rec.uint64()
		t.feature(number, rec.data, rec.offset)
	case recordBuildID:
		if !t.buildID(rec) {
			t.skipped(rec, "no build id")
		}
	case recordEventUpdate:
		t.eventUpdate(rec)
	case recordThreadMap:
		t.threadMap(rec)
	case recordTracingData:
		return t.tracingRecord(rec)
	case recordAuxtraceInfo:
		t.aux.info(rec)
	case recordAuxtrace:
		return t.aux.data(rec)
	case recordTimeConv:
		t.aux.timeConversion(rec)
	case recordCompressed, recordCompressed2:
		return t.compressed(rec)
	default:
		t.notRead(rec)
	}
	return nil
}

// headerAttr reads an event of a stream.
func (t *tokenizer) headerAttr(rec *record) error {
	size := uint64(minAttr)
	if w := (words{data: rec.data, swapped: t.swapped}); len(w.data) >= 8 {
		w.uint32()
		size = max(size, uint64(w.uint32()))
	}
	attr := rec.take(size)
	if rec.short {
		t.skipped(rec, "truncated event")
		return nil
	}
	if err := t.event(attr, rec.data); err != nil {
		return format.Errorf(format.ErrUnsupported, rec.offset, "%v", err)
	}
	return nil
}

// updateName is the kind of recordEventUpdate that sets a name.
const updateName = 2

func (t *tokenizer) eventUpdate(rec *record) {
	what, id := rec.uint64(), rec.uint64()
	if what != updateName {
		return
	}
	if name, ok := rec.text(); ok {
		t.name(id, string(name))
	}
}

// name names the event that has a counter with this id.
func (t *tokenizer) name(id uint64, name string) {
	if i, ok := t.recording.byID[id]; ok {
		t.recording.events[i].name = name
	}
}

// compressed reads the records inside a compressed record.
func (t *tokenizer) compressed(rec *record) error {
	payload := rec.data
	if rec.kind == recordCompressed2 { // this type is padded
		payload = rec.take(rec.uint64())
		if rec.short {
			t.skipped(rec, "the compressed data exceed the record")
			return nil
		}
	}
	if t.inflate == nil {
		var err error
		if t.inflate, err = newDecompressor(); err != nil {
			return err
		}
	}
	err := t.inflate.records(payload, rec.offset, t.swapped, func(inner record) error {
		if inner.kind == recordCompressed || inner.kind == recordCompressed2 || inner.kind == recordAuxtrace || inner.kind == recordTracingData {
			t.skipped(&inner, "inside a compressed record")
			return nil
		}
		return t.record(&inner)
	})
	if t.inflate.err != nil || errors.Is(err, errRecordSize) {
		t.skipped(rec, fmt.Sprint("damaged data: ", cmp.Or(err, t.inflate.err)))
		return nil
	}
	return err
}

// kernelRecord handles a record of the kernel.
func (t *tokenizer) kernelRecord(rec *record) error {
	if len(t.recording.events) == 0 {
		t.skipped(rec, "before any event")
		return nil
	}
	index, ok := t.recording.eventOf(rec.kind, &rec.words)
	if !ok {
		t.skipped(rec, "unknown event")
		return nil
	}
	e := t.recording.events[index]
	time := e.timeOf(rec.kind, &rec.words)
	switch rec.kind {
	case recordSample:
		if ok = e.sampleType&sampleTID != 0; !ok {
			break
		}
		t.token, ok = appendSample(t.token[:0], rec, index, e)
		for _, u := range e.unread {
			u.AddAt(rec.offset)
		}
	case recordMmap, recordMmap2:
		if rec.kind == recordMmap2 && rec.misc&miscMapsCut != 0 {
			t.in.File.Unread(model.StatUnreadFact, model.None, "process without all mappings").
				Say("process lacks mappings: perf record --proc-map-timeout MS", "processes lack mappings: perf record --proc-map-timeout MS").AddAt(rec.offset)
		}
		t.token, ok = appendMmap(t.token[:0], rec)
	case recordComm:
		t.token, ok = appendComm(t.token[:0], rec)
		if ok && rec.misc&miscExec != 0 {
			t.exec = appendExec(t.exec[:0], t.token)
			if err := t.push(rec, e, time, t.exec); err != nil {
				return err
			}
		}
	case recordItraceStart:
		pid, tid := rec.uint32(), rec.uint32()
		if ok = !rec.short; ok {
			t.in.Machine.ThreadOf(int64(tid), int64(pid))
			t.aux.restart(rec, e)
		}
		return t.done(rec, ok)
	case recordAux:
		ok, err := t.aux.record(rec, e)
		return cmp.Or(err, t.done(rec, ok))
	case recordLost:
		rec.uint64()
		return t.done(rec, t.lost(rec, e))
	case recordLostSamples:
		if rec.misc&miscFiltered != 0 {
			return nil
		}
		return t.done(rec, t.lost(rec, e))
	case recordKernelSymbol:
		return t.done(rec, t.recording.symbols.addKernel(t.in.Store.Strings, rec))
	case recordDeferred:
		id := e.readSampleID(rec)
		if id.tid == gone {
			t.notRead(rec)
			return nil
		}
		t.token, ok = appendDeferred(t.token[:0], rec, id)
	case recordFork:
		kind := forkToken
		if rec.misc&miscExec != 0 {
			kind = parentToken
		}
		t.token, ok = appendTask(t.token[:0], kind, rec)
	case recordSwitch, recordSwitchWide:
		return t.switchRecord(rec, e, time)
	case recordExit:
		t.token, ok = appendTask(t.token[:0], exitToken, rec)
	default:
		// Records that have no rows.
		t.notRead(rec)
		return nil
	}
	if !ok {
		return t.done(rec, false)
	}
	return t.push(rec, e, time, t.token)
}

// done counts a record if it could not be read.
func (t *tokenizer) done(rec *record, ok bool) error {
	if !ok {
		t.skipped(rec, "truncated, or without a required field")
	}
	return nil
}

// lost counts events that the kernel dropped for lack of space.
func (t *tokenizer) lost(rec *record, e *event) bool {
	n := rec.uint64()
	if rec.short {
		return false
	}
	id := e.readSampleID(rec)
	t.in.File.Add(model.StatPerfCPULostRecords, id.cpu, int64(n))
	return true
}

// push pushes a token. Tokens without a time come first.
func (t *tokenizer) push(rec *record, e *event, time uint64, token []byte) error {
	if time == 0 {
		return t.stream.Push(untimed, token)
	}
	ts, failed := t.in.Clocks.ToTrace(e.clock, int64(time))
	if failed != nil {
		t.in.File.LogAt(failed.Stat, rec.offset, failed)
		return nil
	}
	if t.recording.start == nil || ts < *t.recording.start {
		t.recording.start = &ts
	}
	return t.stream.Push(ts, token)
}
