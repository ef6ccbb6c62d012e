package winscope

import (
	"fmt"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/tpconvert/tpconvert/ingest/proto/message"
	"github.com/tpconvert/tpconvert/internal/perfetto/androidpb"
	"github.com/tpconvert/tpconvert/internal/wire"
)

// readContainer reads what all containers have, from a WindowContainerProto.
func readContainer(data []byte) container {
	identifier := message.Bytes(data, androidpb.WindowContainerProto_Identifier)
	return container{
		title:    message.Bytes(identifier, androidpb.IdentifierProto_Title),
		token:    token(identifier, androidpb.IdentifierProto_HashCode),
		visible:  message.Has(data, androidpb.WindowContainerProto_Visible) && message.Int32(data, androidpb.WindowContainerProto_Visible) != 0,
		children: data,
	}
}

// token returns a number, or nil if it is missing.
func token(data []byte, field uint32) *int32 {
	f, ok := wire.Find(data, field)
	if !ok {
		return nil
	}
	v := f.Int32()
	return &v
}

func (m *windowManager) readDisplayContent(data []byte) container {
	root := message.Bytes(data, androidpb.DisplayContentProto_RootDisplayArea)
	c := readContainer(message.Bytes(root, androidpb.DisplayAreaProto_WindowContainer))
	info := message.Bytes(data, androidpb.DisplayContentProto_DisplayInfo)
	c.title = message.Bytes(info, androidpb.DisplayInfoProto_Name)
	c.area = &window{place: rect{w: float64(message.Int32(info, androidpb.DisplayInfoProto_LogicalWidth)),
		h: float64(message.Int32(info, androidpb.DisplayInfoProto_LogicalHeight))}}
	m.display, m.depth = message.Int32(data, androidpb.DisplayContentProto_ID), 0
	return c
}

func readDisplayArea(_ *windowManager, data []byte) container {
	c := readContainer(message.Bytes(data, androidpb.DisplayAreaProto_WindowContainer))
	c.title = message.Bytes(data, androidpb.DisplayAreaProto_Name)
	return c
}

// readTask reads a task, whose fields may be in its task fragment.
func readTask(_ *windowManager, data []byte) container {
	own := message.Bytes(data, androidpb.TaskProto_WindowContainer)
	c := readContainer(own)
	fragment := message.Bytes(data, androidpb.TaskProto_TaskFragment)
	if inner, ok := wire.Find(fragment, androidpb.TaskFragmentProto_WindowContainer); ok {
		c = readContainer(inner.Bytes())
		if !message.Has(inner.Bytes(), androidpb.WindowContainerProto_Children) {
			c.children = own
		}
	}
	if id, ok := wire.Find(data, androidpb.TaskProto_ID); ok {
		c.name = strconv.Itoa(int(id.Int32()))
		if name := message.Bytes(data, androidpb.TaskProto_TaskName); len(name) > 0 {
			c.name += "(" + string(name) + ")"
		}
	}
	return c
}

func readActivity(_ *windowManager, data []byte) container {
	window := message.Bytes(data, androidpb.ActivityRecordProto_WindowToken)
	c := readContainer(message.Bytes(window, androidpb.WindowTokenProto_WindowContainer))
	c.title = message.Bytes(data, androidpb.ActivityRecordProto_Name)
	c.token = token(window, androidpb.WindowTokenProto_HashCode)
	c.visible = message.Uint64(data, androidpb.ActivityRecordProto_Visible) != 0
	return c
}

func readWindowToken(_ *windowManager, data []byte) container {
	c := readContainer(message.Bytes(data, androidpb.WindowTokenProto_WindowContainer))
	c.title = nil
	if c.token = token(data, androidpb.WindowTokenProto_HashCode); c.token != nil {
		c.title = fmt.Appendf(nil, "0x%02x", uint32(*c.token))
	}
	return c
}

func readWindow(_ *windowManager, data []byte) container {
	c := readContainer(message.Bytes(data, androidpb.WindowStateProto_WindowContainer))
	c.visible = message.Uint64(data, androidpb.WindowStateProto_IsVisible) != 0
	frames := message.Bytes(data, androidpb.WindowStateProto_WindowFrames)
	attributes := message.Bytes(data, androidpb.WindowStateProto_Attributes)
	c.area = &window{place: readRect(message.Bytes(frames, androidpb.WindowFramesProto_Frame)), visible: c.visible,
		alpha: message.Float64(attributes, androidpb.WindowLayoutParamsProto_Alpha), hasAlpha: true}
	for _, prefix := range []string{"Starting ", "Waiting For Debugger: "} {
		if name, ok := strings.CutPrefix(string(c.title), prefix); ok {
			c.name = name
			break
		}
	}
	return c
}

func readTaskFragment(_ *windowManager, data []byte) container {
	return readContainer(message.Bytes(data, androidpb.TaskFragmentProto_WindowContainer))
}

// outside names fields that are not part of a container's own message. Those without an entry are.
type outside map[uint32]outside

var (
	outsideContainer = outside{androidpb.WindowContainerProto_Children: nil}
	outsideArea      = outside{androidpb.DisplayAreaProto_WindowContainer: outsideContainer}
	outsideToken     = outside{androidpb.WindowTokenProto_WindowContainer: outsideContainer}
	outsideFragment  = outside{androidpb.TaskFragmentProto_WindowContainer: outsideContainer}
	outsideRoot      = outside{androidpb.RootWindowContainerProto_WindowContainer: outsideContainer}
	outsideEntry     = outside{androidpb.WindowManagerTraceEntry_WindowManagerService: {
		androidpb.WindowManagerServiceDumpProto_RootWindowContainer: nil}}
	outsideChild = outside{
		androidpb.WindowContainerChildProto_WindowContainer: outsideContainer,
		androidpb.WindowContainerChildProto_DisplayContent:  {androidpb.DisplayContentProto_RootDisplayArea: outsideArea},
		androidpb.WindowContainerChildProto_DisplayArea:     outsideArea,
		androidpb.WindowContainerChildProto_Task: {
			androidpb.TaskProto_WindowContainer: outsideContainer, androidpb.TaskProto_TaskFragment: outsideFragment},
		androidpb.WindowContainerChildProto_Activity:     {androidpb.ActivityRecordProto_WindowToken: outsideToken},
		androidpb.WindowContainerChildProto_WindowToken:  outsideToken,
		androidpb.WindowContainerChildProto_Window:       {androidpb.WindowStateProto_WindowContainer: outsideContainer},
		androidpb.WindowContainerChildProto_TaskFragment: outsideFragment,
		androidpb.WindowContainerChildProto_Token:        nil,
	}
)

// prune returns a message without the fields outside of it.
func prune(data []byte, o outside) []byte { return appendPruned(nil, data, o) }

func appendPruned(to, data []byte, o outside) []byte {
	for len(data) > 0 {
		number, kind, head := protowire.ConsumeTag(data)
		if head < 0 {
			break
		}
		size := protowire.ConsumeFieldValue(number, kind, data[head:])
		if size < 0 {
			break
		}
		inner, named := o[uint32(number)]
		switch {
		case !named:
			to = append(to, data[:head+size]...)
		case inner != nil && kind == protowire.BytesType:
			value, _ := protowire.ConsumeBytes(data[head:])
			to = protowire.AppendTag(to, number, kind)
			to = protowire.AppendBytes(to, prune(value, inner))
		}
		data = data[head+size:]
	}
	return to
}
