package instruments_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/tpconvert/tpconvert/ingest"
	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/ingesttest"
	"github.com/tpconvert/tpconvert/internal/fuzz"
)

// export returns the trace of the case.
func export(t testing.TB) []byte {
	t.Helper()
	archive, err := txtar.ParseFile("../../testdata/cases/instruments/samples.txtar")
	if err != nil {
		t.Fatal(err)
	}
	return archive.Files[0].Data
}

func TestSplitAnywhere(t *testing.T) {
	if n := len(ingesttest.MustRead(t, "x.xml", export(t)).Rows("stack_sample", "ts")); n != 4 {
		t.Errorf("%d samples", n)
	}
}

func TestCutAnywhere(t *testing.T) {
	data := export(t)
	row := bytes.Index(data, []byte("<row>")) + len("<row>")
	for n := row; n < len(data)-5; n += 7 {
		tables, err := ingesttest.Read(t, ingesttest.File{Name: "x.xml", Reader: bytes.NewReader(data[:n])})
		if err != nil || len(tables.Rows("import_log", "name")) == 0 {
			t.Fatalf("%d bytes: %v", n, err)
		}
	}
}

func TestRefused(t *testing.T) {
	const head = "<?xml version=\"1.0\"?>\n<trace-query-result>"
	for text, want := range map[string]error{
		head + "</trace-query-result>":                           format.ErrNoEvents,
		head + "<node></row>":                                    format.ErrCorrupt,
		head + "<row><a b></a></row></trace-query-result>":       nil, // attributes of an unsupported element
		head + "<row><thread id></row>":                          format.ErrCorrupt,
		head + "<>":                                              format.ErrCorrupt,
		head + strings.Repeat("<a>", 2000):                       format.ErrUnsupported,
		head + "<a b=\"" + strings.Repeat("x", 4<<20):            format.ErrCorrupt,
		head + "<row><sample-time>" + strings.Repeat("1", 4<<20): format.ErrCorrupt,
	} {
		_, err := ingesttest.Read(t, ingesttest.File{Name: "x.xml", Reader: strings.NewReader(text)})
		if !errors.Is(err, want) || err != nil && !format.BadInput(err) {
			t.Errorf("%.80s: %v", text, err)
		}
	}
}

func TestDetection(t *testing.T) {
	for head, want := range map[string]bool{
		"<?xml version=\"1.0\"?>\n<trace-query-result>\n":                      true,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\r\n<trace-query-result>\n": true,
		"<?xml version=\"1.0\"?>\n<html>":                                      false,
		"<trace-query-result>":                                                 true,
	} {
		f := ingest.Detect([]byte(head))
		if got := f != nil && f.Name == "instruments_xml"; got != want {
			t.Errorf("%q: %v", head, f)
		}
	}
}

func FuzzInstruments(f *testing.F) {
	f.Add(export(f))
	fuzz.Run(f, func(t *testing.T, data []byte) {
		if detected := ingest.Detect(data); detected == nil || detected.Name != "instruments_xml" {
			return
		}
		_, err := ingesttest.Read(t, ingesttest.File{Name: "fuzz", Reader: bytes.NewReader(data)})
		if err != nil && !format.BadInput(err) {
			t.Fatal(err)
		}
	})
}
