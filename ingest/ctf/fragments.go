package ctf

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/tpconvert/tpconvert/ingest/internal/tsdl"
)

// separator begins each fragment of the metadata of version 2.
const separator = "\x1e"

// fragmentParser reads the metadata of version 2: fragments of JSON, each with a part of what the trace declares.
type fragmentParser struct {
	declarations
	at      int               // offset of the fragment in bytes
	clockOf map[string]*clock // by the names that streams use
	aliases map[string]*class
	scope   string // of the field classes
	depth   int
}

// parseFragments returns what metadata of version 2 declares. If the text is cut off, the error says so and what was declared before is
// returned.
func parseFragments(text string) (d *declarations, err *tsdl.Error) {
	p := &fragmentParser{declarations: declarations{clocks: map[string]*clock{}}, clockOf: map[string]*clock{}, aliases: map[string]*class{}}
	defer func() {
		switch e := recover().(type) {
		case nil:
		case *tsdl.Error:
			d, err = &p.declarations, e
		default:
			panic(e)
		}
	}()
	for {
		p.at += len(separator)
		fragment, rest, more := strings.Cut(text[min(p.at, len(text)):], separator)
		if !more && !json.Valid([]byte(fragment)) {
			panic(&tsdl.Error{At: p.at, Cut: true, Err: "a fragment that is not JSON"})
		}
		p.fragment([]byte(fragment))
		if p.at += len(fragment); !more || strings.TrimSpace(rest) == "" {
			return &p.declarations, nil
		}
	}
}

// isFragments reports whether metadata is of version 2, whose first fragment says so. Others write sequences of JSON, too.
func isFragments(head []byte) bool {
	text, found := bytes.CutPrefix(head, []byte(separator))
	first, _, _ := bytes.Cut(text, []byte(separator))
	return found && bytes.HasPrefix(bytes.TrimSpace(first), []byte("{")) && bytes.Contains(first, []byte(`"preamble"`))
}

func (p *fragmentParser) fail(message string, args ...any) {
	panic(&tsdl.Error{At: p.at, Err: fmt.Sprintf(message, args...)})
}

// unsupported fails with what is right but not read.
func (p *fragmentParser) unsupported(message string, args ...any) {
	panic(&tsdl.Error{At: p.at, Unsupported: true, Err: fmt.Sprintf(message, args...)})
}

// decode decodes JSON, with numbers as they are written.
func (p *fragmentParser) decode(text []byte, to any) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(to); err != nil {
		p.fail("%v", err)
	}
}

// fragment is any of them. Clocks are known by id or, in drafts of the specification, by name.
type fragment struct {
	Type        string          `json:"type"`
	Version     int             `json:"version"`
	Name        string          `json:"name"`
	ID          json.RawMessage `json:"id"`
	Environment map[string]any  `json:"environment"`

	Frequency json.Number `json:"frequency"`
	Offset    struct {
		Seconds int64 `json:"seconds"`
		Cycles  int64 `json:"cycles"`
	} `json:"offset-from-origin"`

	Stream    uint64 `json:"data-stream-class-id"`
	ClockID   string `json:"default-clock-class-id"`
	ClockName string `json:"default-clock-class-name"`

	Class           json.RawMessage `json:"field-class"`
	PacketHeader    json.RawMessage `json:"packet-header-field-class"`
	PacketContext   json.RawMessage `json:"packet-context-field-class"`
	EventHeader     json.RawMessage `json:"event-record-header-field-class"`
	CommonContext   json.RawMessage `json:"event-record-common-context-field-class"`
	SpecificContext json.RawMessage `json:"specific-context-field-class"`
	Payload         json.RawMessage `json:"payload-field-class"`
}

