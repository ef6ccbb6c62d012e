package system

import (
	"math"

	"github.com/tpconvert/tpconvert/ingest/internal/tracks"
	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/ingest/proto/message"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
)

// sysStats reads the counters of the whole system that the recorder polls.
type sysStats struct {
	*proto.Reader
	disks map[string]diskStats
	zones map[string]string // the first thermal zone of each type
	gpu   model.TrackID     // None until used
}

func systemStats(r *proto.Reader) *proto.Module {
	s := &sysStats{Reader: r, disks: map[string]diskStats{}, zones: map[string]string{}, gpu: model.None}
	return &proto.Module{Fields: []uint32{pb.TracePacket_SysStats}, Parse: s.parse}
}

func polled(classification, name string, dims ...string) *model.Blueprint {
	return &model.Blueprint{Classification: classification, Event: model.CounterTrack, Dims: dims, NameOf: model.NameOf(name)}
}

func withUnit(b *model.Blueprint, unit string) *model.Blueprint {
	b.Unit = unit
	return b
}

var (
	meminfo      = withUnit(polled("meminfo", "%[1]s", "meminfo_key"), "bytes")
	vmstat       = polled("vmstat", "%[1]s", "vmstat_key")
	cpuTimeTrack = polled("cpustat", "cpu.times.%[2]s", "cpu", "cpustat_key")
	irqCounts    = polled("num_irq", "num_irq (id: %[1]d)", "irq")
	softirqs     = polled("num_softirq", "num_softirq (id: %[1]d)", "irq")
	forks        = polled("num_forks", "num_forks")
	irqTotal     = polled("num_irq_total", "num_irq_total")
	softirqTotal = polled("num_softirq_total", "num_softirq_total")
	buddyinfo    = polled("buddyinfo", "mem.buddyinfo[%[1]s][%[2]s][%[3]d kB]", "buddyinfo_node", "buddyinfo_zone", "buddyinfo_chunk_size_kb")
	pressure     = polled("psi", "psi.%[1]s", "psi_resource")
	temperatures = withUnit(polled("thermal_temperature_sys", "%[1]s", "thermal_zone"), "C")
	idleStates   = withUnit(polled("cpu_idle_state", "cpuidle%[1]d.%[2]s", "cpu", "state"), "us")
	slabs        = withUnit(polled("slabinfo", "mem.slab.%[1]s", "slab_name"), "bytes")
	diskCounters = polled("diskstat", "diskstat.[%[1]s].%[2]s", "device_name", "counter_name")
)

// cpuTimeKeys are the fields of CpuTimes from user_ns on. pressureKeys are the
// resources of PsiSample.
var (
	cpuTimeKeys  = []string{"user_ns", "user_nice_ns", "system_mode_ns", "idle_ns", "io_wait_ns", "irq_ns", "softirq_ns", "steal_ns"}
	pressureKeys = []string{"resource.unspecified", "cpu.some", "cpu.full", "io.some", "io.full", "mem.some", "mem.full"}
)

func (s *sysStats) parse(e *proto.Event) {
	cpu := int64(0)
	for f := wire.Read(e.Data); f.Next(); {
		data := f.Bytes()
		switch f.Number {
		case pb.SysStats_Meminfo: // kB
			s.named(e.TS, meminfo, meminfoKeys[:], data, 1024, model.StatMeminfoUnknownKeys)
		case pb.SysStats_Vmstat:
			s.named(e.TS, vmstat, vmstatKeys[:], data, 1, model.StatVmstatUnknownKeys)
		case pb.SysStats_CPUStat:
			s.cpuTimes(e.TS, data)
		case pb.SysStats_NumForks:
			s.push(e.TS, float64(f.Uint64()), forks)
		case pb.SysStats_NumIRQTotal:
			s.push(e.TS, float64(f.Uint64()), irqTotal)
		case pb.SysStats_NumIRQ:
			s.push(e.TS, float64(message.Uint64(data, pb.SysStats_InterruptCount_Count)), irqCounts,
				model.IntDim(int64(message.Uint32(data, pb.SysStats_InterruptCount_IRQ))))
		case pb.SysStats_NumSoftirqTotal:
			s.push(e.TS, float64(f.Uint64()), softirqTotal)
		case pb.SysStats_NumSoftirq:
			s.push(e.TS, float64(message.Uint64(data, pb.SysStats_InterruptCount_Count)), softirqs,
				model.IntDim(int64(message.Uint32(data, pb.SysStats_InterruptCount_IRQ))))
		case pb.SysStats_Devfreq:
			s.push(e.TS, float64(message.Uint64(data, pb.SysStats_DevfreqValue_Value)), tracks.ClockFrequency,
				s.dim(message.Bytes(data, pb.SysStats_DevfreqValue_Key)))
		case pb.SysStats_CpufreqKhz:
			for khz := range f.Varints {
				s.push(e.TS, float64(uint32(khz)), tracks.CPUFrequency, model.IntDim(cpu))
				cpu++
			}
		case pb.SysStats_BuddyInfo:
			s.buddies(e.TS, data)
		case pb.SysStats_DiskStat:
			s.disk(e.TS, data)
		case pb.SysStats_Psi:
			s.named(e.TS, pressure, pressureKeys, data, 1, model.StatPsiUnknownResource)
		case pb.SysStats_ThermalZone:
			s.thermalZone(e.TS, data)
		case pb.SysStats_CpuidleState:
			cpu := model.IntDim(int64(message.Uint32(data, pb.SysStats_CpuIdleState_CPUID)))
			for state := range message.Messages(data, pb.SysStats_CpuIdleState_CpuidleStateEntry) {
				s.push(e.TS, float64(message.Uint64(state, pb.SysStats_CpuIdleStateEntry_DurationUS)), idleStates, cpu,
					s.dim(message.Bytes(state, pb.SysStats_CpuIdleStateEntry_State)))
			}
		case pb.SysStats_GpufreqMhz:
			for mhz := range f.Varints {
				s.Counters.Push(e.TS, float64(mhz), s.gpuTrack())
			}
		case pb.SysStats_SlabInfo:
			s.slab(e.TS, data)
		}
	}
}

