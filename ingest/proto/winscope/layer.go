package winscope

import (
	"github.com/tpconvert/tpconvert/ingest/proto/message"
	"github.com/tpconvert/tpconvert/internal/perfetto/androidpb"
	"github.com/tpconvert/tpconvert/internal/wire"
)

// layer is a LayerProto, decoded. Messages that are missing are nil.
type layer struct {
	data                 []byte
	name                 []byte
	id, parent, z        int32
	hasID, hasParent     bool
	above                int32 // layer relative to which it is stacked
	isRelative           bool  // above is set
	stack, flags         uint32
	composition          int32
	composed             bool // composition is set
	opaque               bool
	color                *color
	bounds, screenBounds *rect
	visibleRegion        []byte
	input                []byte // InputWindowInfoProto
	border               []byte // BorderSettings
	hasBuffer            bool   // and the buffer is not empty
	shadow               float64
	blur                 int32
	radii                radii
	transform            transform
	transformType        int32
}

// color is a ColorProto, decoded.
type color struct {
	r, g, b, a float64
	hasAlpha   bool
}

func (c *color) valid() bool { return c.r >= 0 && c.g >= 0 && c.b >= 0 }

// readLayer decodes a LayerProto.
func readLayer(data []byte) layer {
	l := layer{data: data}
	var corner float64
	var corners, effective radii
	var position, placed []byte
	for f := wire.Read(data); f.Next(); {
		switch f.Number {
		case androidpb.LayerProto_ID:
			l.id, l.hasID = f.Int32(), true
		case androidpb.LayerProto_Name:
			l.name = f.Bytes()
		case androidpb.LayerProto_VisibleRegion:
			l.visibleRegion = f.Bytes()
		case androidpb.LayerProto_LayerStack:
			l.stack = f.Uint32()
		case androidpb.LayerProto_Z:
			l.z = f.Int32()
		case androidpb.LayerProto_Position:
			position = f.Bytes()
		case androidpb.LayerProto_IsOpaque:
			l.opaque = f.Bool()
		case androidpb.LayerProto_Color:
			l.color = readColor(f.Bytes())
		case androidpb.LayerProto_Flags:
			l.flags = f.Uint32()
		case androidpb.LayerProto_Transform:
			placed = f.Bytes()
		case androidpb.LayerProto_Parent:
			l.parent, l.hasParent = f.Int32(), true
		case androidpb.LayerProto_ZOrderRelativeOf:
			l.above, l.isRelative = f.Int32(), true
		case androidpb.LayerProto_ActiveBuffer:
			l.hasBuffer = !emptyBuffer(f.Bytes())
		case androidpb.LayerProto_HWCCompositionType:
			l.composition, l.composed = f.Int32(), true
		case androidpb.LayerProto_Bounds:
			r := readRect(f.Bytes())
			l.bounds = &r
		case androidpb.LayerProto_ScreenBounds:
			r := readRect(f.Bytes())
			l.screenBounds = &r
		case androidpb.LayerProto_InputWindowInfo:
			l.input = f.Bytes()
		case androidpb.LayerProto_ShadowRadius:
			l.shadow = f.Float64()
		case androidpb.LayerProto_BackgroundBlurRadius:
			l.blur = f.Int32()
		case androidpb.LayerProto_CornerRadius:
			corner = f.Float64()
		case androidpb.LayerProto_CornerRadii:
			corners = readRadii(f.Bytes())
		case androidpb.LayerProto_EffectiveRadii:
			effective = readRadii(f.Bytes())
		case androidpb.LayerProto_BorderSettings:
			l.border = f.Bytes()
		}
	}
	if corners.tl <= 0 && corners.tr <= 0 && corners.bl <= 0 && corners.br <= 0 {
		corners = radii{corner, corner, corner, corner}
	}
	l.radii = radii{corners.tl + effective.tl, corners.tr + effective.tr, corners.bl + effective.bl, corners.br + effective.br}
	l.transform, l.transformType = readPlace(position, placed)
	return l
}

func readColor(data []byte) *color {
	return &color{
		r: message.Float64(data, androidpb.ColorProto_R), g: message.Float64(data, androidpb.ColorProto_G),
		b: message.Float64(data, androidpb.ColorProto_B), a: message.Float64(data, androidpb.ColorProto_A),
		hasAlpha: message.Has(data, androidpb.ColorProto_A),
	}
}

func readRadii(data []byte) radii {
	return radii{message.Float64(data, androidpb.CornerRadiiProto_Tl), message.Float64(data, androidpb.CornerRadiiProto_Tr),
		message.Float64(data, androidpb.CornerRadiiProto_Bl), message.Float64(data, androidpb.CornerRadiiProto_Br)}
}

// emptyBuffer reports whether an ActiveBufferProto has no size.
func emptyBuffer(data []byte) bool {
	return message.Int32(data, androidpb.ActiveBufferProto_Format) <= 0 && message.Uint32(data, androidpb.ActiveBufferProto_Height) == 0 &&
		message.Uint32(data, androidpb.ActiveBufferProto_Stride) == 0 && message.Uint32(data, androidpb.ActiveBufferProto_Width) == 0
}

