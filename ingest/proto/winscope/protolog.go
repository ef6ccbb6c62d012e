package winscope

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/ingest/proto/message"
	"github.com/tpconvert/tpconvert/internal/perfetto/androidpb"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
)

// lines reads ProtoLog. Its packets have the numbers of formats and what to insert; a viewer
// configuration has the formats.
type lines struct {
	*proto.Reader
	groups  map[uint32]string
	formats map[uint64][]format // by number, which is a hash: formats may collide
}

func protoLog(r *proto.Reader) *proto.Module {
	l := &lines{Reader: r, groups: map[uint32]string{}, formats: map[uint64][]format{}}
	return &proto.Module{
		Fields: []uint32{androidpb.FrameworksNativeWinscopeTracePacket_ProtologMessage, androidpb.FrameworksNativeWinscopeTracePacket_ProtologViewerConfig},
		Tokenize: func(_ *proto.Packet, f *wire.Field) bool {
			if f.Number != androidpb.FrameworksNativeWinscopeTracePacket_ProtologViewerConfig {
				return false
			}
			l.viewerConfig(f.Bytes())
			return true
		},
		Parse: func(e *proto.Event) { l.line(e.TS, e.State, e.Data) },
	}
}

// format is the text of a line, with % and a letter where a value is inserted.
type format struct {
	text     string
	level    int32
	group    uint32
	location model.StringID // NULL if it is missing
}

// Names of groups that cannot be told.
const (
	collidingGroup = "COLLISION_GROUP"
	unknownGroup   = "UNKNOWN_GROUP"
)

var levels = []string{"UNKNOWN", "DEBUG", "VERBOSE", "INFO", "WARN", "ERROR", "WTF"}

// viewerConfig reads a ProtoLogViewerConfig.
func (l *lines) viewerConfig(data []byte) {
	for group := range message.Messages(data, androidpb.ProtoLogViewerConfig_Groups) {
		id := message.Uint32(group, androidpb.ProtoLogViewerConfig_Group_ID)
		tag := string(message.Bytes(group, androidpb.ProtoLogViewerConfig_Group_Tag))
		if known, ok := l.groups[id]; ok && known != tag {
			l.File.Count(model.StatWinscopeProtologGroupTagCollision)
			tag = collidingGroup
		}
		l.groups[id] = tag
	}
	for entry := range message.Messages(data, androidpb.ProtoLogViewerConfig_Messages) {
		f := format{
			text:     string(message.Bytes(entry, androidpb.ProtoLogViewerConfig_MessageData_Message)),
			level:    message.Int32(entry, androidpb.ProtoLogViewerConfig_MessageData_Level),
			group:    message.Uint32(entry, androidpb.ProtoLogViewerConfig_MessageData_GroupID),
			location: l.TextField(entry, androidpb.ProtoLogViewerConfig_MessageData_Location),
		}
		id := message.Uint64(entry, androidpb.ProtoLogViewerConfig_MessageData_MessageID)
		if !slices.Contains(l.formats[id], f) {
			l.formats[id] = append(l.formats[id], f)
		}
	}
}

// line reads a ProtoLogMessage.
func (l *lines) line(ts int64, state *proto.State, data []byte) {
	var v values
	t := &l.Store.Protolog
	row := t.Append()
	t.TS.Set(row, ts)
	for f := wire.Read(data); f.Next(); {
		switch f.Number {
		case androidpb.ProtoLogMessage_Sint64Params:
			for n := range f.Varints {
				v.ints = append(v.ints, wire.ZigZag(n))
			}
		case androidpb.ProtoLogMessage_DoubleParams:
			for bits := range f.Fixed(8) {
				v.reals = append(v.reals, math.Float64frombits(bits))
			}
		case androidpb.ProtoLogMessage_BooleanParams:
			for n := range f.Varints {
				v.flags = append(v.flags, n != 0)
			}
		case androidpb.ProtoLogMessage_StrParamIIDs:
			for iid := range f.Varints {
				v.texts = append(v.texts, l.text(state, iid))
			}
		case androidpb.ProtoLogMessage_StacktraceIID:
			stack, ok := state.InternedString(androidpb.FrameworksNativeInternedData_ProtologStacktrace, f.Uint64())
			if !ok {
				l.File.Count(model.StatWinscopeProtologMissingInternedStacktraceParseErrors)
			}
			t.Stacktrace.Set(row, stack)
		}
	}
	l.decode(row, message.Uint64(data, androidpb.ProtoLogMessage_MessageID), &v)
}

// text returns a text to insert.
func (l *lines) text(state *proto.State, iid uint64) string {
	id, ok := state.InternedString(androidpb.FrameworksNativeInternedData_ProtologStringArgs, iid)
	if !ok {
		l.File.Count(model.StatWinscopeProtologMissingInternedArgParseErrors)
		return "<ERROR>"
	}
	return l.Store.Strings.Get(id)
}

