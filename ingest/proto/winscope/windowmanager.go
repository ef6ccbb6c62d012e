package winscope

import (
	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/ingest/proto/message"
	"github.com/tpconvert/tpconvert/internal/perfetto/androidpb"
	"github.com/tpconvert/tpconvert/model"
)

var (
	windowsEntry = kind{"com.android.internal.WindowManagerTraceEntry", model.StatWinscopeWindowmanagerParseErrors}
	windowsRoot  = kind{"com.android.internal.RootWindowContainerProto", model.StatWinscopeWindowmanagerParseErrors}
	windowsChild = kind{"com.android.internal.WindowContainerChildProto", model.StatWinscopeWindowmanagerParseErrors}
)

// maxNesting limits how deep containers may be nested.
const maxNesting = 500

// windowManager reads snapshots of the tree of displays, tasks and windows.
type windowManager struct {
	dumper
	shapes *shapes
	still  transformID // of all areas, or None

	// The snapshot being read.
	row     int64
	state   *proto.State
	display int32 // that the next windows are on
	depth   int   // of the next window
}

func newWindowManager(r *proto.Reader) *windowManager {
	return &windowManager{dumper: newDumper(r), shapes: shapesOf.Of(r), still: model.None, display: -1}
}

// snapshot reads a WindowManagerTraceEntry.
func (m *windowManager) snapshot(ts int64, state *proto.State, data []byte) {
	t := &m.Store.Windowmanager
	m.row, m.state = t.Append(), state
	head := prune(data, outsideEntry)
	service := message.Bytes(data, androidpb.WindowManagerTraceEntry_WindowManagerService)
	t.TS.Set(m.row, ts)
	t.HasInvalidElapsedTS.Set(m.row, message.Uint64(data, androidpb.WindowManagerTraceEntry_ElapsedRealtimeNanos) == 0)
	t.FocusedDisplayID.Set(m.row, int64(message.Int32(service, androidpb.WindowManagerServiceDumpProto_FocusedDisplayID)))
	t.Base64ProtoID.Set(m.row, messageID(head))
	m.describe(m.row, &t.ArgSetID, state, &windowsEntry, head)

	root := message.Bytes(service, androidpb.WindowManagerServiceDumpProto_RootWindowContainer)
	c := readContainer(message.Bytes(root, androidpb.RootWindowContainerProto_WindowContainer))
	c.kind, c.data = "RootWindowContainer", root
	m.container(&c, nil, 0, 0)
}

// container is a node of the tree. Its fields are found in different places, depending on its kind.
type container struct {
	kind     string
	data     []byte // RootWindowContainerProto or WindowContainerChildProto
	title    []byte // nil if it is missing
	token    *int32 // nil if it is missing
	visible  bool
	name     string // to show in place of the title, or ""
	children []byte // WindowContainerProto that holds them
	area     *window
}

// window is what a container covers.
type window struct {
	place    rect
	visible  bool
	alpha    float64
	hasAlpha bool
}

// container stores a container and those in it. parent is nil for the root.
func (m *windowManager) container(c *container, parent *int32, index int64, nesting int) {
	if c.title == nil || c.token == nil || nesting > maxNesting {
		m.File.Count(model.StatWinscopeWindowmanagerParseErrors)
		return
	}
	t := &m.Store.WindowmanagerWindowcontainer
	row := t.Append()
	t.SnapshotID.Set(row, windowsID(m.row))
	t.Title.Set(row, m.Store.Strings.InternBytes(c.title))
	t.Token.Set(row, int64(*c.token))
	t.IsVisible.Set(row, c.visible)
	t.ContainerType.Set(row, m.Store.Strings.Intern(c.kind))
	if c.name != "" {
		t.NameOverride.Set(row, m.Store.Strings.Intern(c.name))
	}
	if c.area != nil {
		t.WindowRectID.Set(row, m.area(c.area))
	}
	k, outside := &windowsRoot, outsideRoot
	if parent != nil {
		t.ParentToken.Set(row, int64(*parent))
		t.ChildIndex.Set(row, index)
		k, outside = &windowsChild, outsideChild
	}
	data := prune(c.data, outside)
	t.Base64ProtoID.Set(row, messageID(data))
	m.describe(row, &t.ArgSetID, m.state, k, data)

	i := int64(0)
	for child := range message.Messages(c.children, androidpb.WindowContainerProto_Children) {
		next := m.child(child)
		m.container(&next, c.token, i, nesting+1)
		i++
	}
}

// area stores what a container covers.
func (m *windowManager) area(w *window) areaID {
	if m.still == model.None {
		// Not the identity, but what Trace Processor stores.
		m.still = m.shapes.newTransform(transform{dsdx: 1, dtdy: 1})
	}
	id := m.shapes.add(area{place: m.shapes.newRect(w.place), transform: m.still,
		group: uint32(m.display), depth: m.depth, visible: w.visible})
	if w.hasAlpha {
		m.Store.WinscopeTraceRect.Opacity.Set(int64(id), w.alpha)
	}
	m.depth++
	return id
}

// child reads a WindowContainerChildProto.
func (m *windowManager) child(data []byte) container {
	for _, k := range childKinds {
		if message.Has(data, k.field) {
			c := k.read(m, message.Bytes(data, k.field))
			c.kind, c.data = k.name, data
			return c
		}
	}
	return container{}
}

var childKinds = []struct {
	field uint32
	name  string
	read  func(m *windowManager, data []byte) container
}{
	{androidpb.WindowContainerChildProto_WindowContainer, "WindowContainer", func(_ *windowManager, data []byte) container { return readContainer(data) }},
	{androidpb.WindowContainerChildProto_DisplayContent, "DisplayContent", (*windowManager).readDisplayContent},
	{androidpb.WindowContainerChildProto_DisplayArea, "DisplayArea", readDisplayArea},
	{androidpb.WindowContainerChildProto_Task, "Task", readTask},
	{androidpb.WindowContainerChildProto_Activity, "Activity", readActivity},
	{androidpb.WindowContainerChildProto_WindowToken, "WindowToken", readWindowToken},
	{androidpb.WindowContainerChildProto_Window, "WindowState", readWindow},
	{androidpb.WindowContainerChildProto_TaskFragment, "TaskFragment", readTaskFragment},
}
