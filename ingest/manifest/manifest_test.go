package manifest_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/ingesttest"
	"github.com/tpconvert/tpconvert/internal/fuzz"
)

// chrome returns a trace with one slice that starts at 2 ms.
func chrome(name string) string {
	return `{"traceEvents":[{"pid":10,"tid":10,"ts":2000,"dur":500,"ph":"X","name":"` + name + `"}]}`
}

// together returns an archive of a manifest and two traces.
func together(t *testing.T, manifest string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, m := range [][2]string{{"a.json", chrome("a")}, {"b.json", chrome("b")}, {"z.json", manifest}} {
		f, err := w.Create(m[0])
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(f, m[1])
	}
	w.Close()
	return b.Bytes()
}

func about(fields string) string { return `{"perfetto_manifest": {` + fields + `}}` }

func TestMachinesAndClocks(t *testing.T) {
	tables := ingesttest.MustRead(t, "x", together(t, about(`"version": 1, "later": [], "files": [
		{"path": "a.json", "machine": {"name": "phone", "colour": "red"}},
		{"path": "b.json", "machine": {"name": "watch"}, "clocks": {"sync_to": {"file": "a.json"}, "offset_ns": -500}}
	], "attributes": {"run": 42, "name": "startup"}`)))
	tables.Want(t, "machine", "name|raw_id", "phone|4294967296", "watch|4294967297")
	tables.Want(t, "slice", "name|ts|dur", "b|1999500|500000", "a|2000000|500000")
	tables.Want(t, "process", "pid|machine_id", "0|0", "0|1", "10|1", "10|0")
	for _, want := range []string{"manifest_attribute.run|42|NULL|NULL", "manifest_attribute.name|NULL|startup|NULL"} {
		if rows := tables.Rows("metadata", "name", "int_value", "str_value", "local_trace_id"); !strings.Contains(strings.Join(rows, "\n"), want) {
			t.Errorf("no %s in\n%s", want, strings.Join(rows, "\n"))
		}
	}
}

func TestOffset(t *testing.T) {
	tables := ingesttest.MustRead(t, "x", together(t, about(`"version": 1, "files": [{"path": "a.json", "offset_ns": -500},
		{"path": "b.json", "offset_ns": 300, "clocks": {"sync_to": {"file": "a.json"}, "offset_ns": 7}}]`)))
	tables.Want(t, "slice", "name|ts", "a|1999500", "b|2000307")
}

func TestEventsBeforeTheTrace(t *testing.T) {
	tables := ingesttest.MustRead(t, "x", together(t, about(`"version": 1, "files": [{"path": "a.json"},
		{"path": "b.json", "clocks": {"sync_to": {"file": "a.json"}, "offset_ns": -3000000}}]`)))
	tables.Want(t, "slice", "name|ts", "b|-1000000", "a|2000000")
}

