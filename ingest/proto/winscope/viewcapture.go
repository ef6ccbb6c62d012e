package winscope

import (
	"slices"

	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/ingest/proto/args"
	"github.com/tpconvert/tpconvert/internal/perfetto/androidpb"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
)

var (
	viewCaptureSnapshot = kind{"com.android.internal.ViewCapture", model.StatWinscopeViewcaptureParseErrors}
	viewCaptureView     = kind{"com.android.internal.ViewCapture.View", model.StatWinscopeViewcaptureParseErrors}
)

// notInterned stands for a text whose number is unknown.
const notInterned = "STRING DE-INTERNING ERROR"

// internedTexts are the fields with numbers of interned texts: the name of the text, and the
// field of InternedData.
var internedTexts = map[string]struct {
	name  string
	field uint32
}{
	"class_name_iid":          {"class_name", androidpb.FrameworksBaseInternedData_ViewcaptureClassName},
	"package_name_iid":        {"package_name", androidpb.FrameworksBaseInternedData_ViewcapturePackageName},
	"view_id_iid":             {"view_id", androidpb.FrameworksBaseInternedData_ViewcaptureViewID},
	"window_name_iid":         {"window_name", androidpb.FrameworksBaseInternedData_ViewcaptureWindowName},
	"content_description_iid": {"content_description", androidpb.FrameworksBaseInternedData_ViewcaptureContentDescription},
	"text_iid":                {"text", androidpb.FrameworksBaseInternedData_ViewcaptureText},
}

// viewCapture reads snapshots of the views in a window.
type viewCapture struct {
	dumper
	shapes *shapes
	texts  map[string]model.StringID // of the message being written, by name
	number int64                     // of that message
}

func newViewCapture(r *proto.Reader) *viewCapture {
	v := &viewCapture{dumper: newDumper(r), shapes: shapesOf.Of(r), texts: map[string]model.StringID{}}
	for key, text := range internedTexts {
		v.writer.Override(key, func(w *args.Writer, _ *args.Path, f *wire.Field) bool {
			at := w.Named(w.Root(), text.name)
			id, ok := w.State().InternedString(text.field, f.Uint64())
			if !ok {
				v.File.Count(model.StatWinscopeViewcaptureMissingInternedStringParseErrors)
				w.Add(at, w.Text(notInterned))
				return false
			}
			w.Add(at, model.StringArg(id))
			v.interned(key, text.name, f.Int64(), id)
			return true
		})
	}
	return v
}

// interned stores which text the number in a field of the message stands for.
func (v *viewCapture) interned(key, name string, iid int64, text model.StringID) {
	v.texts[name] = text
	t := &v.Store.ViewcaptureInternedData
	row := t.Append()
	t.Base64ProtoID.Set(row, v.number)
	t.FlatKey.Set(row, v.Store.Strings.Intern(key))
	t.IID.Set(row, iid)
	t.DeinternedValue.Set(row, text)
}

// begin prepares writing a message.
func (v *viewCapture) begin(data []byte) {
	v.number = messageID(data)
	clear(v.texts)
}

// snapshot reads a ViewCapture.
func (v *viewCapture) snapshot(ts int64, state *proto.State, data []byte) {
	t := &v.Store.Viewcapture
	snapshot := t.Append()
	v.begin(data)
	t.TS.Set(snapshot, ts)
	t.Base64ProtoID.Set(snapshot, v.number)
	v.add(&v.set, state, &viewCaptureSnapshot, data, except(androidpb.ViewCapture_Views))
	v.store(snapshot, &t.ArgSetID)
	t.PackageName.Set(snapshot, v.texts["package_name"])
	t.WindowName.Set(snapshot, v.texts["window_name"])

	views := readViews(data)
	areas := v.place(views)
	rows := &v.Store.ViewcaptureView
	for i := range views {
		view := &views[i]
		row := rows.Append()
		v.begin(view.data)
		rows.SnapshotID.Set(row, viewCaptureID(snapshot))
		rows.Base64ProtoID.Set(row, v.number)
		rows.NodeID.Set(row, unsigned(view.id))
		rows.Hashcode.Set(row, unsigned(view.hash))
		rows.ParentID.Set(row, unsigned(view.parent))
		rows.IsVisible.Set(row, areas[view.id].visible)
		rows.TraceRectID.Set(row, areas[view.id].area)
		v.describe(row, &rows.ArgSetID, state, &viewCaptureView, view.data)
		rows.ViewID.Set(row, v.texts["view_id"])
		rows.ClassName.Set(row, v.texts["class_name"])
	}
}

