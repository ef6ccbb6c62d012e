package tracecmd

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/rawftrace"
	"github.com/tpconvert/tpconvert/model"
)

// Options, by number. From headerInfo on, they contain the offset of a section.
const (
	optionDone       = 0
	optionDate       = 1
	optionCPUStat    = 2
	optionBuffer     = 3
	optionTraceClock = 4
	optionUname      = 5
	optionHook       = 6
	optionOffset     = 7
	optionCPUCount   = 8
	optionVersion    = 9
	optionProcMaps   = 10
	optionTraceID    = 11
	optionTimeShift  = 12
	optionGuest      = 13
	optionTSC2NSec   = 14
	headerInfo       = 16
	ftraceEvents     = 17
	eventFormats     = 18
	kallsyms         = 19
	printkFormats    = 20
	cmdlines         = 21
	bufferText       = 22
)

// unreadOptions are known options that make no rows.
var unreadOptions = map[uint16]string{optionHook: "event hook", optionProcMaps: "process memory map",
	optionTimeShift: "guest time shift", optionGuest: "guest", 23: "type information (BTF)", 24: "last boot", 25: "modules"}

// version6 reads the rest of a version 6 file, whose parts come in a fixed order.
func (r *reader) version6(c *rawftrace.Cursor) error {
	r.headerInfo(c)
	r.decoder.Descriptions(c)
	r.decoder.Cmdlines(c)
	cpus := c.Uint32()
	kind := string(c.Bytes(10))
	if kind == "options  \x00" {
		for c.Err == nil {
			id := c.Uint16()
			if id == optionDone || c.Err != nil {
				break
			}
			data := c.Bytes(int64(c.Uint32()))
			if id == optionBuffer {
				b := r.cursorOf(data)
				r.buffers = append(r.buffers, buffer{at: int64(b.Uint64()), name: b.Text(), pageSize: r.pageSize})
				c.Err = errors.Join(c.Err, b.Err)
				continue
			}
			r.option(id, data, c.At)
		}
		kind = string(c.Bytes(10))
	}
	if c.Err != nil {
		return c.Err
	}
	if kind == "latency  \x00" {
		r.in.UseClock(clockOf(r.clock).ID)
		return r.in.Embedded("systrace", io.LimitReader(c.R, c.Left))
	}
	if kind != "flyrecord\x00" {
		return fmt.Errorf("%.20q where the kind of data was expected", kind)
	}
	top := buffer{pageSize: r.pageSize}
	r.cpuTable(c, &top, cpus)
	r.buffers = append([]buffer{top}, r.buffers...)
	for i := range r.buffers {
		if b := &r.buffers[i]; b.at != 0 && c.Err == nil {
			at := r.cursor(b.at)
			at.Expect("flyrecord\x00")
			r.cpuTable(at, b, cpus)
			c.Err = at.Err
		}
	}
	return c.Err
}

// cpuTable reads the extents of each CPU's pages.
func (r *reader) cpuTable(c *rawftrace.Cursor, b *buffer, cpus uint32) {
	for cpu := range int64(cpus) {
		if c.Err != nil {
			return
		}
		b.cpus = append(b.cpus, cpuData{cpu, int64(c.Uint64()), int64(c.Uint64())})
	}
}

// version7 reads the options of a version 7 file and the sections that they point to.
func (r *reader) version7(c *rawftrace.Cursor) error {
	r.compression = c.Text()
	c.Text() // version of the compressor
	if r.compression == "none" {
		r.compression = ""
	}
	if r.compression != "" && r.compression != "zlib" && r.compression != "zstd" && c.Err == nil {
		return format.Errorf(format.ErrUnsupported, c.At, "compression %.20q", r.compression)
	}
	seen := map[uint64]bool{}
	for at := c.Uint64(); at != 0 && c.Err == nil; {
		if seen[at] {
			return fmt.Errorf("options that point back to byte %d", at)
		}
		seen[at] = true
		next, err := r.options(int64(min(at, 1<<62)))
		if err != nil {
			return err
		}
		at = next
	}
	return c.Err
}

