// Package system reads what the recorder collects about the system: the machine, its
// processes, its counters and its journal.
package system

import (
	"cmp"
	"encoding/hex"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/ingest/proto/message"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
)

// Modules read the packets of the family.
var Modules = proto.Family{processEvents, systemInfo, systemStats, journald}

const (

	// defaultPageSize is the page size, in bytes, of machines that do not report it.
	defaultPageSize = 4096
)

// pageSize is the machine's page size in bytes.
var pageSize = proto.Shared[int64]{New: func(*proto.Reader) *int64 {
	size := int64(defaultPageSize)
	return &size
}}

// info reads what the recorder reports about the machine.
type info struct {
	*proto.Reader
	interrupts map[int64]bool // the known ones
}

func systemInfo(r *proto.Reader) *proto.Module {
	i := &info{Reader: r, interrupts: map[int64]bool{}}
	return &proto.Module{
		Fields: []uint32{pb.TracePacket_SystemInfo, pb.TracePacket_CPUInfo, pb.TracePacket_GPUInfo, pb.TracePacket_InterruptInfo},
		Tokenize: func(_ *proto.Packet, f *wire.Field) bool {
			switch data := f.Bytes(); f.Number {
			case pb.TracePacket_SystemInfo:
				i.system(data)
			case pb.TracePacket_CPUInfo:
				i.cpuInfo(data)
			case pb.TracePacket_GPUInfo:
				index := int64(0)
				for gpu := range message.Messages(data, pb.GpuInfo_GPUs) {
					i.gpuInfo(index, gpu)
					index++
				}
			case pb.TracePacket_InterruptInfo:
				for mapping := range message.Messages(data, pb.InterruptInfo_IRQMapping) {
					i.interrupt(mapping)
				}
			}
			return true
		},
	}
}

// systemTexts are the fields of SystemInfo that are stored unchanged in metadata.
var systemTexts = map[uint32]string{
	pb.SystemInfo_AndroidBuildFingerprint:   "android_build_fingerprint",
	pb.SystemInfo_TracingServiceVersion:     "tracing_service_version",
	pb.SystemInfo_AndroidSocModel:           "android_soc_model",
	pb.SystemInfo_AndroidHardwareRevision:   "android_hardware_revision",
	pb.SystemInfo_AndroidStorageModel:       "android_storage_model",
	pb.SystemInfo_AndroidRAMModel:           "android_ram_model",
	pb.SystemInfo_AndroidGuestSocModel:      "android_guest_soc_model",
	pb.SystemInfo_AndroidDeviceManufacturer: "android_device_manufacturer",
	pb.SystemInfo_AndroidSerialConsole:      "android_serial_console",
}

func (s *info) system(data []byte) {
	intern := s.Store.Strings.InternBytes
	sdk, fromBuild := int64(0), int64(0)
	pages := pageSize.Of(s.Reader)
	*pages = defaultPageSize
	t, row := &s.Store.Tables.Machine, int64(s.Machine.ID)
	for f := wire.Read(data); f.Next(); {
		if name, ok := systemTexts[f.Number]; ok {
			s.Machine.SetMetadata(name, model.StringArg(intern(f.Bytes())))
		}
		switch f.Number {
		case pb.SystemInfo_Utsname:
			s.uname(f.Bytes())
		case pb.SystemInfo_AndroidBuildFingerprint:
			t.AndroidBuildFingerprint.Set(row, intern(f.Bytes()))
			fromBuild = s.androidBuild(string(f.Bytes()))
		case pb.SystemInfo_AndroidSDKVersion:
			sdk = f.Int64()
		case pb.SystemInfo_PageSize:
			if size := int64(f.Uint32()); size != 0 {
				*pages = size
			}
		case pb.SystemInfo_TimezoneOffMins:
			s.Machine.SetMetadata("timezone_off_mins", model.IntArg(int64(f.Int32())))
			s.Clocks.SetZone(int64(f.Int32()) * int64(time.Minute))
		case pb.SystemInfo_NumCPUs:
			t.NumCpus.Set(row, int64(f.Uint32()))
		case pb.SystemInfo_AndroidDeviceManufacturer:
			t.AndroidDeviceManufacturer.Set(row, intern(f.Bytes()))
		case pb.SystemInfo_SystemRAMBytes:
			ram, gb := f.Int64(), int64(math.Round(float64(f.Int64())/1e9))
			t.SystemRAMBytes.Set(row, ram)
			t.SystemRAMGB.Set(row, gb)
			s.Machine.SetMetadata("system_ram_bytes", model.IntArg(ram))
			s.Machine.SetMetadata("system_ram_gb", model.IntArg(gb))
		case pb.SystemInfo_MachineName:
			t.Name.Set(row, intern(f.Bytes()))
		}
	}
	if sdk = cmp.Or(sdk, fromBuild); sdk != 0 {
		t.AndroidSDKVersion.Set(row, sdk)
		s.Machine.SetMetadata("android_sdk_version", model.IntArg(sdk))
	}
}

