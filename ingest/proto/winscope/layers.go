package winscope

import (
	"strconv"

	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/ingest/proto/message"
	"github.com/tpconvert/tpconvert/internal/perfetto/androidpb"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
)

var (
	layersSnapshot = kind{"com.android.internal.LayersSnapshotProto", model.StatWinscopeSfLayersParseErrors}
	oneLayer       = kind{"com.android.internal.LayerProto", model.StatWinscopeSfLayersParseErrors}
)

// layers reads snapshots of all layers.
type layers struct {
	dumper
	shapes *shapes
}

func newLayers(r *proto.Reader) *layers { return &layers{newDumper(r), shapesOf.Of(r)} }

// maxLayers limits the layers of a snapshot, because each is compared with those above it. A
// screen has some hundred.
const maxLayers = 4096

// snapshot reads a LayersSnapshotProto.
func (l *layers) snapshot(ts int64, state *proto.State, data []byte) {
	t := &l.Store.SurfaceflingerLayersSnapshot
	snapshot := t.Append()
	t.TS.Set(snapshot, ts)
	t.SequenceID.Set(snapshot, int64(state.Sequence))
	t.HasInvalidElapsedTS.Set(snapshot, message.Uint64(data, androidpb.LayersSnapshotProto_ElapsedRealtimeNanos) == 0)
	t.Base64ProtoID.Set(snapshot, messageID(data))
	l.add(&l.set, state, &layersSnapshot, data, except(androidpb.LayersSnapshotProto_Layers))
	l.store(snapshot, &t.ArgSetID)

	s := readScene(data)
	if n := len(s.layers); n > maxLayers {
		l.File.Add(layersSnapshot.stat, model.None, int64(n-maxLayers))
		s.layers = s.layers[:maxLayers]
	}
	s.index()
	for i := range s.displays {
		l.display(layersID(snapshot), i, &s.displays[i])
	}
	s.stack()
	s.look()
	areas := l.areas(s)
	for i := range s.layers {
		l.layer(layersID(snapshot), state, s, &s.layers[i], areas)
	}
}

// readScene decodes a LayersSnapshotProto.
func readScene(data []byte) *scene {
	s := &scene{byID: map[int32]*layer{}, requested: true}
	if f, ok := wire.Find(data, androidpb.LayersSnapshotProto_ExcludesCompositionState); ok {
		s.requested = f.Bool()
	}
	for d := range message.Messages(data, androidpb.LayersSnapshotProto_Displays) {
		s.displays = append(s.displays, readDisplay(d))
	}
	for one := range message.Messages(message.Bytes(data, androidpb.LayersSnapshotProto_Layers), androidpb.LayersProto_Layers) {
		s.layers = append(s.layers, readLayer(one))
	}
	return s
}

// index finds the first layer of each id.
func (s *scene) index() {
	for i := range s.layers {
		if one := &s.layers[i]; one.hasID && s.byID[one.id] == nil {
			s.byID[one.id] = one
		}
	}
}

// display stores the display at an index of a snapshot.
func (l *layers) display(snapshot layersID, index int, d *display) {
	place := d.area
	if place.empty() {
		place = rect{w: d.w, h: d.h}
	}
	area := l.shapes.add(area{place: l.shapes.rect(place), group: d.stack, depth: index})
	t := &l.Store.SurfaceflingerDisplay
	row := t.Append()
	t.SnapshotID.Set(row, snapshot)
	t.IsOn.Set(row, d.stack != offStack)
	t.IsVirtual.Set(row, d.virtual)
	t.TraceRectID.Set(row, area)
	t.DisplayID.Set(row, int64(d.id))
	t.DisplayName.Set(row, l.TextID(d.name))
}

// layer stores a layer of a snapshot.
func (l *layers) layer(snapshot layersID, state *proto.State, s *scene, one *layer, areas map[int32]layerAreas) {
	t := &l.Store.SurfaceflingerLayer
	row := t.Append()
	t.SnapshotID.Set(row, snapshot)
	t.Base64ProtoID.Set(row, messageID(one.data))
	t.LayerName.Set(row, l.TextID(one.name))
	if one.hasParent {
		t.Parent.Set(row, int64(one.parent))
	}
	t.CornerRadiusTL.Set(row, one.radii.tl)
	t.CornerRadiusTR.Set(row, one.radii.tr)
	t.CornerRadiusBL.Set(row, one.radii.bl)
	t.CornerRadiusBR.Set(row, one.radii.br)
	if one.composed {
		t.HWCCompositionType.Set(row, int64(one.composition))
	}
	if one.isRelative {
		t.ZOrderRelativeOf.Set(row, int64(one.above))
	}
	t.IsMissingZParent.Set(row, one.isRelative && one.above > 0 && s.byID[one.above] == nil)
	t.IsVisible.Set(row, false) // unless it is in sight
	t.IsHiddenByPolicy.Set(row, one.hidden())
	l.add(&l.set, state, &oneLayer, one.data, nil)
	if one.hasID {
		t.LayerID.Set(row, int64(one.id))
		if v := s.sights[one.id]; v != nil {
			t.IsVisible.Set(row, v.visible)
			l.addSight(v)
		}
		if a, ok := areas[one.id]; ok && a.bounds != model.None {
			t.LayerRectID.Set(row, a.bounds)
		}
		if a, ok := areas[one.id]; ok && a.input != model.None {
			t.InputRectID.Set(row, a.input)
		}
	}
	l.store(row, &t.ArgSetID)
}

// addSight adds why a layer is not visible, or not all of it.
func (l *layers) addSight(v *sight) {
	for i, reason := range v.reasons {
		l.addItem("visibility_reason", i, model.StringArg(l.Store.Strings.Intern(reason)))
	}
	for _, list := range []struct {
		key    string
		layers []int32
	}{{"occluded_by", v.hiddenBy}, {"partially_occluded_by", v.partlyHiddenBy}, {"covered_by", v.coveredBy}} {
		for i, id := range list.layers {
			l.addItem(list.key, i, model.IntArg(int64(id)))
		}
	}
}

func (l *layers) addItem(key string, i int, v model.ArgValue) {
	intern := l.Store.Strings.Intern
	l.set.AddFlat(intern(key), intern(key+"["+strconv.Itoa(i)+"]"), v)
}
