package heap_test

import (
	"testing"

	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/heap"
)

// TestReach writes a dump of a root, what it refers to, a circle and an object that nothing refers to.
func TestReach(t *testing.T) {
	s := model.NewStore(model.Options{})
	defer s.Close()
	d := heap.NewDump(s, s.Machine(0).Process(7), 100)
	class := d.AddClass()
	d.Class(class).Name = s.Strings.Intern("Node")
	next := d.AddField(heap.Field{Name: s.Strings.Intern("next"), Type: s.Strings.Intern("Node")})
	weak := d.AddField(heap.Field{Name: s.Strings.Intern("weak"), Weak: true})
	var objects []heap.ObjectNumber
	for i := range 5 {
		o := d.AddObject()
		e := d.Edit(o)
		e.Class, e.SelfSize = class, int64(10*(i+1))
		objects = append(objects, o)
	}
	d.Refer(objects[0], objects[1], next)
	d.Refer(objects[0], objects[4], weak)
	d.Refer(objects[1], objects[2], next)
	d.Refer(objects[2], objects[1], next) // a circle
	d.Refer(objects[3], heap.NoObject, next)
	d.AddRoot(objects[0], s.Strings.Intern("ROOT_JNI_GLOBAL"))
	first := d.Write()

	for i, want := range []struct {
		reachable bool
		distance  int64
	}{{true, 0}, {true, 1}, {true, 2}, {false, -1}, {false, -1}} {
		reachable, _ := s.HeapGraphObject.Reachable.Get(int64(i))
		distance, known := s.HeapGraphObject.RootDistance.Get(int64(i))
		if !known {
			distance = -1
		}
		if reachable != want.reachable || distance != want.distance {
			t.Errorf("object %d: reachable %t at %d, want %t at %d", i, reachable, distance, want.reachable, want.distance)
		}
		if size, _ := s.HeapGraphObject.SelfSize.Get(int64(i)); size != int64(10*(i+1)) {
			t.Errorf("object %d has %d bytes", i, size)
		}
		if of, _ := s.HeapGraphObject.TypeID.Get(int64(i)); of != first {
			t.Errorf("object %d has the class %d, want %d", i, of, first)
		}
	}
	if kind, _ := s.HeapGraphObject.RootType.Get(0); s.Strings.Get(kind) != "ROOT_JNI_GLOBAL" {
		t.Errorf("the root is a %q", s.Strings.Get(kind))
	}
	if n := s.HeapGraphReference.Rows(); n != 5 {
		t.Errorf("%d references", n)
	}
}

func TestJavaTypes(t *testing.T) {
	for name, want := range map[string]heap.JavaType{
		"int":                            {Name: "int"},
		"int[][]":                        {Name: "int", Arrays: 2},
		"java.lang.Class<a.B>":           {Name: "a.B", Static: true},
		"java.lang.Class<a.B[]>":         {Name: "a.B", Static: true, Arrays: 1},
		"java.lang.Class":                {Name: "java.lang.Class"},
		"java.lang.Class<a.B":            {Name: "java.lang.Class<a.B"},
		"java.util.Map$Entry<K, V>[]":    {Name: "java.util.Map$Entry<K, V>", Arrays: 1},
		"java.lang.Class<java.util.Map>": {Name: "java.util.Map", Static: true},
	} {
		got := heap.ParseJavaType(name)
		if got != want || got.String() != name {
			t.Errorf("%s: %+v, written %s", name, got, got)
		}
	}
}
