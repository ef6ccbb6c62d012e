package strace

import (
	"testing"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/sort"
)

// Times of day are on the day of the latest event in the traces read before, where the recorder is.
func TestToday(t *testing.T) {
	c := model.NewStore(model.Options{}).NewFile("log", nil).Context(0)
	in := &format.Input{Context: c, Sorter: sort.New(sort.Options{})}
	at := times{in: in}
	if got := at.today(); got != 0 {
		t.Errorf("%d with no other trace", got)
	}
	in.UseClock(model.ClockRealtime)
	const latest, hour = 1700000000, int64(3600e9) // 2023-11-14 22:13:20
	if err := in.Sorter.NewStream(nil).Push(latest*1e9, nil); err != nil {
		t.Fatal(err)
	}
	const midnight = int64(1699920000e9)
	if got := at.today(); got != midnight {
		t.Errorf("%d, want %d", got, midnight)
	}
	in.Clocks.SetZone(2 * hour) // it is the next day there
	if got, want := at.today(), midnight+22*hour; got != want {
		t.Errorf("%d, want %d", got, want)
	}
}
