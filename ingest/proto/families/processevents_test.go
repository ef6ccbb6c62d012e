package families

import "testing"

func TestAndroidProcesses(t *testing.T) {
	start := func(pid int64) message {
		return message{}.num(1, 1_000_077).num(2, pid).text(3, "com.app").num(4, 12).num(7, 3).num(8, 99).num(10, 5).num(11, 6)
	}
	event := func(ts, kind int64, field int, m message) message {
		return packet(ts).msg(11, event(kind, 20).text(23, "e").msg(field, m))
	}
	res := readTrace(t, packets(
		packet(1).msg(60, threadTrack(20, 0, 1, 2, "t")),
		event(10, instant, fieldProcessStart, start(7)), event(20, instant, fieldProcessStart, start(7).num(10, 8)),
		event(30, begin, fieldProcessStart, message{}.num(1, 5)), // without a pid
		event(40, instant, fieldBinderDied, message{}.num(2, 99)),
		event(50, instant, fieldBinderDied, message{}.num(2, 7)),
	))
	want(t, "lives", res.rows("android_track_event_process", "upid", "start_seq_id", "package_uid", "caller_uid", "fw_start_ts", "fw_end_ts",
		"trigger_type", "hosting_type", "bind_application_delay_ms"), "2 8 6  10 50 99 HOSTING_TYPE_BACKUP 12")
	want(t, "process", res.rows("process", "pid", "name", "uid", "android_user_id", "end_ts")[2:], "7 com.app 1000077 10 50")
	if got := res.tables["slice"][0]["arg_set_id"]; got != "" {
		t.Errorf("args %s", got)
	}
}

func TestMissingChromeProcesses(t *testing.T) {
	const ms = 1_000_000
	list := func(ts int64, pids ...uint64) message {
		return packet(ts*ms).msg(11, event(instant, 20).msg(49, message{}.msg(1, packedNumbers(pids...))))
	}
	describe := func(ts, pid int64) message { return packet(ts*ms).msg(60, processTrack(100+pid, pid, "p")) }
	res := readTrace(t, packets(
		packet(1).msg(60, threadTrack(20, 0, 1, 2, "t")),
		// 5 is complete, 6 described late, 7 ends before the second list, 8 is never described.
		describe(900, 5), list(1000, 5, 6, 7, 8), describe(1300, 6), list(5000, 5, 8), describe(5200, 5),
	))
	want(t, "missing", res.rows("experimental_missing_chrome_processes", "upid", "reliable_from"), "3 1300000000", "4 5000000000", "5 ")
}
