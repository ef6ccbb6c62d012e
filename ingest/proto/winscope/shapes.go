package winscope

import (
	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/model"
)

// shapes stores rectangles and transforms, each once.
type shapes struct {
	store      *model.Store
	rects      map[rect]rectID
	transforms map[transform]transformID
}

var shapesOf = proto.Shared[shapes]{New: func(r *proto.Reader) *shapes {
	return &shapes{r.Store, map[rect]rectID{}, map[transform]transformID{}}
}}

// rect returns the id of a rectangle.
func (s *shapes) rect(r rect) rectID {
	id, known := s.rects[r]
	if !known {
		id = s.newRect(r)
		s.rects[r] = id
	}
	return id
}

// newRect stores a rectangle and returns its id.
func (s *shapes) newRect(r rect) rectID {
	t := &s.store.WinscopeRect
	row := t.Append()
	t.X.Set(row, r.x)
	t.Y.Set(row, r.y)
	t.W.Set(row, r.w)
	t.H.Set(row, r.h)
	return rectID(row)
}

// transform returns the id of a transform.
func (s *shapes) transform(m transform) transformID {
	id, known := s.transforms[m]
	if !known {
		id = s.newTransform(m)
		s.transforms[m] = id
	}
	return id
}

// newTransform stores a transform and returns its id.
func (s *shapes) newTransform(m transform) transformID {
	t := &s.store.WinscopeTransform
	row := t.Append()
	t.DSDX.Set(row, m.dsdx)
	t.DTDX.Set(row, m.dtdx)
	t.Tx.Set(row, m.tx)
	t.DTDY.Set(row, m.dtdy)
	t.DSDY.Set(row, m.dsdy)
	t.Ty.Set(row, m.ty)
	return transformID(row)
}

// area is a rectangle to draw.
type area struct {
	place        rectID
	transform    transformID
	group        uint32 // what is drawn together
	depth        int
	visible, spy bool
}

// add stores an area and returns its id.
func (s *shapes) add(a area) areaID {
	t := &s.store.WinscopeTraceRect
	row := t.Append()
	t.RectID.Set(row, a.place)
	t.GroupID.Set(row, int64(a.group))
	t.Depth.Set(row, int32(a.depth))
	t.IsSpy.Set(row, a.spy)
	t.IsVisible.Set(row, a.visible)
	t.TransformID.Set(row, a.transform)
	return areaID(row)
}