// gpuTrack returns the track of the polled GPU frequency. Its unit differs from that of the frequencies in other packets.
func (s *sysStats) gpuTrack() model.TrackID {
	if s.gpu == model.None {
		megahertz := *tracks.GPUFrequency
		megahertz.Unit = "MHz"
		s.gpu = s.Tracks.Create(&megahertz, nil, model.IntDim(s.Machine.GPU(0)), model.IntDim(0))
	}
	return s.gpu
}

// thermalZone stores the temperature of a zone, in degrees Celsius. It is missing while the sensor cannot be read.
func (s *sysStats) thermalZone(ts int64, data []byte) {
	temperature, ok := wire.Find(data, pb.SysStats_ThermalZone_Temp)
	if !ok {
		return
	}
	// The recorder divides negative thousandths as if they were unsigned.
	const wrap = math.MaxUint64 / 1000
	degrees := temperature.Int64()
	if degrees > wrap/2 {
		degrees -= wrap
	}
	s.push(ts, float64(degrees), temperatures, s.zone(data))
}

// zone returns the name of a thermal zone. That is its type, and for a second zone of a type also its own name.
func (s *sysStats) zone(data []byte) model.Dim {
	name, kind := string(message.Bytes(data, pb.SysStats_ThermalZone_Name)), string(message.Bytes(data, pb.SysStats_ThermalZone_Type))
	first, known := s.zones[kind]
	if !known {
		s.zones[kind] = name
	} else if name != first {
		kind += " (" + name + ")"
	}
	return s.dim([]byte(kind))
}

func (s *sysStats) dim(text []byte) model.Dim {
	return model.StringDim(s.TextID(text))
}

func (s *sysStats) push(ts int64, value float64, b *model.Blueprint, dims ...model.Dim) {
	s.Counters.Push(ts, value, s.Tracks.Intern(b, nil, dims...))
}

// named stores a counter whose message holds the value and a number that stands for the name.
func (s *sysStats) named(ts int64, b *model.Blueprint, names []string, data []byte, scale float64, unknown model.Stat) {
	key := message.Uint64(data, pb.SysStats_MeminfoValue_Key)
	if key >= uint64(len(names)) {
		s.File.Count(unknown)
		return
	}
	s.push(ts, float64(message.Uint64(data, pb.SysStats_MeminfoValue_Value))*scale, b, model.StringDim(s.Store.Strings.Intern(names[key])))
}

func (s *sysStats) cpuTimes(ts int64, data []byte) {
	cpu, ok := wire.Find(data, pb.SysStats_CpuTimes_CPUID)
	if !ok {
		s.File.Count(model.StatInvalidCPUTimes)
		return
	}
	for i, key := range cpuTimeKeys {
		s.push(ts, float64(message.Uint64(data, pb.SysStats_CpuTimes_UserNS+uint32(i))), cpuTimeTrack, model.IntDim(int64(cpu.Uint32())),
			model.StringDim(s.Store.Strings.Intern(key)))
	}
}

