package winscope

import (
	"math"

	"github.com/tpconvert/tpconvert/internal/perfetto/androidpb"
	"github.com/tpconvert/tpconvert/internal/wire"
)

// rect is an upright rectangle, in pixels.
type rect struct{ x, y, w, h float64 }

// edges returns the rectangle with these edges.
func edges(left, top, right, bottom float64) rect { return rect{left, top, right - left, bottom - top} }

// readRect reads a RectProto or a FloatRectProto, whose fields have the same numbers.
func readRect(data []byte) rect {
	var e [androidpb.RectProto_Bottom + 1]float64
	for f := wire.Read(data); f.Next(); {
		switch {
		case f.Number >= uint32(len(e)):
		case f.Type == wire.Varint:
			e[f.Number] = float64(f.Int32())
		default:
			e[f.Number] = f.Float64()
		}
	}
	return edges(e[androidpb.RectProto_Left], e[androidpb.RectProto_Top], e[androidpb.RectProto_Right], e[androidpb.RectProto_Bottom])
}

func (r rect) right() float64  { return r.x + r.w }
func (r rect) bottom() float64 { return r.y + r.h }
func (r rect) empty() bool     { return r.w <= 0 || r.h <= 0 }

// crop returns the part of r inside of another rectangle. If there is none, width or height is
// negative.
func (r rect) crop(to rect) rect {
	return edges(max(r.x, to.x), max(r.y, to.y), min(r.right(), to.right()), min(r.bottom(), to.bottom()))
}

// near is the difference, in pixels, that counts as none.
const near = 0.01

func isNear(a, b float64) bool { return math.Abs(a-b) < near }

func (r rect) near(o rect) bool {
	return isNear(r.x, o.x) && isNear(r.y, o.y) && isNear(r.w, o.w) && isNear(r.h, o.h)
}

// overlaps reports whether the rectangles share an area, as Trace Processor finds it: rectangles
// that touch above or below do.
func (r rect) overlaps(o rect) bool {
	if r.x >= o.right() || o.x >= r.right() || r.y > o.bottom() || o.y > r.bottom() {
		return false
	}
	w, h := r.w, r.h
	if r.right() > o.right() {
		w = o.w
	}
	if r.bottom() > o.bottom() {
		h = o.h
	}
	return w > 0 && h > 0
}

// radii are the radii of corners, in pixels.
type radii struct{ tl, tr, bl, br float64 }

// rounded is a rectangle with round corners.
type rounded struct {
	rect
	radii
}

// contains reports whether all of o is inside of r.
func (r rounded) contains(o rounded) bool {
	atMost := func(a, b float64) bool { return a <= b || isNear(a, b) }
	if r.empty() || !atMost(r.x, o.x) || !atMost(r.y, o.y) || !atMost(o.right(), r.right()) || !atMost(o.bottom(), r.bottom()) {
		return false
	}
	// A corner may stick out only if it is sharper. Then the centre of its circle must be in the
	// circle of the outer corner, unless it is farther inside.
	return !sticksOut(r.tl, o.tl, r.x+r.tl, r.y+r.tl, o.x+o.tl, o.y+o.tl, right|below) &&
		!sticksOut(r.tr, o.tr, r.right()-r.tr, r.y+r.tr, o.right()-o.tr, o.y+o.tr, below) &&
		!sticksOut(r.bl, o.bl, r.x+r.bl, r.bottom()-r.bl, o.x+o.bl, o.bottom()-o.bl, right) &&
		!sticksOut(r.br, o.br, r.right()-r.br, r.bottom()-r.br, o.right()-o.br, o.bottom()-o.br, 0)
}

// Where the middle of a rectangle lies from one of its corners: to the right or left, below or above.
const (
	right = 1 << iota
	below
)

// sticksOut reports whether the corner around the inner centre is outside of the one around the
// outer centre.
func sticksOut(outer, inner, outerX, outerY, innerX, innerY float64, middle int) bool {
	if outer <= inner {
		return false
	}
	inside := outerX >= innerX
	if middle&right != 0 {
		inside = outerX < innerX
	}
	if middle&below != 0 {
		inside = inside || outerY < innerY
	} else {
		inside = inside || outerY >= innerY
	}
	if inside {
		return false
	}
	dx, dy := innerX-outerX, innerY-outerY
	return dx*dx+dy*dy > outer*outer+near
}

// transform is an affine transform of the plane.
type transform struct{ dsdx, dtdx, tx, dtdy, dsdy, ty float64 }

func shift(x, y float64) transform { return transform{dsdx: 1, dsdy: 1, tx: x, ty: y} }

func (t transform) point(x, y float64) (float64, float64) {
	return t.dsdx*x + t.dtdx*y + t.tx, t.dtdy*x + t.dsdy*y + t.ty
}

// rect returns the rectangle between the transformed corners of r.
func (t transform) rect(r rect) rect {
	x, y := t.point(r.x, r.y)
	x2, y2 := t.point(r.right(), r.bottom())
	return edges(min(x, x2), min(y, y2), max(x, x2), max(y, y2))
}

func (t transform) inverse() transform {
	scale := 1 / (t.dsdx*t.dsdy - t.dtdx*t.dtdy)
	inverse := transform{dsdx: t.dsdy * scale, dtdx: -t.dtdx * scale, dtdy: -t.dtdy * scale, dsdy: t.dsdx * scale}
	inverse.tx, inverse.ty = inverse.point(-t.tx, -t.ty)
	return inverse
}

func (t transform) invertible() bool { return math.Abs(t.dsdx*t.dsdy-t.dtdx*t.dtdy) >= 1e-6 }