func TestErrors(t *testing.T) {
	file := func(fields string) string {
		return about(`"version": 1, "files": [{"path": "a.json", ` + fields + `}, {"path": "b.json"}]`)
	}
	several := `{"path": "b.json", "machines": [{"id": 0, "name": "host"}, {"id": 7, "name": "vm"}]}`
	for manifest, want := range map[string]string{
		about(``):                                                                            "missing required field: version",
		about(`"version": 99`):                                                               "unsupported version: 99",
		about(`"version": 1.5`):                                                              "version must be an integer",
		about(`"version": "1"`):                                                              "version must be an integer",
		`{"perfetto_manifest": 1}`:                                                           "expected a JSON object with a top-level perfetto_manifest key",
		`{"perfetto_manifest": {"version": 1`:                                                "perfetto_manifest: unexpected EOF",
		about(`"version": 1, "trace_time": 5`):                                               "trace_time must be an object",
		about(`"version": 1, "trace_time": {}`):                                              "trace_time needs a clock",
		about(`"version": 1, "files": {}`):                                                   "files must be an array",
		about(`"version": 1, "files": [{}]`):                                                 "files entries must be objects with a string path",
		about(`"version": 1, "attributes": []`):                                              "attributes must be an object of string or integer values",
		about(`"version": 1, "attributes": {"": 1}`):                                         "attributes: keys must be non-empty",
		about(`"version": 1, "attributes": {"f": []}`):                                       "attributes: 'f' must be a string or an integer",
		about(`"version": 1, "trace_time": {"clock": "BOOTIME"}`):                            "unknown clock name: BOOTIME",
		about(`"version": 1, "trace_time": {"clock": "BOOTTIME", "file": "ghost"}`):          "trace_time: file names unknown file 'ghost'",
		about(`"version": 1, "trace_time": {"clock": "BOOTTIME", "machine": "m"}`):           "trace_time: machine 'm' needs trace_time: file too",
		file(`"machine": {"name": ""}`):                                                      "machine: name must be non-empty",
		file(`"machine": "phone"`):                                                           "machine must be an object with a string name",
		file(`"machine": {"name": "a"}, "machines": []`):                                     "machine and machines are mutually exclusive",
		file(`"machines": [{"id": 4294967296, "name": "vm"}]`):                               "machines: id must be in [0, 4294967295]",
		file(`"machines": [{"id": 1}]`):                                                      "machines entries need an integer id and a string name",
		file(`"offset_ns": 1.5`):                                                             "files: offset_ns must be an integer",
		file(`"clocks": {}`):                                                                 "clocks: a sync_to block is required",
		file(`"clocks": {"sync_to": {"machine": "m"}}`):                                      "clocks: sync_to.file is required",
		file(`"clocks": {"sync_to": {"file": "ghost"}}`):                                     "clocks: sync_to.file names unknown file 'ghost'",
		file(`"clocks": {"sync_to": {"file": "b.json"}, "offset_ns": 1.5}`):                  "clocks: offset_ns must be an integer",
		file(`"clocks": {"sync_to": {"file": "b.json"}, "offset_ns": -9223372036854775808}`): "clocks: offset_ns is out of range",
		file(`"clocks": {"machine": "ghost", "sync_to": {"file": "b.json"}}`):                "clocks: machine 'ghost' is not a machine declared by file 'a.json'",
		file(`"clocks": {"sync_to": {"file": "b.json", "machine": "ghost"}}`):                "clocks: sync_to.machine 'ghost' is not a machine declared by file 'b.json'",
		about(`"version": 1, "files": [{"path": "a.json", "clocks": {"sync_to": {"file": "b.json"}}}, ` + several + `]`):                                             "'b.json' is a multi-machine trace; also name the machine",
		about(`"version": 1, "files": [{"path": "a.json"}, {"path": "b.json", "clocks": {"sync_to": {"file": "a.json"}}, "machines": [{"id": 0, "name": "host"}]}]`): "file 'b.json' is a multi-machine trace; name which machine the clock is on",
		about(`"version": 1, "files": [{"path": "c.json"}, {"path": "a.json", "clocks": {"sync_to": {"file": "c.json"}}}]`):                                          "could not resolve file 'c.json'",
	} {
		_, err := ingesttest.Read(t, ingesttest.File{Name: "x", Reader: bytes.NewReader(together(t, manifest))})
		if !format.BadInput(err) || !errors.Is(err, format.ErrManifest) || !strings.Contains(fmt.Sprint(err), want) || !strings.HasPrefix(fmt.Sprint(err), "z.json (perfetto manifest)") {
			t.Errorf("%s: error %v", manifest, err)
		}
	}
}

func TestCycle(t *testing.T) {
	tables := ingesttest.MustRead(t, "x", together(t, about(`"version": 1, "files": [
		{"path": "a.json", "clocks": {"sync_to": {"file": "b.json"}, "offset_ns": 7}},
		{"path": "b.json", "clocks": {"sync_to": {"file": "a.json"}, "offset_ns": 500}}]`)))
	if n := len(tables.Rows("slice", "id")); n != 2 {
		t.Errorf("%d slices", n)
	}
}

func TestPlace(t *testing.T) {
	archive := func(members ...string) []byte {
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		for i := 0; i < len(members); i += 2 {
			f, _ := w.Create(members[i])
			io.WriteString(f, members[i+1])
		}
		w.Close()
		return b.Bytes()
	}
	plain := about(`"version": 1`)
	for want, data := range map[string][]byte{
		"multiple perfetto_manifest files in archive":         archive("m.json", plain, "n.json", plain, "a.json", chrome("a")),
		"perfetto_manifest file must be the first trace file": archive("a.json", chrome("a"), "z.zip", string(archive("m.json", plain)), "p.pb", "\x0a\x02\x50\x01"),
		"overrides are not supported for trace files which are themselves archives": archive(
			"m.json", about(`"version": 1, "files": [{"path": "z.zip", "machine": {"name": "x"}}]`), "z.zip", string(archive("a.json", chrome("a")))),
	} {
		_, err := ingesttest.Read(t, ingesttest.File{Name: "x", Reader: bytes.NewReader(data)})
		if !errors.Is(err, format.ErrManifest) || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	ingesttest.MustRead(t, "x", []byte(plain)) // alone, it has no effect
}

func FuzzManifest(f *testing.F) {
	f.Add(`"version": 1, "files": [{"path": "a.json", "machine": {"name": "phone"}, "clocks": {"clock": "BOOTTIME", "sync_to": {"file": "b.json"}}}]`)
	fuzz.Run(f, func(t *testing.T, fields string) {
		_, err := ingesttest.Read(t, ingesttest.File{Name: "fuzz", Reader: bytes.NewReader(together(t, about(fields)))})
		if err != nil && !format.BadInput(err) {
			t.Fatal(err)
		}
	})
}
