package ftrace

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/tpconvert/tpconvert/ingest/internal/linux"
	"github.com/tpconvert/tpconvert/ingest/internal/tracks"
	"github.com/tpconvert/tpconvert/model"
)

// power is the state of power management events.
type power struct {
	wakelocks map[string]int         // how many holders each has
	active    map[model.TrackID]bool // devices with an open slice
	suspend   suspendState
	entered   int64 // cookie of the suspend_enter slice
}

func (w *power) init() {
	w.wakelocks = map[string]int{}
	w.active = map[model.TrackID]bool{}
}

var (
	// cpuIdle is a CPU's idle state, 4294967295 for none.
	cpuIdle = &model.Blueprint{Classification: "cpu_idle", Event: model.CounterTrack, Dims: []string{"cpu"}, Name: "cpuidle"}
	// thermalTemperature is in thousandths of a degree Celsius.
	thermalTemperature = counters("thermal_temperature", "%[1]s Temperature", "thermal_zone")
	// coolingDevice is the state of a cooling device.
	coolingDevice = counters("cooling_device_counter", "%[1]s Cooling Device", "linux_device")

	cpuThrottle      = counters("cpu_frequency_throttle", "cpufreq_throttle", "cpu")
	cpuMaxFrequency  = counters("cpu_max_frequency_limit", "Cpu %[1]d Max Freq Limit", "cpu")
	cpuMinFrequency  = counters("cpu_min_frequency_limit", "Cpu %[1]d Min Freq Limit", "cpu")
	cpuUtilization   = counters("cpu_utilization", "Cpu %[1]d Util", "cpu")
	cpuCapacity      = counters("cpu_capacity", "Cpu %[1]d Cap", "cpu")
	cpuRunning       = counters("cpu_nr_running", "Cpu %[1]d Nr Running", "cpu")
	clockState       = counters("clock_state", "%[1]s State", "linux_device")
	cpuHotplug       = spans("cpu_hotplug", "CPU Hotplug %[1]d", "cpu")
	wakelock         = spans("wakesource_wakelock", "Wakelock(%[1]s)", "wakelock_event")
	suspendResume    = model.AsyncBlueprint(model.Blueprint{Classification: "suspend_resume", Name: "Suspend/Resume Latency"})
	suspendMinimal   = spans("suspend_resume_minimal", "Suspend/Resume Minimal")
	runtimePower     = &model.Blueprint{Classification: "linux_rpm", Event: model.CounterTrack, Dims: []string{"linux_device"}}
	interconnect     = spans("interconnect_events", "Interconnect Events")
	pixelCPM         = counters("pixel_cpm_counters", "%[1]s", "name")
	pixelFirmware    = counters("pixel_fwtp_counters", "%[1]s", "name")
	pixelFirmwareRun = &model.Blueprint{Classification: "pixel_fwtp_slices"}
	batteryLimit     = counters("bcl_irq", "%[1]s", "bcl_key")
	acpmTemperature  = counters("acpm_thermal_temperature", "%[1]s Temperature", "thermal_zone")
	acpmCooling      = counters("acpm_cooling_device_counter", "Tj-%[1]s Cooling Device", "thermal_zone")
	sensorHub        = counters("cros_ec_sensorhub_data", "cros_ec.cros_ec_sensorhub_data.%[1]d", "ec_sensor_num")
	deviceFrequency  = &model.Blueprint{Classification: "linux_device_frequency", Event: model.CounterTrack, Dims: []string{"linux_device"},
		NameOf: func(s *model.Store, dims []model.Dim) string {
			// The device's name may follow an address.
			name := s.Strings.Get(dims[0].String())
			if i := strings.Index(name, "devfreq_"); i >= 0 {
				return name[i:]
			}
			return "devfreq_" + name
		}}
)

// gpuFrequency stores a frequency in kHz.
func gpuFrequency(field string) handler {
	return func(p *Parser, e *Event) {
		gpu := e.Int("gpu_id")
		track := p.Tracks.Intern(tracks.GPUFrequency, nil, model.IntDim(p.Machine.GPU(gpu)), model.IntDim(gpu))
		p.count(e, track, e.Float(field), nil)
	}
}

