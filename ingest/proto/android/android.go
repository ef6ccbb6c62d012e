// Package android reads what Android's own data sources report about the device, its
// apps and their frames.
package android

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/tpconvert/tpconvert/ingest/internal/tracks"
	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/ingest/proto/message"
	"github.com/tpconvert/tpconvert/ingest/proto/packages"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
)

// Modules read the packets of the family.
var Modules = proto.Family{androidInfo, statsdAtoms, pixelModem, cpuPerUIDs, wakelocks, bluetooth, surfaceFrames, bufferEvents}

// android reads what Android's own data sources report about the device.
type android struct {
	*proto.Reader
	log      *proto.Stream
	packages map[string]bool
	users    map[int64]int64 // row by id
}

func androidInfo(r *proto.Reader) *proto.Module {
	a := &android{Reader: r, packages: map[string]bool{}, users: map[int64]int64{}}
	a.log = r.NewStream(a.logLine)
	return &proto.Module{
		Fields: []uint32{pb.TracePacket_AndroidLog, pb.TracePacket_PackagesList, pb.TracePacket_InitialDisplayState,
			pb.TracePacket_AndroidSystemProperty, pb.TracePacket_UserList,
			pb.TracePacket_AndroidGameInterventionList, pb.TracePacket_AndroidAflags},
		Tokenize: a.tokenize,
		Parse: func(e *proto.Event) {
			switch e.Field {
			case pb.TracePacket_AndroidAflags:
				a.aflags(e.TS, e.Data)
			case pb.TracePacket_InitialDisplayState:
				if state, ok := wire.Find(e.Data, pb.InitialDisplayState_DisplayState); ok {
					a.Counters.Push(e.TS, float64(state.Int32()), a.Tracks.Intern(tracks.ScreenState, nil))
				}
				if message.Has(e.Data, pb.InitialDisplayState_Brightness) {
					a.File.Unread(model.StatUnreadFact, model.None, "brightness of the screen").Add(model.LogEntry{TS: e.TS, HasTS: true})
				}
			case pb.TracePacket_AndroidSystemProperty:
				for property := range message.Messages(e.Data, pb.AndroidSystemProperty_Values) {
					a.property(e.TS, message.Bytes(property, pb.AndroidSystemProperty_PropertyValue_Name),
						message.Bytes(property, pb.AndroidSystemProperty_PropertyValue_Value))
				}
			}
		},
	}
}

func (a *android) tokenize(p *proto.Packet, f *wire.Field) bool {
	switch f.Number {
	case pb.TracePacket_AndroidLog:
		a.logPacket(p, f.Bytes())
	case pb.TracePacket_PackagesList:
		a.packageList(f.Bytes())
	case pb.TracePacket_UserList:
		a.userList(f.Bytes())
	case pb.TracePacket_AndroidGameInterventionList:
		a.gameList(f.Bytes())
	default:
		return false
	}
	return true
}

func (a *android) packageList(data []byte) {
	a.File.SetStat(model.StatPackagesListHasReadErrors, model.None, message.Int64(data, pb.PackagesList_ReadError))
	a.File.SetStat(model.StatPackagesListHasParseErrors, model.None, message.Int64(data, pb.PackagesList_ParseError))
	for info := range message.Messages(data, pb.PackagesList_Packages) {
		name := message.Bytes(info, pb.PackagesList_PackageInfo_Name)
		if a.packages[string(name)] {
			continue
		}
		a.packages[string(name)] = true
		t := &a.Store.PackageList
		row := t.Append()
		id, uid := a.Store.Strings.InternBytes(name), message.Int64(info, pb.PackagesList_PackageInfo_UID)
		packages.Of(a.Reader).Add(id, uid)
		t.PackageName.Set(row, id)
		t.UID.Set(row, uid)
		t.Debuggable.Set(row, message.Int64(info, pb.PackagesList_PackageInfo_Debuggable) != 0)
		t.ProfileableFromShell.Set(row, message.Int64(info, pb.PackagesList_PackageInfo_ProfileableFromShell) != 0)
		t.VersionCode.Set(row, message.Int64(info, pb.PackagesList_PackageInfo_VersionCode))
	}
}

func (a *android) userList(data []byte) {
	if failed, _ := wire.Find(data, pb.AndroidUserList_Error); failed.Int32() < 0 {
		a.File.Count(model.StatUserListErrors)
	}
	t := &a.Store.AndroidUserList
	for user := range message.Messages(data, pb.AndroidUserList_Users) {
		id, _ := wire.Find(user, pb.AndroidUserList_UserInfo_UID)
		uid := int64(id.Int32())
		row, known := a.users[uid]
		if !known {
			row = t.Append()
			a.users[uid] = row
			t.AndroidUserID.Set(row, uid)
		}
		t.Type.Set(row, a.TextField(user, pb.AndroidUserList_UserInfo_Type))
	}
}

var logStats = map[uint32]model.Stat{
	pb.AndroidLogPacket_Stats_NumTotal:   model.StatAndroidLogNumTotal,
	pb.AndroidLogPacket_Stats_NumFailed:  model.StatAndroidLogNumFailed,
	pb.AndroidLogPacket_Stats_NumSkipped: model.StatAndroidLogNumSkipped,
}