// decode stores a line with the format of a number.
func (l *lines) decode(row int64, id uint64, v *values) {
	formats := l.formats[id]
	if len(formats) > 1 {
		l.decodeColliding(row, id, v)
		return
	}
	if len(formats) == 0 {
		l.File.Count(model.StatWinscopeProtologMessageDecodingFailed)
		return
	}
	text, mismatches := v.insert(formats[0].text)
	if mismatches > 0 {
		l.File.Add(model.StatWinscopeProtologParamMismatch, model.None, mismatches)
	}
	l.store(row, &formats[0], text)
}

// decodeColliding stores a line whose number stands for several formats. That with places for just
// these values is the right one.
func (l *lines) decodeColliding(row int64, id uint64, v *values) {
	var fitting []*format
	var texts []string
	formats := l.formats[id]
	for i := range formats {
		if text, mismatches := v.insert(formats[i].text); mismatches == 0 {
			fitting, texts = append(fitting, &formats[i]), append(texts, "'"+text+"'")
		}
	}
	if len(fitting) == 1 {
		l.File.Count(model.StatWinscopeProtologMessageCollisionResolved)
		text, _ := v.insert(fitting[0].text)
		l.store(row, fitting[0], text)
		return
	}
	l.File.Count(model.StatWinscopeProtologMessageCollision)
	found := "NO TYPE MATCH"
	if len(texts) > 0 {
		found = "MULTIPLE TYPE MATCHES : " + strings.Join(texts, ",\n ")
	}
	t := &l.Store.Protolog
	t.Level.Set(row, l.Store.Strings.Intern("WARN"))
	t.Tag.Set(row, l.Store.Strings.Intern(collidingGroup))
	t.Message.Set(row, l.Store.Strings.Intern(fmt.Sprintf("<PROTOLOG COLLISION (id=0x0x%x) %s>", id, found)))
}

func (l *lines) store(row int64, f *format, text string) {
	tag, ok := l.groups[f.group]
	if !ok {
		l.File.Count(model.StatWinscopeProtologGroupTagMissing)
		tag = unknownGroup
	}
	t := &l.Store.Protolog
	t.Level.Set(row, l.NameOf(levels, int64(f.level)))
	t.Tag.Set(row, l.Store.Strings.Intern(tag))
	t.Message.Set(row, l.Store.Strings.Intern(text))
	t.Location.Set(row, f.location)
}

// values are what is inserted in a line, by type and in order.
type values struct {
	ints  []int64
	reals []float64
	flags []bool
	texts []string
}

// insert returns the text with the values inserted. mismatches says how many places had no value,
// and counts one if values were left over.
func (v values) insert(text string) (line string, mismatches int64) {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, "%")
		b.WriteString(before)
		if !found {
			break
		}
		if after == "" {
			b.WriteByte('%')
			break
		}
		value, ok := v.next(after[0])
		if !ok {
			value = "[MISSING_PARAM]"
			mismatches++
		}
		b.WriteString(value)
		text = after[1:]
	}
	if len(v.ints)+len(v.reals)+len(v.flags)+len(v.texts) > 0 {
		mismatches++
	}
	return b.String(), mismatches
}

// next returns the next value of the type that a letter stands for, or what is no such letter. It
// returns false if no value is left.
func (v *values) next(letter byte) (text string, ok bool) {
	switch letter {
	case 'd':
		return take(&v.ints, func(n int64) string { return strconv.FormatInt(n, 10) })
	case 'o':
		return take(&v.ints, func(n int64) string { return strconv.FormatUint(uint64(n), 8) })
	case 'x':
		return take(&v.ints, func(n int64) string { return strconv.FormatUint(uint64(n), 16) })
	case 'f', 'e', 'g':
		return take(&v.reals, func(n float64) string { return formatReal(letter, n) })
	case 's':
		return take(&v.texts, func(s string) string { return s })
	case 'b':
		return take(&v.flags, strconv.FormatBool)
	case '%':
		return "%", true
	}
	return string([]byte{'%', letter}), true
}

// take removes the first value and returns it as text.
func take[T any](values *[]T, text func(T) string) (string, bool) {
	if len(*values) == 0 {
		return "", false
	}
	first := (*values)[0]
	*values = (*values)[1:]
	return text(first), true
}

// formatReal formats a number as C does.
func formatReal(letter byte, v float64) string {
	switch {
	case math.IsNaN(v):
		return "nan"
	case math.IsInf(v, 0):
		return strings.ToLower(strings.TrimPrefix(strconv.FormatFloat(v, 'g', -1, 64), "+"))
	}
	return strconv.FormatFloat(v, letter, 6, 64)
}
