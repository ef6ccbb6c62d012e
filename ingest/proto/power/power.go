// Package power reads a device's energy data.
package power

import (
	"encoding/binary"
	"math"
	"strings"

	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/ingest/proto/message"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
)

// Modules read the packets of the family.
var Modules = proto.Family{energy}

const (

	// maxRails limits rail indexes. No device has that many.
	maxRails = 256
)

// power reads how much energy the battery supplies and the parts of a device use.
type power struct {
	*proto.Reader
	rails     *proto.Stream
	tracks    map[rail]model.TrackID
	consumers map[int64]consumer
	entities  map[entityState]entityNames
}

type rail struct {
	session, index uint64
}

// consumer is a part of the device whose energy Android estimates.
type consumer struct {
	name, kind model.StringID
	ordinal    int64
}

// entityState is a power state of an entity.
type entityState struct{ entity, state int64 }

type entityNames struct{ entity, state, track model.StringID }

func energy(r *proto.Reader) *proto.Module {
	p := &power{Reader: r, tracks: map[rail]model.TrackID{}, consumers: map[int64]consumer{}, entities: map[entityState]entityNames{}}
	p.rails = r.NewStream(p.railEnergy)
	return &proto.Module{
		Fields: []uint32{pb.TracePacket_Battery, pb.TracePacket_PowerRails, pb.TracePacket_AndroidEnergyEstimationBreakdown,
			pb.TracePacket_EntityStateResidency},
		Tokenize: p.tokenize,
		Parse:    p.parse,
	}
}

// tokenize reads descriptions, which have no time, and the energy values of power
// rails, each of which has its own time.
func (p *power) tokenize(packet *proto.Packet, f *wire.Field) bool {
	switch data := f.Bytes(); f.Number {
	case pb.TracePacket_PowerRails:
		p.powerRails(packet, data)
		return true
	case pb.TracePacket_AndroidEnergyEstimationBreakdown:
		if descriptor, ok := wire.Find(data, pb.AndroidEnergyEstimationBreakdown_EnergyConsumerDescriptor); ok {
			p.describeConsumers(descriptor.Bytes())
			return true
		}
	case pb.TracePacket_EntityStateResidency:
		p.describeEntities(data)
	}
	return false
}

func (p *power) parse(e *proto.Event) {
	switch e.Field {
	case pb.TracePacket_Battery:
		p.battery(e.TS, e.Data)
	case pb.TracePacket_AndroidEnergyEstimationBreakdown:
		p.breakdown(e.TS, e.Data)
	case pb.TracePacket_EntityStateResidency:
		p.residency(e.TS, e.Data)
	}
}

func (p *power) dim(text []byte) model.Dim {
	return model.StringDim(p.TextID(text))
}

var batteryCounters = &model.Blueprint{Classification: "battery_counter", Event: model.CounterTrack, Dims: []string{"battery_name", "counter_name"},
	NameOf: func(s *model.Store, dims []model.Dim) string {
		name := "batt."
		if battery := s.Strings.Get(dims[0].String()); battery != "" {
			name += battery + "."
		}
		return name + s.Strings.Get(dims[1].String())
	}}

func (p *power) battery(ts int64, data []byte) {
	battery := p.dim(message.Bytes(data, pb.BatteryCounters_Name))
	push := func(counter string, value float64) {
		p.Counters.Push(ts, value, p.Tracks.Intern(batteryCounters, nil, battery, model.StringDim(p.Store.Strings.Intern(counter))))
	}
	pushInt := func(field uint32, counter string) (int64, bool) {
		f, ok := wire.Find(data, field)
		if ok {
			push(counter, float64(f.Int64()))
		}
		return f.Int64(), ok
	}
	voltage, _ := wire.Find(data, pb.BatteryCounters_VoltageUv)
	if _, charge := pushInt(pb.BatteryCounters_ChargeCounterUah, "charge_uah"); !charge &&
		message.Has(data, pb.BatteryCounters_EnergyCounterUwh) && voltage.Int64() > 0 {
		push("charge_uah", float64(message.Int64(data, pb.BatteryCounters_EnergyCounterUwh)*1_000_000/voltage.Int64()))
	}
	if message.Has(data, pb.BatteryCounters_CapacityPercent) {
		push("capacity_pct", message.Float64(data, pb.BatteryCounters_CapacityPercent))
	}
	current, hasCurrent := pushInt(pb.BatteryCounters_CurrentUa, "current_ua")
	pushInt(pb.BatteryCounters_CurrentAvgUa, "current.avg_ua")
	if _, ok := pushInt(pb.BatteryCounters_VoltageUv, "voltage_uv"); ok && hasCurrent {
		// While a battery discharges, its current is negative, but power is positive.
		push("power_mw", math.Abs(float64(current*voltage.Int64()/1_000_000_000)))
	}
}

