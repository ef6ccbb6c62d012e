package logcat

import (
	"testing"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/sort"
)

func TestYear(t *testing.T) {
	c := model.NewStore(model.Options{}).NewFile("log", nil).Context(0)
	in := &format.Input{Context: c, Sorter: sort.New(sort.Options{})}
	if got := guessYear(in); got != 1970 {
		t.Errorf("%d with no other trace", got)
	}
	c.Clocks.SetTraceClock(model.ClockBoottime)
	events := in.Sorter.NewStream(nil)
	if err := events.Push(1e9, nil); err != nil {
		t.Fatal(err)
	}
	if got := guessYear(in); got != 1970 {
		t.Errorf("%d with a trace that does not know the wall clock", got)
	}
	const at = 1687623863 // in 2023, s
	c.Clocks.AddSnapshot([]model.Reading{
		{Clock: model.Clock{ID: model.ClockBoottime}, Value: 5e9, Unit: 1},
		{Clock: model.Clock{ID: model.ClockRealtime}, Value: at * 1e9, Unit: 1},
	})
	if got := guessYear(in); got != 2023 {
		t.Errorf("%d with a trace of 2023", got)
	}
}

func TestDates(t *testing.T) {
	for line, want := range map[string]int64{
		"01-01 00:00:00.000000001 1 1 I a: b":      1,
		"2262-04-11 23:47:15.999999999 1 1 I a: b": 9223372035_999999999,
	} {
		if m, ok := parse([]byte(line), layout{}, 1970); !ok || m.ts != want {
			t.Errorf("%q: %d, want %d", line, m.ts, want)
		}
	}
	for _, line := range []string{"2262-04-11 23:47:17.0 1 1 I a: b", "999999999-01-01 00:00:00.0 1 1 I a: b"} {
		if _, ok := parse([]byte(line), layout{}, 1970); ok {
			t.Errorf("%q has more nanoseconds than 64 bits can count", line)
		}
	}
}
