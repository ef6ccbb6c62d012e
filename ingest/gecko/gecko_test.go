package gecko_test

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/tpconvert/tpconvert/ingest"
	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/ingesttest"
	"github.com/tpconvert/tpconvert/internal/fuzz"
)

// profile has two threads, the second of which is cut off in some tests.
const profile = `{"meta":{"categories":[{"name":"Other"}]},"threads":[{"name":"A","tid":1,"pid":1,"stringArray":["f","g"],
"funcTable":{"name":[0,1]},"frameTable":{"func":[0,1]},"stackTable":{"prefix":[null,0],"frame":[0,1]},
"samples":{"stack":[1,0],"time":[1,2]},"markers":{"name":[0],"startTime":[1],"endTime":[3],"phase":[1],"category":[0],"data":[{"a":[1]}]}},
{"name":"B","tid":2,"pid":1,"stringArray":["h"],"funcTable":{"name":[0]},"frameTable":{"func":[0]},
"stackTable":{"prefix":[null],"frame":[0]},"samples":{"stack":[0],"time":[10]}}]}`

func TestSplitAnywhere(t *testing.T) {
	tables := ingesttest.MustRead(t, "p.json", []byte(profile))
	tables.Want(t, "stack_sample", "ts|callsite_id", "1000000|1", "2000000|0", "10000000|2")
	tables.Want(t, "stats", "name")
}

// TestStarts reads starts of processes whose digits a double does not keep.
func TestStarts(t *testing.T) {
	const thread = `"threads":[{"name":"t","tid":%TID,"pid":%TID,"samples":{"stack":[],"time":[]},"markers":{"name":[0],"startTime":[3000000000.000001],"endTime":[null],"phase":[0],"category":[0],"data":[null]},"stringArray":["m"],
"frameTable":{"func":[]},"funcTable":{"name":[]},"stackTable":{"prefix":[],"frame":[]}}]`
	of := func(start, tid string) string {
		return `{"meta":{"version":24,"interval":1,"startTime":` + start + `,"categories":[{"name":"c"}]},` + strings.ReplaceAll(thread, "%TID", tid)
	}
	text := of("1534000000000.1234", "1") + `,"processes":[` + of("1534000000000.3456", "2") + `}]}`
	ingesttest.MustRead(t, "profile.json", []byte(text)).Want(t, "slice", "ts|name", "3000000000000001|m", "3000000000222201|m")
}

func TestCutAnywhere(t *testing.T) {
	whole := strings.Index(profile, "{\"name\":\"B\"") // the first thread is complete before that
	for n := 1; n < len(profile)-1; n += 2 {
		tables, err := ingesttest.Read(t, ingesttest.File{Name: "p.json", Reader: strings.NewReader(profile[:n])})
		samples := len(tables.Rows("stack_sample", "ts"))
		switch {
		case err != nil:
			if !format.BadInput(err) || n > strings.Index(profile, `"A"`) {
				t.Fatalf("%d bytes: %v", n, err)
			}
		case n >= whole && samples < 2:
			t.Fatalf("%d bytes: %d samples", n, samples)
		case tables.Rows("import_log", "name") == nil:
			t.Fatalf("%d bytes: not logged", n)
		}
	}
}