// options reads a section of options, and returns the offset of the next one, or 0 if
// there is none.
func (r *reader) options(at int64) (next uint64, err error) {
	c, err := r.section(at, optionDone)
	for err == nil && c.Err == nil {
		id := c.Uint16()
		data := c.Bytes(int64(c.Uint32()))
		if c.Err != nil {
			break
		}
		o := r.cursorOf(data)
		switch {
		case id == optionDone:
			next = o.Uint64()
			return next, o.Err
		case id == optionBuffer:
			err = r.bufferOption(o)
		case id == bufferText:
			r.in.File.Unread(model.StatUnreadFact, model.None, "text buffer").AddAt(at)
		case id >= headerInfo && id < bufferText:
			err = r.part(id, int64(o.Uint64()))
		default:
			r.option(id, data, at)
		}
		err = errors.Join(err, o.Err)
	}
	if err != nil {
		return 0, err
	}
	return 0, c.Err
}

// bufferOption reads the extents of a buffer's pages.
func (r *reader) bufferOption(o *rawftrace.Cursor) error {
	at := int64(o.Uint64())
	b := buffer{name: o.Text(), clock: o.Text(), pageSize: int64(o.Uint32())}
	for range o.Uint32() {
		if o.Err != nil {
			return o.Err
		}
		b.cpus = append(b.cpus, cpuData{int64(o.Uint32()), int64(o.Uint64()), int64(o.Uint64())})
	}
	_, compressed, err := r.sectionHead(at, optionBuffer)
	b.compressed = compressed
	r.buffers = append(r.buffers, b)
	return err
}

// part reads a section that an option points to.
func (r *reader) part(id uint16, at int64) error {
	c, err := r.section(at, id)
	if err != nil {
		return err
	}
	switch id {
	case headerInfo:
		r.headerInfo(c)
	case ftraceEvents:
		r.decoder.FtraceEvents(c)
	case eventFormats:
		r.decoder.EventFormats(c)
	case kallsyms:
		r.decoder.Kallsyms(c)
	case printkFormats:
		r.decoder.PrintkFormats(c)
	case cmdlines:
		r.decoder.Cmdlines(c)
	}
	return c.Err
}

// sectionHead reads the header of a section, and returns a cursor after it.
func (r *reader) sectionHead(at int64, id uint16) (c *rawftrace.Cursor, compressed bool, err error) {
	c = r.cursor(at)
	got, flags := c.Uint16(), c.Uint16()
	c.Uint32() // description
	c.Left = min(c.Left, int64(min(c.Uint64(), 1<<62)))
	switch {
	case c.Err != nil:
		return nil, false, format.Errorf(format.ErrCorrupt, at, "truncated before section %d", id)
	case got != id:
		return nil, false, format.Errorf(format.ErrCorrupt, at, "section %d where %d was expected", got, id)
	}
	return c, flags&1 != 0, nil
}

// section returns a cursor over the contents of a section.
func (r *reader) section(at int64, id uint16) (*rawftrace.Cursor, error) {
	c, compressed, err := r.sectionHead(at, id)
	if err != nil || !compressed {
		return c, err
	}
	packed, size := c.Uint32(), c.Uint32()
	data := c.Bytes(int64(packed))
	if c.Err == nil {
		data, c.Err = r.decompress(data, size)
	}
	if c.Err != nil {
		return nil, format.Errorf(format.ErrCorrupt, at, "section %d: %v", id, c.Err)
	}
	c = r.cursorOf(data)
	c.At = at
	return c, nil
}

func (r *reader) cursorOf(data []byte) *rawftrace.Cursor {
	return &rawftrace.Cursor{R: bytes.NewReader(data), Left: int64(len(data)), Order: r.order}
}

// maxExpanded is the maximum decompressed size of a part, which is held in memory.
const maxExpanded = 256 << 20