// Bits of the type of a transform.
const (
	scales     = 0x4
	flipsH     = 0x100
	flipsV     = 0x200
	rotates    = 0x400 // by 90 degrees
	notAligned = 0x8000
	rotates180 = flipsH | flipsV
	rotates270 = rotates | rotates180
)

func allSet(bits int32, wanted int32) bool { return bits&wanted == wanted }

// readPlace reads the position of a layer and its TransformProto, each of which may be missing.
func readPlace(position, data []byte) (t transform, kind int32) {
	t = shift(message.Float64(position, androidpb.PositionProto_X), message.Float64(position, androidpb.PositionProto_Y))
	kind = message.Int32(data, androidpb.TransformProto_Type)
	switch {
	case data == nil:
	case kind&(notAligned|scales) == 0:
		t = turned(kind, t.tx, t.ty)
	default:
		// A layer's terms have their names in another order than those of a display.
		t.dsdx = message.Float64(data, androidpb.TransformProto_Dsdx)
		t.dtdx = message.Float64(data, androidpb.TransformProto_Dsdy)
		t.dsdy = message.Float64(data, androidpb.TransformProto_Dtdy)
		t.dtdy = message.Float64(data, androidpb.TransformProto_Dtdx)
	}
	return t, kind
}

// turned returns a shift with the rotation of a type.
func turned(kind int32, x, y float64) transform {
	t := shift(x, y)
	switch {
	case allSet(kind, rotates270):
		t.dsdx, t.dtdx, t.dtdy, t.dsdy = 0, -1, 1, 0
	case allSet(kind, rotates180):
		t.dsdx, t.dsdy = -1, -1
	case allSet(kind, rotates):
		t.dsdx, t.dtdx, t.dtdy, t.dsdy = 0, 1, -1, 0
	}
	return t
}

const (
	hiddenFlag    = 1
	offscreenRoot = 0x7ffffffd // id of the layer above all that are not on a screen
)

// hidden reports whether the layer itself is hidden.
func (l *layer) hidden() bool { return l.flags&hiddenFlag != 0 || l.id == offscreenRoot }

// root reports whether the layer is at the root of the tree.
func (l *layer) root() bool { return !l.hasParent || l.parent == -1 }

// onScreen returns what a layer with screen bounds covers of a display.
func (l *layer) onScreen(display rect) rounded {
	r := rounded{*l.screenBounds, l.radii}
	if !display.empty() {
		r.rect = r.crop(display)
	}
	return r
}

// size returns the layer's bounds, which are empty if they are missing.
func (l *layer) size() rect {
	if l.bounds == nil {
		return rect{}
	}
	return *l.bounds
}

// display is a DisplayProto, decoded.
type display struct {
	id        uint64
	name      []byte
	stack     uint32
	virtual   bool
	area      rect // of its layer stack
	hasArea   bool
	w, h      float64
	transform transform
}

// offStack is the layer stack of a display that is off.
const offStack = 1<<32 - 1

func readDisplay(data []byte) display {
	area, hasArea := wire.Find(data, androidpb.DisplayProto_LayerStackSpaceRect)
	size := message.Bytes(data, androidpb.DisplayProto_Size)
	d := display{
		id:      message.Uint64(data, androidpb.DisplayProto_ID),
		name:    message.Bytes(data, androidpb.DisplayProto_Name),
		stack:   message.Uint32(data, androidpb.DisplayProto_LayerStack),
		virtual: message.Uint64(data, androidpb.DisplayProto_IsVirtual) != 0,
		area:    readRect(area.Bytes()), hasArea: hasArea,
		w:         float64(message.Int32(size, androidpb.SizeProto_W)),
		h:         float64(message.Int32(size, androidpb.SizeProto_H)),
		transform: shift(0, 0),
	}
	if t, ok := wire.Find(data, androidpb.DisplayProto_Transform); ok {
		d.setTransform(t.Bytes())
	}
	return d
}

// setTransform reads a TransformProto.
func (d *display) setTransform(data []byte) {
	f, typed := wire.Find(data, androidpb.TransformProto_Type)
	kind := f.Int32()
	if allSet(kind, rotates) {
		d.w, d.h = d.h, d.w
	}
	if kind&(notAligned|scales) == 0 {
		d.transform = turned(kind, 0, 0)
	} else {
		d.transform.dsdx = message.Float64(data, androidpb.TransformProto_Dsdx)
		d.transform.dtdx = message.Float64(data, androidpb.TransformProto_Dtdx)
		d.transform.dsdy = message.Float64(data, androidpb.TransformProto_Dsdy)
		d.transform.dtdy = message.Float64(data, androidpb.TransformProto_Dtdy)
	}
	switch {
	case !typed || !d.hasArea:
	case allSet(kind, rotates180): // or by 270 degrees
		d.transform.tx, d.transform.ty = d.area.w, d.area.h
	case allSet(kind, rotates):
		d.transform.ty = d.area.h
	}
}
