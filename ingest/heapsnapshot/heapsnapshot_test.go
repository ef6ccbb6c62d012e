package heapsnapshot_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tpconvert/tpconvert/ingest/internal/ingesttest"
)

// The root holds a Cat and a string; the Cat holds a function, and another Cat weakly.
const file = `{"snapshot":{"meta":{"node_fields":["type","name","id","self_size","edge_count","detachedness"],
"node_types":[["hidden","string","object","closure","synthetic"],"string","number","number","number","number"],
"edge_fields":["type","name_or_index","to_node"],"edge_types":[["element","property","weak"],"string_or_number","node"]},"node_count":5,"edge_count":4},
"nodes":[4,0,1,0,2,0
,2,1,3,24,2,0
,1,2,5,16,0,0
,3,3,7,64,0,0
,2,1,9,24,0,1
],
"edges":[0,0,6
,0,1,12
,1,4,18
,2,5,24
],
"trace_tree":[],"locations":[1,2,3],
"strings":["","Cat","text é","purr","sound","friend"]}`

func TestSnapshot(t *testing.T) {
	tables := ingesttest.MustRead(t, "a.heapsnapshot", []byte(file))
	tables.Want(t, "heap_graph_class", "name|kind", "(synthetic)|synthetic", "Cat|object", "(string)|string", "Function|closure")
	tables.Want(t, "heap_graph_object", "type_id|self_size|reachable|root_type|root_distance|reference_set_id|object_data_id",
		"0|0|true|synthetic|0|0|NULL", "1|24|true|NULL|1|2|NULL", "2|16|true|NULL|1|NULL|0", "3|64|true|NULL|2|NULL|1", "1|24|false|NULL|-1|NULL|NULL")
	tables.Want(t, "heap_graph_reference", "owner_id|owned_id|field_name|field_type_name|reference_set_id",
		"0|1|[0]|element|0", "0|2|[1]|element|0", "1|3|sound|property|2", "1|4|friend|weak|2")
	tables.Want(t, "heap_graph_object_data", "value_string", "text é", "purr")
	tables.Want(t, "heap_graph", "ts|truncated", "0|false")
	tables.Want(t, "stats", "description", "detachedness value is not read", "locations member is not read")
}

// TestIndented reads a snapshot that a tool has formatted.
func TestIndented(t *testing.T) {
	var text bytes.Buffer
	if err := json.Indent(&text, []byte(file), "", "  "); err != nil {
		t.Fatal(err)
	}
	tables := ingesttest.MustRead(t, "a.heapsnapshot", text.Bytes())
	for _, table := range []string{"heap_graph_class", "heap_graph_object", "heap_graph_reference", "stats"} {
		columns := map[string][]string{"heap_graph_class": {"name", "kind"}, "heap_graph_object": {"type_id", "self_size"},
			"heap_graph_reference": {"owned_id", "field_name", "field_type_name"}, "stats": {"description", "value"}}[table]
		want := ingesttest.MustRead(t, "a.heapsnapshot", []byte(file)).Rows(table, columns...)
		if got := tables.Rows(table, columns...); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", table, got, want)
		}
	}
}

// TestSymbol reads a snapshot of Node.js 10 and before, in whose list of types symbols are missing.
func TestSymbol(t *testing.T) {
	text := strings.NewReplacer(`"synthetic"]`, `"synthetic","r","n","v","x","y","z","sliced string"]`, `,3,3,7,64`, `,12,3,7,64`).Replace(file)
	tables := ingesttest.MustRead(t, "a.heapsnapshot", []byte(text))
	tables.Want(t, "heap_graph_class", "name|kind", "(synthetic)|synthetic", "Cat|object", "(string)|string", "(symbol)|symbol")
	tables.Want(t, "stats", "description", "detachedness value is not read", "locations member is not read")
}

func TestDamage(t *testing.T) {
	ingesttest.Cuts(t, []byte(file), "heap_graph_object")
	cut := ingesttest.MustRead(t, "a.heapsnapshot", []byte(file[:strings.Index(file, `"strings"`)]))
	cut.Want(t, "heap_graph_class", "name", "(synthetic)", "(object)", "(string)", "Function")
	cut.Want(t, "heap_graph", "truncated", "true")
	for _, change := range [][2]string{
		{`,2,1,3,24`, `,9,1,3,24`}, {`,2,1,3,24`, `,2,1,3,-24`}, {`,1,2,5,16`, `,1,200,5,16`}, // nodes
		{`,1,4,18`, `,7,4,18`}, {`,1,4,18`, `,1,4,19`}, {`,1,4,18`, `,1,4,3000`}, {`,2,5,24`, `,2,50,24`}, // edges
		{`"node_count":5`, `"node_count":6`}, {`"edge_count":4`, `"edge_count":3`}, {",2,5,24\n", "\n"}, {`,24,0,1`, `,24,0`}, {`"purr"`, `7`},
		{`"purr"`, `purr`}, {`"edges":[0,0,6`, `"edges":[0,0,x`}, {`"strings":[`, `"strings":[],"strings":[`}, {`,24,2,0`, `,24,2.5,0`},
	} {
		tables := ingesttest.MustRead(t, "a.heapsnapshot", []byte(strings.Replace(file, change[0], change[1], 1)))
		if !slices.Contains(tables.Rows("stats", "name"), "heap_snapshot_parse_errors") {
			t.Errorf("%s for %s is not counted", change[1], change[0])
		}
	}
	for text, want := range map[string]string{
		`{"snapshot":{"meta":{"node_fields":["type"]}}}`:             "nodes or edges without name",
		file[:strings.Index(file, `"nodes"`)]:                        "cut off before its nodes",
		file[:strings.Index(file, `,"node_count"`)] + "}}":           "without nodes",
		strings.Replace(file, `"node_count":5`, `"node_count" 5`, 1): "expected a colon",
		strings.Replace(file, `"node_types":`, `"node_types"`, 1):    "the layout of its nodes is damaged",
	} {
		if _, err := ingesttest.Read(t, ingesttest.File{Name: "a", Reader: strings.NewReader(text)}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %s", text, err, want)
		}
	}
}

