package families

import "testing"

func TestV8Profile(t *testing.T) {
	chunk := func(id int64, data string) message {
		annotation := message{}.num(1, 1).text(9, data)
		return packet(500).msg(11, message{}.num(9, instant).text(23, "ProfileChunk").msg(4, annotation).msg(6, message{}.num(2, 'P').num(6, id)))
	}
	res := readTrace(t, packets(
		message{}.msg(6, message{}.msg(1, message{}.num(1, 6).num(2, 1_000_000)).msg(1, message{}.num(1, 3).num(2, 400_000))),
		fresh(1).msg(44, message{}.num(1, 7).num(2, 8)).msg(12, message{}.msg(internedAnnotationNames, intern(1, "data"))),
		chunk(5, `{"startTime":500}`),
		chunk(5, `{"cpuProfile":{"nodes":[{"id":1,"callFrame":{"functionName":"(root)"}},
			{"id":2,"parent":1,"callFrame":{"functionName":"f","url":"a.js"}}],"samples":[2,1,9]},"timeDeltas":[5,-1,10]}`),
		chunk(6, `{"cpuProfile":{"samples":[2]},"timeDeltas":[5]}`),
		chunk(5, `{"cpuProfile":`),
	))
	want(t, "samples", res.rows("stack_sample", "ts", "source", "utid", "upid", "callsite_id"),
		"1104000 legacy_v8 2 1 0", "1105000 legacy_v8 2 1 1")
	want(t, "frames", res.rows("stack_profile_frame", "name"), "(root)", "f")
	want(t, "symbols", res.rows("stack_profile_symbol", "name", "source_file"), "(root) ", "f a.js")
	want(t, "raw", res.rows("chrome_raw", "name"), "track_event.legacy_event", "track_event.legacy_event", "track_event.legacy_event", "track_event.legacy_event")
	// A node that is not known, a profile that never started, and broken JSON.
	if n := res.stats["legacy_v8_cpu_profile_invalid_sample"]; n != 3 {
		t.Errorf("%d bad samples", n)
	}
}