func (s *info) uname(data []byte) {
	sysname, version := string(message.Bytes(data, pb.Utsname_Sysname)), string(message.Bytes(data, pb.Utsname_Version))
	release, arch := string(message.Bytes(data, pb.Utsname_Release)), string(message.Bytes(data, pb.Utsname_Machine))
	s.Machine.SetSystem(sysname, version, release, arch)
	for _, fact := range [][2]string{{"system_name", sysname}, {"system_version", version}, {"system_release", release}, {"system_machine", arch}} {
		s.Machine.SetMetadata(fact[0], model.StringArg(s.Store.Strings.Intern(fact[1])))
	}
}

// androidReleases maps Android releases to SDK versions, see
// https://source.android.com/docs/setup/reference/build-numbers.
var androidReleases = map[string]int64{
	"5.0": 21, "5.0.1": 21, "5.0.2": 21, "5.1": 22, "5.1.1": 22, "6.0": 23, "7.0": 24, "7.1": 25, "8.0": 26, "8.1": 27,
	"9": 28, "10": 29, "11": 30, "12": 31,
}

// androidBuild reads an Android build fingerprint,
// BRAND/PRODUCT/DEVICE:RELEASE/ID/INCREMENTAL:TYPE/TAGS, and returns the SDK
// version, or 0 if it is unknown.
func (s *info) androidBuild(fingerprint string) int64 {
	_, rest, _ := strings.Cut(fingerprint, ":")
	release, rest, _ := strings.Cut(rest, "/")
	_, rest, _ = strings.Cut(rest, "/")
	incremental, _, ok := strings.Cut(rest, ":")
	if !ok {
		return 0
	}
	s.Machine.SetMetadata("android_incremental_build", model.StringArg(s.Store.Strings.Intern(incremental)))
	if strings.HasPrefix(release, "S") || strings.HasPrefix(release, "T") {
		return 31
	}
	return androidReleases[release]
}

// cpuDescription is a CpuInfo.Cpu.
type cpuDescription struct {
	cpu         int64
	processor   []byte
	frequencies []int64 // kHz
	fastest     int64
	capacity    int64
	hasCapacity bool
	arm         []byte
	features    uint64
}

// cpuInfo stores the CPUs. Equally powerful CPUs form a cluster: those with the same
// capacity, if all CPUs report it, or else with the same highest frequency.
func (s *info) cpuInfo(data []byte) {
	var all []cpuDescription
	capacities, frequencies := true, true
	for cpu := range message.Messages(data, pb.CpuInfo_CPUs) {
		c := readCPU(int64(len(all)), cpu)
		capacities = capacities && c.hasCapacity
		frequencies = frequencies && len(c.frequencies) > 0
		all = append(all, c)
	}
	if len(all) == 0 {
		s.File.Log(model.StatCPUInfoEmpty, model.LogEntry{})
		return
	}
	power := func(c cpuDescription) int64 {
		switch {
		case capacities:
			return c.capacity
		case frequencies:
			return c.fastest
		}
		return 0
	}
	slices.SortStableFunc(all, func(a, b cpuDescription) int { return cmp.Compare(power(a), power(b)) })
	cluster := int64(0)
	for i, c := range all {
		if i > 0 && power(c) > power(all[i-1]) {
			cluster++
		}
		s.describeCPU(c, cluster)
	}
}

func readCPU(cpu int64, data []byte) cpuDescription {
	c := cpuDescription{cpu: cpu}
	for f := wire.Read(data); f.Next(); {
		switch f.Number {
		case pb.CpuInfo_Cpu_Processor:
			c.processor = f.Bytes()
		case pb.CpuInfo_Cpu_Frequencies:
			for khz := range f.Varints {
				c.frequencies = append(c.frequencies, int64(uint32(khz)))
				c.fastest = max(c.fastest, int64(uint32(khz)))
			}
		case pb.CpuInfo_Cpu_Capacity:
			c.capacity, c.hasCapacity = int64(f.Uint32()), true
		case pb.CpuInfo_Cpu_ArmIdentifier:
			c.arm = f.Bytes()
		case pb.CpuInfo_Cpu_Features:
			c.features = f.Uint64()
		}
	}
	return c
}