func TestRefused(t *testing.T) {
	for text, want := range map[string]error{
		`{"meta":{},"threads":[}`:  format.ErrCorrupt,
		`{"meta":{},"threads":{}}`: format.ErrNoEvents,
		`{"meta":{}}`:              format.ErrNoEvents,
		`{"libs":[]`:               format.ErrCorrupt,
		`{"meta":{},"threads":[],"processes":` + strings.Repeat(`[{"processes":`, 20): format.ErrUnsupported,
	} {
		_, err := ingesttest.Read(t, ingesttest.File{Name: "p.json", Reader: strings.NewReader(text)})
		if !errors.Is(err, want) || !format.BadInput(err) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestDetection(t *testing.T) {
	for head, want := range map[string]string{
		profile:                            "gecko",
		"\n { \"libs\" : [], \"threads\":": "gecko",
		`{"meta":{},"traceEvents":[]}`:     "json",
		`{"metadata":{},"threads":[]}`:     "json",
		`{"meta":{"a":"` + strings.Repeat("x", format.HeadBytes): "gecko",
	} {
		f := ingest.Detect([]byte(head[:min(len(head), format.HeadBytes)]))
		if f == nil || f.Name != want {
			t.Errorf("%.40q: %v", head, f)
		}
	}
}

// TestSharedComesLast reads threads whose shared stacks come after them.
func TestSharedComesLast(t *testing.T) {
	var text strings.Builder
	text.WriteString(`{"meta":{},"threads":[`)
	for i := range 100 {
		fmt.Fprintf(&text, `{"tid":%d,"pid":1,"samples":{"stack":[0],"time":[%d]}},`, i+1, i)
	}
	text.WriteString(`{}],"shared":{"stringArray":["f"],"funcTable":{"name":[0]},"frameTable":{"func":[0]},"stackTable":{"prefix":[null],"frame":[0]}}}`)
	tables := ingesttest.MustRead(t, "p.json", []byte(text.String()))
	if n := len(tables.Rows("stack_sample", "ts")); n != 100 {
		t.Errorf("%d samples", n)
	}
	tables.Want(t, "stack_profile_callsite", "id", "0")
}

// TestDataInBothLayouts reads markers in rows after others in columns: each has its own data.
func TestDataInBothLayouts(t *testing.T) {
	const markers = `"markers":{"name":[0],"startTime":[1],"endTime":[3],"phase":[1],"category":[0],"data":[{"of":"column"}]},
"markers":{"schema":{"name":0,"startTime":1,"endTime":2,"phase":3,"category":4,"data":5},"data":[[1,4,5,1,0,{"of":"row"}],[1,6,7,1,0]]}`
	text := strings.Replace(profile, `"markers":{"name":[0],"startTime":[1],"endTime":[3],"phase":[1],"category":[0],"data":[{"a":[1]}]}`, markers, 1)
	tables := ingesttest.MustRead(t, "p.json", []byte(text))
	tables.Want(t, "slice", "ts|dur", "1000000|2000000", "4000000|1000000", "6000000|1000000")
	var data []string
	for _, row := range tables.Rows("args", "key", "string_value") {
		if strings.HasPrefix(row, "data.") {
			data = append(data, row)
		}
	}
	if want := []string{"data.of|column", "data.of|row"}; !slices.Equal(data, want) {
		t.Errorf("%v, want %v", data, want)
	}
}

// TestOffsetsOfCallers leaves out stacks whose callers are not before them.
func TestOffsetsOfCallers(t *testing.T) {
	for offsets, want := range map[string]string{"0,1,2": "0|NULL 1|0 2|0", "0,2,1": "0|NULL", "0,1,5": "0|NULL 1|0", "0,-1,1": "0|NULL", "1,1,0": "0|NULL"} {
		tables := ingesttest.MustRead(t, "p.json", []byte(`{"meta":{},"threads":[{"tid":1,"pid":1,"samples":{"stack":[0],"time":[1]}}],"shared":{"stringArray":["a","b","c"],
			"funcTable":{"name":[0,1,2]},"frameTable":{"func":[0,1,2]},"stackTable":{"prefixOffset":[`+offsets+`],"frame":[0,1,2]}}}`))
		if got := strings.Join(tables.Rows("stack_profile_callsite", "id", "parent_id"), " "); got != want {
			t.Errorf("%s: %s, want %s", offsets, got, want)
		}
	}
}

func FuzzGecko(f *testing.F) {
	f.Add([]byte(profile))
	paths, err := filepath.Glob("../../testdata/cases/gecko/*.txtar")
	if err != nil || len(paths) == 0 {
		f.Fatal(err, "no cases")
	}
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(archive.Files[0].Data)
	}
	fuzz.Run(f, func(t *testing.T, data []byte) {
		if detected := ingest.Detect(data); detected == nil || detected.Name != "gecko" {
			return
		}
		_, err := ingesttest.Read(t, ingesttest.File{Name: "fuzz", Reader: bytes.NewReader(data)})
		if err != nil && !format.BadInput(err) {
			t.Fatal(err)
		}
	})
}
