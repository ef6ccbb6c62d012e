package fuchsia

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/sort"
)

// tokenizer keeps the providers' tables and pushes events to the sorter.
type tokenizer struct {
	cursor  // of the current record
	in      *format.Input
	records *records
	events  *sort.Stream
	token   []byte // of the record
	parser  *parser

	providers map[uint64]*provider
	meanings  uint64                              // last meaning given to the indexes of any provider
	provider  *provider                           // nil in the section of an unknown provider
	undefined bool                                // the record refers to an undefined string
	form      form                                // of the event
	encoded   []byte                              // form of the event
	values    [maxArgs + 1]uint64                 // of the event's args
	known     [1 << knownBits]knownForm           // by the hash of the header and its meaning
	recent    [1 << scheduledBits]scheduledThread // by the hash of the koid

	process, weight, waker, incomingWeight, outgoingWeight model.StringID
}

func newTokenizer(in *format.Input) *tokenizer {
	s := in.Store.Strings
	t := &tokenizer{
		in:             in,
		records:        newRecords(in),
		parser:         newParser(in.Context),
		process:        s.Intern("process"),
		weight:         s.Intern("weight"),
		waker:          s.Intern("waker"),
		incomingWeight: s.Intern("incoming_weight"),
		outgoingWeight: s.Intern("outgoing_weight"),
	}
	t.provider = newProvider(&t.meanings)
	t.providers = map[uint64]*provider{0: t.provider}
	t.events = in.Sorter.NewStream(t.parser)
	return t
}

// run reads the trace. From the first blob of Perfetto data on, the reader of that
// format is in charge: it pulls the blobs, and nextBlob handles the records between
// them.
func (t *tokenizer) run() error {
	b := &blobs{tokenizer: t}
	var err error
	if b.data, err = t.nextBlob(); err == nil {
		err = t.in.Embedded("proto", b)
		var bad *format.Error
		switch {
		case err == format.ErrUnsupported:
			t.in.File.Count(model.StatUnsupportedEmbeddedFormat)
			err = nil
		case errors.As(err, &bad):
			err = &format.Error{Offset: -1, Err: fmt.Errorf("in embedded Perfetto data, at byte %d of it: %w", bad.Offset, bad.Err)}
		}
		if _, e := io.Copy(io.Discard, b); e != nil {
			err = e
		}
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		t.in.File.LogAt(model.StatTruncatedInput, t.records.offset(), nil)
		err = nil
	}
	if err == io.EOF {
		err = nil
	}
	return err
}

// blobs is the Perfetto data in the trace, concatenated.
type blobs struct {
	tokenizer *tokenizer
	data      []byte
}

func (b *blobs) Read(p []byte) (int, error) {
	for len(b.data) == 0 {
		var err error
		if b.data, err = b.tokenizer.nextBlob(); err != nil {
			return 0, err
		}
	}
	n := copy(p, b.data)
	b.data = b.data[n:]
	return n, nil
}

// nextBlob reads records up to a blob of Perfetto data, and returns the blob. All
// events before it are in the sorter by then.
func (t *tokenizer) nextBlob() (blob []byte, err error) {
	for len(blob) == 0 {
		record, err := t.records.next()
		if err != nil {
			return nil, err
		}
		t.cursor, t.undefined = cursor{record: record}, false
		if blob, err = t.record(t.word()); err != nil {
			return nil, err
		}
	}
	return blob, nil
}

const blobPerfetto = 3

// record reads the rest of a record after its header. It returns the data of a blob
// of Perfetto data.
func (t *tokenizer) record(header uint64) (blob []byte, err error) {
	recordType := field(header, 0, 3)
	if recordType == recordMetadata {
		t.metadata(header)
		return nil, nil
	}
	if t.provider == nil {
		t.log(model.StatFuchsiaInvalidEvent, "unknown provider")
		return nil, nil
	}
	switch recordType {
	case recordInitialization:
		if ticks := t.word(); t.whole() {
			t.provider.ticksPerSecond = ticks
		}
	case recordString:
		text := t.stream(int(field(header, 32, 46)))
		if index := field(header, 16, 30); index != 0 && t.whole() {
			define(t.provider, &t.provider.strings, index, t.in.Store.Strings.InternBytes(text))
		}
	case recordThread:
		thread := t.inlineThread()
		if index := field(header, 16, 23); index != 0 && t.whole() {
			define(t.provider, &t.provider.threads, index, t.parser.threads.add(thread, thread))
		}
	case recordEvent:
		err = t.readEvent(header)
	case recordBlob:
		if field(header, 48, 55) != blobPerfetto {
			t.skipped(recordBlob)
			break
		}
		if name := field(header, 16, 31); inlineString(name) {
			t.stream(int(name & maxString))
		}
		if data := t.stream(int(field(header, 32, 46))); t.whole() {
			blob = data
		}
	case recordKernelObject:
		t.kernelObject(header)
	case recordScheduling:
		err = t.scheduling(header)
	default:
		t.skipped(recordType)
	}
	return blob, err
}