// decompress decompresses a part of a known decompressed size.
func (r *reader) decompress(data []byte, size uint32) ([]byte, error) {
	if size > maxExpanded {
		return nil, fmt.Errorf("more than %d MiB", maxExpanded>>20)
	}
	var from io.Reader
	switch r.compression {
	case "zstd":
		z, err := zstd.NewReader(bytes.NewReader(data), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(maxExpanded))
		if err != nil {
			return nil, err
		}
		defer z.Close()
		from = z
	case "zlib":
		z, err := zlib.NewReader(bytes.NewReader(data))
		if err != nil {
			return nil, err
		}
		defer z.Close()
		from = z
	default:
		return nil, errors.New("compressed data in a file without compression")
	}
	var out bytes.Buffer // grows with the actual data, not with the claimed size
	n, err := io.CopyN(&out, from, int64(size))
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = fmt.Errorf("%d bytes where %d were expected", n, size)
	}
	return out.Bytes(), err
}

// option reads an option that does not point to a section.
func (r *reader) option(id uint16, data []byte, at int64) {
	text := strings.Trim(string(data), "\x00\n ")
	switch id {
	case optionDate: // in µs
		if n, err := strconv.ParseInt(text, 0, 64); err == nil {
			n *= 1000
			r.realtime = &n
		}
	case optionOffset:
		if n, err := strconv.ParseInt(text, 0, 64); err == nil {
			r.offset += n
		}
	case optionTraceClock: // local [mono] boot
		_, rest, _ := strings.Cut(text, "[")
		r.clock, _, _ = strings.Cut(rest, "]")
	case optionUname: // Linux host 6.1.0 x86_64
		if words := strings.Fields(text); len(words) >= 4 {
			r.in.Machine.SetSystem(words[0], "", words[2], words[len(words)-1])
		}
	case optionCPUStat:
		r.cpuStat(text)
	case optionTSC2NSec:
		c := r.cursorOf(data)
		tsc := &tscClock{c.Uint32(), c.Uint32()}
		if c.Err == nil && tsc.shift < 64 {
			r.tsc = tsc
		}
	case optionCPUCount, optionVersion, optionTraceID:
	default:
		noun, ok := unreadOptions[id]
		if !ok {
			noun = fmt.Sprintf("option %d", id)
		}
		r.in.File.Unread(model.StatUnreadFact, model.None, noun).AddAt(at)
	}
}

// cpuStats are the stats of a CPU's buffer at the end of the recording, by name.
var cpuStats = map[string]model.Stat{
	"entries": model.StatFtraceCPUEntriesEnd, "overrun": model.StatFtraceCPUOverrunEnd, "commit overrun": model.StatFtraceCPUCommitOverrunEnd,
	"bytes": model.StatFtraceCPUBytesEnd, "dropped events": model.StatFtraceCPUDroppedEventsEnd, "read events": model.StatFtraceCPUReadEventsEnd,
}

func (r *reader) cpuStat(text string) {
	cpu := int64(model.None)
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		n, err := strconv.ParseInt(value, 10, 64)
		stat, known := cpuStats[name]
		switch {
		case err != nil:
		case name == "CPU":
			cpu = n
		case known && cpu != model.None && n != 0:
			others, _ := r.in.Stat(stat, cpu)
			r.in.SetStat(stat, cpu, others+n) // sum over all buffers of the CPU
			if name == "overrun" || name == "dropped events" {
				r.in.SetStat(model.StatFtraceCPUHasDataLoss, cpu, 1)
			}
		}
	}
}

// headerInfo reads the kernel's descriptions of page and event headers.
func (r *reader) headerInfo(c *rawftrace.Cursor) {
	commit, data := rawftrace.PageHeaders(c)
	r.commitSize, r.dataOffset = cmp.Or(commit, r.commitSize), cmp.Or(data, r.dataOffset)
	if c.Err == nil && (r.commitSize != 4 && r.commitSize != 8 || r.dataOffset < 12 || r.dataOffset > 64) {
		c.Err = fmt.Errorf("pages with commits of %d bytes and data at %d", r.commitSize, r.dataOffset)
	}
}
