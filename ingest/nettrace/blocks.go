package nettrace

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"io"
	"strconv"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/model"
)

// Version 6 is a sequence of blocks, each behind its size and kind.

// The kinds of blocks.
const (
	endBlock = iota
	traceBlock
	eventBlock
	metadataBlock
	sequencePointBlock
	stackBlock
	threadBlock
	removeThreadBlock
	labelListBlock
)

// blocks reads all blocks.
func (r *reader) blocks(major uint32) error {
	const headBytes = len(magic) + 12 // zero, and the numbers of the version
	if major != 6 {
		return format.Errorf(format.ErrUnsupported, int64(len(magic))+4, "version %d of the format", major)
	}
	r.version6 = true
	r.skip(headBytes)
	for {
		at := r.offset
		head, err := r.take(4)
		if err != nil {
			return r.ended(err)
		}
		n := binary.LittleEndian.Uint32(head)
		kind, size := n>>24, int64(n&0xffffff)
		if kind == endBlock {
			return nil
		}
		base := r.offset
		var buf bytes.Buffer
		read, err := io.CopyN(&buf, r.r, size)
		r.offset += read
		if err != nil && err != io.EOF {
			return err
		}
		if !r.found {
			if kind != traceBlock || !r.traceFacts(buf.Bytes()) {
				return format.Errorf(format.ErrCorrupt, at, "the trace block is damaged")
			}
		} else if !r.blockContent(kind, buf.Bytes(), base) && err == nil {
			r.damaged(base)
		}
		if r.pushing != nil {
			return r.pushing
		}
		if err != nil {
			return r.ended(err)
		}
	}
}

// ended says that the end of the trace is missing, unless the input cannot be read.
func (r *reader) ended(err error) error {
	switch {
	case !truncated(err):
		return err
	case !r.found:
		return format.Errorf(format.ErrCorrupt, r.offset, "the trace block is damaged")
	}
	r.in.File.LogAt(model.StatTruncatedInput, r.offset, nil)
	return nil
}

// blockContent reads the content of a block, and reports whether it could be read to its end.
func (r *reader) blockContent(kind uint32, block []byte, base int64) bool {
	switch kind {
	case traceBlock: // there is one already
		return false
	case eventBlock:
		return r.blobs(block, base, r.pushEvent)
	case metadataBlock:
		return r.addTypes(block)
	case sequencePointBlock:
		return r.point(block)
	case stackBlock:
		return r.stackBlock(block)
	case threadBlock:
		return r.threadRows(block)
	case removeThreadBlock:
		return r.removeThreads(block)
	case labelListBlock:
		return r.labelLists(block)
	}
	r.in.File.Unread(model.StatUnreadEvent, model.None, "block of kind "+strconv.FormatUint(uint64(kind), 10)).AddAt(base)
	return true
}

// traceFacts reads the block that describes the trace.
func (r *reader) traceFacts(block []byte) bool {
	c := cursor{b: block}
	if !r.begin(&c) {
		return false
	}
	for range c.uint(4) {
		key, value := c.utf8(), c.utf8()
		if c.failed {
			r.damaged(r.offset)
			break
		}
		number, err := strconv.ParseInt(value, 10, 64)
		if key == "ProcessId" && err == nil {
			r.setProcess(number)
		}
		r.in.File.SetMetadata("nettrace."+key, model.StringArg(r.Store.Strings.Intern(value)))
	}
	return true
}

// addTypes reads the descriptions of kinds of events.
func (r *reader) addTypes(block []byte) bool {
	c := cursor{b: block}
	c.take(c.uint(2))
	whole := true
	for c.at < len(c.b) && !c.failed {
		row := cursor{b: c.take(c.uint(2))}
		if c.failed {
			return false
		}
		id := uint32(row.varint())
		t := &eventType{provider: row.utf8(), id: row.varint()}
		name := row.utf8()
		t.fields = row.fields6(0)
		row.version(t)
		if whole = whole && !row.failed; !row.failed {
			r.define(id, t, name)
		}
	}
	return whole && !c.failed
}

// version reads the version of a kind of events, which is among optional facts.
func (c *cursor) version(t *eventType) {
	const opCode, keyword, template, description, keyValue, guid, level, version = 1, 3, 4, 5, 6, 7, 8, 9
	facts := cursor{b: c.take(c.uint(2))}
	for facts.at < len(facts.b) && !facts.failed {
		switch facts.uint(1) {
		case opCode, level:
			facts.uint(1)
		case version:
			t.version = facts.uint(1)
		case keyword:
			facts.uint(8)
		case template, description:
			facts.utf8()
		case keyValue:
			facts.utf8()
			facts.utf8()
		case guid:
			facts.take(16)
		default: // of a later version
			return
		}
	}
	c.failed = c.failed || facts.failed
}

// fields6 reads the descriptions of fields.
func (c *cursor) fields6(depth int) (all []field) {
	n := c.uint(2)
	if depth > maxNested {
		c.failed = true
	}
	for range n {
		row := cursor{b: c.take(c.uint(2))}
		f := field{name: row.utf8()}
		row.type6(&f, depth)
		if c.failed = c.failed || row.failed; c.failed {
			return nil
		}
		all = append(all, f)
	}
	return all
}

