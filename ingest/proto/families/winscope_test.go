package families

import "testing"

// extension returns a packet with an extension of WinscopeExtensions.
func extension(ts int64, field int, m message) message {
	return packet(ts).msg(112, message{}.msg(field, m))
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
