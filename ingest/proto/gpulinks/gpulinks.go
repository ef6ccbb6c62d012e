// Package gpulinks makes the flows between GPU work and the slices related to it, which
// come from packets of different families.
package gpulinks

import (
	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/ingest/proto/message"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/model"
)

// Links makes the flows between GPU work and the slices that submitted it or wait for
// it, whatever order they come in.
type Links struct {
	flows *model.Flows
	byID  map[uint64]*link // by event id of the work
}

// link holds the slices related to one piece of work, which may have several stages.
type link struct {
	stages, waiting []model.SliceID
	submitter       model.SliceID // the latest thread slice that submitted it, or None
	waiter          model.SliceID // the latest thread slice that waits for it, or None
}

var shared = proto.Shared[Links]{New: func(r *proto.Reader) *Links { return &Links{r.Flows, map[uint64]*link{}} }}

// Of returns the links of a machine's GPUs.
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

// StageWaits adds a stage of other work that waits for this work.
func (g *Links) StageWaits(id uint64, slice model.SliceID) {
	l := g.of(id)
	for _, stage := range l.stages {
		g.flows.Link(stage, slice)
	}
	l.waiting = append(l.waiting, slice)
}

// submitted notes that a slice submitted the work.
func (g *Links) submitted(id uint64, slice model.SliceID) {
	l := g.of(id)
	l.submitter = slice
	for _, stage := range l.stages {
		g.flows.Link(slice, stage)
	}
}

// waits notes that a slice waits for the work.
func (g *Links) waits(id uint64, slice model.SliceID) {
	l := g.of(id)
	l.waiter = slice
	for _, stage := range l.stages {
		g.flows.Link(stage, slice)
	}
}

// Correlate reads a slice's GpuCorrelation.
func (g *Links) Correlate(data []byte, slice model.SliceID) {
	for id := range message.Numbers(data, pb.GpuCorrelation_RenderStageSubmissionEventIDs) {
		g.submitted(id, slice)
	}
	for id := range message.Numbers(data, pb.GpuCorrelation_RenderStageWaitEventIDs) {
		g.waits(id, slice)
	}
}
