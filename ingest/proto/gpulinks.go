package proto

import "github.com/tpconvert/tpconvert/model"

// gpuLinks draws the arrows between the work of GPUs and what submitted it or
// waits for it, in whatever order they come.
type gpuLinks struct {
	flows *model.Flows
	byID  map[uint64]*gpuLink // by event id of the work
}

// gpuLink is what has to do with one piece of work, which may have several stages.
type gpuLink struct {
	stages, waiting []model.SliceID
	submitter       model.SliceID // slice of a thread, the latest, or None
	waiter          model.SliceID // likewise
}

func (g *gpuLinks) of(id uint64) *gpuLink {
	l := g.byID[id]
	if l == nil {
		l = &gpuLink{submitter: model.None, waiter: model.None}
		g.byID[id] = l
	}
	return l
}

// stage adds a stage of the work.
func (g *gpuLinks) stage(id uint64, slice model.SliceID) {
	l := g.of(id)
	l.stages = append(l.stages, slice)
	if l.submitter != model.None {
		g.flows.Link(l.submitter, slice)
	}
	if l.waiter != model.None {
		g.flows.Link(slice, l.waiter)
	}
	for _, waiting := range l.waiting {
		g.flows.Link(slice, waiting)
	}
}

// stageWaits adds a stage of other work, which waits for this.
func (g *gpuLinks) stageWaits(id uint64, slice model.SliceID) {
	l := g.of(id)
	for _, stage := range l.stages {
		g.flows.Link(stage, slice)
	}
	l.waiting = append(l.waiting, slice)
}

// submitted says that a slice submitted the work.
func (g *gpuLinks) submitted(id uint64, slice model.SliceID) {
	l := g.of(id)
	l.submitter = slice
	for _, stage := range l.stages {
		g.flows.Link(slice, stage)
	}
}

// waits says that a slice waits for the work.
func (g *gpuLinks) waits(id uint64, slice model.SliceID) {
	l := g.of(id)
	l.waiter = slice
	for _, stage := range l.stages {
		g.flows.Link(stage, slice)
	}
}

// correlate reads a GpuCorrelation of a slice.
func (g *gpuLinks) correlate(data []byte, slice model.SliceID) {
	for id := range numbers(data, 1) {
		g.submitted(id, slice)
	}
	for id := range numbers(data, 2) {
		g.waits(id, slice)
	}
}
