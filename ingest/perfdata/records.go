package perfdata

import (
	"bufio"
	"errors"
	"io"
	"iter"

	"github.com/klauspost/compress/zstd"
)

// The kernel's records.
const (
	recordMmap         = 1
	recordLost         = 2
	recordComm         = 3
	recordExit         = 4
	recordFork         = 7
	recordSample       = 9
	recordMmap2        = 10
	recordAux          = 11
	recordItraceStart  = 12
	recordLostSamples  = 13
	recordSwitch       = 14
	recordSwitchWide   = 15
	recordKernelSymbol = 17
	recordDeferred     = 22
)

// perf's records.
const (
	recordHeaderAttr    = 64
	recordEventType     = 65
	recordTracingData   = 66
	recordBuildID       = 67
	recordFinishedRound = 68
	recordIDIndex       = 69
	recordAuxtraceInfo  = 70
	recordAuxtrace      = 71
	recordThreadMap     = 73
	recordCPUMap        = 74
	recordEventUpdate   = 78
	recordTimeConv      = 79
	recordHeaderFeature = 80
	recordCompressed    = 81
	recordFinishedInit  = 82
	recordCompressed2   = 83
)

// recordNames are the types of records without rows.
var recordNames = map[uint32]string{
	// The kernel's.
	5: "throttle", 6: "unthrottle", 8: "read", recordSwitch: "switch", recordSwitchWide: "switch_cpu_wide", 16: "namespaces", recordKernelSymbol: "ksymbol",
	18: "bpf_event", 19: "cgroup", 20: "text_poke", 21: "aux_output_hw_id",
	recordDeferred: "callchain_deferred",
	// perf's.
	72: "auxtrace_error", 75: "stat_config", 76: "stat", 77: "stat_round", 84: "bpf_metadata",
	// Simpleperf's.
	32769: "kernel_symbol", 32770: "dso", 32771: "symbol", 32772: "split", 32773: "split_end", 32774: "event_id",
	32775: "callchain", 32776: "unwinding_result", 32777: "tracing_data", 32778: "debug",
}

// The bits of a record's misc.
const (
	miscCPUMode       = 7
	miscMapsCut       = 1 << 12 // of mmap2: perf had no time to read all mappings of the process
	miscExec          = 1 << 13 // of comm: due to an exec; of fork: it ran before the recording
	miscSwitchOut     = 1 << 13 // of switch
	miscSwitchPreempt = 1 << 14 // of switch: the thread could run on
	miscMmapBuildID   = 1 << 14 // of mmap2
	miscBuildIDSized  = 1 << 15 // of build ids
	miscFiltered      = 1 << 15 // of lost samples: a filter of the user dropped them
)

const headerSize = 8

// record is a record without its header.
type record struct {
	words
	kind   uint32
	misc   uint16
	offset int64 // in the file; for an inner record, that of the compressed record
}

// source is the input and the current offset.
type source struct {
	*bufio.Reader
	offset  int64
	swapped bool
}

// discard skips n bytes. It returns io.ErrUnexpectedEOF if there are fewer.
func (s *source) discard(n int64) error {
	skipped, err := io.CopyN(io.Discard, s.Reader, n)
	s.offset += skipped
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// take returns a copy of the next n bytes. Memory grows only with the bytes that
// exist, not with the claimed size.
func (s *source) take(n int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(s.Reader, n))
	s.offset += int64(len(b))
	if err == nil && int64(len(b)) < n {
		err = io.ErrUnexpectedEOF
	}
	return b, err
}

// errRecordSize is the error for a record that claims to be smaller than its
// header.
var errRecordSize = errors.New("a record is smaller than its header")

// next reads a record, which is valid until the next call. It returns io.EOF at the
// end of the input, and io.ErrUnexpectedEOF inside a record.
func (s *source) next() (record, error) {
	header, err := s.Peek(headerSize)
	if err != nil {
		if err == io.EOF && len(header) > 0 {
			err = io.ErrUnexpectedEOF
		}
		return record{}, err
	}
	rec, size := readHeader(header, s.swapped)
	rec.offset = s.offset
	if size < headerSize {
		return rec, errRecordSize
	}
	data, err := s.Peek(size)
	if err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return rec, err
	}
	rec.data = data[headerSize:]
	s.offset += int64(size)
	_, err = s.Discard(size)
	return rec, err
}

func readHeader(header []byte, swapped bool) (record, int) {
	w := words{data: header, swapped: swapped}
	rec := record{words: words{swapped: swapped}, kind: w.uint32(), misc: w.uint16()}
	return rec, int(w.uint16())
}

// decompressor turns the payloads of compressed records, which form one Zstandard
// stream, into records. The decoder runs as a coroutine that returns to the
// tokenizer when it needs another payload.
type decompressor struct {
	payload []byte
	out     func() ([]byte, bool)
	stop    func()
	err     error
	left    []byte // start of an incomplete record
}

// maxWindow is the largest Zstandard window that is accepted, in bytes.
const maxWindow = 128 << 20

func newDecompressor() (*decompressor, error) {
	d := &decompressor{}
	var needMore func([]byte) bool
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return nil, err
	}
	d.out, d.stop = iter.Pull(func(yield func([]byte) bool) {
		defer decoder.Close()
		needMore = yield
		if d.err = decoder.Reset(readerFunc(func(p []byte) (int, error) {
			for len(d.payload) == 0 {
				if !needMore(nil) {
					return 0, io.EOF
				}
			}
			n := copy(p, d.payload)
			d.payload = d.payload[n:]
			return n, nil
		})); d.err != nil {
			return
		}
		out := make([]byte, 256<<10)
		for {
			n, err := decoder.Read(out)
			if n > 0 && !yield(out[:n]) {
				return
			}
			if err != nil {
				d.err = err
				return
			}
		}
	})
	return d, nil
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// records calls f for each record that a payload completes.
func (d *decompressor) records(payload []byte, offset int64, swapped bool, f func(record) error) error {
	d.payload = payload
	for {
		out, ok := d.out()
		switch {
		case !ok:
			return d.err
		case len(out) == 0: // it needs another payload
			return nil
		}
		d.left = append(d.left, out...)
		rest := d.left
		for len(rest) >= headerSize {
			rec, size := readHeader(rest, swapped)
			if size < headerSize {
				return errRecordSize
			}
			if size > len(rest) {
				break
			}
			rec.offset, rec.data = offset, rest[headerSize:size:size]
			if err := f(rec); err != nil {
				return err
			}
			rest = rest[size:]
		}
		d.left = append(d.left[:0], rest...)
	}
}