func wakeupActivate(p *Parser, e *Event) {
	name := string(e.Text("name"))
	p.power.wakelocks[name]++
	if p.power.wakelocks[name] == 1 {
		track := p.Tracks.Intern(wakelock, nil, model.StringDim(p.text(e, "name")))
		p.Slices.Begin(e.TS, track, 0, p.word(cut("Wakelock("+name+")", 31)), nil)
	}
}

func wakeupDeactivate(p *Parser, e *Event) {
	name := string(e.Text("name"))
	switch held := p.power.wakelocks[name]; {
	case held == 1:
		p.Slices.End(e.TS, p.Tracks.Intern(wakelock, nil, model.StringDim(p.text(e, "name"))), 0, 0, nil)
		fallthrough
	case held > 1:
		p.power.wakelocks[name]--
	}
}

// cut shortens a name to the size in bytes that Trace Processor has room for.
func cut(s string, size int) string { return s[:min(len(s), size)] }

type suspendState uint8

const (
	notSuspending suspendState = iota
	suspendEntered
	suspendFreezing
)

// suspendResumed follows the steps of a suspend. If its preparation fails, the
// kernel does not report the end of suspend_enter; instead threads thaw during
// the freeze.
func suspendResumed(p *Parser, e *Event) {
	action, value, w := string(e.Text("action")), e.Int("val"), &p.power
	if action == "timekeeping_freeze" {
		value = 0 // val is the CPU, which may differ at the end
	}
	name := p.word(cut(fmt.Sprintf("%s(%d)", action, value), 63))
	cookie := int64(name)
	if e.Int("start") == 0 {
		p.endSuspend(e.TS, cookie)
		switch {
		case action == "suspend_enter":
			w.suspend = notSuspending
		case action == "thaw_processes" && w.suspend == suspendFreezing:
			p.endSuspend(e.TS, w.entered)
			w.suspend = notSuspending
		}
		return
	}
	switch {
	case action == "suspend_enter":
		w.suspend, w.entered = suspendEntered, cookie
	case action == "freeze_processes" && w.suspend == suspendEntered:
		w.suspend = suspendFreezing
	}
	p.beginSuspend(e, name, "Main Kernel Suspend Event", 0, 0, 0)
}

func (p *Parser) beginSuspend(e *Event, name model.StringID, kind string, device, driver, phase model.StringID) {
	p.Slices.Begin(e.TS, p.Async.Begin(suspendResume, nil, int64(name)), 0, name, p.list().
		add("utid", model.UintArg(uint64(p.thread(e)))).
		add("event_type", model.StringArg(p.word(kind))).
		add("cpu", model.UintArg(uint64(e.CPU))).
		add("device_name", model.StringArg(device)).
		add("driver_name", model.StringArg(driver)).
		add("callback_phase", model.StringArg(phase)))
}

func (p *Parser) endSuspend(ts, cookie int64) {
	p.Slices.End(ts, p.Async.End(suspendResume, nil, cookie), 0, 0, nil)
}

func suspendResumeMinimal(p *Parser, e *Event) {
	track := p.Tracks.Intern(suspendMinimal, nil)
	if e.Int("start") != 0 {
		p.Slices.Begin(e.TS, track, 0, p.word("Suspended"), nil)
	} else {
		p.Slices.End(e.TS, track, 0, 0, nil)
	}
}

func devicePMStart(p *Parser, e *Event) {
	phase := cmp.Or(linux.DevicePMEvent(e.Int("event")), "(unknown PM event)")
	switch ops := string(e.Text("pm_ops")); {
	case ops == "" && phase == "suspend":
		phase += ":prepare"
	case ops == "" && phase == "resume":
		phase += ":complete"
	default:
		for _, step := range []string{"early", "late", "noirq"} {
			if strings.HasPrefix(ops, step) {
				phase += ":" + step
			}
		}
	}
	p.beginSuspend(e, p.deviceName(e), "Device PM Suspend Event", p.text(e, "device"), p.text(e, "driver"), p.word(phase))
}

func devicePMEnd(p *Parser, e *Event) { p.endSuspend(e.TS, int64(p.deviceName(e))) }

func (p *Parser) deviceName(e *Event) model.StringID {
	return p.word(string(e.Text("device")) + " " + string(e.Text("driver")))
}

