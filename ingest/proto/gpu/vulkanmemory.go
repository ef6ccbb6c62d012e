package gpu

import (
	"strconv"

	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/ingest/proto/message"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
)

// The names that VulkanMemoryEvent's enum values have in the table.
var (
	vulkanSources    = []string{"UNSPECIFIED", "DRIVER", "DEVICE", "GPU_DEVICE_MEMORY", "GPU_BUFFER", "GPU_IMAGE"}
	vulkanOperations = []string{"UNSPECIFIED", "CREATE", "DESTROY", "BIND", "DESTROY_BOUND", "ANNOTATIONS"}
	vulkanScopes     = []string{"UNSPECIFIED", "COMMAND", "OBJECT", "CACHE", "DEVICE", "INSTANCE"}
)

// vulkanMemory reads Vulkan drivers' memory events and adds up the memory in use.
type vulkanMemory struct {
	*proto.Reader
	used map[vulkanUse]int64 // bytes
}

// vulkanUse is a use of memory with its own counter: a scope of driver memory, or a
// type of device memory.
type vulkanUse struct {
	upid model.UPID
	kind *model.Blueprint
	of   model.Dim
}

func vulkanMemoryEvents(r *proto.Reader) *proto.Module {
	v := &vulkanMemory{Reader: r, used: map[vulkanUse]int64{}}
	return &proto.Module{Fields: []uint32{pb.TracePacket_VulkanMemoryEvent}, Parse: v.parse}
}

var (
	vulkanDriverMemory = &model.Blueprint{Classification: "vulkan_driver_mem", Event: model.CounterTrack,
		Dims: []string{"upid", "vulkan_allocation_scope"},
		NameOf: func(s *model.Store, dims []model.Dim) string {
			return "vulkan.mem.driver.scope." + s.Strings.Get(dims[1].String())
		}}
	vulkanAllocated = vulkanDeviceMemory("allocation")
	vulkanBound     = vulkanDeviceMemory("bind")
)

func vulkanDeviceMemory(use string) *model.Blueprint {
	return &model.Blueprint{Classification: "vulkan_device_mem_" + use, Event: model.CounterTrack,
		Dims: []string{"upid", "vulkan_memory_type"},
		NameOf: func(_ *model.Store, dims []model.Dim) string {
			return "vulkan.mem.device.memory.type." + strconv.FormatInt(dims[1].Int(), 10) + "." + use
		}}
}

func (v *vulkanMemory) parse(e *proto.Event) {
	t := &v.Store.VulkanMemoryAllocations
	row := t.Append()
	var pid, source, operation, size, scope, memoryType int64
	var annotations model.ArgSet
	for f := wire.Read(e.Data); f.Next(); {
		switch f.Number {
		case pb.VulkanMemoryEvent_Source:
			source = f.Int64()
		case pb.VulkanMemoryEvent_Operation:
			operation = f.Int64()
		case pb.VulkanMemoryEvent_PID:
			pid = int64(f.Uint32())
		case pb.VulkanMemoryEvent_MemoryAddress:
			t.MemoryAddress.Set(row, f.Int64())
		case pb.VulkanMemoryEvent_MemorySize:
			size = f.Int64()
			t.MemorySize.Set(row, size)
		case pb.VulkanMemoryEvent_CallerIID:
			name, _ := e.State.InternedString(pb.InternedData_FunctionNames, f.Uint64())
			t.FunctionName.Set(row, name)
		case pb.VulkanMemoryEvent_AllocationScope:
			scope = f.Int64()
			t.Scope.Set(row, v.NameOf(vulkanScopes, scope))
		case pb.VulkanMemoryEvent_Annotations:
			v.annotate(e.State, f.Bytes(), &annotations)
		case pb.VulkanMemoryEvent_Device:
			t.Device.Set(row, f.Int64())
		case pb.VulkanMemoryEvent_DeviceMemory:
			t.DeviceMemory.Set(row, f.Int64())
		case pb.VulkanMemoryEvent_MemoryType:
			memoryType = int64(f.Uint32())
			t.MemoryType.Set(row, memoryType)
		case pb.VulkanMemoryEvent_Heap:
			t.Heap.Set(row, int64(f.Uint32()))
		case pb.VulkanMemoryEvent_ObjectHandle:
			t.ObjectHandle.Set(row, f.Int64())
		}
	}
	upid := v.Machine.Process(pid)
	t.Source.Set(row, v.NameOf(vulkanSources, source))
	t.Operation.Set(row, v.NameOf(vulkanOperations, operation))
	t.Timestamp.Set(row, e.TS)
	t.UPID.Set(row, upid)
	v.Store.SetArgs(&t.ArgSetID, row, &annotations)
	v.count(e.TS, upid, source, operation, scope, memoryType, size)
}

// count adds the event to the memory in use.
func (v *vulkanMemory) count(ts int64, upid model.UPID, source, operation, scope, memoryType, size int64) {
	const create, destroy, bind, destroyBound = 1, 2, 3, 4
	use := vulkanUse{upid: upid, of: model.IntDim(memoryType)}
	begin, end := int64(create), int64(destroy)
	switch {
	case source == 1 && scope != 0: // driver memory
		use.kind, use.of = vulkanDriverMemory, model.StringDim(v.NameOf(vulkanScopes, scope))
	case source == 3: // device memory
		use.kind = vulkanAllocated
	case source == 4 || source == 5: // a buffer or image in device memory
		use.kind, begin, end = vulkanBound, bind, destroyBound
	default:
		return
	}
	switch operation {
	case begin:
		v.used[use] += size
	case end:
		v.used[use] -= size
	default:
		return
	}
	v.Counters.Push(ts, float64(v.used[use]), v.Tracks.Intern(use.kind, nil, model.IntDim(upid), use.of))
}

func (v *vulkanMemory) annotate(s *proto.State, data []byte, set *model.ArgSet) {
	key, ok := s.InternedString(pb.InternedData_VulkanMemoryKeys, message.Uint64(data, pb.VulkanMemoryEventAnnotation_KeyIID))
	if !ok {
		return
	}
	for f := wire.Read(data); f.Next(); {
		switch f.Number {
		case pb.VulkanMemoryEventAnnotation_IntValue:
			set.Add(key, model.IntArg(f.Int64()))
		case pb.VulkanMemoryEventAnnotation_DoubleValue:
			set.Add(key, model.RealArg(f.Float64()))
		case pb.VulkanMemoryEventAnnotation_StringIID:
			text, _ := s.InternedString(pb.InternedData_VulkanMemoryKeys, f.Uint64())
			set.Add(key, model.StringArg(text))
		}
	}
}