// buddies stores a zone's free memory blocks by their size: 1, 2, 4, ... pages.
func (s *sysStats) buddies(ts int64, data []byte) {
	node, zone := s.dim(message.Bytes(data, pb.SysStats_BuddyInfo_Node)), s.dim(message.Bytes(data, pb.SysStats_BuddyInfo_Zone))
	size := *pageSize.Of(s.Reader)
	for n := range message.Numbers(data, pb.SysStats_BuddyInfo_OrderPages) {
		s.push(ts, float64(uint32(n)), buddyinfo, node, zone, model.IntDim(size/1024))
		size *= 2
	}
}

func (s *sysStats) slab(ts int64, data []byte) {
	pages, count := uint64(message.Uint32(data, pb.SysStats_SlabInfo_PagesPerSlab)),
		uint64(message.Uint32(data, pb.SysStats_SlabInfo_NumSlabs))
	track := s.Tracks.Intern(slabs, nil, s.dim(message.Bytes(data, pb.SysStats_SlabInfo_Name)))
	s.Counters.PushWithArgs(ts, float64(pages)*float64(count)*float64(*pageSize.Of(s.Reader)), track, model.ArgFunc(func(set *model.ArgSet) {
		set.Add(s.Store.Strings.Intern("pages_per_slab"), model.UintArg(pages))
		set.Add(s.Store.Strings.Intern("num_slabs"), model.UintArg(count))
	}))
}

// diskStats are a disk's counts since the system started: the fields of DiskStat from
// read_sectors on.
type diskStats [8]int64

// Positions in diskStats.
const (
	readSectors = iota
	readMS
	writeSectors
	writeMS
	discardSectors
	discardMS
	flushes
	flushMS
)

// sectorsPerMB counts the sectors of /proc/diskstats, which always have 512 bytes.
const sectorsPerMB = 2048

func (s *sysStats) disk(ts int64, data []byte) {
	var now diskStats
	name := message.Bytes(data, pb.SysStats_DiskStat_DeviceName)
	for i := range now {
		now[i] = message.Int64(data, pb.SysStats_DiskStat_ReadSectors+uint32(i))
	}
	before, known := s.disks[string(name)]
	s.disks[string(name)] = now
	if !known {
		return
	}
	for i := range now {
		if now[i] < before[i] { // another device with the name, or the kernel's counter wrapped around
			return
		}
	}
	push := func(counter, unit string, value float64) {
		o := model.TrackOptions{Unit: s.Store.Strings.Intern(unit)}
		track := s.Tracks.Intern(diskCounters, &o, s.dim(name), model.StringDim(s.Store.Strings.Intern(counter)))
		s.Counters.Push(ts, value, track)
	}
	since := func(i int) float64 { return float64(now[i] - before[i]) }
	transfer := func(counter string, sectors, ms int) {
		amount, rate := since(sectors)/sectorsPerMB, 0.0
		if took := since(ms); took != 0 {
			rate = amount * 1000 / took
		}
		push(counter+"_amount", "MB", amount)
		push(counter+"_throughput", "MB/s", rate)
	}
	transfer("read", readSectors, readMS)
	transfer("write", writeSectors, writeMS)
	transfer("discard", discardSectors, discardMS)
	push("flush_amount", "count", since(flushes))
	push("flush_time", "ms", since(flushMS))
}

// meminfoKeys are the names of MeminfoCounters in /proc/meminfo.
var meminfoKeys = [...]string{"MEMINFO_UNSPECIFIED", "MemTotal", "MemFree", "MemAvailable", "Buffers", "Cached", "SwapCached", "Active", "Inactive",
	"Active(anon)", "Inactive(anon)", "Active(file)", "Inactive(file)", "Unevictable", "Mlocked", "SwapTotal", "SwapFree",
	"Dirty", "Writeback", "AnonPages", "Mapped", "Shmem", "Slab", "SReclaimable", "SUnreclaim", "KernelStack", "PageTables",
	"CommitLimit", "Committed_AS", "VmallocTotal", "VmallocUsed", "VmallocChunk", "CmaTotal", "CmaFree", "Gpu", "Zram", "Misc",
	"IonHeap", "IonHeapPool"}