func (p *fragmentParser) fragment(text []byte) {
	var f fragment
	p.decode(text, &f)
	switch f.Type {
	case "preamble":
		if f.Version != 2 {
			p.unsupported("version %d", f.Version)
		}
	case "field-class-alias":
		p.aliases[f.Name] = p.class(f.Class)
	case "trace-class":
		p.packetHeader = p.root("trace.packet.header", f.PacketHeader)
		if p.packetHeader != nil {
			for _, field := range p.packetHeader.fields {
				if field.role == magicRole {
					p.bigEndian = field.order == bigEndian
				}
			}
		}
		for _, name := range slices.Sorted(maps.Keys(f.Environment)) {
			p.env = append(p.env, entry{name, environment(f.Environment[name])})
		}
	case "clock-class":
		c := &clock{name: f.Name, frequency: p.unsigned(cmp.Or(f.Frequency, "1000000000")), offset: f.Offset.Cycles, offsetSeconds: f.Offset.Seconds}
		if c.frequency == 0 {
			p.fail("a clock of 0 Hz")
		}
		p.clocks[cmp.Or(c.name, p.text(f.ID))] = c
		p.clockOf[cmp.Or(p.text(f.ID), c.name)] = c
	case "data-stream-class":
		s := &streamClass{id: p.number(f.ID), events: map[uint64]*eventClass{}, clock: p.clockOf[cmp.Or(f.ClockID, f.ClockName)]}
		s.packetContext = p.root("stream.packet.context", f.PacketContext)
		s.eventHeader = p.root("stream.event.header", f.EventHeader)
		s.eventContext = p.root("stream.event.context", f.CommonContext)
		p.streams = append(p.streams, s)
	case "event-record-class":
		e := &eventClass{id: p.number(f.ID), streamID: f.Stream, ofStream: true, name: f.Name}
		e.context = p.root("event.context", f.SpecificContext)
		e.fields = p.root("event.fields", f.Payload)
		p.events = append(p.events, e)
	}
}

// environment returns a value of the environment: a text or a number.
func environment(v any) value {
	if n, isNumber := v.(json.Number); isNumber {
		digits, negative := strings.CutPrefix(n.String(), "-")
		number, err := strconv.ParseUint(digits, 10, 64)
		return value{text: n.String(), number: number, negative: negative, isNumber: err == nil}
	}
	return value{text: fmt.Sprint(v)}
}

// text returns a text, "" if there is none.
func (p *fragmentParser) text(raw json.RawMessage) (s string) {
	if len(raw) > 0 && raw[0] == '"' {
		p.decode(raw, &s)
	}
	return s
}

// number returns the number of a class, 0 if it states none.
func (p *fragmentParser) number(raw json.RawMessage) (n uint64) {
	if len(raw) > 0 {
		p.decode(raw, &n)
	}
	return n
}

func (p *fragmentParser) unsigned(n json.Number) uint64 {
	v, err := strconv.ParseUint(n.String(), 10, 64)
	if err != nil {
		p.fail("the number %.30q", n)
	}
	return v
}

// integerRange is a range of the values of an integer, whose bits are those of an int64.
type integerRange [2]json.Number

func (p *fragmentParser) limits(r integerRange) (first, last int64) {
	bits := func(n json.Number) int64 {
		if strings.HasPrefix(n.String(), "-") {
			v, err := n.Int64()
			if err != nil {
				p.fail("the number %.30q", n)
			}
			return v
		}
		return int64(p.unsigned(n))
	}
	return bits(r[0]), bits(r[1])
}

// fieldClass is any of them.
type fieldClass struct {
	Type      string                    `json:"type"`
	Length    uint64                    `json:"length"`
	ByteOrder string                    `json:"byte-order"`
	BitOrder  string                    `json:"bit-order"`
	Alignment int                       `json:"alignment"`
	Least     int                       `json:"minimum-alignment"`
	Base      int                       `json:"preferred-display-base"`
	Mappings  map[string][]integerRange `json:"mappings"`
	Roles     []string                  `json:"roles"`
	Encoding  string                    `json:"encoding"`
	LengthAt  fieldLocation             `json:"length-field-location"`
	Selector  fieldLocation             `json:"selector-field-location"`
	Ranges    []integerRange            `json:"selector-field-ranges"`
	Members   []option                  `json:"member-classes"`
	Options   []option                  `json:"options"`
	Element   json.RawMessage           `json:"element-field-class"`
	Class     json.RawMessage           `json:"field-class"`
}

