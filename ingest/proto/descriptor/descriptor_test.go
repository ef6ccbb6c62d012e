package descriptor

import (
	"slices"
	"testing"
)

func TestBuiltin(t *testing.T) {
	p := New()
	event := p.Message("perfetto.protos.TrackEvent")
	if f := event.Field(9); f.Name != "type" || f.Type != Enum || f.TypeName != "perfetto.protos.TrackEvent.Type" || f.Repeated {
		t.Errorf("type: %+v", f)
	}
	if f := event.Field(1028); f == nil || f.Name != "render_frame_host" || !f.Extension {
		t.Errorf("an extension: %+v", f)
	}
	if name := p.Enum("perfetto.protos.TrackEvent.Type").Name(4); name != "TYPE_COUNTER" {
		t.Errorf("value 4 is %q", name)
	}
	broadcast := p.Message("com.android.internal.AndroidBroadcastEvent")
	var pids, flags []string
	for n := range uint32(30) {
		if f := broadcast.Field(n); f != nil && f.PID {
			pids = append(pids, f.Name)
		} else if f != nil && f.Flags != "" {
			flags = append(flags, f.Name+" "+f.Flags)
		}
	}
	if !slices.Equal(pids, []string{"receiver_pid", "sender_pid"}) || len(flags) != 2 {
		t.Errorf("pids %q, flags %q", pids, flags)
	}
	names, rest := p.Enum("com.android.internal.BroadcastType").Flags(1 | 2 | 1<<40)
	if !slices.Equal(names, []string{"BROADCAST_TYPE_BACKGROUND", "BROADCAST_TYPE_FOREGROUND"}) || rest != 1<<40 {
		t.Errorf("flags %q and %x", names, rest)
	}
	if p.Message("perfetto.protos.None") != nil || p.Enum("perfetto.protos.TrackEvent") != nil {
		t.Error("types that do not exist were found")
	}
}

func field(b []byte, number byte, value ...byte) []byte {
	return append(append(b, number<<3|2, byte(len(value))), value...)
}

func TestAdd(t *testing.T) {
	text := func(s string) []byte { return []byte(s) }
	number := append(field(field(nil, 1, text("depth")...), 6, text("Depth")...), 3<<3, 7, 5<<3, 14)
	value := append(field(nil, 1, text("DEEP")...), 2<<3, 1)
	enum := field(field(nil, 1, text("Depth")...), 2, value...)
	message := field(field(field(nil, 1, text("Dive")...), 2, number...), 4, enum...)
	ext := append(field(field(field(nil, 1, text("dive")...), 2, text(".perfetto.protos.TrackEvent")...), 6, text(".sea.Dive")...),
		3<<3, 0x8c, 0x4e, 5<<3, 11) // number 9996
	file := field(field(field(nil, 2, text("sea")...), 4, message...), 7, ext...)
	p := New()
	if err := p.Add(field(nil, 1, file...)); err != nil {
		t.Fatal(err)
	}
	if f := p.Message("perfetto.protos.TrackEvent").Field(9996); f == nil || f.TypeName != "sea.Dive" || !f.Extension {
		t.Errorf("the extension is %+v", f)
	}
	f := p.Message("sea.Dive").Field(7)
	if f == nil || f.TypeName != "sea.Dive.Depth" || p.Enum(f.TypeName).Name(1) != "DEEP" {
		t.Errorf("the field is %+v", f)
	}
	if err := New().Add(field(nil, 1, field(nil, 7, field(nil, 2, text(".no.Such")...)...)...)); err == nil {
		t.Error("an extension of an unknown message was accepted")
	}
	if err := New().Add([]byte{0x0a, 9}); err == nil {
		t.Error("a cut set was accepted")
	}
}

func TestText(t *testing.T) {
	path := "a\n\x01\""
	buffer := append([]byte{1 << 3}, 0x80, 0x08, 4<<3, 2) // 1024 KB, DISCARD
	config := append(field(nil, 1, buffer...), 3<<3, 5, 4<<3, 1)
	config = append(config, 0xea, 0x01, byte(len(path)))          // field 29
	config = append(append(config, path...), 0xf8, 0xff, 0x03, 7) // field 8191 is unknown
	want := "buffers {\n  size_kb: 1024\n  fill_policy: DISCARD\n}\nduration_ms: 5\nenable_extra_guardrails: true\n" +
		`output_path: "a\n\001\""` + "\n8191: 7"
	if got := New().Text("perfetto.protos.TraceConfig", config); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
