package families

import (
	"strconv"
	"testing"
)

func TestConcurrentSessions(t *testing.T) {
	session := func(ts, state, id int64, name string) message {
		return packet(ts).msg(fieldConcurrentSession, message{}.num(1, state).text(2, name).num(3, id).num(4, 1000).num(5, 2))
	}
	res := readTrace(t, packets(
		session(10, 2, 1, "a"), session(20, 3, 1, "a"), session(30, 1, 1, "a"), session(40, 5, 2, "a"), session(50, 3, 3, ""), session(60, 9, 3, ""),
	))
	want(t, "tracks", res.rows("track", "name", "classification"), "a concurrent_tracing_sessions", "a (clone) concurrent_tracing_sessions",
		"Session 3 concurrent_tracing_sessions")
	want(t, "states", res.rows("state", "ts", "dur", "track_id", "value"), "10 10 0 CONFIGURED", "20 10 0 STARTED", "30 0 0 DISABLED",
		"40 -1 1 CLONED_READ_ONLY", "50 -1 2 STARTED")
	want(t, "args", res.args(res.tables["state"][0]), "consumer_uid=1000", "num_data_sources=2")
	if n := res.stats["concurrent_session_event_unknown_state"]; n != 1 {
		t.Errorf("%d unknown states", n)
	}
}

func TestGameInterventions(t *testing.T) {
	mode := message{}.num(1, 2).num(2, 1).tag(3, 5)
	mode = append(mode, 0, 0, 0x40, 0x3f) // 0.75
	game := message{}.text(1, "com.game").num(2, 10001).num(3, 2).msg(4, mode)
	res := readTrace(t, packets(message{}.num(10, 1).msg(fieldGameInterventions, message{}.msg(1, game).num(3, 1))))
	want(t, "games", res.rows("android_game_intervention_list", "package_name", "uid", "current_mode", "standard_mode_supported",
		"standard_mode_fps", "perf_mode_supported", "perf_mode_downscale", "perf_mode_use_angle", "perf_mode_fps"),
		"com.game 10001 2 false  true 0.75 true 0")
	if n := res.stats["game_intervention_has_read_errors"]; n != 1 {
		t.Errorf("%d read errors", n)
	}
}

func TestAflags(t *testing.T) {
	flag := message{}.text(1, "ns").text(2, "flag").text(3, "pkg").text(4, "system").text(5, "true").num(7, 2).num(8, 3).num(9, 99).num(10, 1)
	res := readTrace(t, packets(
		packet(10).msg(fieldAflags, message{}.msg(1, flag)),
		packet(20).msg(fieldAflags, message{}.text(2, "no aflags")),
	))
	want(t, "flags", res.rows("android_aflags", "ts", "package", "name", "flag_namespace", "container", "value", "staged_value", "permission",
		"value_picked_from", "storage_backend", "type"), "10 pkg flag ns system true  read-write local unspecified boolean")
	want(t, "log", res.rows("import_log", "ts", "name"), "20 android_aflags_errors")
	want(t, "error", res.args(res.tables["import_log"][0]), "error=no aflags")
}

func TestBluetooth(t *testing.T) {
	event := message{}.num(1, 2).num(2, 3).num(3, 40).num(4, 5).num(8, 6)
	res := readTrace(t, packets(packet(10).msg(fieldBluetooth, event), packet(20).msg(fieldBluetooth, message{}.num(1, 77))))
	want(t, "slices", res.rows("slice", "ts", "dur", "name"), "10 5 BluetoothTraceEvent", "20 0 BluetoothTraceEvent")
	want(t, "args", res.args(res.tables["slice"][0]), "TracePacketType=HCI_EVT", "Count=3", "Length=40", "Handle=6")
	want(t, "args of an unknown type", res.args(res.tables["slice"][1]), "TracePacketType=77")
}

func TestCPUPerUID(t *testing.T) {
	times := func(ts int64, uids, ms message) message {
		return packet(ts).msg(fieldCPUPerUID, message{}.num(1, 2).msg(2, uids).msg(3, ms))
	}
	uids := packedNumbers(1000, 10001, 1090001, 1090002)
	res := readTrace(t, packets(
		fresh(1),
		times(10, uids, packedNumbers(100, 10, 0, 0, 7, 0, 8, 0)),
		times(20, uids, packedNumbers(0, 0, 5, 0, 2, 0, 3, 0)),
		times(30, packedNumbers(1000), packedNumbers(4, 0, 99)), // more times than uids
	))
	names := res.rows("track", "name")
	var apps, system, isolated []string
	for _, row := range res.tables["counter"] {
		track, _ := strconv.Atoi(row["track_id"])
		value := row["ts"] + " " + row["value"]
		switch names[track] {
		case "CPU for UID 10001 CL0":
			apps = append(apps, value)
		case "CPU for UID 1000 CL0":
			system = append(system, value)
		case "CPU for UID 1090000 CL0":
			isolated = append(isolated, value)
		}
	}
	// What does not change is written once, and again before it changes.
	want(t, "of the system", system, "10 100", "20 100", "30 104")
	want(t, "of an app", apps, "10 0", "20 5")
	want(t, "of isolated processes", isolated, "10 0", "20 5")
	want(t, "totals", res.rows("android_cpu_per_uid_track", "uid", "cluster", "total_cpu_millis"),
		"1000 0 4", "1000 1 0", "10001 0 5", "10001 1 0", "1090000 0 5", "1090000 1 0")
}

func TestJournald(t *testing.T) {
	line := message{}.num(1, 7).num(2, 8).num(3, 1000).num(5, 6).text(6, "cron").text(7, "it runs").text(8, "crond").text(10, "cron.service")
	res := readTrace(t, packets(
		packet(10).msg(fieldJournald, line), packet(20).msg(fieldJournald, message{}.text(7, "a kernel line")),
		packet(30).msg(fieldJournald, message{}.num(20, 2).num(21, 1)),
	))
	want(t, "lines", res.rows("android_logs", "ts", "utid", "prio", "tag", "msg", "log_source"),
		"10 2 6 cron it runs systemd_journald", "20  0  a kernel line systemd_journald")
	want(t, "args", res.args(res.tables["android_logs"][0]), "uid=1000", "comm=crond", "systemd_unit=cron.service")
	if total, failed := res.stats["systemd_journal_num_total"], res.stats["systemd_journal_num_failed"]; total != 2 || failed != 1 {
		t.Errorf("%d of %d failed", failed, total)
	}
}
