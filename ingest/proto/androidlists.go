package proto

import (
	"github.com/tpconvert/tpconvert/ingest/wire"
	"github.com/tpconvert/tpconvert/model"
)

const (
	fieldGameInterventions = 83
	fieldAflags            = 127
)

// gameList reads which games there are and what the system does to them in each of
// their modes.
func (a *android) gameList(data []byte) {
	a.File.SetStat(model.StatGameInterventionHasReadErrors, model.None, int64Field(data, 3))
	a.File.SetStat(model.StatGameInterventionHasParseErrors, model.None, int64Field(data, 2))
	const standard, performance, battery = 1, 2, 3
	t := &a.Store.AndroidGameInterventionList
	for game := range messages(data, 1) {
		row := t.Append()
		t.PackageName.Set(row, a.Store.Strings.InternBytes(bytesField(game, 1)))
		t.UID.Set(row, int64Field(game, 2))
		t.CurrentMode.Set(row, pidField(game, 3))
		t.StandardModeSupported.Set(row, false)
		t.PerfModeSupported.Set(row, false)
		t.BatteryModeSupported.Set(row, false)
		for mode := range messages(game, 4) {
			angle, downscale, fps := int64Field(mode, 2) != 0, floatField(mode, 3), floatField(mode, 4)
			switch int64Field(mode, 1) {
			case standard:
				t.StandardModeSupported.Set(row, true)
				t.StandardModeUseAngle.Set(row, angle)
				t.StandardModeDownscale.Set(row, downscale)
				t.StandardModeFps.Set(row, fps)
			case performance:
				t.PerfModeSupported.Set(row, true)
				t.PerfModeUseAngle.Set(row, angle)
				t.PerfModeDownscale.Set(row, downscale)
				t.PerfModeFps.Set(row, fps)
			case battery:
				t.BatteryModeSupported.Set(row, true)
				t.BatteryModeUseAngle.Set(row, angle)
				t.BatteryModeDownscale.Set(row, downscale)
				t.BatteryModeFps.Set(row, fps)
			}
		}
	}
}

// The values of enums of AndroidAflags by their number.
var (
	aflagPermissions = []string{"unspecified", "read-only", "read-write"}
	aflagSources     = []string{"unspecified", "default", "server", "local"}
	aflagBackends    = []string{"unspecified", "none", "aconfigd", "device_config"}
	aflagTypes       = []string{"unspecified", "boolean", "integer"}
)

// aflags reads the values of Android's feature flags.
func (a *android) aflags(ts int64, data []byte) {
	if text, failed := wire.Find(data, 2); failed {
		a.File.LogTime(model.StatAndroidAflagsErrors, ts, model.ArgFunc(func(set *model.ArgSet) {
			set.Add(a.Store.Strings.Intern("error"), model.StringArg(a.textID(text.Bytes())))
		}))
		return
	}
	t := &a.Store.AndroidAflags
	for flag := range messages(data, 1) {
		row := t.Append()
		text := func(number uint32) model.StringID { return a.Store.Strings.InternBytes(bytesField(flag, number)) }
		t.TS.Set(row, ts)
		t.FlagNamespace.Set(row, text(1))
		t.Name.Set(row, text(2))
		t.Package.Set(row, text(3))
		t.Container.Set(row, text(4))
		t.Value.Set(row, text(5))
		t.StagedValue.Set(row, a.textField(flag, 6))
		t.Permission.Set(row, a.nameOf(aflagPermissions, int64Field(flag, 7)))
		t.ValuePickedFrom.Set(row, a.nameOf(aflagSources, int64Field(flag, 8)))
		t.StorageBackend.Set(row, a.nameOf(aflagBackends, int64Field(flag, 9)))
		t.Type.Set(row, a.nameOf(aflagTypes, int64Field(flag, 10)))
	}
}
