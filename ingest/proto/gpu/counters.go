package gpu

import (
	"strings"

	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/ingest/proto/message"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
)

// gpuCounters reads GPU counters, which the drivers describe.
type gpuCounters struct {
	*proto.Reader
	inline gpuCounterMap           // counters described in the events themselves
	last   map[model.TrackID]int64 // row of the last value
}

// internedCounters are the counters that a sequence described, by iid.
var internedCounters = proto.NewLocal[map[uint64]gpuCounterMap](proto.UntilAnew)

// gpuCounterMap holds the counters of a description by their id in it.
type gpuCounterMap map[uint32]gpuCounter

type gpuCounter struct {
	track   model.TrackID
	forward bool // a value holds from its time on, not up to it
}

func gpuCounterEvents(r *proto.Reader) *proto.Module {
	g := &gpuCounters{Reader: r, inline: gpuCounterMap{}, last: map[model.TrackID]int64{}}
	return &proto.Module{
		Fields: []uint32{pb.TracePacket_GPUCounterEvent},
		Tokenize: func(p *proto.Packet, f *wire.Field) bool {
			g.describe(p, f.Bytes())
			if p.HasTimestamp {
				return false
			}
			if message.Has(f.Bytes(), pb.GpuCounterEvent_Counters) {
				g.File.LogAt(model.StatGPUCountersMissingTimestamp, p.Offset, nil)
			}
			return true
		},
		Parse: g.parse,
		End: func() {
			for _, row := range g.last {
				g.Store.Counter.Unpin(row)
			}
		},
	}
}

// describe reads the description of counters in an event, if it has a new one.
func (g *gpuCounters) describe(p *proto.Packet, data []byte) {
	if iid, ok := wire.Find(data, pb.GpuCounterEvent_CounterDescriptorIID); ok {
		known := internedCounters.Of(p.State)
		if *known == nil {
			*known = map[uint64]gpuCounterMap{}
		}
		if (*known)[iid.Uint64()] != nil {
			return
		}
		described, ok := p.State.Interned(pb.InternedData_GPUCounterDescriptors, iid.Uint64())
		if !ok || !message.Has(described, pb.InternedGpuCounterDescriptor_CounterDescriptor) {
			g.File.Count(model.StatGPUCountersInvalidSpec)
			return
		}
		counters := gpuCounterMap{}
		g.specs(p, int64(message.Uint32(described, pb.InternedGpuCounterDescriptor_GPUID)),
			message.Bytes(described, pb.InternedGpuCounterDescriptor_CounterDescriptor), counters)
		(*known)[iid.Uint64()] = counters
		return
	}
	if descriptor, ok := wire.Find(data, pb.GpuCounterEvent_CounterDescriptor); ok {
		g.specs(p, int64(message.Uint32(data, pb.GpuCounterEvent_GPUID)), descriptor.Bytes(), g.inline)
	}
}

type counterGroup struct{ name, description model.StringID }

// specs adds the counters of a GpuCounterDescriptor and their groups.
func (g *gpuCounters) specs(p *proto.Packet, gpu int64, descriptor []byte, counters gpuCounterMap) {
	groups := map[int64]counterGroup{}
	for group := range message.Messages(descriptor, pb.GpuCounterDescriptor_CounterGroups) {
		groups[int64(message.Uint32(group, pb.GpuCounterDescriptor_GpuCounterGroupSpec_GroupID))] = counterGroup{g.TextField(group,
			pb.GpuCounterDescriptor_GpuCounterGroupSpec_Name), g.TextField(group, pb.GpuCounterDescriptor_GpuCounterGroupSpec_Description)}
	}
	added := map[uint32]model.TrackID{}
	for spec := range message.Messages(descriptor, pb.GpuCounterDescriptor_Specs) {
		id, ok := wire.Find(spec, pb.GpuCounterDescriptor_GpuCounterSpec_CounterID)
		_, known := counters[id.Uint32()]
		if !ok || !message.Has(spec, pb.GpuCounterDescriptor_GpuCounterSpec_Name) || known {
			g.File.LogAt(model.StatGPUCountersInvalidSpec, p.Offset, nil)
			continue
		}
		const forwards = 2
		track := g.track(gpu, spec)
		counters[id.Uint32()] = gpuCounter{track, message.Int64(spec, pb.GpuCounterDescriptor_GpuCounterSpec_ValueDirection) == forwards}
		added[id.Uint32()] = track
		grouped := false
		for group := range message.Numbers(spec, pb.GpuCounterDescriptor_GpuCounterSpec_Groups) {
			grouped = true
			g.group(int64(group), track, groups[int64(group)])
		}
		if !grouped {
			g.group(0, track, counterGroup{})
		}
	}
	for group := range message.Messages(descriptor, pb.GpuCounterDescriptor_CounterGroups) {
		for id := range message.Numbers(group, pb.GpuCounterDescriptor_GpuCounterGroupSpec_CounterIDs) {
			if track, ok := added[uint32(id)]; ok {
				g.group(int64(message.Uint32(group, pb.GpuCounterDescriptor_GpuCounterGroupSpec_GroupID)), track,
					groups[int64(message.Uint32(group, pb.GpuCounterDescriptor_GpuCounterGroupSpec_GroupID))])
			}
		}
	}
}