// runtimeStates are the states of rpm_status, starting at -1. Suspended devices
// get no slice, because most devices are suspended most of the time.
var runtimeStates = [...]string{"Invalid State", "Active", "Resuming", "", "Suspending"}

func runtimePM(p *Parser, e *Event) {
	track := p.Tracks.Intern(runtimePower, nil, model.StringDim(p.text(e, "name")))
	if p.power.active[track] {
		p.Slices.End(e.TS, track, 0, 0, nil)
	}
	name := runtimeStates[0]
	if status := e.Int("status") + 1; status >= 0 && status < int64(len(runtimeStates)) {
		name = runtimeStates[status]
	}
	p.power.active[track] = name != ""
	if name != "" {
		p.Slices.Begin(e.TS, track, 0, p.word(name), nil)
	}
}

func hotplugEnter(p *Parser, e *Event) {
	index := e.Int("idx")
	p.Slices.Begin(e.TS, on(cpuHotplug, "cpu")(p, e), p.word("cpu"), p.word(fmt.Sprintf("cpuhp(%d)", index)), p.list().
		add("action_cpu", model.UintArg(uint64(e.CPU))).
		add("cpuhp_idx", model.IntArg(index)))
}

// batteryLimits are the counters of a battery current limiter and their fields.
// The counters that can be non-zero while nothing is throttled are pushed
// separately, at the end.
var batteryLimits = []struct{ key, field string }{
	{"bcl_irq_cpu0", "cpu0_limit"}, {"bcl_irq_cpu1", "cpu1_limit"}, {"bcl_irq_cpu2", "cpu2_limit"},
	{"bcl_irq_tpu", "tpu_limit"}, {"bcl_irq_gpu", "gpu_limit"},
}

func batteryLimited(p *Parser, e *Event) {
	push := func(key string, value float64) {
		p.count(e, p.Tracks.Intern(batteryLimit, nil, model.StringDim(p.word(key))), value, nil)
	}
	throttle := e.Float("throttle")
	id := -1.0
	if throttle != 0 {
		id = e.Float("id")
	}
	push("bcl_irq_id", id)
	push("bcl_irq_throttle", throttle)
	for _, limit := range batteryLimits {
		value := 0.0
		if throttle != 0 {
			value = e.Float(limit.field)
		}
		push(limit.key, value)
	}
	push("bcl_irq_voltage", e.Float("voltage"))
	push("bcl_irq_capacity", e.Float("capacity"))
}

var acpmZones = [...]string{"BIG", "MID", "LITTLE", "GPU", "ISP", "TPU", "AUR"}

// acpmThermal handles the sensor values of Exynos's power controller.
func acpmThermal(p *Parser, e *Event) {
	zone := e.Int("tz_id")
	if zone < 0 || zone >= int64(len(acpmZones)) {
		p.File.LogTime(model.StatFtraceThermalExynosAcpmUnknownTzID, e.TS, nil)
		return
	}
	name := model.StringDim(p.word(acpmZones[zone]))
	args := p.list().add("thermal_zone_id", model.IntArg(zone))
	p.count(e, p.Tracks.Intern(acpmTemperature, nil, name), e.Float("current_temp"), args)
	p.count(e, p.Tracks.Intern(acpmCooling, nil, name), e.Float("cdev_state"), args)
}

func sensorHubData(p *Parser, e *Event) {
	now := e.Int("current_timestamp")
	p.count(e, on(sensorHub, "ec_sensor_num")(p, e), float64(e.Int("current_time")-now), p.list().
		add("ec_num", model.IntArg(e.Int("ec_sensor_num"))).
		add("ec_delta", model.IntArg(e.Int("fifo_timestamp")-now)).
		add("sample_ts", model.IntArg(now)))
}

func firmwareSlice(p *Parser, e *Event) {
	name := p.text(e, "name")
	track := p.Tracks.Intern(pixelFirmwareRun, &model.TrackOptions{Name: name})
	p.Slices.End(e.TS, track, 0, 0, nil)
	if e.Int("begin") != 0 {
		p.Slices.Begin(e.TS, track, p.text(e, "category"), name, nil)
	}
}