// railNames are readable names for the rails of Pixel phones, by the ends of their raw
// names.
var railNames = []struct{ suffix, name string }{
	{"M_VDD_CPUCL0", "cpu.little"}, {"M_VDD_CPUCL0_M", "cpu.little.mem"}, {"M_VDD_CPUCL1", "cpu.mid"}, {"M_VDD_CPUCL1_M", "cpu.mid.mem"},
	{"M_VDD_CPUCL2", "cpu.big"}, {"M_VDD_INT", "system.fabric"}, {"M_VDD_TPU", "tpu"}, {"VSYS_PWR_DISP", "display"},
	{"VSYS_PWR_DISPLAY", "display"}, {"M_DISP", "ldo.main.a.display"}, {"VSYS_PWR_MODEM", "modem"}, {"M_VDD_MIF", "memory.interface"},
	{"VSYS_PWR_WLAN_BT", "wifi.bt"}, {"VSYS_PWR_MMWAVE", "mmwave"}, {"S_VDD_AOC_RET", "aoc.memory"}, {"S_VDD_AOC", "aoc.logic"},
	{"S_VDDQ_MEM", "ddr.a"}, {"S_VDD2L", "ddr.b"}, {"S_VDD2L_MEM", "ddr.b"}, {"S_VDD2H_MEM", "ddr.c"}, {"S_VDD_G3D", "gpu"},
	{"S_VDD_G3D_L2", "gpu.l2"}, {"S_GNSS_CORE", "gps"}, {"VSYS_PWR_RFFE", "radio.frontend"}, {"VSYS_PWR_CAMERA", "camera"},
	{"S_VDD_CAM", "multimedia"}, {"S_UDFPS", "udfps"}, {"S_PLL_MIPI_UFS", "ufs"}, {"M_LLDO1", "ldo.main.a"}, {"M_LLDO2", "ldo.main.b"},
	{"S_LLDO1", "ldo.sub"},
}

func railName(raw string) string {
	for _, r := range railNames {
		if strings.HasSuffix(raw, r.suffix) {
			return "power.rails." + r.name
		}
	}
	return "power." + raw + "_uws"
}

var powerRails = &model.Blueprint{Classification: "power_rails", Event: model.CounterTrack, Dims: []string{"name", "session_uuid"}}

func (p *power) powerRails(packet *proto.Packet, data []byte) {
	session := message.Uint64(data, pb.PowerRails_SessionUUID)
	for descriptor := range message.Messages(data, pb.PowerRails_RailDescriptor) {
		index := uint64(message.Uint32(descriptor, pb.PowerRails_RailDescriptor_Index))
		if index > maxRails {
			continue
		}
		raw, intern := message.Bytes(descriptor, pb.PowerRails_RailDescriptor_RailName), p.Store.Strings
		o := model.TrackOptions{Name: intern.Intern(railName(string(raw))), Args: model.ArgFunc(func(set *model.ArgSet) {
			set.Add(intern.Intern("raw_name"), model.StringArg(intern.InternBytes(raw)))
			set.Add(intern.Intern("subsystem_name"),
				model.StringArg(intern.InternBytes(message.Bytes(descriptor, pb.PowerRails_RailDescriptor_SubsysName))))
		})}
		p.tracks[rail{session, index}] = p.Tracks.Intern(powerRails, &o, p.dim(raw), model.IntDim(int64(session)))
	}
	if !message.Has(data, pb.PowerRails_EnergyData) {
		p.File.LogTime(model.StatPowerRailEmptyPacket, packet.TS, nil)
		return
	}
	for energy := range message.Messages(data, pb.PowerRails_EnergyData) {
		ts := packet.TS
		if ms, ok := wire.Find(energy, pb.PowerRails_EnergyData_TimestampMS); ok {
			var err *model.ClockError
			if ts, err = p.Clocks.ToTrace(model.Clock{ID: model.ClockBoottime}, ms.Int64()*1_000_000); err != nil {
				p.File.LogAt(err.Stat, packet.Offset, err)
				continue
			}
		}
		head := binary.AppendUvarint(nil, session)
		head = binary.AppendUvarint(head, uint64(packet.TS))
		p.rails.Push(ts, packet.State, head, energy)
	}
}

// railEnergy stores the energy that a rail has supplied, and when that was reported.
func (p *power) railEnergy(ts int64, _ *proto.State, data []byte) {
	session, n := binary.Uvarint(data)
	reported, m := binary.Uvarint(data[n:])
	data = data[n+m:]
	track, ok := p.tracks[rail{session, uint64(message.Uint32(data, pb.PowerRails_EnergyData_Index))}]
	if !ok {
		p.File.Count(model.StatPowerRailUnknownIndex)
		return
	}
	p.Counters.PushWithArgs(ts, float64(message.Uint64(data, pb.PowerRails_EnergyData_Energy)), track,
		model.ArgFunc(func(set *model.ArgSet) {
			set.Add(p.Store.Strings.Intern("packet_ts"), model.UintArg(reported))
		}))
}

