package schema

import "github.com/tpconvert/tpconvert/model/table"

// PackageList is filled from Android's package list and from heap dumps.
type PackageList struct {
	table.Table          `tp:"package_list" doc:"A package installed on the device."`
	PackageName          table.String `tp:"2,package_name" doc:"Name, such as com.google.android.gm."`
	UID                  table.Int64  `tp:"3,uid" doc:"User id that it runs under."`
	Debuggable           table.Bool   `tp:"4,debuggable" doc:"Whether debuggers may attach."`
	ProfileableFromShell table.Bool   `tp:"5,profileable_from_shell" doc:"Whether the shell may profile it."`
	VersionCode          table.Int64  `tp:"6,version_code" doc:"Version code of the APK."`
}

// AndroidUserList holds the users of the device. Rows are held because a later list may correct the type.
type AndroidUserList struct {
	table.Table   `tp:"android_user_list,held" doc:"A user of the device."`
	Type          table.String `tp:"2,type" doc:"Kind of user, such as android.os.usertype.full.SYSTEM."`
	AndroidUserID table.Int64  `tp:"3,android_user_id" doc:"Android user id."`
}

// AndroidGameInterventionList is filled from Android's list of game interventions.
type AndroidGameInterventionList struct {
	table.Table           `tp:"android_game_intervention_list" doc:"A game and what the system does to it in each mode."`
	PackageName           table.String  `tp:"2,package_name" doc:"Name of the package."`
	UID                   table.Int64   `tp:"3,uid" doc:"User id that it runs under."`
	CurrentMode           table.Int64   `tp:"4,current_mode" doc:"Current mode: 1 standard, 2 performance, 3 battery."`
	StandardModeSupported table.Bool    `tp:"5,standard_mode_supported" doc:"Whether it has a standard mode."`
	StandardModeDownscale table.Float64 `tp:"6,standard_mode_downscale,null" doc:"Resolution scale factor in standard mode."`
	StandardModeUseAngle  table.Bool    `tp:"7,standard_mode_use_angle,null" doc:"Whether it draws through ANGLE in standard mode."`
	StandardModeFps       table.Float64 `tp:"8,standard_mode_fps,null" doc:"Maximum frame rate in standard mode."`
	PerfModeSupported     table.Bool    `tp:"9,perf_mode_supported" doc:"Whether it has a performance mode."`
	PerfModeDownscale     table.Float64 `tp:"10,perf_mode_downscale,null" doc:"Resolution scale factor in performance mode."`
	PerfModeUseAngle      table.Bool    `tp:"11,perf_mode_use_angle,null" doc:"Whether it draws through ANGLE in performance mode."`
	PerfModeFps           table.Float64 `tp:"12,perf_mode_fps,null" doc:"Maximum frame rate in performance mode."`
	BatteryModeSupported  table.Bool    `tp:"13,battery_mode_supported" doc:"Whether it has a battery mode."`
	BatteryModeDownscale  table.Float64 `tp:"14,battery_mode_downscale,null" doc:"Resolution scale factor in battery mode."`
	BatteryModeUseAngle   table.Bool    `tp:"15,battery_mode_use_angle,null" doc:"Whether it draws through ANGLE in battery mode."`
	BatteryModeFps        table.Float64 `tp:"16,battery_mode_fps,null" doc:"Maximum frame rate in battery mode."`
}

// AndroidAflags is filled from the aflags data source.
type AndroidAflags struct {
	table.Table     `tp:"android_aflags" doc:"An aconfig flag and its value."`
	TS              table.Int64  `tp:"2,ts,asc" doc:"When it was read, ns of the trace clock."`
	Package         table.String `tp:"3,package" doc:"Package of the flag."`
	Name            table.String `tp:"4,name" doc:"Name of the flag."`
	FlagNamespace   table.String `tp:"5,flag_namespace" doc:"Namespace of the flag."`
	Container       table.String `tp:"6,container" doc:"Partition or module that defines it."`
	Value           table.String `tp:"7,value" doc:"Current value."`
	StagedValue     table.String `tp:"8,staged_value" doc:"Value after the next reboot, if it changes."`
	Permission      table.String `tp:"9,permission" doc:"Whether it may be changed: read-only or read-write."`
	ValuePickedFrom table.String `tp:"10,value_picked_from" doc:"Source of the value."`
	StorageBackend  table.String `tp:"11,storage_backend" doc:"Storage that holds the flag."`
	Type            table.String `tp:"12,type" doc:"Type of the value."`
}

// AndroidDumpstate is filled from bug reports.
type AndroidDumpstate struct {
	table.Table `tp:"android_dumpstate" doc:"A line of a bug report."`
	Section     table.String `tp:"2,section" doc:"Section that contains it."`
	Service     table.String `tp:"3,service" doc:"dumpsys service that wrote it, NULL outside dumpsys sections."`
	Line        table.String `tp:"4,line" doc:"Text of the line."`
}

