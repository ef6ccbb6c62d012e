package proto

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/tpconvert/tpconvert/ingest/ftrace"
	"github.com/tpconvert/tpconvert/ingest/wire"
	"github.com/tpconvert/tpconvert/model"
)

const (
	fieldAndroidLog          = 39
	fieldPackagesList        = 47
	fieldInitialDisplayState = 70
	fieldSystemProperty      = 86
	fieldUserList            = 123
)

// android reads what Android's own data sources say of the device.
type android struct {
	*Reader
	log      *Stream
	packages map[string]bool
	users    map[int64]int64 // row by id
}

func androidInfo(r *Reader) *Module {
	a := &android{Reader: r, packages: map[string]bool{}, users: map[int64]int64{}}
	a.log = r.NewStream(a.logLine)
	return &Module{
		Fields: []uint32{fieldAndroidLog, fieldPackagesList, fieldInitialDisplayState, fieldSystemProperty, fieldUserList,
			fieldGameInterventions, fieldAflags},
		Tokenize: a.tokenize,
		Parse: func(e *Event) {
			switch e.Field {
			case fieldAflags:
				a.aflags(e.TS, e.Data)
			case fieldInitialDisplayState:
				state, _ := wire.Find(e.Data, 1)
				a.Counters.Push(e.TS, float64(state.Int32()), a.Tracks.Intern(ftrace.ScreenState, nil))
			case fieldSystemProperty:
				for property := range messages(e.Data, 1) {
					a.property(e.TS, bytesField(property, 1), bytesField(property, 2))
				}
			}
		},
	}
}

func (a *android) tokenize(p *Packet, f *wire.Field) bool {
	switch f.Number {
	case fieldAndroidLog:
		a.logPacket(p, f.Bytes())
	case fieldPackagesList:
		a.packageList(f.Bytes())
	case fieldUserList:
		a.userList(f.Bytes())
	case fieldGameInterventions:
		a.gameList(f.Bytes())
	default:
		return false
	}
	return true
}

func (a *android) packageList(data []byte) {
	a.File.SetStat(model.StatPackagesListHasReadErrors, model.None, int64Field(data, 3))
	a.File.SetStat(model.StatPackagesListHasParseErrors, model.None, int64Field(data, 2))
	for data := range messages(data, 1) {
		name := bytesField(data, 1)
		if a.packages[string(name)] {
			continue
		}
		a.packages[string(name)] = true
		t := &a.Store.PackageList
		row := t.Append()
		t.PackageName.Set(row, a.Store.Strings.InternBytes(name))
		t.UID.Set(row, int64Field(data, 2))
		t.Debuggable.Set(row, int64Field(data, 3) != 0)
		t.ProfileableFromShell.Set(row, int64Field(data, 4) != 0)
		t.VersionCode.Set(row, int64Field(data, 5))
	}
}

func (a *android) userList(data []byte) {
	if failed, _ := wire.Find(data, 2); failed.Int32() < 0 {
		a.File.Count(model.StatUserListErrors)
	}
	t := &a.Store.AndroidUserList
	for user := range messages(data, 1) {
		id, _ := wire.Find(user, 2)
		uid := int64(id.Int32())
		row, known := a.users[uid]
		if !known {
			row = t.Append()
			a.users[uid] = row
			t.AndroidUserID.Set(row, uid)
		}
		t.Type.Set(row, a.textField(user, 1))
	}
}

var logStats = map[uint32]model.Stat{
	1: model.StatAndroidLogNumTotal, 2: model.StatAndroidLogNumFailed, 3: model.StatAndroidLogNumSkipped,
}

// logPacket tokenizes the lines of a packet, which each have a time of the wall
// clock.
func (a *android) logPacket(p *Packet, data []byte) {
	wall := model.Clock{ID: model.ClockRealtime}
	for f := wire.Read(data); f.Next(); {
		switch f.Number {
		case 1:
			ts, err := a.Clocks.ToTrace(wall, int64Field(f.Bytes(), 5))
			if err != nil {
				a.File.LogAt(err.Stat, p.Offset, err)
				continue
			}
			a.log.Push(ts, p.State, f.Bytes())
		case 2:
			for s := wire.Read(f.Bytes()); s.Next(); {
				if stat, ok := logStats[s.Number]; ok {
					a.File.SetStat(stat, model.None, s.Int64())
				}
			}
		}
	}
}

// logInfo is the priority of lines that have none.
const logInfo = 4

func (a *android) logLine(ts int64, _ *State, data []byte) {
	t := &a.Store.AndroidLogs
	row := t.Append()
	t.TS.Set(row, ts)
	t.UTID.Set(row, a.Machine.ThreadOf(pidField(data, 3), pidField(data, 2)))
	t.LogSource.Set(row, a.Store.Strings.Intern("android_logcat"))
	prio := int32(logInfo)
	if v := int32(int64Field(data, 7)) & 0xff; v != 0 {
		prio = v
	}
	t.Prio.Set(row, prio)
	if tag, ok := wire.Find(data, 6); ok {
		t.Tag.Set(row, a.Store.Strings.InternBytes(tag.Bytes()))
	}
	message := bytes.Clone(bytesField(data, 8))
	for arg := range messages(data, 9) {
		if !hasField(arg, 1) {
			continue
		}
		if len(message) > 0 {
			message = append(message, ' ')
		}
		message = appendLogArg(message, arg)
	}
	t.Msg.Set(row, a.Store.Strings.InternBytes(message))
}

// appendLogArg writes a value that a line has beside its text.
func appendLogArg(message, arg []byte) []byte {
	message = append(append(message, bytesField(arg, 1)...), '=')
	for f := wire.Read(arg); f.Next(); {
		switch f.Number {
		case 2:
			message = strconv.AppendInt(message, f.Int64(), 10)
		case 3:
			message = fmt.Appendf(message, "%f", f.Float64())
		case 4:
			message = fmt.Appendf(message, "\"%s\"", f.Bytes())
		}
	}
	return message
}

// property reads one of Android's system properties that the recorder watches.
func (a *android) property(ts int64, name, value []byte) {
	text := a.Store.Strings.InternBytes(value)
	switch string(name) {
	case "debug.tracing.device_state":
		a.Slices.Scoped(ts, 0, a.Tracks.Intern(ftrace.DeviceState, nil), 0, text, nil)
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
		a.Counters.Push(ts, float64(number), a.Tracks.Intern(ftrace.ScreenState, nil))
	default:
		if battery := []byte("battery_stats."); bytes.HasPrefix(name[min(len(prefix), len(name)):], battery) {
			key := model.StringDim(a.Store.Strings.InternBytes(name[len(prefix):]))
			a.Counters.Push(ts, float64(number), a.Tracks.Intern(ftrace.BatteryStats, nil, key))
		} else if track, ok := propertyTracks[string(name)]; ok {
			o := model.TrackOptions{Name: a.Store.Strings.Intern(track)}
			a.Counters.Push(ts, float64(number), a.Tracks.Intern(properties, &o, model.StringDim(a.Store.Strings.InternBytes(name))))
		}
	}
}

var properties = &model.Blueprint{Classification: "sysprop_counter", Event: model.CounterTrack, Dims: []string{"sysprop_name"}}

// propertyTracks are the properties that are counters, and what their tracks are
// called.
var propertyTracks = map[string]string{
	"debug.tracing.battery_status": "BatteryStatus", "debug.tracing.plug_type": "PlugType",
	"debug.tracing.mcc": "mcc", "debug.tracing.mnc": "mnc",
	"debug.tracing.desktop_mode_visible_tasks": "desktop_mode_visible_tasks",
}
