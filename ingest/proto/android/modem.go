package android

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/ingest/proto/message"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
)

// modem reads the log of the modem in Pixel phones. Its lines are tokens with arguments. What they stand for is in a database, which is
// no part of a recording: it is put beside it later, and may follow it.
type modem struct {
	*proto.Reader
	events *proto.Stream
	tokens tokens
}

var modemTrack = &model.Blueprint{Classification: "pixel_modem_event", Dims: []string{"modem_domain"}, NameOf: func(s *model.Store, dims []model.Dim) string {
	if domain := s.Strings.Get(dims[0].String()); domain != "" {
		return "Pixel Modem Events: " + domain
	}
	return "Pixel Modem Events"
}}

func pixelModem(r *proto.Reader) *proto.Module {
	m := &modem{Reader: r, tokens: tokens{}}
	m.events = r.NewStream(m.event)
	return &proto.Module{
		Fields: []uint32{pb.TracePacket_PixelModemEvents, pb.TracePacket_PixelModemTokenDatabase},
		Read: func(p *proto.Packet, f *wire.Field) bool {
			if f.Number != pb.TracePacket_PixelModemTokenDatabase {
				return false
			}
			if !m.tokens.add(message.Bytes(f.Bytes(), pb.PixelModemTokenDatabase_Database)) {
				r.File.LogAt(model.StatCorruptPacket, p.Offset, nil)
			}
			return true
		},
		Tokenize: m.tokenize,
	}
}

// tokenize gives each event its time, of which the packet has the difference from the event before it.
func (m *modem) tokenize(p *proto.Packet, f *wire.Field) bool {
	var differences []int64
	for ns := range message.Numbers(f.Bytes(), pb.PixelModemEvents_EventTimeNanos) {
		differences = append(differences, int64(ns))
	}
	head, boottime := binary.AppendVarint(nil, p.TS), int64(0)
	for event := range message.Messages(f.Bytes(), pb.PixelModemEvents_Events) {
		if len(differences) == 0 {
			m.File.LogAt(model.StatCorruptPacket, p.Offset, nil)
			continue
		}
		boottime += differences[0]
		differences = differences[1:]
		if len(event) < tokenSize {
			m.File.LogAt(model.StatCorruptPacket, p.Offset, nil)
			continue
		}
		if boottime < 0 {
			m.File.LogAt(model.StatPixelModemNegativeTimestamp, p.Offset, nil)
			continue
		}
		ts, err := m.Clocks.ToTrace(model.Clock{ID: model.ClockBoottime}, boottime)
		if err != nil {
			m.File.LogAt(err.Stat, p.Offset, err)
			continue
		}
		m.events.Push(ts, p.State, head, event)
	}
	return true
}

// event reads an event, before which its packet's time is.
func (m *modem) event(ts int64, _ *proto.State, data []byte) {
	packetTS, n := binary.Varint(data)
	token, payload := binary.LittleEndian.Uint32(data[n:]), data[n+tokenSize:]
	l, known := m.tokens.line(token, payload)
	if !known {
		l = line{format: "Token not found", text: []byte("Token not found")}
		m.File.Unread(model.StatUnreadFact, model.None, "unknown modem token").Add(model.LogEntry{TS: ts, HasTS: true})
	} else if l.missing > 0 || l.left > 0 {
		m.File.LogTime(model.StatCorruptPacket, ts, nil)
	}
	strs := m.Store.Strings
	values := keyed(string(l.text))
	name, ok := values["format"]
	if !ok {
		name = string(l.text)
	}
	track := m.Tracks.Intern(modemTrack, nil, model.StringDim(strs.Intern(values["domain"])))
	m.Slices.Scoped(ts, 0, track, 0, strs.Intern(name), model.ArgFunc(func(set *model.ArgSet) {
		set.Add(strs.Intern("raw_template"), model.StringArg(strs.Intern(l.format)))
		set.Add(strs.Intern("token_id"), model.IntArg(int64(token)))
		set.Add(strs.Intern("token_id_hex"), model.StringArg(strs.Intern(fmt.Sprintf("0x%02x", token))))
		set.Add(strs.Intern("packet_ts"), model.UintArg(uint64(packetTS)))
		for i, value := range l.args {
			var arg model.ArgValue
			switch value := value.(type) {
			case int64:
				arg = model.IntArg(value)
			case uint64:
				arg = model.UintArg(value)
			case float64:
				arg = model.RealArg(value)
			case string:
				arg = model.StringArg(strs.Intern(value))
			}
			set.Add(strs.Intern(fmt.Sprintf("pw_token_%d.arg_%d", token, i)), arg)
		}
	}))
}

// keyed returns the values of a text such as "■domain♦RRC■format♦Setup", the first of each key.
func keyed(text string) map[string]string {
	values := map[string]string{}
	for part := range strings.SplitSeq(text, "■") {
		pair := strings.FieldsFunc(part, func(r rune) bool { return r == '♦' })
		if len(pair) < 2 {
			continue
		}
		if _, ok := values[pair[0]]; !ok {
			values[pair[0]] = pair[1]
		}
	}
	return values
}
