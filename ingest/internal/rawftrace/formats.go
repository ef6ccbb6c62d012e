package rawftrace

import (
	"bytes"
	"iter"
	"strconv"
	"strings"

	"github.com/tpconvert/tpconvert/ingest/internal/ftrace"
	"github.com/tpconvert/tpconvert/model"
)

// eventFormat is a kind of event, from its description in tracefs.
type eventFormat struct {
	name       string
	text       []byte // the description
	tracepoint *ftrace.Tracepoint
	flags, pid *field // fields common to all events
	fields     []field
}

// content is the encoding of a field.
type content uint8

const (
	number  content = iota
	device          // a device number
	numbers         // an array with offset and length in the field
	fixed           // text, perhaps zero-terminated
	rest            // text up to the end of the event
	located         // text with offset and length in the field
	pointer         // address of a text
	printk          // values of the format in another field, up to the end of the event
	unknown         // unsupported
)

// maxField is larger than any event, in bytes.
const maxField = 16 << 20

// field is a field of a description.
type field struct {
	name         string
	offset, size int
	signed       bool
	content      content
	relative     bool   // the offset in the field is from its end
	element      int    // size in bytes of one array element
	format       *field // of a printk
	to           *ftrace.Field
}

// fields yields the fields of a description. long is the size of a long in bytes.
//
//	field:char prev_comm[16];	offset:8;	size:16;	signed:0;
func fields(text []byte, long int) iter.Seq[field] {
	return func(yield func(field) bool) {
		for line := range bytes.Lines(text) {
			declaration, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("field:"))
			if !ok {
				continue
			}
			parts := strings.Split(string(declaration), ";")
			f := field{}
			for _, part := range parts[1:] {
				name, value, _ := strings.Cut(strings.TrimSpace(part), ":")
				n, err := strconv.Atoi(value)
				if err != nil || n < 0 || n > maxField {
					continue
				}
				switch name {
				case "offset":
					f.offset = n
				case "size":
					f.size = n
				case "signed":
					f.signed = n != 0
				}
			}
			f.declare(parts[0], long)
			if !yield(f) {
				return
			}
		}
	}
}

// declare reads the declaration of a field, such as "__data_loc char[] name" or "unsigned long
// args[6]".
func (f *field) declare(text string, long int) {
	text, array, isArray := strings.Cut(text, "[")
	array, behind, _ := strings.Cut(array, "]")
	if behind = strings.TrimSpace(behind); behind != "" {
		f.name = behind // char[] name
	} else {
		words := strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == '*' })
		if len(words) > 0 {
			f.name = words[len(words)-1]
		}
	}
	kind := strings.TrimSpace(strings.TrimSuffix(text, f.name))
	f.element = f.size
	isText := strings.HasSuffix(kind, "char") || strings.HasPrefix(kind, "char ") || strings.HasPrefix(kind, "const char")
	where, what, _ := strings.Cut(kind, " ")
	f.relative = where == "__rel_loc"
	switch {
	case f.relative || where == "__data_loc":
		f.content, f.element = located, elementSize(what, long)
		if f.element > 0 && isArray {
			f.content = numbers
		} else if !strings.HasSuffix(kind, " char") {
			f.content = unknown
		}
	case isText && strings.HasSuffix(kind, "*"):
		f.content = pointer
	case isText && isArray && f.size > 0:
		f.content = fixed
	case isText && (isArray || f.size == 0): // char buf[], which old kernels describe as char buf
		f.content = rest
	case kind == "dev_t":
		f.content = device
	case isArray:
		if n, err := strconv.Atoi(array); err == nil && n > 0 {
			f.element = f.size / n
		}
	}
	if e := f.element; (f.content == number || f.content == numbers) && e != 1 && e != 2 && e != 4 && e != 8 {
		f.content = unknown
	}
}

// elementSize returns the size in bytes of a type of numbers, of which the description of an array of variable length says only the
// name. It is 0 for other types.
func elementSize(name string, long int) int {
	switch name = strings.TrimPrefix(strings.TrimPrefix(name, "unsigned "), "__"); name {
	case "u8", "s8", "bool":
		return 1
	case "u16", "s16", "short":
		return 2
	case "u32", "s32", "int", "unsigned", "pid_t":
		return 4
	case "u64", "s64", "long long":
		return 8
	case "long", "size_t":
		return long
	}
	return 0
}

// isText reports whether the field is a text.
func (f *field) isText() bool { return f.content >= fixed && f.content <= printk }

// isArray reports whether the field is an array of numbers.
func (f *field) isArray() bool {
	return f.content == numbers || f.content == number && f.element < f.size
}

// fieldType returns the type of a field of an unknown tracepoint, as Perfetto's recorder chooses it.
func (f *field) fieldType() ftrace.FieldType {
	switch {
	case f.isText():
		return ftrace.Text
	case f.signed:
		return ftrace.Int64
	}
	return ftrace.Uint64
}

// addFormat adds a description, which is parsed when an event first needs it.
func (d *Decoder) addFormat(text []byte) {
	_, id, _ := bytes.Cut(text, []byte("\nID:"))
	id, _, _ = bytes.Cut(id, []byte("\n"))
	if n, err := strconv.ParseUint(string(bytes.TrimSpace(id)), 10, 16); err == nil {
		title, _, _ := bytes.Cut(bytes.TrimPrefix(text, []byte("name:")), []byte("\n"))
		d.formats[uint16(n)] = &eventFormat{name: string(bytes.TrimSpace(title)), text: text}
	}
}

// Name returns the name of a format, or "".
func (d *Decoder) Name(id uint16) string {
	if f := d.formats[id]; f != nil {
		return f.name
	}
	return ""
}

// prepare parses the description of a format.
func (d *Decoder) prepare(f *eventFormat) {
	f.tracepoint = d.TracepointNamed(f.name)
	known := f.tracepoint != nil
	var all []ftrace.Field
	var printkFormat *field
	for one := range fields(f.text, d.long) {
		switch one.name {
		case "common_flags":
			f.flags = &one
		case "common_pid":
			f.pid = &one
		}
		if strings.HasPrefix(one.name, "common_") {
			continue
		}
		switch {
		case f.name != "bprint":
		case one.name == "fmt" && one.content == pointer:
			printkFormat = &one
		case one.name == "buf" && printkFormat != nil:
			one.content, one.format = printk, printkFormat
		}
		read := one.content != unknown
		described := ftrace.Field{Name: one.name, Type: one.fieldType(), Array: one.isArray()}
		if known && read {
			one.to = f.tracepoint.FieldNamed(one.name)
			switch {
			case one.to != nil && one.isText() != (one.to.Type == ftrace.Text):
				read = false
			case one.to != nil && (one.to.Array || !one.isArray()):
			default: // Perfetto's message does not have the field, or not as an array
				one.to = d.Field(described)
			}
		}
		if !read {
			d.File.Unread(model.StatUnreadFact, model.None, "field "+one.name+" of format "+f.name).Add(model.LogEntry{})
			continue
		}
		all = append(all, described)
		f.fields = append(f.fields, one)
	}
	if !known {
		f.tracepoint = d.Generic(f.name, all)
		for i := range f.fields {
			f.fields[i].to = &f.tracepoint.Fields[i]
		}
	}
	f.text = nil
}
