package ingest_test

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/tpconvert/tpconvert/ingest"
	"github.com/tpconvert/tpconvert/ingest/internal/ingesttest"
)

// encode returns a text in UTF-16 after its byte order mark.
func encode(t *testing.T, order binary.AppendByteOrder, text string) []byte {
	t.Helper()
	b := order.AppendUint16(nil, 0xfeff)
	for _, unit := range utf16.Encode([]rune(text)) {
		b = order.AppendUint16(b, unit)
	}
	return b
}

// wantStats fails the test if other stats are above zero than want.
func wantStats(t *testing.T, tables *ingesttest.Tables, want ...string) {
	t.Helper()
	var got []string
	for _, row := range tables.Rows("stats", "name", "value") {
		if !strings.HasSuffix(row, "|0") {
			got = append(got, strings.Replace(row, "|", "=", 1))
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("stats: %q, not %q", got, want)
	}
}

func TestByteOrderMarks(t *testing.T) {
	for text, rows := range map[string][]string{
		`[{"name":"é€😀","ph":"X","ts":1,"dur":2,"pid":1,"tid":1}]`:                                  {"slice", "ts|dur|name", "1000|2000|é€😀"},
		"1 100.000001 close(3) = 0\n":                                                               {"slice", "name", "close"},
		"# tracer: nop\n a-7 [000] d..2 1.000001: sched_waking: comm=é pid=8 prio=1 target_cpu=0\n": {"thread", "tid", "0", "7", "8"},
		"a;b 3\n": {"stack_profile_frame", "name", "a", "b"},
	} {
		for _, encoded := range [][]byte{append([]byte("\xef\xbb\xbf"), text...), encode(t, binary.LittleEndian, text), encode(t, binary.BigEndian, text)} {
			if got, want := ingest.Detect(encoded), ingest.Detect([]byte(text)); got != want {
				t.Errorf("%q has format %v, not %v", encoded[:20], got, want)
				continue
			}
			tables := ingesttest.MustRead(t, "f", encoded)
			tables.Want(t, rows[0], rows[1], rows[2:]...)
			wantStats(t, tables)
		}
	}
}

func TestDamagedUTF16(t *testing.T) {
	const text = `[{"name":"??","ph":"X","ts":1,"dur":2,"pid":1,"tid":1}]`
	half := bytes.ReplaceAll(encode(t, binary.BigEndian, text), []byte{0, '?', 0, '?'}, []byte{0xd8, 0, 0, '?'})
	tables := ingesttest.MustRead(t, "f", append(half, 0))
	tables.Want(t, "slice", "name", "\ufffd?")
	wantStats(t, tables, "invalid_utf8=2", "json_trailing_data=1")

	_, err := ingesttest.Read(t, ingesttest.File{Name: "f", Reader: bytes.NewReader(encode(t, binary.LittleEndian, `{"traceEvents": 5}`))})
	if err == nil || !strings.Contains(err.Error(), "f (Trace Event Format) at byte 16: in the text decoded from UTF-16: traceEvents is not an array") {
		t.Error(err)
	}
}

func TestNotesWithAByteOrderMark(t *testing.T) {
	for _, notes := range [][]byte{[]byte("\xef\xbb\xbfHow this was recorded"), encode(t, binary.LittleEndian, strings.Repeat("How this was recorded 😀. ", 9000))[:64<<10]} {
		if !ingest.IsNotes(notes) {
			t.Errorf("%q", notes[:20])
		}
	}
}