// vmstatKeys are the names of VmstatCounters in /proc/vmstat.
var vmstatKeys = [...]string{
	"VMSTAT_UNSPECIFIED", "nr_free_pages", "nr_alloc_batch", "nr_inactive_anon", "nr_active_anon", "nr_inactive_file",
	"nr_active_file", "nr_unevictable", "nr_mlock", "nr_anon_pages", "nr_mapped", "nr_file_pages", "nr_dirty",
	"nr_writeback", "nr_slab_reclaimable", "nr_slab_unreclaimable", "nr_page_table_pages", "nr_kernel_stack",
	"nr_overhead", "nr_unstable", "nr_bounce", "nr_vmscan_write", "nr_vmscan_immediate_reclaim", "nr_writeback_temp",
	"nr_isolated_anon", "nr_isolated_file", "nr_shmem", "nr_dirtied", "nr_written", "nr_pages_scanned",
	"workingset_refault", "workingset_activate", "workingset_nodereclaim", "nr_anon_transparent_hugepages",
	"nr_free_cma", "nr_swapcache", "nr_dirty_threshold", "nr_dirty_background_threshold", "pgpgin", "pgpgout",
	"pgpgoutclean", "pswpin", "pswpout", "pgalloc_dma", "pgalloc_normal", "pgalloc_movable", "pgfree", "pgactivate",
	"pgdeactivate", "pgfault", "pgmajfault", "pgrefill_dma", "pgrefill_normal", "pgrefill_movable",
	"pgsteal_kswapd_dma", "pgsteal_kswapd_normal", "pgsteal_kswapd_movable", "pgsteal_direct_dma",
	"pgsteal_direct_normal", "pgsteal_direct_movable", "pgscan_kswapd_dma", "pgscan_kswapd_normal",
	"pgscan_kswapd_movable", "pgscan_direct_dma", "pgscan_direct_normal", "pgscan_direct_movable",
	"pgscan_direct_throttle", "pginodesteal", "slabs_scanned", "kswapd_inodesteal", "kswapd_low_wmark_hit_quickly",
	"kswapd_high_wmark_hit_quickly", "pageoutrun", "allocstall", "pgrotated", "drop_pagecache", "drop_slab",
	"pgmigrate_success", "pgmigrate_fail", "compact_migrate_scanned", "compact_free_scanned", "compact_isolated",
	"compact_stall", "compact_fail", "compact_success", "compact_daemon_wake", "unevictable_pgs_culled",
	"unevictable_pgs_scanned", "unevictable_pgs_rescued", "unevictable_pgs_mlocked", "unevictable_pgs_munlocked",
	"unevictable_pgs_cleared", "unevictable_pgs_stranded", "nr_zspages", "nr_ion_heap", "nr_gpu_heap", "allocstall_dma",
	"allocstall_movable", "allocstall_normal", "compact_daemon_free_scanned", "compact_daemon_migrate_scanned",
	"nr_fastrpc", "nr_indirectly_reclaimable", "nr_ion_heap_pool", "nr_kernel_misc_reclaimable",
	"nr_shadow_call_stack_bytes", "nr_shmem_hugepages", "nr_shmem_pmdmapped", "nr_unreclaimable_pages",
	"nr_zone_active_anon", "nr_zone_active_file", "nr_zone_inactive_anon", "nr_zone_inactive_file",
	"nr_zone_unevictable", "nr_zone_write_pending", "oom_kill", "pglazyfree", "pglazyfreed", "pgrefill",
	"pgscan_direct", "pgscan_kswapd", "pgskip_dma", "pgskip_movable", "pgskip_normal", "pgsteal_direct",
	"pgsteal_kswapd", "swap_ra", "swap_ra_hit", "workingset_restore", "allocstall_device", "allocstall_dma32",
	"balloon_deflate", "balloon_inflate", "balloon_migrate", "cma_alloc_fail", "cma_alloc_success", "nr_file_hugepages",
	"nr_file_pmdmapped", "nr_foll_pin_acquired", "nr_foll_pin_released", "nr_sec_page_table_pages",
	"nr_shadow_call_stack", "nr_swapcached", "nr_throttled_written", "pgalloc_device", "pgalloc_dma32",
	"pgdemote_direct", "pgdemote_kswapd", "pgreuse", "pgscan_anon", "pgscan_file", "pgskip_device", "pgskip_dma32",
	"pgsteal_anon", "pgsteal_file", "thp_collapse_alloc", "thp_collapse_alloc_failed", "thp_deferred_split_page",
	"thp_fault_alloc", "thp_fault_fallback", "thp_fault_fallback_charge", "thp_file_alloc", "thp_file_fallback",
	"thp_file_fallback_charge", "thp_file_mapped", "thp_migration_fail", "thp_migration_split", "thp_migration_success",
	"thp_scan_exceed_none_pte", "thp_scan_exceed_share_pte", "thp_scan_exceed_swap_pte", "thp_split_page",
	"thp_split_page_failed", "thp_split_pmd", "thp_swpout", "thp_swpout_fallback", "thp_zero_page_alloc",
	"thp_zero_page_alloc_failed", "vma_lock_abort", "vma_lock_miss", "vma_lock_retry", "vma_lock_success",
	"workingset_activate_anon", "workingset_activate_file", "workingset_nodes", "workingset_refault_anon",
	"workingset_refault_file", "workingset_restore_anon", "workingset_restore_file",
}