// option is a member of a structure, or an option of a variant.
type option struct {
	Name   string          `json:"name"`
	Class  json.RawMessage `json:"field-class"`
	Ranges []integerRange  `json:"selector-field-ranges"`
}

// fieldLocation is the path of a field, behind the name of a scope unless it is relative. Drafts of the specification write both as one array.
type fieldLocation []string

// scopes are the names that version 1 has for the outermost structures.
var scopes = map[string]string{
	"packet-header": "trace.packet.header", "packet-context": "stream.packet.context", "event-record-header": "stream.event.header",
	"event-record-common-context": "stream.event.context", "event-record-specific-context": "event.context", "event-record-payload": "event.fields",
}

// UnmarshalJSON reads {"origin": SCOPE, "path": [NAME...]} or [SCOPE, NAME...].
func (l *fieldLocation) UnmarshalJSON(text []byte) error {
	var object struct {
		Origin string    `json:"origin"`
		Path   []*string `json:"path"`
	}
	var names []string
	if bytes.HasPrefix(text, []byte("[")) {
		if err := json.Unmarshal(text, &names); err != nil {
			return err
		}
	} else {
		if err := json.Unmarshal(text, &object); err != nil {
			return err
		}
		if object.Origin != "" {
			names = append(names, object.Origin)
		}
		for _, name := range object.Path {
			if name != nil { // it stands for the structure around the current one, where the field is looked for, too
				names = append(names, *name)
			}
		}
	}
	*l = nil
	for i, name := range names {
		if scope, known := scopes[name]; known && i == 0 {
			*l = strings.Split(scope, ".")
			continue
		}
		*l = append(*l, name)
	}
	return nil
}

// roleNames are the roles that classes state. That of a packet's begin is the one of an event's time.
var roleNames = map[string]role{
	"packet-magic-number": magicRole, "data-stream-class-id": streamRole, "data-stream-id": instanceRole, "packet-total-length": packetSizeRole,
	"packet-content-length": contentSizeRole, "default-clock-timestamp": timestampRole, "packet-end-default-clock-timestamp": endRole,
	"discarded-event-record-counter-snapshot": discardedRole, "packet-sequence-number": sequenceRole, "event-record-class-id": eventRole,
}

// root returns an outermost structure, nil if there is none.
func (p *fragmentParser) root(scope string, raw json.RawMessage) *class {
	if len(raw) == 0 {
		return nil
	}
	p.scope = scope
	return p.class(raw)
}

// class returns a field class, or the one that a name stands for.
func (p *fragmentParser) class(raw json.RawMessage) *class {
	if p.depth++; p.depth > maxDepth {
		p.fail("types nested more than %d deep", maxDepth)
	}
	defer func() { p.depth-- }()
	if name := p.text(raw); name != "" {
		if p.aliases[name] == nil {
			p.fail("the type %q is not declared", name)
		}
		return p.aliases[name]
	}
	var f fieldClass
	if len(raw) == 0 {
		p.fail("a field without a class")
	}
	p.decode(raw, &f)
	c := p.build(&f)
	for _, name := range f.Roles {
		role, known := roleNames[name]
		if role == timestampRole && p.scope == "stream.packet.context" {
			role = beginRole
		}
		if known && c.kind == integerClass {
			c.role = role
		}
		c.hidden = c.hidden || known || name == "metadata-stream-uuid"
	}
	return c
}

