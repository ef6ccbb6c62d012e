// Package tracks declares the tracks that several formats fill.
package tracks

import "github.com/tpconvert/tpconvert/model"

var (
	// CPUFrequency is in kHz.
	CPUFrequency = &model.Blueprint{Classification: "cpu_frequency", Event: model.CounterTrack, Dims: []string{"cpu"}, Name: "cpufreq"}
	// GPUFrequency is in kHz.
	GPUFrequency = &model.Blueprint{Classification: "gpu_frequency", Event: model.CounterTrack, Dims: []string{"ugpu", "gpu"}, Name: "gpufreq", Unit: "kHz"}
	// ClockFrequency is the frequency of a clock or device, in its driver's
	// unit.
	ClockFrequency = counter("clock_frequency", "%[1]s Frequency", "linux_device")
	// IRQs and SoftIRQs are the tracks of a CPU's interrupts.
	IRQs     = spans("cpu_irq", "Irq Cpu %[1]d", "cpu")
	SoftIRQs = spans("cpu_softirq", "SoftIrq Cpu %[1]d", "cpu")
	// ProcessMemory are the counters of a process's memory, by kind.
	ProcessMemory = model.ProcessCounter{
		Process: &model.Blueprint{Classification: "process_memory", Event: model.CounterTrack, Dims: []string{"upid", "process_memory_key"},
			NameOf: model.NameOf("mem.%[2]s"), Describe: describeMemory},
		Thread: counter("process_memory_thread_fallback", "mem.%[2]s", "utid", "process_memory_key"),
	}
	// OOMScoreAdj is how willing the kernel is to kill a process for its memory.
	OOMScoreAdj = model.ProcessCounter{
		Process: counter("oom_score_adj", "oom_score_adj", "upid"),
		Thread:  counter("oom_score_adj_thread_fallback", "oom_score_adj", "utid"),
	}
	// DeviceState is the track of a device's posture, such as folded.
	DeviceState = &model.Blueprint{Classification: "android_device_state", Name: "DeviceStateChanged"}
	// ScreenState is the counter of whether the screen is on.
	ScreenState = &model.Blueprint{Classification: "screen_state", Event: model.CounterTrack, Name: "ScreenState"}
	// BatteryStats are the counters of Android's battery service, by name.
	BatteryStats = counter("battery_stats", "%[1]s", "counter_key")
)

func spans(classification, name string, dims ...string) *model.Blueprint {
	return &model.Blueprint{Classification: classification, Dims: dims, NameOf: model.NameOf(name)}
}

func counter(classification, name string, dims ...string) *model.Blueprint {
	return &model.Blueprint{Classification: classification, Event: model.CounterTrack, Dims: dims, NameOf: model.NameOf(name)}
}

var memoryDocs = map[string]string{
	"virt":          "Address space that the process reserved, polled.",
	"rss":           "Physical memory in use by the process: rss.anon, rss.file and rss.shmem together, polled.",
	"rss.anon":      "Physical memory of heaps and stacks, which no file backs.",
	"rss.file":      "Physical memory of mapped files, which the kernel can drop and read again.",
	"rss.shmem":     "Physical memory that is shared with other processes by shmem or tmpfs.",
	"swap":          "Memory of the process that was swapped out.",
	"locked":        "Memory that the process locked, so that it is never swapped out, polled.",
	"rss.watermark": "The most physical memory that the process ever used, polled.",
	"dmabuf_rss":    "Memory in DMA buffers, which graphics, cameras and other devices share.",
	"unreclaimable": "Memory that the GPU driver keeps from being reclaimed.",
	"unknown":       "Memory of a kind that has no name yet.",
}

func describeMemory(s *model.Store, dims []model.Dim) string {
	return memoryDocs[s.Strings.Get(dims[1].String())]
}

var (
	gpuMemory        = &model.Blueprint{Classification: "gpu_memory", Event: model.CounterTrack, Dims: []string{"ugpu", "gpu"}, Name: "GPU Memory", Unit: "bytes"}
	processGPUMemory = &model.Blueprint{Classification: "process_gpu_memory", Event: model.CounterTrack, Dims: []string{"ugpu", "gpu", "upid"}, Name: "GPU Memory", Unit: "bytes"}
)

// GPUMemory stores how much of a GPU's memory a process has, or all processes if
// pid is 0, in bytes.
func GPUMemory(c *model.Context, ts, gpu, pid int64, bytes float64) {
	dims := [3]model.Dim{model.IntDim(c.Machine.GPU(gpu)), model.IntDim(gpu)}
	if pid == 0 {
		c.Counters.Push(ts, bytes, c.Tracks.Intern(gpuMemory, nil, dims[:2]...))
		return
	}
	utid := c.Machine.ThreadOf(pid, pid)
	dims[2] = model.IntDim(c.Machine.ProcessOf(utid))
	c.Counters.Push(ts, bytes, c.Tracks.Intern(processGPUMemory, nil, dims[:]...))
}
