package families

import "testing"

// symbolTrace has an event with a call stack and one with a Mojo method, both at
// addresses in a library whose build id is not text.
func symbolTrace(symbols ...message) message {
	const buildID = "\xff\x01\x80"
	interned := message{}.
		msg(internedMappingPaths, intern(1, "lib")).msg(internedBuildIDs, intern(1, buildID)).
		msg(internedMappings, message{}.num(1, 1).num(2, 1).num(7, 1)).
		msg(internedFunctionNames, intern(1, "raw")).
		msg(internedFrames, message{}.num(1, 1).num(2, 1).num(3, 1).num(4, 16)).
		msg(internedCallstacks, message{}.num(1, 1).num(2, 1)).
		msg(internedUnsymbolized, message{}.num(1, 1).num(2, 1).num(3, 32))
	mojo := message{}.num(4, 1)
	trace := packets(
		fresh(1).msg(60, threadTrack(20, 0, 1, 2, "t")).msg(12, interned),
		packet(10).msg(11, event(instant, 20).num(56, 1)),
		packet(20).msg(11, event(instant, 20).msg(38, mojo)),
		packet(30).msg(11, event(instant, 20).msg(38, mojo.text(3, "given"))),
	)
	module := message{}.text(1, "/lib").text(2, buildID)
	for _, s := range symbols {
		module = module.msg(3, s)
	}
	return append(trace, packets(message{}.msg(fieldModuleSymbols, module))...)
}

func TestSymbols(t *testing.T) {
	line := func(function, file string, number int64) message {
		return message{}.text(1, function).text(2, file).num(3, number)
	}
	method := "space::Interface::Method_Sym::IPCStableHash()"
	res := readTrace(t, symbolTrace(
		message{}.num(1, 16).msg(2, line("inlined", "a.h", 3)).msg(2, line("outer", "", 4)),
		message{}.num(1, 32).msg(2, line(method, "b.h", 1)),
	))
	want(t, "mappings", res.rows("stack_profile_mapping", "name", "build_id"), "/lib ff0180")
	want(t, "frames", res.rows("stack_profile_frame", "name", "rel_pc", "symbol_set_id"), "raw 16 0")
	want(t, "symbols", res.rows("stack_profile_symbol", "name", "source_file", "line_number"), "inlined a.h 3", "outer  ", "space::Interface::Method_Sym::IPCStableHash() b.h 1")
	slices := res.tables["slice"]
	want(t, "method", res.args(slices[1]), "chrome_mojo_event_info.mojo_method_name=space::Interface::Method",
		"chrome_mojo_event_info.mojo_interface_tag=space.Interface")
	want(t, "method with a tag", res.args(slices[2]), "chrome_mojo_event_info.mojo_method_name=space::Interface::Method",
		"chrome_mojo_event_info.mojo_interface_tag=given")
	if n := res.stats["invalid_utf8"]; n != 0 {
		t.Errorf("%d texts repaired", n)
	}
}

func TestNoSymbols(t *testing.T) {
	res := readTrace(t, symbolTrace(message{}.num(1, 33).msg(2, message{}.text(1, "elsewhere"))))
	want(t, "frames", res.rows("stack_profile_frame", "name", "symbol_set_id"), "raw ")
	want(t, "symbols", res.rows("stack_profile_symbol", "name"), "elsewhere")
	if n := res.stats["stackprofile_invalid_frame_id"]; n != 1 {
		t.Errorf("%d symbols without a frame", n)
	}
	want(t, "method", res.args(res.tables["slice"][1]), "chrome_mojo_event_info.mojo_interface_method.native_symbol.mapping_id=0",
		"chrome_mojo_event_info.mojo_interface_method.native_symbol.rel_pc=32")
}