// TestNode compares a snapshot that Node.js writes now with what encoding/json reads.
func TestNode(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip(err)
	}
	path := filepath.Join(t.TempDir(), "a.heapsnapshot")
	script := `class Cat { constructor(i) { this.i = i } }
		globalThis.cats = Array.from({ length: 1000 }, (_, i) => new Cat(i)); globalThis.weak = new WeakRef(cats[1]); globalThis.map = new WeakMap([[cats[2], { "é": 1n }]])
		require('v8').writeHeapSnapshot(process.argv[1])`
	if out, err := exec.CommandContext(t.Context(), node, "-e", script, path).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if cats := compare(t, path, data)["Cat"]; cats != 1000 {
		t.Errorf("%d Cats", cats)
	}
}

// TestSamples compares other snapshots, in the folder heapsnapshot of FORMAT_SAMPLES.
func TestSamples(t *testing.T) {
	ingesttest.Samples(t, "heapsnapshot/*.heapsnapshot", func(file string, data []byte) { compare(t, file, data) })
}

// compare returns the number of objects of each class.
func compare(t *testing.T, file string, data []byte) map[string]int {
	var s struct {
		Snapshot struct {
			Meta struct {
				NodeFields []string          `json:"node_fields"`
				NodeTypes  []json.RawMessage `json:"node_types"`
				EdgeTypes  []json.RawMessage `json:"edge_types"`
			}
		}
		Nodes, Edges []int
		Strings      []string
	}
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	var kinds, edgeKinds []string
	if json.Unmarshal(s.Snapshot.Meta.NodeTypes[0], &kinds) != nil || json.Unmarshal(s.Snapshot.Meta.EdgeTypes[0], &edgeKinds) != nil {
		t.Fatal("no types")
	}
	size := len(s.Snapshot.Meta.NodeFields)
	at := func(name string) int { return slices.Index(s.Snapshot.Meta.NodeFields, name) }
	n := len(s.Nodes) / size
	held := make([][]int, n) // by references that are not weak
	var references []string
	edge := 0
	for i := range n {
		for range s.Nodes[i*size+at("edge_count")] {
			kind, name, to := edgeKinds[s.Edges[edge*3]], s.Edges[edge*3+1], s.Edges[edge*3+2]/size
			edge++
			text := fmt.Sprint("[", name, "]")
			if kind != "element" && kind != "hidden" {
				text = s.Strings[name]
			}
			if kind != "weak" {
				held[i] = append(held[i], to)
			}
			references = append(references, fmt.Sprint(i, "|", to, "|", kind, "|", text))
		}
	}
	distance := make([]int, n)
	for i := range distance {
		distance[i] = -1
	}
	distance[0] = 0
	for next := []int{0}; len(next) > 0; next = next[1:] {
		for _, to := range held[next[0]] {
			if distance[to] < 0 {
				distance[to] = distance[next[0]] + 1
				next = append(next, to)
			}
		}
	}
	var objects []string
	bytesOf, classes := 0, map[string]int{}
	for i := range n {
		kind, name := kinds[s.Nodes[i*size+at("type")]], s.Strings[s.Nodes[i*size+at("name")]]
		class := "(" + kind + ")"
		switch kind {
		case "object", "native":
			class, name = name, ""
		case "hidden":
			class = "(system)"
		case "code":
			class = "(compiled code)"
		case "closure":
			class = "Function"
		case "regexp":
			class = "RegExp"
		}
		if name == "" {
			name = "NULL"
		}
		classes[class]++
		bytesOf += s.Nodes[i*size+at("self_size")]
		objects = append(objects, fmt.Sprint(class, "|", kind, "|", s.Nodes[i*size+at("self_size")], "|", distance[i], "|", name))
	}

	tables, err := ingesttest.Read(t, ingesttest.File{Name: file, Reader: bytes.NewReader(data)})
	if err != nil {
		t.Fatal(err)
	}
	number := func(text string) (n int) {
		_, _ = fmt.Sscan(text, &n)
		return n
	}
	named, texts := tables.Rows("heap_graph_class", "name", "kind"), tables.Rows("heap_graph_object_data", "value_string")
	var got []string
	for _, row := range tables.Rows("heap_graph_object", "type_id", "self_size", "root_distance", "object_data_id") {
		v := strings.Split(row, "|")
		text := "NULL"
		if v[3] != "NULL" {
			text = texts[number(v[3])]
		}
		got = append(got, strings.Join([]string{named[number(v[0])], v[1], v[2], text}, "|"))
	}
	same(t, file, got, objects)
	same(t, file, tables.Rows("heap_graph_reference", "owner_id", "owned_id", "field_type_name", "field_name"), references)
	if slices.Contains(tables.Rows("stats", "name"), "heap_snapshot_parse_errors") {
		t.Errorf("%s is damaged", file)
	}
	t.Logf("%s: %d objects of %d bytes, %d references", filepath.Base(file), n, bytesOf, edge)
	return classes
}

func same(t *testing.T, file string, got, want []string) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d rows, want %d", file, len(got), len(want))
	}
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] && strings.ToValidUTF8(got[i], "\uFFFD") != want[i] {
			t.Fatalf("%s: row %d is %q, want %q", file, i, got[i], want[i])
		}
	}
}

func FuzzHeapSnapshot(f *testing.F) {
	ingesttest.Fuzz(f, "heapsnapshot", []byte(file))
}