func (c *cursor) type6(f *field, depth int) {
	f.kind = kind(c.uint(1))
	switch f.kind {
	case kindDateTime:
		f.kind = kindSystem
	case kindChar:
		f.kind = kindUnit
	case kindObject:
		f.fields = c.fields6(depth + 1)
	case kindArray, kindFixed, kindRelative, kindAbsolute:
		if depth > maxNested {
			c.failed = true
			return
		}
		f.element = &field{}
		c.type6(f.element, depth+1)
		if f.kind == kindFixed {
			f.count = c.uint(2)
		}
	case kindEmpty, kindDBNull, kindDecimal:
		c.failed = true
	default:
		c.failed = c.failed || f.kind > kindBool8
	}
}

// point ends what ids mean, and says which events of threads should have come.
func (r *reader) point(block []byte) bool {
	const threads, metadata = 1, 2
	clear(r.stacks)
	clear(r.labelIDs)
	c := cursor{b: block}
	c.uint(8) // the time
	flags := c.uint(4)
	for range c.uint(4) {
		thread, sequence := c.varint(), uint32(c.varint())
		if c.failed {
			return false
		}
		r.sequence(thread, sequence+1, r.offset)
		r.sequences[thread] = sequence
	}
	if flags&threads != 0 {
		clear(r.threadIDs)
		clear(r.sequences)
		r.flushed = true
	}
	if flags&metadata != 0 {
		clear(r.metadata)
	}
	return !c.failed
}

// threadRows reads threads.
func (r *reader) threadRows(block []byte) bool {
	const name, process, tid, keyValue = 1, 2, 3, 4
	c := cursor{b: block}
	whole := true
	for c.at < len(c.b) && !c.failed {
		row := cursor{b: c.take(c.uint(2))}
		index := row.varint()
		t := thread{pid: r.pid, tid: model.None, utid: model.None}
		word := r.Store.Strings.Intern
		for row.at < len(row.b) && !row.failed {
			switch row.uint(1) {
			case name:
				t.name = word(row.utf8())
			case process:
				t.pid = int64(row.varint())
			case tid:
				t.tid = int64(row.varint())
			case keyValue:
				t.facts = append(t.facts, model.Arg{Key: word(row.utf8()), Value: model.StringArg(word(row.utf8()))})
			default:
				row.at = len(row.b) // of a later version
			}
		}
		if whole = whole && !row.failed; !row.failed && !c.failed {
			r.threadIDs[index] = r.addThread(t)
		}
	}
	return whole && !c.failed
}

// removeThreads ends what indexes of threads mean, and says which of their events should have come.
func (r *reader) removeThreads(block []byte) bool {
	c := cursor{b: block}
	for c.at < len(c.b) {
		thread, sequence := c.varint(), uint32(c.varint())
		if c.failed {
			return false
		}
		r.sequence(thread, sequence+1, r.offset)
		delete(r.threadIDs, thread)
		delete(r.sequences, thread)
	}
	return true
}

// label says something about an event.
type label struct {
	key   model.StringID
	value model.ArgValue
}

// noLabels is the number of an event without labels.
const noLabels = -1

// The kinds of labels.
const (
	labelActivity = 1 + iota
	labelRelatedActivity
	labelTrace
	labelSpan
	labelText
	labelInt
	labelOpcode
	labelKeywords
	labelLevel
	labelVersion
)

// lastLabel is set in the kind of the last label of a list.
const lastLabel = 0x80

// labelLists reads lists of labels.
func (r *reader) labelLists(block []byte) bool {
	c := cursor{b: block}
	id := uint32(c.uint(4))
	for range c.uint(4) {
		var list []label
		for last := false; !last; {
			kind := c.uint(1)
			last = kind&lastLabel != 0
			l, ok := r.label(&c, kind&^lastLabel)
			if !ok || c.failed {
				return false
			}
			list = append(list, l)
		}
		r.labelIDs[id] = int32(len(r.labels))
		r.labels = append(r.labels, list)
		id++
	}
	return true
}

// label reads what follows the kind of a label.
func (r *reader) label(c *cursor, kind uint64) (l label, ok bool) {
	word := r.Store.Strings.Intern
	text := func(key, value string) (label, bool) { return label{word(key), model.StringArg(word(value))}, true }
	number := func(key string, n uint64) (label, bool) { return label{word(key), model.UintArg(n)}, true }
	switch kind {
	case labelActivity:
		return text(activityKeys[0], guid(c.take(16)))
	case labelRelatedActivity:
		return text(activityKeys[1], guid(c.take(16)))
	case labelTrace:
		return text("TraceId", hex.EncodeToString(c.take(16)))
	case labelSpan:
		return text("SpanId", hex.EncodeToString(c.take(8)))
	case labelText:
		return text(c.utf8(), c.utf8())
	case labelInt:
		return label{word(c.utf8()), model.IntArg(c.zigzag())}, true
	case labelOpcode:
		return number("OpCode", c.uint(1))
	case labelKeywords:
		return number("Keywords", c.uint(8))
	case labelLevel:
		return number("Level", c.uint(1))
	case labelVersion:
		return number("Version", c.uint(1))
	}
	return label{}, false
}
