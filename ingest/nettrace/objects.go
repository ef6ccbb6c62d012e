package nettrace

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/model"
)

// Versions 4 and 5 wrap each block in an object of .NET's FastSerialization.

// The tags around objects.
const (
	nullTag  = 1
	beginTag = 5
	endTag   = 6
)

// objects reads all objects.
func (r *reader) objects() error {
	objects := 0 // that are damaged
	for {
		at := r.offset
		ended, err := r.object()
		if r.pushing != nil {
			return r.pushing
		}
		switch {
		case err == nil && !ended:
			continue
		case !r.found && err != nil && (err == errDamaged || truncated(err)):
			return format.Errorf(format.ErrCorrupt, at, "the trace object is damaged")
		case err == nil:
		case truncated(err):
			r.in.File.LogAt(model.StatTruncatedInput, r.offset, nil)
		case err == errDamaged:
			r.damaged(at)
			if objects++; objects > maxDamaged {
				return nil
			}
			if err := r.resync(); err == nil {
				continue
			} else if !truncated(err) {
				return err
			}
		default:
			return err
		}
		return nil
	}
}

// expect reads a byte, which must be this one.
func (r *reader) expect(tag byte) error {
	b, err := r.take(1)
	if err == nil && b[0] != tag {
		err = errDamaged
	}
	return err
}

// begin is how each object begins: with the object for its type.
var begin = []byte{beginTag, beginTag, nullTag}

// resync moves to what looks like the next object.
func (r *reader) resync() error {
	for {
		b, err := r.r.Peek(len(begin))
		if err != nil {
			return err
		}
		if bytes.Equal(b, begin) {
			return nil
		}
		r.skip(1)
	}
}

// object reads an object, or the end of them.
func (r *reader) object() (ended bool, err error) {
	tag, err := r.r.Peek(1)
	if err != nil {
		return false, err
	}
	if tag[0] == nullTag && r.found {
		return true, nil
	}
	// The bytes of the beginning are only skipped if they are right, so that resync finds the next object behind damage.
	const sizes = 12 // of the version, the least version of readers, and the name
	head, err := r.r.Peek(len(begin) + sizes)
	if err != nil {
		return false, io.ErrUnexpectedEOF
	}
	n := binary.LittleEndian.Uint32(head[len(begin)+sizes-4:])
	if !bytes.HasPrefix(head, begin) || n > maxName {
		r.skip(1)
		return false, errDamaged
	}
	r.skip(len(head))
	b, err := r.take(int(n))
	if err != nil {
		return false, err
	}
	name := string(b)
	if err := r.expect(endTag); err != nil {
		return false, err
	}
	if name == "Trace" {
		b, err := r.take(traceBytes)
		if err != nil {
			return false, err
		}
		if !r.trace(b) {
			return false, errDamaged
		}
		return false, r.expect(endTag)
	}
	if !r.found {
		return false, errDamaged
	}
	block, base, err := r.block()
	if err == nil {
		err = r.expect(endTag)
	}
	if err != nil {
		// The size may be too large. Then the block has the next object, too.
		if i := bytes.Index(block, begin); i >= 0 {
			r.r = bufio.NewReaderSize(io.MultiReader(bytes.NewReader(block[i:]), r.r), bufferBytes)
			r.offset, block, err = base+int64(i), block[:i], errDamaged
		}
	}
	if !r.content(name, block, base) && err == nil {
		r.damaged(base)
	}
	return false, err
}

// content reads the content of a block, and reports whether it could be read to its end.
func (r *reader) content(name string, block []byte, base int64) bool {
	switch name {
	case "EventBlock":
		return r.blobs(block, base, r.pushEvent)
	case "MetadataBlock":
		return r.blobs(block, base, r.addType)
	case "StackBlock":
		return r.stackBlock(block)
	case "SPBlock":
		return r.sequencePoint(block)
	}
	r.in.File.Unread(model.StatUnreadEvent, model.None, name+" object").AddAt(base)
	return true
}

// block reads the bytes of a block, as far as there are some, and returns their offset.
func (r *reader) block() (b []byte, base int64, err error) {
	b, err = r.take(4)
	if err != nil {
		return nil, 0, err
	}
	size := binary.LittleEndian.Uint32(b)
	if size > maxBlock {
		return nil, 0, errDamaged
	}
	if _, err = r.take(int(-r.offset & 3)); err != nil {
		return nil, 0, err
	}
	base = r.offset
	var buf bytes.Buffer
	n, err := io.CopyN(&buf, r.r, int64(size))
	r.offset += n
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return buf.Bytes(), base, err
}

// trace reads the object that describes the trace.
func (r *reader) trace(b []byte) bool {
	c := cursor{b: b}
	if !r.begin(&c) {
		return false
	}
	r.setProcess(int64(c.uint(4)))
	r.in.File.SetMetadata("nettrace.NumberOfProcessors", model.IntArg(int64(c.uint(4))))
	r.in.File.SetMetadata("nettrace.ExpectedCPUSamplingRate", model.IntArg(int64(c.uint(4))))
	return true
}

// sequencePoint ends what stack ids mean, and says which events of threads should have come.
func (r *reader) sequencePoint(block []byte) bool {
	clear(r.stacks)
	c := cursor{b: block}
	c.uint(8) // the time
	for range c.uint(4) {
		thread, sequence := c.uint(8), uint32(c.uint(4))
		if c.failed {
			return false
		}
		r.sequence(thread, sequence+1, r.offset)
		r.sequences[thread] = sequence
	}
	return true
}
