package format_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/tpconvert/tpconvert/ingest"
	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/table"
)

func TestErrors(t *testing.T) {
	err := format.Errorf(format.ErrCorrupt, 12, "a block of %d bytes", 7)
	if got := err.Error(); got != " at byte 12: a block of 7 bytes: corrupt" {
		t.Errorf("%q", got)
	}
	err.File, err.Format = "a.bin", "some format"
	if got := err.Error(); got != "a.bin (some format) at byte 12: a block of 7 bytes: corrupt" {
		t.Errorf("%q", got)
	}
	err.Offset = -1
	if got := err.Error(); got != "a.bin (some format): a block of 7 bytes: corrupt" {
		t.Errorf("%q", got)
	}
	wrapped := fmt.Errorf("member: %w", err)
	if !errors.Is(wrapped, format.ErrCorrupt) || errors.Is(wrapped, format.ErrUnsupported) || !format.BadInput(wrapped) {
		t.Error("the kind of the error is lost")
	}
	if format.BadInput(io.ErrUnexpectedEOF) { // of a disk, which may work again
		t.Error("an error of reading is one of the input")
	}
}

func TestTitle(t *testing.T) {
	for want, f := range map[string]*format.Format{"perf script": {Name: "perf_script"}, "Ninja's log": {Name: "ninja", Title: "Ninja's log"}} {
		if f.String() != want {
			t.Errorf("%q, want %q", f, want)
		}
	}
}

func TestOverride(t *testing.T) {
	for _, o := range []format.Override{{Clocks: true}, {Machine: 3}, {Offset: -1}} {
		if !o.OfTrace() {
			t.Errorf("%+v is of no trace", o)
		}
	}
	if o := (format.Override{OneMachine: true}); o.OfTrace() {
		t.Errorf("%+v is of a trace", o)
	}
}

// chunks keeps the rows of a store.
type chunks []*table.Chunk

func (c *chunks) Chunk(chunk *table.Chunk) error {
	*c = append(*c, chunk)
	return nil
}

// A time of a clock that nothing relates to the trace clock is counted, with its place, and gives no time.
func TestTraceTime(t *testing.T) {
	times := func(in *format.Input) error {
		in.UseClock(model.ClockRealtime)
		if ts, ok := in.TraceTime(1000, 5); !ok || ts != 1000 {
			t.Errorf("the clock of the trace: %d, %t", ts, ok)
		}
		in.Clocks.SetDefault(model.ClockBoottime)
		if ts, ok := in.TraceTime(1000, 9); ok {
			t.Errorf("another clock: %d", ts)
		}
		_, err := io.Copy(io.Discard, in)
		return err
	}
	own := &format.Format{Name: "own", Sniff: func(head []byte) bool { return string(head) == "own" }, Read: times}
	var rows chunks
	store := model.NewStore(model.Options{Sink: &rows})
	if err := ingest.Read(store, "a.own", strings.NewReader("own"), ingest.Options{Formats: []*format.Format{own}}); err != nil {
		t.Fatal(err)
	}
	if err := store.Finish(); err != nil {
		t.Fatal(err)
	}
	logged := 0
	for _, c := range rows {
		if c.Schema.Name != "import_log" {
			continue
		}
		offset := c.Column(c.Schema.Column("byte_offset")).Values.([]int64)[0]
		if logged += c.Rows; offset != 9 {
			t.Errorf("logged at byte %d", offset)
		}
	}
	if logged != 1 {
		t.Errorf("%d times are logged", logged)
	}
}
