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
	if got := guessDate(in).Year; got != 1970 {
		t.Errorf("%d with no other trace", got)
	}
	c.Clocks.SetTraceClock(model.ClockBoottime)
	events := in.Sorter.NewStream(nil)
	if err := events.Push(1e9, nil); err != nil {
		t.Fatal(err)
	}
	if got := guessDate(in).Year; got != 1970 {
		t.Errorf("%d with a trace that does not know the wall clock", got)
	}
	const at = 1687623863 // in 2023, s
	c.Clocks.AddSnapshot([]model.Reading{
		{Clock: model.Clock{ID: model.ClockBoottime}, Value: 5e9, Unit: 1},
		{Clock: model.Clock{ID: model.ClockRealtime}, Value: at * 1e9, Unit: 1},
	})
	if got := guessDate(in).Year; got != 2023 {
		t.Errorf("%d with a trace of 2023", got)
	}
}