var (
	consumerEnergy = &model.Blueprint{Classification: "android_energy_estimation_breakdown", Event: model.CounterTrack, Dims: []string{"energy_consumer_id"}}
	userEnergy     = &model.Blueprint{Classification: "android_energy_estimation_breakdown_per_uid", Event: model.CounterTrack, Dims: []string{"energy_consumer_id", "uid"}}
	entityTime     = &model.Blueprint{Classification: "entity_state", Event: model.CounterTrack, Dims: []string{"entity_name", "state_name"}}
)

func (p *power) describeConsumers(data []byte) {
	for c := range message.Messages(data, pb.AndroidEnergyConsumerDescriptor_EnergyConsumers) {
		id, ok := wire.Find(c, pb.AndroidEnergyConsumer_EnergyConsumerID)
		if !ok {
			p.File.Count(model.StatEnergyDescriptorInvalid)
			continue
		}
		if _, known := p.consumers[int64(id.Int32())]; !known {
			p.consumers[int64(id.Int32())] = consumer{
				name:    p.TextField(c, pb.AndroidEnergyConsumer_Name),
				kind:    p.TextField(c, pb.AndroidEnergyConsumer_Type),
				ordinal: int64(message.Int32(c, pb.AndroidEnergyConsumer_Ordinal)),
			}
		}
	}
}

func (p *power) breakdown(ts int64, data []byte) {
	id, _ := wire.Find(data, pb.AndroidEnergyEstimationBreakdown_EnergyConsumerID)
	c, known := p.consumers[int64(id.Int32())]
	if !known || !message.Has(data, pb.AndroidEnergyEstimationBreakdown_EnergyConsumerID) ||
		!message.Has(data, pb.AndroidEnergyEstimationBreakdown_EnergyUws) {
		p.File.Count(model.StatEnergyBreakdownMissingValues)
		return
	}
	dim := model.IntDim(int64(id.Int32()))
	o := model.TrackOptions{Name: c.name, Args: model.ArgFunc(func(set *model.ArgSet) {
		set.Add(p.Store.Strings.Intern("consumer_type"), model.StringArg(c.kind))
		set.Add(p.Store.Strings.Intern("ordinal"), model.IntArg(c.ordinal))
	})}
	p.Counters.Push(ts, float64(message.Int64(data, pb.AndroidEnergyEstimationBreakdown_EnergyUws)),
		p.Tracks.Intern(consumerEnergy, &o, dim))
	for user := range message.Messages(data, pb.AndroidEnergyEstimationBreakdown_PerUIDBreakdown) {
		if !message.Has(user, pb.AndroidEnergyEstimationBreakdown_EnergyUidBreakdown_UID) ||
			!message.Has(user, pb.AndroidEnergyEstimationBreakdown_EnergyUidBreakdown_EnergyUws) {
			p.File.Count(model.StatEnergyUIDBreakdownMissingValues)
			continue
		}
		track := p.Tracks.Intern(userEnergy, &model.TrackOptions{Name: c.name}, dim,
			model.IntDim(int64(message.Uint32(user, pb.AndroidEnergyEstimationBreakdown_EnergyUidBreakdown_UID))))
		p.Counters.Push(ts, float64(message.Int64(user, pb.AndroidEnergyEstimationBreakdown_EnergyUidBreakdown_EnergyUws)), track)
	}
}

func entityOf(data []byte) entityState {
	return entityState{int64(message.Int32(data, pb.EntityStateResidency_StateResidency_EntityIndex)),
		int64(message.Int32(data, pb.EntityStateResidency_StateResidency_StateIndex))}
}

func (p *power) describeEntities(data []byte) {
	for d := range message.Messages(data, pb.EntityStateResidency_PowerEntityState) {
		if !message.Has(d, pb.EntityStateResidency_PowerEntityState_EntityIndex) ||
			!message.Has(d, pb.EntityStateResidency_PowerEntityState_StateIndex) {
			p.File.Count(model.StatEnergyDescriptorInvalid)
			continue
		}
		if _, known := p.entities[entityOf(d)]; known {
			continue
		}
		entity, state := message.Bytes(d, pb.EntityStateResidency_PowerEntityState_EntityName),
			message.Bytes(d, pb.EntityStateResidency_PowerEntityState_StateName)
		p.entities[entityOf(d)] = entityNames{
			p.Store.Strings.InternBytes(entity), p.Store.Strings.InternBytes(state),
			p.Store.Strings.Intern("Entity residency: " + string(entity) + " is " + string(state)),
		}
	}
}

func (p *power) residency(ts int64, data []byte) {
	if !message.Has(data, pb.EntityStateResidency_Residency) {
		p.File.Count(model.StatEntityStateResidencyInvalid)
		return
	}
	for d := range message.Messages(data, pb.EntityStateResidency_Residency) {
		names, ok := p.entities[entityOf(d)]
		if !ok {
			p.File.Count(model.StatEntityStateResidencyLookupFailed)
			return
		}
		track := p.Tracks.Intern(entityTime, &model.TrackOptions{Name: names.track}, model.StringDim(names.entity), model.StringDim(names.state))
		p.Counters.Push(ts, float64(message.Uint64(d, pb.EntityStateResidency_StateResidency_TotalTimeInStateMS)), track)
	}
}
