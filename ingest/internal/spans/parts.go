package spans

import (
	"bytes"
	"maps"
	"slices"

	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
)

// parts are spans without a start: parts of spans that have one, of which a recorder sent another part before or after.
type parts struct {
	byKey   map[uint64][]part
	bytes   int
	unnamed map[model.UPID]bool // processes that are no service
}

type part struct {
	resource int
	message  []byte // without events
	offset   int64  // in the input
}

// maxParts is how many bytes of parts are kept.
const maxParts = 64 << 20

func newParts() parts { return parts{byKey: map[uint64][]part{}, unnamed: map[model.UPID]bool{}} }

// add keeps a part, or returns false if there are too many.
func (p *parts) add(key uint64, resource int, message []byte, offset int64) bool {
	if p.bytes += len(message); p.bytes > maxParts {
		return false
	}
	p.byKey[key] = append(p.byKey[key], part{resource, bytes.Clone(message), offset})
	return true
}

// left returns the offsets of the parts of no span.
func (p *parts) left() (offsets []int64) {
	for all := range maps.Values(p.byKey) {
		for _, part := range all {
			offsets = append(offsets, part.offset)
		}
	}
	slices.Sort(offsets)
	return offsets
}

// withParts returns a span with its other parts: those of its process, and those that name no service. The parts add what the
// span lacks.
func (p *parser) withParts(span []byte, upid model.UPID) []byte {
	if len(p.parts.byKey) == 0 {
		return span
	}
	traceID, _ := wire.Find(span, SpanTraceID)
	id, _ := wire.Find(span, SpanID)
	key := keyOf(traceID.Bytes(), id.Bytes(), plain)
	p.parts.byKey[key] = slices.DeleteFunc(p.parts.byKey[key], func(part part) bool {
		owner := p.upid(uint64(part.resource))
		if owner != upid && !p.parts.unnamed[owner] {
			return false
		}
		span = join(span, part.message)
		p.in.File.Count(statPartsJoined)
		return true
	})
	if len(p.parts.byKey[key]) == 0 {
		delete(p.parts.byKey, key)
	}
	return span
}

// join adds to a span the fields of a part that it does not have, and the attributes and links that it does not have like that.
func join(span, part []byte) []byte {
	joined := bytes.Clone(span)
	for i := 0; i < len(part); {
		tag, v, next := wire.Scan(part, i)
		if next < 0 {
			break
		}
		f := wire.ScannedField(part, tag, v, next)
		repeated := f.Number == SpanAttributes || f.Number == SpanLinks
		known := false
		for r := wire.Read(span); r.Next(); {
			known = known || r.Number == f.Number && (!repeated || bytes.Equal(r.Bytes(), f.Bytes()))
		}
		if !known {
			joined = append(joined, part[i:next]...)
		}
		i = next
	}
	return joined
}