// The types of metadata.
const (
	metadataProviderInfo    = 1
	metadataProviderSection = 2
	metadataProviderEvent   = 3
)

func (t *tokenizer) metadata(header uint64) {
	id := field(header, 20, 51)
	switch field(header, 16, 19) {
	case metadataProviderInfo:
		if t.stream(int(field(header, 52, 59))); t.whole() {
			t.provider = newProvider(&t.meanings)
			t.providers[id] = t.provider
		}
	case metadataProviderSection:
		t.provider = t.providers[id]
	case metadataProviderEvent:
		t.in.File.Count(statBufferFull)
	}
}

// The types of kernel objects that have rows.
const (
	objectProcess = 1
	objectThread  = 2
)

func (t *tokenizer) kernelObject(header uint64) {
	koid := t.word()
	name := t.text(field(header, 24, 39))
	if !t.whole() {
		return
	}
	switch m := t.in.Machine; field(header, 16, 23) {
	case objectProcess:
		m.SetProcessName(m.Process(int64(koid)), name, model.ProcessNameSystem)
	case objectThread:
		var process uint64
		kind := byte(argKoid)
		for range field(header, 40, 43) {
			if a := t.arg(); a.name == t.process && kind == argKoid {
				process, kind = a.value, a.kind
			}
		}
		if !t.whole() && t.short {
			return
		}
		if kind != argKoid {
			t.log(model.StatFuchsiaInvalidEventArgType, "the process is not a koid")
			return
		}
		t.parser.scheduled.all[t.scheduled(koid)].process = process
		m.SetThreadName(m.ThreadOf(int64(koid), int64(process)), name, model.ThreadNameOther)
	default:
		t.skipped(recordKernelObject)
	}
}

func (t *tokenizer) readEvent(header uint64) error {
	kind := kind(field(header, 16, 19))
	if kind > flowEnd {
		t.skipped(recordEvent)
		return nil
	}
	ticks := t.word()
	number := t.formOf(header)
	token := binary.LittleEndian.AppendUint16(t.token[:0], number)
	if number == ownForm {
		token = append(token, t.encoded...)
	}
	ts, ok := t.provider.nanoseconds(ticks)
	if kind.hasValue() {
		value := t.word()
		if kind == durationComplete && ok {
			var end int64
			end, ok = t.provider.nanoseconds(value)
			value, ok = uint64(end-ts), ok && end >= ts
		}
		token = binary.AppendUvarint(token, value)
	}
	for _, v := range t.values[:field(header, 20, 23)] {
		token = binary.AppendUvarint(token, v)
	}
	if (t.short || t.undefined) && !t.whole() {
		return nil
	}
	if !ok {
		t.log(model.StatFuchsiaTimestampOverflow, "")
		return nil
	}
	t.token = token
	if ts, ok = t.in.TraceTime(ts, t.records.offset()); !ok {
		return nil
	}
	return t.events.Push(ts, token)
}

// The types of scheduling records.
const (
	schedulingLegacySwitch  = 0
	schedulingContextSwitch = 1
	schedulingWakeup        = 2
)

func (t *tokenizer) scheduling(header uint64) error {
	s := switching{cpu: field(header, 20, 35), state: field(header, 36, 39)}
	ticks := t.word()
	var args uint64
	switch field(header, 60, 63) {
	case schedulingLegacySwitch:
		s = switching{
			kind:           legacySwitch,
			cpu:            field(header, 16, 23),
			state:          field(header, 24, 27),
			outgoing:       t.scheduled(t.parser.threads.all[t.thread(field(header, 28, 35))].thread),
			incoming:       t.scheduled(t.parser.threads.all[t.thread(field(header, 36, 43))].thread),
			outgoingWeight: int32(field(header, 44, 51)),
			incomingWeight: int32(field(header, 52, 59)),
		}
	case schedulingContextSwitch:
		s.kind, s.outgoing, s.incoming = contextSwitch, t.scheduled(t.word()), t.scheduled(t.word())
		args = field(header, 16, 19)
	case schedulingWakeup:
		s.kind, s.incoming = wakeup, t.scheduled(t.word())
		args = field(header, 16, 19)
	default:
		t.skipped(recordScheduling)
		return nil
	}
	var wrong model.StringID
	for range args {
		a, want := t.arg(), byte(argInt32)
		switch {
		case a.name == t.incomingWeight && s.kind == contextSwitch, a.name == t.weight && s.kind != contextSwitch:
			s.incomingWeight = int32(a.value)
		case a.name == t.outgoingWeight && s.kind == contextSwitch:
			s.outgoingWeight = int32(a.value)
		case a.name == t.waker && s.kind != contextSwitch:
			want = argKoid
			s.kind, s.outgoing = wakeupBy, t.scheduled(a.value)
		default:
			continue
		}
		if a.kind != want && wrong == 0 {
			wrong = a.name
		}
	}
	if !t.whole() {
		return nil
	}
	if wrong != 0 {
		t.log(model.StatFuchsiaInvalidEventArgType, t.in.Store.Strings.Get(wrong))
		return nil
	}
	ts, ok := t.provider.nanoseconds(ticks)
	if !ok {
		t.log(model.StatFuchsiaTimestampOverflow, "")
		return nil
	}
	t.token = s.encode(t.token[:0])
	if ts, ok = t.in.TraceTime(ts, t.records.offset()); !ok {
		return nil
	}
	return t.events.Push(ts, t.token)
}