// view is a View, decoded.
type view struct {
	data                                       []byte
	id, parent, hash, visibility               int32
	left, top, width, height, scrollX, scrollY float64
	translationX, translationY, scaleX, scaleY float64
	alpha                                      float64
}

// readViews decodes the views of a ViewCapture.
func readViews(data []byte) (views []view) {
	for f := wire.Read(data); f.Next(); {
		if f.Number == androidpb.ViewCapture_Views {
			views = append(views, readView(f.Bytes()))
		}
	}
	return views
}

func readView(data []byte) view {
	v := view{data: data}
	for f := wire.Read(data); f.Next(); {
		switch f.Number {
		case androidpb.ViewCapture_View_ID:
			v.id = f.Int32()
		case androidpb.ViewCapture_View_ParentID:
			v.parent = f.Int32()
		case androidpb.ViewCapture_View_Hashcode:
			v.hash = f.Int32()
		case androidpb.ViewCapture_View_Visibility:
			v.visibility = f.Int32()
		case androidpb.ViewCapture_View_Left:
			v.left = float64(f.Int32())
		case androidpb.ViewCapture_View_Top:
			v.top = float64(f.Int32())
		case androidpb.ViewCapture_View_Width:
			v.width = float64(f.Int32())
		case androidpb.ViewCapture_View_Height:
			v.height = float64(f.Int32())
		case androidpb.ViewCapture_View_ScrollX:
			v.scrollX = float64(f.Int32())
		case androidpb.ViewCapture_View_ScrollY:
			v.scrollY = float64(f.Int32())
		case androidpb.ViewCapture_View_TranslationX:
			v.translationX = f.Float64()
		case androidpb.ViewCapture_View_TranslationY:
			v.translationY = f.Float64()
		case androidpb.ViewCapture_View_ScaleX:
			v.scaleX = f.Float64()
		case androidpb.ViewCapture_View_ScaleY:
			v.scaleY = f.Float64()
		case androidpb.ViewCapture_View_Alpha:
			v.alpha = f.Float64()
		}
	}
	return v
}

// placed is a view on the screen.
type placed struct {
	area    areaID
	visible bool
	shown   bool // it and the views around it are not hidden
	rect    rect
	depth   int
	view    *view
	// Scale of the view's contents.
	scaleX, scaleY float64
}

const (
	noParent  = -1
	viewDepth = 4 // difference in depth between a view and those in it
)

// place stores the areas of the views, parents first, and returns them by the view's id. Views
// that are not in the tree below the root come last, as if they had no parent.
func (v *viewCapture) place(views []view) map[int32]*placed {
	byID := map[int32]*view{}
	children := map[int32][]int32{}
	root := int32(0)
	for i := range views {
		view := &views[i]
		if view.parent == noParent {
			root = view.id
		} else {
			children[view.parent] = append(children[view.parent], view.id)
		}
		if byID[view.id] == nil {
			byID[view.id] = view
		}
	}
	all := map[int32]*placed{}
	placeTree := func(root int32) {
		for next := []int32{root}; len(next) > 0; {
			id := next[len(next)-1]
			next = next[:len(next)-1]
			if byID[id] == nil || all[id] != nil {
				continue
			}
			all[id] = v.placeView(byID[id], all[byID[id].parent])
			for _, child := range slices.Backward(children[id]) {
				next = append(next, child)
			}
		}
	}
	placeTree(root)
	for i := range views {
		placeTree(views[i].id)
	}
	return all
}

// placeView stores the area of a view. in is the view that it is in, or nil.
func (v *viewCapture) placeView(view *view, in *placed) *placed {
	p := &placed{view: view, shown: view.visibility == 0}
	left, top, scaleX, scaleY := 0.0, 0.0, 1.0, 1.0
	if in != nil {
		left, top = in.rect.x-in.view.scrollX, in.rect.y-in.view.scrollY
		scaleX, scaleY = in.scaleX, in.scaleY
		p.depth = in.depth + 1
		p.shown = p.shown && in.shown
	}
	p.visible = p.shown && view.width > 0 && view.height > 0
	p.scaleX, p.scaleY = scaleX*view.scaleX, scaleY*view.scaleY
	left += (view.left+view.translationX)*scaleX + view.width*(scaleX-p.scaleX)/2
	top += (view.top+view.translationY)*scaleY + view.height*(scaleY-p.scaleY)/2
	p.rect = edges(left, top, left+view.width*p.scaleX, top+view.height*p.scaleY)
	p.area = v.shapes.add(area{place: v.shapes.rect(p.rect), depth: p.depth * viewDepth, visible: p.visible})
	v.Store.WinscopeTraceRect.Opacity.Set(int64(p.area), view.alpha)
	return p
}
