// Package gpulinks draws the arrows between the work of GPUs and what has to do
// with it, which packets of different families tell of.
package gpulinks

import (
	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/ingest/proto/message"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/model"
)

// Links draws the arrows between the work of GPUs and what submitted it or
// waits for it, in whatever order they come.
type Links struct {
	flows *model.Flows
	byID  map[uint64]*link // by event id of the work
}

// link is what has to do with one piece of work, which may have several stages.
type link struct {
	stages, waiting []model.SliceID
	submitter       model.SliceID // slice of a thread, the latest, or None
	waiter          model.SliceID // likewise
}

var shared = proto.Shared[Links]{New: func(r *proto.Reader) *Links { return &Links{r.Flows, map[uint64]*link{}} }}

// Of are the links of a machine's GPUs.
func Of(r *proto.Reader) *Links { return shared.Of(r) }

func (g *Links) of(id uint64) *link {
	l := g.byID[id]
	if l == nil {
		l = &link{submitter: model.None, waiter: model.None}
		g.byID[id] = l
	}
	return l
}

// Stage adds a stage of the work.
func (g *Links) Stage(id uint64, slice model.SliceID) {
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

// StageWaits adds a stage of other work, which waits for this.
func (g *Links) StageWaits(id uint64, slice model.SliceID) {
	l := g.of(id)
	for _, stage := range l.stages {
		g.flows.Link(stage, slice)
	}
	l.waiting = append(l.waiting, slice)
}

// submitted says that a slice submitted the work.
func (g *Links) submitted(id uint64, slice model.SliceID) {
	l := g.of(id)
	l.submitter = slice
	for _, stage := range l.stages {
		g.flows.Link(slice, stage)
	}
}

// waits says that a slice waits for the work.
func (g *Links) waits(id uint64, slice model.SliceID) {
	l := g.of(id)
	l.waiter = slice
	for _, stage := range l.stages {
		g.flows.Link(stage, slice)
	}
}

// Correlate reads a GpuCorrelation of a slice.
func (g *Links) Correlate(data []byte, slice model.SliceID) {
	for id := range message.Numbers(data, pb.GpuCorrelation_RenderStageSubmissionEventIDs) {
		g.submitted(id, slice)
	}
	for id := range message.Numbers(data, pb.GpuCorrelation_RenderStageWaitEventIDs) {
		g.waits(id, slice)
	}
}