const (
	inlineMark = 0x8000
	maxString  = 0x7fff
)

// inlineString reports whether the string of a reference follows in the record. The
// empty string counts as inline and takes no words.
func inlineString(ref uint64) bool { return ref&inlineMark != 0 || ref == 0 }

// text resolves a reference to a string.
func (t *tokenizer) text(ref uint64) model.StringID {
	if inlineString(ref) {
		return t.in.Store.Strings.InternBytes(t.stream(int(ref & maxString)))
	}
	id, ok := t.provider.strings.at(ref)
	t.undefined = t.undefined || !ok
	return id
}

// thread resolves a reference to a thread. An undefined one means process 0 and
// thread 0, as in Trace Processor.
func (t *tokenizer) thread(ref uint64) int {
	var thread koids
	if ref == 0 {
		thread = t.inlineThread()
	} else if number, ok := t.provider.threads.at(ref); ok {
		return number
	} else {
		t.log(model.StatFuchsiaInvalidEvent, "undefined thread")
	}
	return t.parser.threads.add(thread, thread)
}

func (t *tokenizer) inlineThread() koids { return koids{process: t.word(), thread: t.word()} }

// scheduledThread caches the number of a thread in scheduling records.
type scheduledThread struct {
	koid   uint64
	number int
}

const scheduledBits = 8

// scheduled returns the number of a thread in scheduling records.
func (t *tokenizer) scheduled(koid uint64) int {
	known := &t.recent[koid*knownHash>>(64-scheduledBits)]
	if known.koid != koid || koid == 0 {
		*known = scheduledThread{koid, t.parser.scheduled.add(koid, koids{thread: koid})}
	}
	return known.number
}

// arg reads an arg.
func (t *tokenizer) arg() arg {
	start := t.at
	header := t.word()
	a := arg{name: t.text(argName(header)), kind: argKind(header)}
	a.value = t.value(header)
	t.at = start + size(header)
	return a
}

// value reads the value of an arg, which follows its name.
func (t *tokenizer) value(header uint64) uint64 {
	switch argKind(header) {
	case argInt32:
		return uint64(int32(header >> 32))
	case argUint32, argBool:
		return header >> 32
	case argInt64, argUint64, argDouble, argPointer, argKoid:
		return t.word()
	case argString:
		return uint64(t.text(field(header, 32, 47)))
	}
	return 0
}

// whole reports whether everything read from the record was there and defined. If
// not, it logs that.
func (t *tokenizer) whole() bool {
	switch {
	case t.short:
		t.log(model.StatFuchsiaRecordReadError, "the record is shorter than its contents")
	case t.undefined:
		t.log(model.StatFuchsiaInvalidStringRef, "")
	}
	return !t.short && !t.undefined
}

// recordNouns name the record types that may have no rows.
var recordNouns = map[uint64]string{
	recordEvent: "unknown event record", recordBlob: "blob record", recordUserspaceObject: "userspace object record",
	recordKernelObject: "kernel object record", recordScheduling: "scheduling record", recordLog: "log record",
	recordLarge: "large record",
}

// skipped counts a record without rows.
func (t *tokenizer) skipped(recordType uint64) {
	noun := cmp.Or(recordNouns[recordType], fmt.Sprintf("type %d record", recordType))
	t.in.File.Unread(statSkippedRecord, int64(recordType), noun).AddAt(t.records.offset())
}

// log logs what is wrong with the current record.
func (t *tokenizer) log(stat model.Stat, why string) {
	var args model.ArgSource
	if why != "" {
		args = model.ArgFunc(func(set *model.ArgSet) {
			s := t.in.Store.Strings
			set.Add(s.Intern("error"), model.StringArg(s.Intern(why)))
		})
	}
	t.in.File.LogAt(stat, t.records.offset(), args)
}