// armFields are the fields of ArmCpuIdentifier.
var armFields = []string{"arm_cpu_implementer", "arm_cpu_architecture", "arm_cpu_variant", "arm_cpu_part", "arm_cpu_revision"}

// cpuFeatures are the bits of CpuInfo.Cpu.features.
var cpuFeatures = []string{"mte", "mte3"}

func (s *info) describeCPU(c cpuDescription, cluster int64) {
	d := model.CPUDescription{ClusterID: cluster, Capacity: model.None, ArgSetID: model.None}
	if len(c.processor) > 0 {
		d.Processor = s.Store.Strings.InternBytes(c.processor)
	}
	if c.hasCapacity {
		d.Capacity = c.capacity
	}
	ucpu := s.Machine.CPU(c.cpu)
	for _, khz := range c.frequencies {
		row := s.Store.CPUFreq.Append()
		s.Store.CPUFreq.CPU.Set(row, int32(c.cpu))
		s.Store.CPUFreq.Freq.Set(row, khz)
		s.Store.CPUFreq.UCPU.Set(row, ucpu)
	}
	var args model.ArgSet
	if c.arm != nil {
		for i, key := range armFields {
			args.Add(s.Store.Strings.Intern(key), model.UintArg(uint64(message.Uint32(c.arm,
				pb.CpuInfo_ArmCpuIdentifier_Implementer+uint32(i)))))
		}
	}
	for i, feature := range cpuFeatures {
		if c.features>>i&1 != 0 {
			args.Add(s.Store.Strings.Intern("cpu_features."+feature), model.BoolArg(true))
		}
	}
	if c.features != 0 {
		args.Add(s.Store.Strings.Intern("cpu_features.raw_bitmap"), model.UintArg(c.features))
	}
	if c.features>>len(cpuFeatures) != 0 {
		s.File.Log(model.StatCPUInfoUnknownCPUFeatures, model.LogEntry{})
	}
	if args.Len() > 0 {
		d.ArgSetID = s.Store.InternArgs(&args)
	}
	s.Machine.DescribeCPU(c.cpu, d)
}

func (s *info) gpuInfo(index int64, data []byte) {
	row, t := int64(s.Machine.GPU(index)), &s.Store.Tables.GPU
	var args model.ArgSet
	for f := wire.Read(data); f.Next(); {
		text := s.Store.Strings.InternBytes(f.Bytes())
		switch f.Number {
		case pb.GpuInfo_Gpu_Name:
			t.Name.Set(row, text)
		case pb.GpuInfo_Gpu_Vendor:
			t.Vendor.Set(row, text)
		case pb.GpuInfo_Gpu_Model:
			t.Model.Set(row, text)
		case pb.GpuInfo_Gpu_Architecture:
			t.Architecture.Set(row, text)
		case pb.GpuInfo_Gpu_UUID:
			t.UUID.Set(row, s.Store.Strings.Intern(hex.EncodeToString(f.Bytes())))
		case pb.GpuInfo_Gpu_ExtraInfo:
			if message.Has(f.Bytes(), pb.GpuInfo_Gpu_KeyValue_Key) && message.Has(f.Bytes(), pb.GpuInfo_Gpu_KeyValue_Value) {
				value := s.TextField(f.Bytes(), pb.GpuInfo_Gpu_KeyValue_Value)
				args.Add(s.TextField(f.Bytes(), pb.GpuInfo_Gpu_KeyValue_Key), model.StringArg(value))
			}
		case pb.GpuInfo_Gpu_PciBdf:
			t.PCIBDF.Set(row, text)
		}
	}
	s.Store.SetArgs(&t.ArgSetID, row, &args)
}

func (s *info) interrupt(data []byte) {
	id, name := int64(message.Uint32(data, pb.InterruptInfo_InterruptMapping_IRQID)),
		message.Bytes(data, pb.InterruptInfo_InterruptMapping_Name)
	if s.interrupts[id] || !message.Has(data, pb.InterruptInfo_InterruptMapping_IRQID) ||
		!message.Has(data, pb.InterruptInfo_InterruptMapping_Name) {
		return
	}
	s.interrupts[id] = true
	t := &s.Store.LinuxInterruptMapping
	row := t.Append()
	t.IRQID.Set(row, id)
	t.Name.Set(row, s.Store.Strings.InternBytes(name))
	t.MachineID.Set(row, s.Machine.ID)
}
