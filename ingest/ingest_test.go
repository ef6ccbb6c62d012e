package ingest_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"strings"
	"testing"

	"github.com/tpconvert/tpconvert/ingest"
	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/ingesttest"
	"github.com/tpconvert/tpconvert/model"
)

const instant = `[{"ph":"i","name":"a","pid":1,"tid":1,"ts":1}]`

func zipped(t *testing.T, data []byte, times int) []byte {
	t.Helper()
	for range times {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		if _, err := w.Write(data); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		data = b.Bytes()
	}
	return data
}

func TestInputsThatAreNoTrace(t *testing.T) {
	for input, want := range map[string]struct {
		is   error
		says string
	}{
		"":                            {format.ErrEmpty, "f at byte 0: the input is empty"},
		" \n\t ":                      {format.ErrEmpty, "f at byte 0: the input is empty"},
		"hello there":                 {format.ErrUnknown, `it starts with "hello there"; https://github.com/tpconvert/tpconvert#what-it-reads lists the formats`},
		"\x00\x01":                    {format.ErrUnknown, "it starts with the bytes 00 01; https://github.com/tpconvert/tpconvert#what-it-reads lists the formats"},
		strings.Repeat("\n", 5000):    {format.ErrEmpty, "f at byte 0: the input is empty"},
		strings.Repeat("\n", 100_000): {format.ErrUnknown, "it starts with 65536 bytes of white space; https://github.com/tpconvert/tpconvert#what-it-reads lists the formats"},
		strings.Repeat(" ", 100_000):  {format.ErrUnknown, "it starts with 65536 bytes of white space; https://github.com/tpconvert/tpconvert#what-it-reads lists the formats"},
		"\n\n\nhello\n":               {format.ErrUnknown, `it starts with "\n\n\nhello\n"; https://github.com/tpconvert/tpconvert#what-it-reads`},
		strings.Repeat("\x00", 72) + "\x02\x00\x02\xc0": {format.ErrUnknown, "it looks like a log of Event Tracing for Windows (.etl), which is not supported; PerfView saves its stacks for speedscope"},
		"\x7fELF\x02\x01":                   {format.ErrUnknown, "it looks like an ELF binary, which is not supported; https://github.com/tpconvert/tpconvert#what-it-reads lists the formats"},
		"JAVA PROFILE 1.0.1, created Mon\n": {format.ErrUnknown, "it looks like a text of Java's hprof agent, which is not supported; https://github.com/tpconvert/tpconvert#what-it-reads lists the formats"},
		"SQLite":                            {format.ErrUnknown, "it looks like the first bytes of an SQLite database, which is not supported; https://github.com/tpconvert/tpconvert#what-it-reads lists the formats"},
		"2 request fox\n2 failed\n2 lazy\n": {format.ErrUnknown, `it starts with "2 request fox\n2 "`},
		"* daemon not running; starting now\n* daemon ok\n":        {format.ErrUnknown, "it starts with "},
		"\x0a\x02\x40\x01" + strings.Repeat("\x12\x02\x40\x01", 2): {format.ErrUnknown, "it starts with"}, // another protobuf
		"\x0a\x00":        {format.ErrNoEvents, "f: it looks like Perfetto, but nothing in it can be read: no trace events"},
		"# tracer: nop\n": {format.ErrNoEvents, "f: it looks like systrace, but nothing in it can be read"},
		"%P":              {format.ErrUnknown, `it starts with "%P"`},
	} {
		_, err := ingesttest.Read(t, ingesttest.File{Name: "f", Reader: strings.NewReader(input)})
		if !errors.Is(err, want.is) || !format.BadInput(err) || !strings.Contains(err.Error(), want.says) {
			t.Errorf("%q: %v", input, err)
		}
	}
}

func TestFilesInFiles(t *testing.T) {
	tables := ingesttest.MustRead(t, "a.json.gz.gz", zipped(t, []byte(instant), 2))
	tables.Want(t, "slice", "name", "a")
	tables.Want(t, "trace_file", "id|parent_id|name|trace_type|is_container|processing_order",
		"0|NULL|a.json.gz.gz|gzip|true|0", "1|0|a.json.gz.gz|gzip|true|1", "2|1|a.json.gz.gz|json|false|2")

	_, err := ingesttest.Read(t, ingesttest.File{Name: "deep", Reader: bytes.NewReader(zipped(t, []byte(instant), 20))})
	if !errors.Is(err, format.ErrUnsupported) {
		t.Errorf("20 files in each other: %v", err)
	}
}

func TestWhatTheConversionAddsToMetadata(t *testing.T) {
	store := model.NewStore(model.Options{})
	if err := ingest.Read(store, "a.json", strings.NewReader(instant), ingest.Options{Version: "v1", TempDir: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"trace_type":        "json",
		"trace_uuid":        "00000000-0000-0000-f48f-6fd249e6a1b6", // FNV-1a, computed elsewhere
		"converter_version": "v1",
	}
	m := &store.Metadata
	for row := range m.Rows() {
		name, _ := m.Name.Get(row)
		value, _ := m.StrValue.Get(row)
		key := store.Strings.Get(name)
		if text, ok := want[key]; ok && store.Strings.Get(value) == text {
			delete(want, key)
		}
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
}
