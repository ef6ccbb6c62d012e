package winscope

import (
	"slices"

	"github.com/tpconvert/tpconvert/ingest/proto/message"
	"github.com/tpconvert/tpconvert/internal/perfetto/androidpb"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
)

// layerAreas are the ids of the areas in which a layer is drawn and accepts input, or None.
type layerAreas struct{ bounds, input areaID }

// Bits of an input window's configuration.
const (
	notTouchable = 1 << 3
	wallpaper    = 1 << 6
	spy          = 1 << 14
)

// boundless are the bounds of layers that are not limited.
var boundless = edges(-50000, -50000, 50000, 50000)

// canvas is where areas are laid out, from the lowest up.
type canvas struct {
	depths   map[uint32]int // next depth of each layer stack
	displays map[uint32]*display
	limits   []rect // bounds far outside of the displays, as layers that are not limited have them
}

func newCanvas(s *scene) *canvas {
	c := &canvas{depths: map[uint32]int{}, displays: map[uint32]*display{}}
	var w, h float64
	for i := range s.displays {
		d := &s.displays[i]
		c.depths[d.stack], c.displays[d.stack] = 1, d
		c.addLimits(d.w, d.h)
		w, h = max(w, d.w), max(h, d.h)
	}
	if len(s.displays) > 0 {
		c.addLimits(w, h)
	}
	return c
}

func (c *canvas) addLimits(w, h float64) {
	x, y := w*10, h*10
	c.limits = append(c.limits, edges(-x, -y, x, y), edges(-y, -x, y, x))
}

func (c *canvas) unlimited(r rect) bool { return slices.ContainsFunc(c.limits, r.near) }

// depth returns the depth of the next area in a layer stack.
func (c *canvas) depth(stack uint32) int {
	c.depths[stack]++
	return c.depths[stack] - 1
}

// areas stores the areas of the stacked layers and returns them by layer.
func (l *layers) areas(s *scene) map[int32]layerAreas {
	drawn, touched := newCanvas(s), newCanvas(s)
	areas := map[int32]layerAreas{}
	for _, one := range s.stacked {
		visible := s.sights[one.id].visible
		areas[one.id] = layerAreas{bounds: l.boundsArea(one, visible, drawn), input: l.inputArea(one, visible, touched)}
	}
	return areas
}

// boundsArea stores where a layer is drawn.
func (l *layers) boundsArea(one *layer, visible bool, c *canvas) areaID {
	if one.screenBounds == nil || !visible && (c.unlimited(*one.screenBounds) || one.screenBounds.near(boundless)) {
		return model.None
	}
	id := l.shapes.add(area{place: l.shapes.rect(one.size()), transform: l.shapes.transform(one.transform),
		group: one.stack, depth: c.depth(one.stack), visible: visible})
	t, row := &l.Store.WinscopeTraceRect, int64(id)
	switch {
	case one.color != nil && one.color.hasAlpha:
		t.Opacity.Set(row, one.color.a)
	case visible:
		t.Opacity.Set(row, 0)
	}
	if width := message.Float64(one.border, androidpb.BorderSettings_StrokeWidth); width > 0 {
		t.BorderWidth.Set(row, width)
		t.BorderColor.Set(row, unsigned(message.Int32(one.border, androidpb.BorderSettings_Color)))
	}
	return id
}

// inputArea stores where a layer accepts input.
func (l *layers) inputArea(one *layer, visible bool, c *canvas) areaID {
	if one.input == nil {
		return model.None
	}
	d := c.displays[one.stack]
	config := message.Uint32(one.input, androidpb.InputWindowInfoProto_InputConfig)
	inLayer := one.transform.inverse()
	place := func(r rect) rect {
		if d != nil {
			r = d.transform.rect(r)
		}
		return inLayer.rect(r)
	}
	var frame rect
	if f, ok := wire.Find(one.input, androidpb.InputWindowInfoProto_Frame); ok {
		frame = place(readRect(f.Bytes()))
	}
	crop := d != nil && (frame.empty() || config&wallpaper != 0 || c.unlimited(frame))
	if crop {
		frame = frame.crop(d.area)
	}
	if f, ok := wire.Find(one.input, androidpb.InputWindowInfoProto_Visible); ok {
		visible = f.Bool()
	}
	id := l.shapes.add(area{place: l.shapes.rect(frame), transform: l.shapes.transform(one.transform),
		group: one.stack, depth: c.depth(one.stack), visible: visible, spy: config&spy != 0})

	region, limited := wire.Find(one.input, androidpb.InputWindowInfoProto_TouchableRegion)
	var parts []rect
	if config&notTouchable == 0 {
		for r := range message.Messages(region.Bytes(), androidpb.RegionProto_Rect) {
			part := place(readRect(r))
			if crop {
				part = part.crop(d.area)
			}
			parts = append(parts, part)
		}
	} else {
		limited = true
	}
	if limited && len(parts) == 0 {
		parts = []rect{{}}
	}
	for _, part := range parts {
		t := &l.Store.WinscopeFillRegion
		row := t.Append()
		t.TraceRectID.Set(row, id)
		t.RectID.Set(row, l.shapes.rect(part))
	}
	return id
}
