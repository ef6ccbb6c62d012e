package v8profile

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"testing"
)

// reference is a chunk as encoding/json decodes it.
type reference struct {
	Start   *float64 `json:"startTime"`
	Profile struct {
		Nodes []struct {
			ID       uint32   `json:"id"`
			Parent   *uint32  `json:"parent"`
			Children []uint32 `json:"children"`
			Frame    struct {
				Function string `json:"functionName"`
				URL      string `json:"url"`
			} `json:"callFrame"`
		} `json:"nodes"`
		Samples []uint32 `json:"samples"`
	} `json:"cpuProfile"`
	Deltas []float64 `json:"timeDeltas"` // µs
}

func (r *reference) chunk() Chunk {
	c := Chunk{Samples: r.Profile.Samples}
	for _, us := range r.Deltas {
		c.Deltas = append(c.Deltas, nanoseconds(us))
	}
	if r.Start != nil {
		c.Start, c.Starts = nanoseconds(*r.Start), true
	}
	for _, from := range r.Profile.Nodes {
		n := Node{ID: from.ID, Children: from.Children, Function: from.Frame.Function, URL: from.Frame.URL}
		if from.Parent != nil {
			n.Parent, n.HasParent = *from.Parent, true
		}
		c.Nodes = append(c.Nodes, n)
	}
	return c
}

// nanoseconds returns a time in µs in ns, 0 if it does not fit.
func nanoseconds(us float64) int64 {
	if ns := math.Round(us * 1000); math.Abs(ns) < 1<<62 {
		return int64(ns)
	}
	return 0
}

// TestDecode compares chunks with what encoding/json makes of them.
func TestDecode(t *testing.T) {
	for _, text := range []string{
		`{"startTime":470029996751}`,
		` { "startTime" : 1.5e3 , "endTime": 7 } `,
		`{"cpuProfile":{"nodes":[{"id":1,"callFrame":{"functionName":"(root)","url":"","scriptId":0}},
			{"id":2,"parent":1,"callFrame":{"functionName":"f\"\u00e9\n","url":"file:///a.js","lineNumber":-1}}],"samples":[2,2,1]},"lines":[0,12,[3]],"timeDeltas":[5,-3,12345678901]}`,
		`{"cpuProfile":{"nodes":[{"id":1,"children":[2,3],"positionTicks":[{"line":1}]},{},null,7,{"id":"x","children":"y","callFrame":[]}],"startTime":5,"timeDeltas":[1]}}`,
		`{"cpuProfile":{"samples":[1,null,1.5,-1,4294967295,4294967296,"x",{"a":[1]}]},"timeDeltas":[null,"]",9223372036854775807]}`,
		`{"cpuProfile":null,"timeDeltas":{"a":1}}`,
		`{"startTime":12.25,"timeDeltas":[1.5,0.125,-2.5]}`,
		`{"cpuProfile":{"nodes":{"id":1},"samples":3}}`,
		`{"cpuProfile":{"nodes":[{"id":1,"parent":null}],"samples":[]}}`,
		`{}`,
	} {
		var want reference
		var wrongType *json.UnmarshalTypeError
		if err := json.Unmarshal([]byte(text), &want); err != nil && !errors.As(err, &wrongType) {
			t.Fatal(err)
		}
		var got, ofArgs Chunk
		if !got.Decode([]byte(text)) || !ofArgs.DecodeArgs([]byte(`{"other":[{"data":1}],"data":`+text+`}`)) {
			t.Errorf("%s: not read", text)
		}
		if !same(got, want.chunk()) || !same(ofArgs, got) {
			t.Errorf("%s:\n%+v\n%+v, want\n%+v", text, got, ofArgs, want.chunk())
		}
	}
	for _, text := range []string{``, `{`, `{"timeDeltas":[1`, `{"timeDeltas":[1 2]}`, `{"cpuProfile":{"nodes":[{"id":1]}}`, `{"startTime":01}`, `{startTime:1}`} {
		if new(Chunk).Decode([]byte(text)) {
			t.Errorf("%s: read", text)
		}
	}
}

// same compares chunks; an empty list is none.
func same(a, b Chunk) bool {
	if len(a.Nodes) != len(b.Nodes) {
		return false
	}
	for i := range a.Nodes {
		a, b := a.Nodes[i], b.Nodes[i]
		a.Children, b.Children = append([]uint32{}, a.Children...), append([]uint32{}, b.Children...)
		if !reflect.DeepEqual(a, b) {
			return false
		}
	}
	lists := func(c Chunk) []any {
		return []any{append([]uint32{}, c.Samples...), append([]int64{}, c.Deltas...), c.Start, c.Starts}
	}
	return reflect.DeepEqual(lists(a), lists(b))
}