func (g *gpuCounters) group(id int64, track model.TrackID, group counterGroup) {
	t := &g.Store.GPUCounterGroup
	row := t.Append()
	t.GroupID.Set(row, id)
	t.TrackID.Set(row, track)
	t.Name.Set(row, group.name)
	t.Description.Set(row, group.description)
}

var gpuCounterTracks = &model.Blueprint{Classification: "gpu_counter", Event: model.CounterTrack, Dims: []string{"ugpu", "gpu", "name"}}

func (g *gpuCounters) track(gpu int64, spec []byte) model.TrackID {
	name := g.TextField(spec, pb.GpuCounterDescriptor_GpuCounterSpec_Name)
	o := model.TrackOptions{Name: name, Unit: g.unit(spec), Args: model.ArgFunc(func(set *model.ArgSet) {
		set.Add(g.Store.Strings.Intern("description"),
			model.StringArg(g.TextField(spec, pb.GpuCounterDescriptor_GpuCounterSpec_Description)))
	})}
	return g.Tracks.Intern(gpuCounterTracks, &o, model.IntDim(g.Machine.GPU(gpu)), model.IntDim(gpu), model.StringDim(name))
}

// measureUnits are GpuCounterDescriptor.MeasureUnit.
var measureUnits = [...]string{"", "bit", "Kb", "Mb", "Gb", "Tb", "Pb", "B", "KB", "MB", "GB", "TB", "PB", "Hz", "KHz", "MHz", "GHz",
	"THz", "PHz", "ns", "us", "ms", "s", "min", "h", "Vertex", "Pixel", "Triangle", "mW", "W", "kW", "J", "V", "A", "C", "F", "K", "%",
	"Primitive", "Fragment", "Instruction"}

func unitName(unit uint64) string {
	if unit < uint64(len(measureUnits)) {
		return measureUnits[unit]
	}
	return "Unknown"
}

// unit returns the unit of a counter, such as B/s.
func (g *gpuCounters) unit(spec []byte) model.StringID {
	if !message.Has(spec, pb.GpuCounterDescriptor_GpuCounterSpec_NumeratorUnits) &&
		!message.Has(spec, pb.GpuCounterDescriptor_GpuCounterSpec_DenominatorUnits) {
		return 0
	}
	var above, below []string
	for unit := range message.Numbers(spec, pb.GpuCounterDescriptor_GpuCounterSpec_NumeratorUnits) {
		above = append(above, unitName(unit))
	}
	for unit := range message.Numbers(spec, pb.GpuCounterDescriptor_GpuCounterSpec_DenominatorUnits) {
		if name := unitName(unit); name != "" {
			below = append(below, name)
		}
	}
	text := strings.TrimLeft(strings.Join(above, ":"), ":")
	if len(below) > 0 {
		text += "/" + strings.Join(below, ":")
	}
	return g.Store.Strings.Intern(text)
}

func (g *gpuCounters) parse(e *proto.Event) {
	counters, interned := g.inline, false
	if iid, ok := wire.Find(e.Data, pb.GpuCounterEvent_CounterDescriptorIID); ok {
		counters, interned = (*internedCounters.Of(e.State))[iid.Uint64()], true
		if counters == nil {
			return
		}
	}
	for value := range message.Messages(e.Data, pb.GpuCounterEvent_Counters) {
		id, ok := wire.Find(value, pb.GpuCounterEvent_GpuCounter_CounterID)
		integer, isInteger := wire.Find(value, pb.GpuCounterEvent_GpuCounter_IntValue)
		double, isDouble := wire.Find(value, pb.GpuCounterEvent_GpuCounter_DoubleValue)
		if !ok || !isInteger && !isDouble {
			continue
		}
		c, known := counters[id.Uint32()]
		if !known {
			if interned {
				g.File.Count(model.StatGPUCountersInvalidSpec)
			}
			continue
		}
		number := double.Float64()
		if isInteger {
			number = float64(integer.Int64())
		}
		g.push(e.TS, number, c)
	}
}

// push stores a value. It holds from ts on or, more commonly, for the time since the
// last value. In that case the last value's row gets it.
func (g *gpuCounters) push(ts int64, value float64, c gpuCounter) {
	if c.forward {
		g.Counters.Push(ts, value, c.track)
		return
	}
	t := &g.Store.Counter
	if row, ok := g.last[c.track]; ok {
		t.Value.Set(row, value)
		t.Unpin(row)
	}
	row := int64(g.Counters.Push(ts, 0, c.track))
	t.Pin(row)
	g.last[c.track] = row
}
