package families

import "testing"

// extension returns a packet with an extension of WinscopeExtensions.
func extension(ts int64, field int, m message) message {
	return packet(ts).msg(112, message{}.msg(field, m))
}

// winscopeTrace has a packet of each kind that Winscope shows.
func winscopeTrace() message {
	texts := message{}.msg(38, intern(1, "com.app")).msg(41, intern(1, "View")).msg(36, intern(1, "text"))
	view := message{}.num(1, 3).num(2, -1).num(5, 1).num(6, 10).num(8, 10).num(9, 20)
	layer := message{}.num(1, 2).num(25, -1).num(26, 0).msg(20, message{}.num(4, 1)).msg(47, message{}.num(17, 8))
	window := message{}.msg(6, message{}.num(1, 7).text(3, "window"))
	change := message{}.num(1, 5).num(2, 3)
	return packets(
		fresh(1).msg(12, texts),
		extension(10, 1, message{}.text(2, "clients")), extension(11, 2, message{}.text(2, "service")), extension(12, 3, message{}.text(2, "manager")),
		extension(13, 4, message{}.num(1, 1).msg(3, view)).num(13, 2),
		extension(14, 5, message{}.msg(1, message{}.num(2, 9))), extension(15, 5, message{}.msg(3, message{}.num(8, 9))), extension(16, 5, message{}.msg(5, message{}.num(2, 9))),
		extension(17, 6, message{}.msg(3, message{}.msg(2, message{}.msg(1, window.msg(5, message{}.msg(2, window)))))),
		packet(18).msg(93, message{}.msg(7, message{}.num(1, 1)).msg(3, message{}.msg(1, layer))),
		packet(19).msg(94, message{}.msg(3, message{}.num(6, 1).msg(7, change).msg(8, change)).msg(4, change).num(5, 1).msg(6, change)),
		packet(20).msg(97, message{}.msg(1, message{}.num(1, 1).text(2, "handler"))), packet(21).msg(96, message{}.num(1, 1).num(3, 5).msg(14, message{}.num(2, 3))),
		packet(22).msg(105, message{}.msg(2, message{}.num(1, 1).text(3, "group")).msg(1, message{}.fixed64(1, 1).text(2, "%s %d").num(4, 1))),
		packet(23).num(13, 2).msg(104, message{}.fixed64(1, 1).num(2, 1).num(3, 1)),
	)
}

func TestWinscope(t *testing.T) {
	res := readTrace(t, winscopeTrace())
	for table, n := range map[string]int{
		"inputmethod_clients": 1, "inputmethod_service": 1, "inputmethod_manager_service": 1, "viewcapture": 1, "viewcapture_view": 1,
		"android_motion_events": 1, "android_key_events": 1, "android_input_event_dispatch": 1, "windowmanager": 1, "windowmanager_windowcontainer": 2,
		"surfaceflinger_layers_snapshot": 1, "surfaceflinger_display": 1, "surfaceflinger_layer": 1, "surfaceflinger_transactions": 1,
		"surfaceflinger_transaction": 5, "surfaceflinger_transaction_flag": 4, "window_manager_shell_transitions": 1, "window_manager_shell_transition_handlers": 1,
		"window_manager_shell_transition_participants": 1, "window_manager_shell_transition_protos": 1, "protolog": 1,
	} {
		if got := len(res.tables[table]); got != n {
			t.Errorf("%s has %d rows, want %d", table, got, n)
		}
	}
	want(t, "line", res.rows("protolog", "ts", "tag", "message"), "23 group text -1")
	want(t, "view", res.rows("viewcapture_view", "class_name"), "View")
}

// TestCircularLayers reads layers whose parents form a circle, and layers with the same id.
func TestCircularLayers(t *testing.T) {
	layer := func(id, parent int64, name string) message {
		color := message{}.num(4, 0)
		return message{}.num(1, id).num(25, parent).text(2, name).msg(20, color)
	}
	layers := message{}.msg(1, layer(1, -1, "root")).msg(1, layer(2, 3, "a")).msg(1, layer(3, 2, "b")).
		msg(1, layer(1, 1, "again")).msg(1, layer(4, 4, "itself")).msg(1, layer(5, 77, "lost").num(22, 1))
	res := readTrace(t, packets(packet(10).msg(93, message{}.msg(3, layers))))
	want(t, "layers", res.rows("surfaceflinger_layer", "layer_id", "parent", "layer_name", "is_visible", "is_hidden_by_policy"),
		"1 -1 root false false", "2 3 a false false", "3 2 b false false",
		"1 1 again false false", "4 4 itself false false", "5 77 lost false true")
}

// TestManyLayers reads a snapshot with more layers than can be compared with each other.
func TestManyLayers(t *testing.T) {
	var layers message
	for id := range int64(4100) {
		layers = layers.msg(1, message{}.num(1, id+1).num(25, -1))
	}
	res := readTrace(t, packets(packet(10).msg(93, message{}.msg(3, layers))))
	if rows, errors := len(res.tables["surfaceflinger_layer"]), res.stats["winscope_sf_layers_parse_errors"]; rows != 4096 || errors != 4 {
		t.Errorf("%d layers, %d errors", rows, errors)
	}
}

// TestNestedWindows reads containers that are nested deeper than any window is.
func TestNestedWindows(t *testing.T) {
	container := func(inside message) message {
		return inside.msg(6, message{}.num(1, 7).text(3, "nested"))
	}
	tree := container(nil)
	for range 600 {
		tree = container(message{}.msg(5, message{}.msg(2, tree)))
	}
	res := readTrace(t, packets(extension(10, 6, message{}.msg(3, message{}.msg(2, message{}.msg(1, tree))))))
	if n := len(res.tables["windowmanager_windowcontainer"]); n != 501 {
		t.Errorf("%d containers", n)
	}
	if n := res.stats["winscope_windowmanager_parse_errors"]; n != 1 {
		t.Errorf("%d errors", n)
	}
}

// TestDamagedViews reads views that are cut off, and views that are in each other.
func TestDamagedViews(t *testing.T) {
	view := func(id, parent int64) message { return message{}.num(1, id).num(2, parent).num(8, 10).num(9, 10) }
	views := message{}.msg(3, view(1, 2)).msg(3, view(2, 1)).msg(3, view(3, -1)).msg(3, view(3, 3))
	whole := readTrace(t, packets(extension(10, 4, views)))
	want(t, "views", whole.rows("viewcapture_view", "node_id", "is_visible", "trace_rect_id"), "1 true 1", "2 true 2", "3 true 0", "3 true 0")
	want(t, "areas", whole.rows("winscope_trace_rect", "depth"), "0", "0", "4")
	for n := range views {
		cut := readTrace(t, packets(extension(10, 4, views[:n])))
		if got := len(cut.tables["viewcapture"]); got != 1 {
			t.Fatalf("%d snapshots of %d bytes", got, n)
		}
	}
}