// AndroidCPUPerUIDTrack is written at the end, from the counters of CPU time by user id.
type AndroidCPUPerUIDTrack struct {
	table.Table    `tp:"android_cpu_per_uid_track" doc:"The CPU time that a user id used in a CPU cluster over the whole trace."`
	TrackID        table.Ref[Track] `tp:"2,track_id" doc:"Counter track of the CPU time."`
	UID            table.Int64      `tp:"3,uid" doc:"User id."`
	Cluster        table.Int64      `tp:"4,cluster" doc:"CPU cluster."`
	TotalCPUMillis table.Int64      `tp:"5,total_cpu_millis" doc:"CPU time, ms."`
}

// AndroidKeyEvents is filled from Android's input tracing.
type AndroidKeyEvents struct {
	table.Table   `tp:"android_key_events" doc:"A key that was pressed or released."`
	EventID       table.Int64        `tp:"2,event_id" doc:"Number that follows the event through the input pipeline."`
	TS            table.Time         `tp:"3,ts,asc" doc:"When it was processed, ns of the trace clock."`
	ArgSetID      table.SetRef[Args] `tp:"4,arg_set_id,null" doc:"The event in full: the rows of args with this arg_set_id."`
	Base64ProtoID table.Int64        `tp:"5,base64_proto_id,null" doc:"Number of the event's message, equal for equal messages."`
	Source        table.Int64        `tp:"6,source,null" doc:"Kind of input, as bits of Android's InputDevice sources."`
	Action        table.Int64        `tp:"7,action,null" doc:"0 down, 1 up."`
	DeviceID      table.Int64        `tp:"8,device_id,null" doc:"Input device."`
	DisplayID     table.Int64        `tp:"9,display_id,null" doc:"Target display."`
	KeyCode       table.Int64        `tp:"10,key_code,null" doc:"Android key code."`
}

// AndroidMotionEvents is filled from Android's input tracing.
type AndroidMotionEvents struct {
	table.Table   `tp:"android_motion_events" doc:"A movement on a touch screen or with a mouse."`
	EventID       table.Int64        `tp:"2,event_id" doc:"Number that follows the event through the input pipeline."`
	TS            table.Time         `tp:"3,ts,asc" doc:"When it was processed, ns of the trace clock."`
	ArgSetID      table.SetRef[Args] `tp:"4,arg_set_id,null" doc:"The event in full: the rows of args with this arg_set_id."`
	Base64ProtoID table.Int64        `tp:"5,base64_proto_id,null" doc:"Number of the event's message, equal for equal messages."`
	Source        table.Int64        `tp:"6,source,null" doc:"Kind of input, as bits of Android's InputDevice sources."`
	Action        table.Int64        `tp:"7,action,null" doc:"Android's action code, such as 0 down, 1 up, 2 move."`
	DeviceID      table.Int64        `tp:"8,device_id,null" doc:"Input device."`
	DisplayID     table.Int64        `tp:"9,display_id,null" doc:"Target display."`
}

// AndroidInputEventDispatch is filled from Android's input tracing.
type AndroidInputEventDispatch struct {
	table.Table   `tp:"android_input_event_dispatch" doc:"The dispatch of an input event to a window."`
	EventID       table.Int64        `tp:"2,event_id" doc:"Event: event_id of android_key_events or android_motion_events."`
	ArgSetID      table.SetRef[Args] `tp:"3,arg_set_id,null" doc:"The dispatch in full: the rows of args with this arg_set_id."`
	VsyncID       table.Int64        `tp:"4,vsync_id" doc:"Vsync id of the window state that the dispatch was based on."`
	WindowID      table.Int64        `tp:"5,window_id" doc:"Window."`
	Base64ProtoID table.Int64        `tp:"6,base64_proto_id,null" doc:"Number of the dispatch's message, equal for equal messages."`
}

// AndroidTrackEventProcess is filled from track events of Android's activity manager. Rows are held because the end of a process comes late.
type AndroidTrackEventProcess struct {
	table.Table            `tp:"android_track_event_process,held" doc:"The lifetime of a process, as Android's activity manager reports it."`
	UPID                   table.Ref[Process] `tp:"2,upid" doc:"Process."`
	StartSeqID             table.Int64        `tp:"3,start_seq_id,null" doc:"Sequence number that the system gave the start."`
	PackageUID             table.Int64        `tp:"4,package_uid,null" doc:"User id of the package that it runs."`
	CallerUID              table.Int64        `tp:"5,caller_uid,null" doc:"User id of the caller that requested the start."`
	DefiningUID            table.Int64        `tp:"6,defining_uid,null" doc:"User id of the package that defines the component."`
	FwStartTS              table.Int64        `tp:"7,fw_start_ts,null" doc:"When the start was announced, ns of the trace clock."`
	FwEndTS                table.Int64        `tp:"8,fw_end_ts,null" doc:"When its death was noticed, ns of the trace clock."`
	TriggerType            table.String       `tp:"9,trigger_type" doc:"What triggered the start, such as TRIGGER_TYPE_ALARM."`
	HostingType            table.String       `tp:"10,hosting_type" doc:"What it was started for, such as HOSTING_TYPE_SERVICE."`
	HostingName            table.String       `tp:"11,hosting_name" doc:"Component that it was started for."`
	BindApplicationDelayMS table.Int64        `tp:"12,bind_application_delay_ms,null" doc:"Time until the app was bound, ms."`
	ProcessStartDelayMS    table.Int64        `tp:"13,process_start_delay_ms,null" doc:"Time until the process had started, ms."`
}