// logPacket tokenizes a packet's lines, each of which has its own wall-clock time.
func (a *android) logPacket(p *proto.Packet, data []byte) {
	wall := model.Clock{ID: model.ClockRealtime}
	for f := wire.Read(data); f.Next(); {
		switch f.Number {
		case pb.AndroidLogPacket_Events:
			ts, err := a.Clocks.ToTrace(wall, message.Int64(f.Bytes(), pb.AndroidLogPacket_LogEvent_Timestamp))
			if err != nil {
				a.File.LogAt(err.Stat, p.Offset, err)
				continue
			}
			a.log.Push(ts, p.State, f.Bytes())
		case pb.AndroidLogPacket_Stats:
			for s := wire.Read(f.Bytes()); s.Next(); {
				if stat, ok := logStats[s.Number]; ok {
					a.File.SetStat(stat, model.None, s.Int64())
				}
			}
		}
	}
}

// logInfo is the default priority of a line.
const logInfo = 4

func (a *android) logLine(ts int64, _ *proto.State, data []byte) {
	t := &a.Store.AndroidLogs
	row := t.Append()
	t.TS.Set(row, ts)
	t.UTID.Set(row, a.Machine.ThreadOf(int64(message.Uint32(data, pb.AndroidLogPacket_LogEvent_TID)),
		int64(message.Uint32(data, pb.AndroidLogPacket_LogEvent_PID))))
	t.LogSource.Set(row, a.Store.Strings.Intern("android_logcat"))
	prio := int32(logInfo)
	if v := message.Int32(data, pb.AndroidLogPacket_LogEvent_Prio) & 0xff; v != 0 {
		prio = v
	}
	t.Prio.Set(row, prio)
	t.Tag.Set(row, a.Store.Strings.InternBytes(message.Bytes(data, pb.AndroidLogPacket_LogEvent_Tag)))
	text := bytes.Clone(message.Bytes(data, pb.AndroidLogPacket_LogEvent_Message))
	for arg := range message.Messages(data, pb.AndroidLogPacket_LogEvent_Args) {
		text = appendLogArg(append(text, ' '), arg)
	}
	t.Msg.Set(row, a.Store.Strings.InternBytes(text))
}

// appendLogArg appends a value that a line has in addition to its text.
func appendLogArg(text, arg []byte) []byte {
	text = append(append(text, message.Bytes(arg, pb.AndroidLogPacket_LogEvent_Arg_Name)...), '=')
	for f := wire.Read(arg); f.Next(); {
		switch f.Number {
		case pb.AndroidLogPacket_LogEvent_Arg_IntValue:
			text = strconv.AppendInt(text, f.Int64(), 10)
		case pb.AndroidLogPacket_LogEvent_Arg_FloatValue:
			text = fmt.Appendf(text, "%f", f.Float64())
		case pb.AndroidLogPacket_LogEvent_Arg_StringValue:
			text = fmt.Appendf(text, "\"%s\"", f.Bytes())
		}
	}
	return text
}

// property reads the value of an Android system property that the recorder watches.
func (a *android) property(ts int64, name, value []byte) {
	text := a.Store.Strings.InternBytes(value)
	switch string(name) {
	case "debug.tracing.device_state":
		a.Slices.Scoped(ts, 0, a.Tracks.Intern(tracks.DeviceState, nil), 0, text, nil)
		return
	case "debug.tracing.wallpaper.package_name", "debug.tracing.wallpaper.class_name":
		a.File.SetMetadata(string(name), model.StringArg(text))
		return
	}
	number, err := strconv.ParseInt(string(value), 10, 32)
	if err != nil {
		return
	}
	const prefix = "debug.tracing."
	switch string(name) {
	case "debug.tracing.profile_boot_classpath":
		a.File.SetMetadata("android_profile_boot_classpath", model.IntArg(number))
	case "debug.tracing.profile_system_server":
		a.File.SetMetadata("android_profile_system_server", model.IntArg(number))
	case "debug.tracing.screen_state":
		a.Counters.Push(ts, float64(number), a.Tracks.Intern(tracks.ScreenState, nil))
	default:
		if battery := []byte("battery_stats."); bytes.HasPrefix(name[min(len(prefix), len(name)):], battery) {
			key := model.StringDim(a.Store.Strings.InternBytes(name[len(prefix):]))
			a.Counters.Push(ts, float64(number), a.Tracks.Intern(tracks.BatteryStats, nil, key))
		} else if track, ok := propertyTracks[string(name)]; ok {
			o := model.TrackOptions{Name: a.Store.Strings.Intern(track)}
			a.Counters.Push(ts, float64(number), a.Tracks.Intern(properties, &o, model.StringDim(a.Store.Strings.InternBytes(name))))
		}
	}
}

var properties = &model.Blueprint{Classification: "sysprop_counter", Event: model.CounterTrack, Dims: []string{"sysprop_name"}}

// propertyTracks maps the properties that are counters to the names of their tracks.
var propertyTracks = map[string]string{
	"debug.tracing.battery_status": "BatteryStatus", "debug.tracing.plug_type": "PlugType",
	"debug.tracing.mcc": "mcc", "debug.tracing.mnc": "mnc",
	"debug.tracing.desktop_mode_visible_tasks": "desktop_mode_visible_tasks",
}