// build returns a field class without its roles.
func (p *fragmentParser) build(f *fieldClass) *class {
	array := func(element *class, path []string) *class {
		return &class{kind: arrayClass, align: p.alignment(f.Least), count: f.Length, element: element, path: path}
	}
	character := &class{kind: integerClass, size: 8, align: 8, order: littleEndian, encoded: true}
	octet := &class{kind: integerClass, size: 8, align: 8, order: littleEndian, hex: true}
	if strings.HasSuffix(f.Type, "-string") && f.Encoding != "" && f.Encoding != "utf-8" {
		p.unsupported("texts in %.30q", f.Encoding)
	}
	switch f.Type {
	case "fixed-length-unsigned-integer", "fixed-length-signed-integer", "fixed-length-unsigned-enumeration", "fixed-length-signed-enumeration",
		"fixed-length-boolean", "fixed-length-bit-array", "fixed-length-bit-map":
		switch {
		case f.Length == 0:
			p.fail("an integer of 0 bits")
		case f.Length > 64:
			p.unsupported("an integer of %d bits", f.Length)
		}
		return p.labelled(f, &class{kind: integerClass, size: int(f.Length), align: p.alignment(f.Alignment), order: p.order(f)})
	case "variable-length-unsigned-integer", "variable-length-signed-integer", "variable-length-unsigned-enumeration", "variable-length-signed-enumeration":
		return p.labelled(f, &class{kind: integerClass, size: 64, align: 8, order: littleEndian, variable: true})
	case "fixed-length-floating-point-number":
		if f.Length != 32 && f.Length != 64 {
			p.unsupported("a floating-point number of %d bits", f.Length)
		}
		return &class{kind: floatClass, size: int(f.Length), align: p.alignment(f.Alignment), order: p.order(f)}
	case "null-terminated-string":
		return &class{kind: textClass, align: 8}
	case "static-length-string":
		return array(character, nil)
	case "dynamic-length-string":
		return array(character, f.LengthAt)
	case "static-length-blob":
		return array(octet, nil)
	case "dynamic-length-blob":
		return array(octet, f.LengthAt)
	case "static-length-array":
		return array(p.class(f.Element), nil)
	case "dynamic-length-array":
		return array(p.class(f.Element), f.LengthAt)
	case "structure":
		c := &class{kind: structClass, align: p.alignment(f.Least)}
		for _, m := range f.Members {
			c.fields = append(c.fields, field{name: m.Name, class: p.class(m.Class)})
		}
		return c
	case "variant":
		c := &class{kind: variantClass, align: 1, path: f.Selector, picks: []choice{}}
		for i, o := range f.Options {
			c.fields = append(c.fields, field{name: o.Name, class: p.class(o.Class)})
			p.pick(c, o.Ranges, i)
		}
		return c
	case "optional":
		nothing := &class{kind: structClass, align: 1}
		c := &class{kind: variantClass, align: 1, path: f.Selector, picks: []choice{}, optional: true, fields: []field{{class: nothing}, {class: p.class(f.Class)}}}
		if p.pick(c, f.Ranges, 1); f.Ranges == nil { // a boolean selects it
			c.picks = append(c.picks, choice{first: 1, last: -1, number: 1})
		}
		return c
	}
	p.unsupported("the field class %.50q", f.Type)
	return nil
}

// pick adds the ranges of values that choose an option.
func (p *fragmentParser) pick(c *class, ranges []integerRange, option int) {
	for _, r := range ranges {
		first, last := p.limits(r)
		c.picks = append(c.picks, choice{first, last, option})
	}
}

// labelled completes an integer.
func (p *fragmentParser) labelled(f *fieldClass, c *class) *class {
	c.signed, c.hex = strings.Contains(f.Type, "-signed-"), f.Base == 16 || f.Type == "fixed-length-bit-array"
	for _, name := range slices.Sorted(maps.Keys(f.Mappings)) {
		for _, r := range f.Mappings[name] {
			first, last := p.limits(r)
			c.labels = append(c.labels, label{name: name, first: first, last: last})
		}
	}
	return c
}

func (p *fragmentParser) alignment(bits int) int {
	if bits = max(bits, 1); bits > maxAlign || bits&(bits-1) != 0 {
		p.fail("an alignment of %d bits", bits)
	}
	return bits
}

// order returns the byte order of a number. The order of its bits is that of its bytes.
func (p *fragmentParser) order(f *fieldClass) order {
	order, usual := littleEndian, "first-to-last"
	if f.ByteOrder == "big-endian" {
		order, usual = bigEndian, "last-to-first"
	}
	if cmp.Or(f.BitOrder, usual) != usual {
		p.unsupported("%.30s bytes with bits %.30s", f.ByteOrder, f.BitOrder)
	}
	return order
}
