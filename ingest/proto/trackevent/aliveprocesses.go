package trackevent

import (
	"maps"
	"slices"

	"github.com/tpconvert/tpconvert/model"
)

// aliveProcesses finds Chrome processes whose data is missing from the trace: Chrome
// regularly lists the processes that are alive, and each of them then describes
// itself.
type aliveProcesses struct {
	listed []int64 // times of the lists, ns
	byUPID map[model.UPID]*aliveProcess
}

type aliveProcess struct {
	listed, described []int64 // times, ns, ascending
}

// maxDescriptionDelay is the longest time, in ns, between a list and a description.
const maxDescriptionDelay = 200_000_000

func (c *aliveProcesses) of(upid model.UPID) *aliveProcess {
	p := c.byUPID[upid]
	if p == nil {
		p = new(aliveProcess)
		c.byUPID[upid] = p
	}
	return p
}

func (c *aliveProcesses) list(ts int64, upid model.UPID) {
	c.listed = append(c.listed, ts)
	p := c.of(upid)
	p.listed = append(p.listed, ts)
}

func (c *aliveProcesses) describe(ts int64, upid model.UPID) {
	p := c.of(upid)
	p.described = append(p.described, ts)
}

// end stores the processes with missing data, and when their data becomes reliable.
func (c *aliveProcesses) end(t *model.Store) {
	for _, upid := range slices.Sorted(maps.Keys(c.byUPID)) {
		p := c.byUPID[upid]
		for _, ts := range slices.Backward(p.listed) {
			next, found := after(p.described, ts-maxDescriptionDelay)
			if found && next <= ts+maxDescriptionDelay {
				continue
			}
			if !found { // the process ended before the next list
				next, found = after(c.listed, ts+1)
			}
			row := t.ExperimentalMissingChromeProcesses.Append()
			t.ExperimentalMissingChromeProcesses.UPID.Set(row, upid)
			if found {
				t.ExperimentalMissingChromeProcesses.ReliableFrom.Set(row, next)
			}
			break
		}
	}
}

// after returns the first of the ascending times that is ts or later.
func after(times []int64, ts int64) (int64, bool) {
	i, _ := slices.BinarySearch(times, ts)
	if i == len(times) {
		return 0, false
	}
	return times[i], true
}
