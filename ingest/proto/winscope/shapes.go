package winscope

import (
	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/model"
)

// shapes stores rectangles and transforms, each once.
type shapes struct {
	store      *model.Store
	rects      map[rect]int64
	transforms map[transform]int64
}

var shapesOf = proto.Shared[shapes]{New: func(r *proto.Reader) *shapes {
	return &shapes{r.Store, map[rect]int64{}, map[transform]int64{}}
}}

// rect returns the id of a rectangle.
func (s *shapes) rect(r rect) int64 {
	id, known := s.rects[r]
	if !known {
		id = s.newRect(r)
		s.rects[r] = id
	}
	return id
}

// newRect stores a rectangle and returns its id.
func (s *shapes) newRect(r rect) int64 {
	t := &s.store.WinscopeRect
	id := t.Append()
	t.X.Set(id, r.x)
	t.Y.Set(id, r.y)
	t.W.Set(id, r.w)
	t.H.Set(id, r.h)
	return id
}

// transform returns the id of a transform.
func (s *shapes) transform(m transform) int64 {
	id, known := s.transforms[m]
	if !known {
		id = s.newTransform(m)
		s.transforms[m] = id
	}
	return id
}

// newTransform stores a transform and returns its id.
func (s *shapes) newTransform(m transform) int64 {
	t := &s.store.WinscopeTransform
	id := t.Append()
	t.DSDX.Set(id, m.dsdx)
	t.DTDX.Set(id, m.dtdx)
	t.Tx.Set(id, m.tx)
	t.DTDY.Set(id, m.dtdy)
	t.DSDY.Set(id, m.dsdy)
	t.Ty.Set(id, m.ty)
	return id
}

// area is a rectangle to draw. Its place is the id of a rectangle, transform that of a transform.
type area struct {
	place, transform int64
	group            uint32 // what is drawn together
	depth            int
	visible, spy     bool
}

// add stores an area and returns its id.
func (s *shapes) add(a area) int64 {
	t := &s.store.WinscopeTraceRect
	id := t.Append()
	t.RectID.Set(id, a.place)
	t.GroupID.Set(id, int64(a.group))
	t.Depth.Set(id, int32(a.depth))
	t.IsSpy.Set(id, a.spy)
	t.IsVisible.Set(id, a.visible)
	t.TransformID.Set(id, a.transform)
	return id
}
