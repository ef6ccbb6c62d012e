package proto

import (
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/tpconvert/tpconvert/ingest/proto/descriptor"
	"github.com/tpconvert/tpconvert/internal/paged"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/schema"
	"github.com/tpconvert/tpconvert/model/table"
)

// Content adds up the sizes of the fields of packets, by the path of fields that leads to them. Packets with
// different annotations are counted apart.
type Content struct {
	store  *model.Store
	types  *descriptor.Pool
	packet *descriptor.MessageType
	roots  map[Annotations]int
	fields map[fieldPath]int
	paths  paged.List[contentPath] // parents before children

	skipped Annotations
}

// Annotations are args that tell packets apart, by key. A zero key is no arg.
type Annotations [2]struct{ Key, Value model.StringID }

// AddArgs writes the annotations as args.
func (a Annotations) AddArgs(set *model.ArgSet) {
	for _, arg := range a {
		if arg.Key != 0 {
			set.Add(arg.Key, model.StringArg(arg.Value))
		}
	}
}

// fieldPath is a field below a path. unknownFields stands for all fields without a name.
type fieldPath struct {
	parent int
	number uint32
}

const unknownFields = 0

type contentPathID = table.ID[schema.ExperimentalProtoPath]

// contentPath is a path with what its fields take.
type contentPath struct {
	parent      int64                   // None for a packet
	field       *descriptor.Field       // nil for a packet and for unknown fields
	message     *descriptor.MessageType // nil unless the field is a message
	size        int64                   // bytes; of a message, those of its tags and lengths
	count       int64
	annotations Annotations // of a packet
}

// maxContentDepth limits how deep messages are taken apart, since every path is written in full. Messages nested
// deeper count as a whole.
const maxContentDepth = 100

func newContent(s *model.Store, types *descriptor.Pool) *Content {
	c := &Content{
		store: s, types: types, packet: types.Message("perfetto.protos.TracePacket"),
		roots: map[Annotations]int{}, fields: map[fieldPath]int{},
	}
	c.skipped[0].Key = s.Strings.Intern("skipped_packet")
	c.skipped[0].Value = s.Strings.Intern("invalid_incremental_state")
	return c
}

// unmeasured are the fields of packets that Trace Processor does not count.
var unmeasured = []uint32{pb.TracePacket_ClockSnapshot, pb.TracePacket_RemoteClockSync, pb.TracePacket_ServiceEvent, pb.TracePacket_ExtensionDescriptor}

// read adds a packet when it is read. Packets with a track event are added when that is parsed, because its name and
// category annotate them.
func (c *Content) read(p *Packet, skipped bool) {
	for _, field := range unmeasured {
		if p.has(field) {
			return
		}
	}
	switch {
	case skipped:
		c.Add(p.data, c.skipped)
	case !p.has(pb.TracePacket_TrackEvent):
		c.Add(p.data, Annotations{})
	}
}

// Add adds a packet.
func (c *Content) Add(packet []byte, a Annotations) {
	root, ok := c.roots[a]
	if !ok {
		root = c.paths.Append(contentPath{parent: model.None, message: c.packet, annotations: a})
		c.roots[a] = root
	}
	c.addMessage(root, packet, 1)
}

func (c *Content) addMessage(path int, data []byte, depth int) {
	fields := c.paths.At(path).message
	rest, unknown := len(data), 0
	for r := wire.Read(data); r.Next(); {
		size := valueSize(&r.Field)
		rest -= size
		field := fields.Field(r.Number)
		if field == nil {
			unknown += size
			continue
		}
		below := c.below(path, field)
		if r.Type == wire.Bytes && depth < maxContentDepth && c.paths.At(below).message != nil {
			c.addMessage(below, r.Bytes(), depth+1)
		} else {
			c.add(below, size)
		}
	}
	if unknown > 0 {
		c.add(c.below(path, nil), unknown)
	}
	c.add(path, rest)
}

func (c *Content) add(path, size int) {
	p := c.paths.At(path)
	p.size += int64(size)
	p.count++
}

// below returns the path of a field below another, or that of all unknown fields if it is nil.
func (c *Content) below(parent int, field *descriptor.Field) int {
	key := fieldPath{parent, unknownFields}
	if field != nil {
		key.number = field.Number
	}
	path, ok := c.fields[key]
	if !ok {
		next := contentPath{parent: int64(parent), field: field}
		if field != nil && field.Type == descriptor.Message {
			next.message = c.types.Message(field.TypeName)
		}
		path = c.paths.Append(next)
		c.fields[key] = path
	}
	return path
}

// valueSize returns how many bytes a field takes without its tag and length.
func valueSize(f *wire.Field) int {
	switch f.Type {
	case wire.Varint:
		return protowire.SizeVarint(f.Uint64())
	case wire.Fixed32:
		return 4
	case wire.Fixed64:
		return 8
	}
	return len(f.Bytes())
}

// names returns the names of a path's last field and of its type.
func (p *contentPath) names() (field, kind string) {
	switch {
	case p.field != nil:
		field = "#" + p.field.Name
	case p.parent != model.None:
		return "#unknown", ""
	}
	if p.message != nil {
		return field, p.message.Name[strings.LastIndexByte(p.message.Name, '.')+1:]
	}
	return field, strings.ToLower(strings.TrimPrefix(p.field.Type.String(), "TYPE_"))
}

// write fills the tables: a row in each for every path.
func (c *Content) write() {
	paths, content, strs := &c.store.ExperimentalProtoPath, &c.store.ExperimentalProtoContent, c.store.Strings
	first := contentPathID(paths.Rows())
	texts := make([]model.StringID, c.paths.Len())
	for i := range texts {
		p := c.paths.At(i)
		field, kind := p.names()
		path, text := paths.Append(), kind
		paths.FieldType.Set(path, strs.Intern(kind))
		if p.parent != model.None {
			paths.ParentID.Set(path, first+contentPathID(p.parent))
			paths.FieldName.Set(path, strs.Intern(field))
			text = strs.Get(texts[p.parent]) + "." + field + "." + kind
		}
		if p.annotations != (Annotations{}) {
			var set model.ArgSet
			p.annotations.AddArgs(&set)
			c.store.SetArgs(&paths.ArgSetID, path, &set)
		}
		texts[i] = strs.Intern(text)
		row := content.Append()
		content.Path.Set(row, texts[i])
		content.PathID.Set(row, contentPathID(path))
		content.TotalSize.Set(row, p.size)
		content.Size.Set(row, p.size)
		content.Count.Set(row, p.count)
	}
}
