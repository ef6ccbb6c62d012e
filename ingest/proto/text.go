package proto

import (
	"strconv"

	"github.com/tpconvert/tpconvert/ingest/proto/message"
	"github.com/tpconvert/tpconvert/model"
)

// TextField interns the text of a message's field. It is NULL if the field is absent.
func (r *Reader) TextField(data []byte, number uint32) model.StringID {
	return r.TextID(message.Bytes(data, number))
}

// TextID interns a text. It is NULL if the text is nil.
func (r *Reader) TextID(text []byte) model.StringID {
	if text == nil {
		return 0
	}
	return r.Store.Strings.InternBytes(text)
}

// NameOf returns the name of an enum value, or of the enum's first value if it is
// unknown.
func (r *Reader) NameOf(names []string, value int64) model.StringID {
	if value < 0 || value >= int64(len(names)) {
		value = 0
	}
	return r.Store.Strings.Intern(names[value])
}

// EnumName returns the name of an enum value, or its number if it has no name. enum is
// the enum's full name.
func (r *Reader) EnumName(enum string, value int32) model.StringID {
	name := ""
	if e := r.file.types.Enum(enum); e != nil {
		name = e.Name(value)
	}
	if name == "" {
		name = strconv.Itoa(int(value))
	}
	return r.Store.Strings.Intern(name)
}
