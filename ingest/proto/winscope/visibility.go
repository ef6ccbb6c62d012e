package winscope

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/tpconvert/tpconvert/ingest/proto/message"
	"github.com/tpconvert/tpconvert/internal/perfetto/androidpb"
)

// scene is the layers of a snapshot.
type scene struct {
	layers   []layer // in the order of the message
	displays []display
	byID     map[int32]*layer
	stacked  []*layer // those on the screen, from the lowest to the highest
	// requested says that the snapshot was made before it was known what is composed.
	requested bool
	sights    map[int32]*sight // by layer
}

// sight says whether a layer is visible, and why not.
type sight struct {
	visible bool
	reasons []string
	// Layers above that hide all or a part of it, or shine through.
	hiddenBy, partlyHiddenBy, coveredBy []int32
}

// stack sorts the layers that are below a root by their height.
func (s *scene) stack() {
	children := map[int32][]*layer{}
	var roots []*layer
	for i := range s.layers {
		l := &s.layers[i]
		switch {
		case !l.hasID || s.byID[l.id] != l:
		case l.root() && l.above <= 0:
			roots = append(roots, l)
		case l.above > 0:
			children[l.above] = append(children[l.above], l)
		case l.parent > 0:
			children[l.parent] = append(children[l.parent], l)
		}
	}
	var add func(l *layer)
	add = func(l *layer) {
		inside := children[l.id]
		slices.SortFunc(inside, lower)
		i := 0
		for ; i < len(inside) && inside[i].z < 0; i++ {
			add(inside[i])
		}
		s.stacked = append(s.stacked, l)
		for ; i < len(inside); i++ {
			add(inside[i])
		}
	}
	slices.SortFunc(roots, lower)
	for _, root := range roots {
		add(root)
	}
}

// lower compares the heights of layers that are in the same layer.
func lower(a, b *layer) int { return cmp.Or(cmp.Compare(a.z, b.z), cmp.Compare(a.id, b.id)) }

// look finds what is visible, from the highest layer down.
func (s *scene) look() {
	s.sights = map[int32]*sight{}
	var opaque, translucent []*layer // visible layers above
	for _, l := range slices.Backward(s.stacked) {
		v := &sight{visible: s.shows(l)}
		s.sights[l.id] = v
		if v.visible {
			display := s.displayOf(l.stack)
			v.lookThrough(l, opaque, translucent, display)
			if l.color.a >= 1 && l.opaque {
				opaque = append(opaque, l)
			} else {
				translucent = append(translucent, l)
			}
		}
		if !v.visible {
			v.reasons = s.reasons(l, v)
		}
	}
}

// lookThrough finds the layers above that hide or cover a layer.
func (v *sight) lookThrough(l *layer, opaque, translucent []*layer, display rect) {
	if l.screenBounds == nil {
		return
	}
	place := l.onScreen(display)
	for _, other := range opaque {
		switch {
		case other.stack != l.stack || other.screenBounds == nil:
		case !allSet(other.transformType, notAligned) && other.onScreen(display).contains(place):
			v.visible = false
			v.hiddenBy = append(v.hiddenBy, other.id)
		case other.onScreen(display).overlaps(place.rect):
			v.partlyHiddenBy = append(v.partlyHiddenBy, other.id)
		}
	}
	for _, other := range translucent {
		if other.stack == l.stack && other.screenBounds != nil && other.onScreen(display).overlaps(place.rect) {
			v.coveredBy = append(v.coveredBy, other.id)
		}
	}
}

// displayOf returns the area of the display that shows a layer stack, which is empty if there is none.
func (s *scene) displayOf(stack uint32) (area rect) {
	for i := range s.displays {
		if d := &s.displays[i]; d.stack == stack && d.hasArea {
			area = d.area
		}
	}
	return area
}

// hiddenByParent reports whether a layer that a layer is in is hidden.
func (s *scene) hiddenByParent(l *layer) bool {
	for range s.layers { // so that it ends even if parents form a circle
		if l.root() {
			return false
		}
		if l = s.byID[l.parent]; l == nil {
			return false
		}
		if l.hidden() {
			return true
		}
	}
	return false
}

// shows reports whether a layer would be visible without the layers above it.
func (s *scene) shows(l *layer) bool {
	if s.hiddenByParent(l) || l.hidden() || l.color == nil || l.color.a <= 0 || !l.hasBuffer && !l.hasEffects() {
		return false
	}
	if s.requested {
		return l.bounds != nil && !l.bounds.empty()
	}
	return l.hasVisibleRegion()
}

// hasEffects reports whether a layer without a buffer draws something.
func (l *layer) hasEffects() bool {
	return l.shadow > 0 || l.color != nil && l.color.a > 0 && l.color.valid()
}

func (l *layer) hasVisibleRegion() bool {
	for r := range message.Messages(l.visibleRegion, androidpb.RegionProto_Rect) {
		if !readRect(r).empty() {
			return true
		}
	}
	return false
}

// transparent reports whether the layer's opacity is 0 or missing. It is -1 if it is unknown.
func (l *layer) transparent() bool { return l.color == nil || l.color.a <= 0 && l.color.a > -1 }

// reasons tells why a layer is not visible.
func (s *scene) reasons(l *layer, v *sight) (reasons []string) {
	for _, r := range []struct {
		holds bool
		text  string
	}{
		{l.hidden(), "flag is hidden"},
		{s.hiddenByParent(l), "hidden by parent " + strconv.Itoa(int(l.parent))},
		{!l.hasBuffer, "buffer is empty"},
		{l.transparent(), "alpha is 0"},
		{l.size().empty(), "bounds is 0x0"},
		{l.size().empty() && (l.transparent() || !l.color.valid()), "crop is 0x0"},
		{!l.transform.invertible(), "transform is invalid"},
		{!l.hasBuffer && !l.hasEffects() && l.blur <= 0, "does not have color fill, shadow or blur"},
		{l.visibleRegion != nil && !l.hasVisibleRegion(), "visible region calculated by Composition Engine is empty"},
		{l.visibleRegion == nil && !s.requested, "null visible region"},
		{len(v.hiddenBy) > 0, "occluded"},
	} {
		if r.holds {
			reasons = append(reasons, r.text)
		}
	}
	return reasons
}
