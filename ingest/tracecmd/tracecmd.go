// Package tracecmd reads the files of trace-cmd record: trace.dat, versions 6 and 7.
//
// A file contains the pages of the kernel's ring buffers, CPU by CPU, and everything needed to read them: event
// formats, names of threads and functions, the clock. There may be several buffers, one per tracefs instance. Version 7
// puts all of this into sections, which may be compressed, and options that point to the sections. The manual pages
// trace-cmd.dat.v6 and trace-cmd.dat.v7 describe the format.
package tracecmd

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/rawftrace"
	"github.com/tpconvert/tpconvert/ingest/internal/spool"
	"github.com/tpconvert/tpconvert/model"
)

// Format is trace-cmd's binary files.
var Format = &format.Format{
	Name: "trace_cmd", Title: "trace.dat",
	Sniff:       func(head []byte) bool { return bytes.HasPrefix(head, []byte(rawftrace.Magic)) },
	Read:        read,
	Unsupported: []format.Signature{{Name: "trace.dat of trace-cmd", Bytes: rawftrace.Magic}}, // cut off within it
}

var statParseErrors = model.NewStat(1022, model.StatInfo{
	Name: "trace_cmd_parse_errors", Severity: model.DataLoss, Effect: model.Lost,
	Description: "CPUs, pages and events of trace-cmd files that cannot be read.",
})

// reader reads a file.
type reader struct {
	in      *format.Input
	file    *spool.File
	order   binary.ByteOrder
	version string
	decoder *rawftrace.Decoder

	pageSize    int64
	compression string // "" for none
	commitSize  int64  // bytes, in page headers
	dataOffset  int64  // offset of the events in pages
	buffers     []buffer
	clock       string // for buffers that do not name one
	offset      int64  // to add to all times, ns
	realtime    *int64 // ns by which the wall clock is ahead of the timestamps
	tsc         *tscClock
}

// buffer is the ring buffer of a tracing instance.
type buffer struct {
	name, clock string
	pageSize    int64
	compressed  bool
	cpus        []cpuData
	at          int64 // in version 6, offset of its CPU table, 0 once that is read
}

// cpuData is the extent of a CPU's pages.
type cpuData struct {
	cpu          int64
	offset, size int64
}

// tscClock converts readings of the CPU's timestamp counter to ns. The option has an offset, too, which trace-cmd does not use.
type tscClock struct{ mult, shift uint32 }

func read(in *format.Input) error {
	file, err := spool.Open(in)
	if err != nil {
		return err
	}
	defer file.Close()
	in.Machine.UseIdleProcess()
	r := &reader{in: in, file: file, commitSize: 8, dataOffset: 16}
	c := r.cursor(0)
	if err := r.header(c); err != nil {
		return r.fault(c, err)
	}
	return r.readBuffers()
}

// fault returns the file's own read error if there is one, else err as an error at the cursor.
func (r *reader) fault(c *rawftrace.Cursor, err error) error {
	var known *format.Error
	switch {
	case r.file.Err() != nil:
		return r.file.Err()
	case errors.As(err, &known):
		return err
	case errors.Is(err, rawftrace.ErrTruncated):
		return format.Errorf(format.ErrCorrupt, c.At, "truncated before its data")
	}
	return format.Errorf(format.ErrCorrupt, c.At, "%v", err)
}

// header reads everything except the buffers.
func (r *reader) header(c *rawftrace.Cursor) error {
	c.Bytes(int64(len(rawftrace.Magic)))
	r.version = c.Text()
	r.order = binary.LittleEndian
	if c.Uint8() != 0 {
		r.order = binary.BigEndian
	}
	c.Order = r.order
	long := int(c.Uint8()) // bytes
	r.decoder = rawftrace.NewDecoder(r.in.Context, r.order, long, statParseErrors)
	r.pageSize = int64(c.Uint32())
	if c.Err != nil {
		return c.Err
	}
	switch r.version {
	case "6":
		return r.version6(c)
	case "7":
		return r.version7(c)
	}
	return format.Errorf(format.ErrUnsupported, int64(len(rawftrace.Magic)), "version %.20q", r.version)
}

// clocks are the ids of the kernel's trace clocks. Other clocks start at an arbitrary time.
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
		return format.Errorf(format.ErrNoEvents, -1, "no event buffers")
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

// checkExtents refuses files that claim the same bytes as the pages of many CPUs.
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

// cursor returns a cursor at an offset of the file.
func (r *reader) cursor(offset int64) *rawftrace.Cursor {
	size := r.file.Size - offset
	return &rawftrace.Cursor{R: io.NewSectionReader(r.file, offset, max(size, 0)), At: offset, Left: max(size, 0), Order: r.order}
}

// parser turns events, in order of time, into rows.
type parser struct{ *rawftrace.Decoder }

// Event turns an event into rows. The token has the CPU and the kernel's data.
func (p parser) Event(ts int64, token []byte) error {
	cpu, n := binary.Uvarint(token)
	if e := p.Decode(ts, int64(cpu), token[n:]); e != nil {
		p.Record(e)
		p.Handle(e)
	}
	return nil
}
