// Package tracecmd reads the files of trace-cmd record: trace.dat, versions 6 and 7.
//
// A file holds the pages of the kernel's ring buffers, one after the other for each CPU, and all it takes to read them:
// the formats of events, names of threads and functions, the clock. There may be several buffers, of tracefs's instances.
// Version 7 has all of this in sections that may be compressed, and options that say where sections are. The manual pages
// trace-cmd.dat.v6 and trace-cmd.dat.v7 describe it.
package tracecmd

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/spool"
	"github.com/tpconvert/tpconvert/model"
)

// Format is trace-cmd's binary files.
var Format = &format.Format{
	Name:  "trace_cmd",
	Sniff: func(head []byte) bool { return bytes.HasPrefix(head, []byte(magic)) },
	Read:  read,
}

const magic = "\x17\x08\x44tracing"

// errTruncated is what a cursor returns at the end of what it reads.
var errTruncated = errors.New("cut off")

// reader reads a file.
type reader struct {
	in      *format.Input
	file    *spool.File
	order   binary.ByteOrder
	version string
	parser  *parser

	pageSize    int64
	compression string // "" for none
	commitSize  int64  // in the heads of pages
	dataOffset  int64  // likewise, of the events
	buffers     []buffer
	clock       string // of buffers that do not tell
	offset      int64  // to add to all times, ns
	realtime    *int64 // what the wall clock is ahead of the times, ns
	tsc         *tscClock
}

// buffer is a ring buffer, of a tracing instance.
type buffer struct {
	name, clock string
	pageSize    int64
	compressed  bool
	cpus        []cpuData
	at          int64 // where its CPUs are told in version 6, 0 if they are known
}

// cpuData is where the pages of a CPU are.
type cpuData struct {
	cpu          int64
	offset, size int64
}

// tscClock converts readings of the CPU's counter to ns.
type tscClock struct {
	mult, shift uint32
	offset      uint64
}

func read(in *format.Input) error {
	file, err := spool.Open(in)
	if err != nil {
		return err
	}
	defer file.Close()
	in.Machine.UseIdleProcess()
	r := &reader{in: in, file: file, parser: newParser(in.Context), commitSize: 8, dataOffset: 16}
	c := r.cursor(0)
	if err := r.header(c); err != nil {
		return r.fault(c, err)
	}
	return r.readBuffers()
}

// fault is the error of the temporary file if there is one, else that of the input at a cursor.
func (r *reader) fault(c *cursor, err error) error {
	var known *format.Error
	switch {
	case r.file.Err != nil:
		return r.file.Err
	case errors.As(err, &known):
		return err
	case errors.Is(err, errTruncated):
		return format.Errorf(format.ErrCorrupt, c.at, "cut off before its data")
	}
	return format.Errorf(format.ErrCorrupt, c.at, "%v", err)
}

// header reads all but the buffers.
func (r *reader) header(c *cursor) error {
	c.bytes(int64(len(magic)))
	r.version = c.text()
	r.order = binary.LittleEndian
	if c.uint8() != 0 {
		r.order = binary.BigEndian
	}
	c.order, r.parser.order = r.order, r.order
	c.uint8() // bytes of a long, which the formats tell of each field
	r.pageSize = int64(c.uint32())
	if c.err != nil {
		return c.err
	}
	switch r.version {
	case "6":
		return r.version6(c)
	case "7":
		return r.version7(c)
	}
	return format.Errorf(format.ErrUnsupported, int64(len(magic)), "version %.20q", r.version)
}

// clocks are the ids of the kernel's trace clocks. Those of others start somewhere.
var clocks = map[string]uint32{"mono": model.ClockMonotonic, "mono_raw": model.ClockMonotonicRaw, "boot": model.ClockBoottime, "perf": model.ClockPerf}

func clockOf(name string) model.Clock {
	if id, ok := clocks[name]; ok {
		return model.Clock{ID: id}
	}
	return model.Clock{ID: model.ClockTraceFile}
}

// readBuffers reads the pages of all buffers.
func (r *reader) readBuffers() error {
	if len(r.buffers) == 0 {
		return format.Errorf(format.ErrNoEvents, -1, "no buffer of events")
	}
	for i := range r.buffers {
		if r.buffers[i].clock == "" {
			r.buffers[i].clock = r.clock
		}
	}
	first := clockOf(r.buffers[0].clock)
	r.in.UseClock(first.ID)
	if r.realtime != nil {
		r.in.Clocks.AddSnapshot([]model.Reading{{Clock: first, Unit: 1}, {Clock: model.Clock{ID: model.ClockRealtime}, Value: *r.realtime, Unit: 1}})
	}
	if err := r.checkExtents(); err != nil {
		return err
	}
	for i := range r.buffers {
		b := &r.buffers[i]
		for _, data := range b.cpus {
			if err := r.readCPU(b, data); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkExtents refuses files that say of few bytes that they are the pages of many CPUs.
func (r *reader) checkExtents() error {
	left := uint64(r.file.Size)
	for i := range r.buffers {
		for _, data := range r.buffers[i].cpus {
			within := uint64(max(min(data.size, r.file.Size-data.offset), 0))
			if data.offset < 0 || data.size < 0 || within > left {
				return format.Errorf(format.ErrCorrupt, data.offset, "CPU %d of buffer %q has %d bytes there, more than the file", data.cpu, r.buffers[i].name, data.size)
			}
			left -= within
		}
	}
	return nil
}

// cursor returns one at an offset of the file.
func (r *reader) cursor(offset int64) *cursor {
	size := r.file.Size - offset
	return &cursor{r: io.NewSectionReader(r.file, offset, max(size, 0)), at: offset, left: max(size, 0), order: r.order}
}
