package android

import (
	"github.com/tpconvert/tpconvert/ingest/proto/message"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
)

// gameList reads the installed games and the system's interventions for each of their
// modes.
func (a *android) gameList(data []byte) {
	a.File.SetStat(model.StatGameInterventionHasReadErrors, model.None, message.Int64(data, pb.AndroidGameInterventionList_ReadError))
	a.File.SetStat(model.StatGameInterventionHasParseErrors, model.None, message.Int64(data, pb.AndroidGameInterventionList_ParseError))
	const standard, performance, battery = 1, 2, 3
	t := &a.Store.AndroidGameInterventionList
	for game := range message.Messages(data, pb.AndroidGameInterventionList_GamePackages) {
		row := t.Append()
		t.PackageName.Set(row, a.TextField(game, pb.AndroidGameInterventionList_GamePackageInfo_Name))
		t.UID.Set(row, message.Int64(game, pb.AndroidGameInterventionList_GamePackageInfo_UID))
		t.CurrentMode.Set(row, int64(message.Uint32(game, pb.AndroidGameInterventionList_GamePackageInfo_CurrentMode)))
		t.StandardModeSupported.Set(row, false)
		t.PerfModeSupported.Set(row, false)
		t.BatteryModeSupported.Set(row, false)
		for mode := range message.Messages(game, pb.AndroidGameInterventionList_GamePackageInfo_GameModeInfo) {
			angle, downscale, fps := message.Int64(mode, pb.AndroidGameInterventionList_GameModeInfo_UseAngle) != 0,
				message.Float64(mode, pb.AndroidGameInterventionList_GameModeInfo_ResolutionDownscale),
				message.Float64(mode, pb.AndroidGameInterventionList_GameModeInfo_FPS)
			switch message.Int64(mode, pb.AndroidGameInterventionList_GameModeInfo_Mode) {
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

// The names of AndroidAflags' enum values.
var (
	aflagPermissions = []string{"unspecified", "read-only", "read-write"}
	aflagSources     = []string{"unspecified", "default", "server", "local"}
	aflagBackends    = []string{"unspecified", "none", "aconfigd", "device_config"}
	aflagTypes       = []string{"unspecified", "boolean", "integer"}
)

// aflags reads the values of Android's feature flags.
func (a *android) aflags(ts int64, data []byte) {
	if text, failed := wire.Find(data, pb.AndroidAflags_Error); failed {
		a.File.LogTime(model.StatAndroidAflagsErrors, ts, model.ArgFunc(func(set *model.ArgSet) {
			set.Add(a.Store.Strings.Intern("error"), model.StringArg(a.TextID(text.Bytes())))
		}))
		return
	}
	t := &a.Store.AndroidAflags
	for flag := range message.Messages(data, pb.AndroidAflags_Flags) {
		row := t.Append()
		t.TS.Set(row, ts)
		t.FlagNamespace.Set(row, a.TextField(flag, pb.AndroidAflags_Flag_FlagNamespace))
		t.Name.Set(row, a.TextField(flag, pb.AndroidAflags_Flag_Name))
		t.Package.Set(row, a.TextField(flag, pb.AndroidAflags_Flag_Pkg))
		t.Container.Set(row, a.TextField(flag, pb.AndroidAflags_Flag_Container))
		t.Value.Set(row, a.TextField(flag, pb.AndroidAflags_Flag_Value))
		t.StagedValue.Set(row, a.TextField(flag, pb.AndroidAflags_Flag_StagedValue))
		t.Permission.Set(row, a.NameOf(aflagPermissions, message.Int64(flag, pb.AndroidAflags_Flag_Permission)))
		t.ValuePickedFrom.Set(row, a.NameOf(aflagSources, message.Int64(flag, pb.AndroidAflags_Flag_ValuePickedFrom)))
		t.StorageBackend.Set(row, a.NameOf(aflagBackends, message.Int64(flag, pb.AndroidAflags_Flag_StorageBackend)))
		t.Type.Set(row, a.NameOf(aflagTypes, message.Int64(flag, pb.AndroidAflags_Flag_Type)))
	}
}
