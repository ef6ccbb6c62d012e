// Package gpu reads the work, counters and memory of GPUs.
package gpu

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tpconvert/tpconvert/ingest/internal/tracks"
	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/ingest/proto/gpulinks"
	"github.com/tpconvert/tpconvert/ingest/proto/message"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
)

// Modules read the packets of the family.
var Modules = proto.Family{gpuCounterEvents, gpuWork, vulkanMemoryEvents}

// gpuEvents reads the work of GPUs, stage by stage, and calls of their APIs.
type gpuEvents struct {
	*proto.Reader
	queues   map[int64]gpuQueue // without an interned description, by number
	stages   []gpuQueue
	unnamed  map[int64]bool // queues with work before their description
	contexts map[uint64]bool
	names    map[vulkanObject]model.StringID
}

type gpuQueue struct{ name, description model.StringID }

// vulkanObject is an object that an app may have named.
type vulkanObject struct {
	kind   int32
	handle uint64
}

// Values of VkObjectType for objects whose names are used.
const (
	vulkanCommandBuffer = 6
	vulkanRenderPass    = 18
	vulkanFramebuffer   = 24
)

func gpuWork(r *proto.Reader) *proto.Module {
	g := &gpuEvents{Reader: r, queues: map[int64]gpuQueue{}, unnamed: map[int64]bool{}, contexts: map[uint64]bool{},
		names: map[vulkanObject]model.StringID{}}
	return &proto.Module{
		Fields: []uint32{pb.TracePacket_GPURenderStageEvent, pb.TracePacket_GPULog, pb.TracePacket_VulkanAPIEvent,
			pb.TracePacket_GPUMemTotalEvent},
		Parse: func(e *proto.Event) {
			switch e.Field {
			case pb.TracePacket_GPURenderStageEvent:
				g.renderStage(e)
			case pb.TracePacket_GPULog:
				g.log(e.TS, e.Data)
			case pb.TracePacket_VulkanAPIEvent:
				g.vulkan(e.TS, e.Data)
			case pb.TracePacket_GPUMemTotalEvent:
				tracks.GPUMemory(g.Context, e.TS, int64(message.Uint32(e.Data, pb.GpuMemTotalEvent_GPUID)),
					int64(message.Uint32(e.Data, pb.GpuMemTotalEvent_PID)), float64(message.Uint64(e.Data, pb.GpuMemTotalEvent_Size)))
			}
		},
	}
}

var (
	renderStages = model.AsyncBlueprint(model.Blueprint{Classification: "gpu_render_stage",
		Dims: []string{"ugpu", "gpu", "render_stage_source", "hwqueue_id", "hwqueue_name"}})
	gpuLog       = &model.Blueprint{Classification: "gpu_log", Name: "GPU Log"}
	vulkanEvents = &model.Blueprint{Classification: "vulkan_events", Name: "Vulkan Events"}
)

var gpuLogSeverities = []string{"UNSPECIFIED", "VERBOSE", "DEBUG", "INFO", "WARNING", "ERROR"}

func (g *gpuEvents) word(s string) model.StringID { return g.Store.Strings.Intern(s) }

func (g *gpuEvents) log(ts int64, data []byte) {
	severity := "UNKNOWN_SEVERITY"
	if v := message.Uint64(data, pb.GpuLog_Severity); v < uint64(len(gpuLogSeverities)) {
		severity = gpuLogSeverities[v]
	}
	track := g.Tracks.Intern(gpuLog, nil)
	slice := g.Slices.Scoped(ts, 0, track, 0, g.word(severity), model.ArgFunc(func(set *model.ArgSet) {
		if message.Has(data, pb.GpuLog_Tag) {
			set.Add(g.word("tag"), model.StringArg(g.TextField(data, pb.GpuLog_Tag)))
		}
		if message.Has(data, pb.GpuLog_LogMessage) {
			set.Add(g.word("message"), model.StringArg(g.TextField(data, pb.GpuLog_LogMessage)))
		}
	}))
	if slice != model.None {
		g.Slices.Child(track, &g.Store.GPUSlice.Table)
	}
}

func (g *gpuEvents) vulkan(ts int64, data []byte) {
	if object, ok := wire.Find(data, pb.VulkanApiEvent_VkDebugUtilsObjectName); ok {
		o := object.Bytes()
		g.names[vulkanObject{message.Int32(o, pb.VulkanApiEvent_VkDebugUtilsObjectName_ObjectType),
			message.Uint64(o, pb.VulkanApiEvent_VkDebugUtilsObjectName_Object)}] = g.TextField(o,
			pb.VulkanApiEvent_VkDebugUtilsObjectName_ObjectName)
	}
	f, ok := wire.Find(data, pb.VulkanApiEvent_VkQueueSubmit)
	if !ok {
		return
	}
	submit := f.Bytes()
	buffers := slices.Collect(message.Numbers(submit, pb.VulkanApiEvent_VkQueueSubmit_VkCommandBuffers))
	args := model.ArgFunc(func(set *model.ArgSet) {
		set.Add(g.word("pid"), model.IntArg(int64(message.Uint32(submit, pb.VulkanApiEvent_VkQueueSubmit_PID))))
		set.Add(g.word("tid"), model.IntArg(int64(message.Uint32(submit, pb.VulkanApiEvent_VkQueueSubmit_TID))))
		key := g.word("command_buffers")
		for _, handle := range buffers {
			set.AddIfAbsent(g.word("command_buffer"), g.word("command_buffer"), model.UintArg(handle))
			set.AddFlat(key, g.word(model.ArrayKey("command_buffers", set.NextIndex(key))), model.UintArg(handle))
		}
		set.Add(g.word("submission_id"), model.IntArg(int64(message.Uint32(submit, pb.VulkanApiEvent_VkQueueSubmit_SubmissionID))))
	})
	track := g.Tracks.Intern(vulkanEvents, nil)
	if g.Slices.Scoped(ts, message.Int64(submit, pb.VulkanApiEvent_VkQueueSubmit_DurationNS), track, 0, g.word("vkQueueSubmit"),
		args) != model.None {
		t := &g.Store.GPUSlice
		row := g.Slices.Child(track, &t.Table)
		t.SubmissionID.Set(row, int64(message.Uint32(submit, pb.VulkanApiEvent_VkQueueSubmit_SubmissionID)))
		if len(buffers) > 0 {
			t.CommandBuffer.Set(row, int64(buffers[0]))
		}
	}
}

// specifications reads descriptions of queues and stages that are not interned, and
// returns the pid of the context.
func (g *gpuEvents) specifications(gpu int64, data []byte) (pid int64) {
	index := int64(0)
	for queue := range message.Messages(data, pb.GpuRenderStageEvent_Specifications_HwQueue) {
		if message.Has(queue, pb.GpuRenderStageEvent_Specifications_Description_Name) {
			g.describeQueue(gpu, index, gpuQueue{g.TextField(queue, pb.GpuRenderStageEvent_Specifications_Description_Name),
				g.TextField(queue, pb.GpuRenderStageEvent_Specifications_Description_Description)})
		}
		index++
	}
	for stage := range message.Messages(data, pb.GpuRenderStageEvent_Specifications_Stage) {
		if message.Has(stage, pb.GpuRenderStageEvent_Specifications_Description_Name) {
			g.stages = append(g.stages, gpuQueue{g.TextField(stage, pb.GpuRenderStageEvent_Specifications_Description_Name),
				g.TextField(stage, pb.GpuRenderStageEvent_Specifications_Description_Description)})
		}
	}
	return int64(message.Uint32(message.Bytes(data, pb.GpuRenderStageEvent_Specifications_ContextSpec),
		pb.GpuRenderStageEvent_Specifications_ContextSpec_PID))
}

func (g *gpuEvents) describeQueue(gpu, index int64, queue gpuQueue) {
	g.queues[index] = queue
	if !g.unnamed[index] {
		return
	}
	delete(g.unnamed, index)
	track := g.Async.Default(renderStages, nil, g.queueDims(gpu, "id", index, 0)...)
	g.Store.Track.Name.Set(int64(track), queue.name)
	g.Store.SetArgs(&g.Store.Track.SourceArgSetID, int64(track), g.description(queue))
}

func (g *gpuEvents) description(queue gpuQueue) *model.ArgSet {
	set := new(model.ArgSet)
	set.Add(g.word("description"), model.StringArg(queue.description))
	return set
}

func (g *gpuEvents) queueDims(gpu int64, source string, id int64, name model.StringID) []model.Dim {
	return []model.Dim{model.IntDim(g.Machine.GPU(gpu)), model.IntDim(gpu), model.StringDim(g.word(source)), model.IntDim(id), model.StringDim(name)}
}

var graphicsAPIs = []string{"UNDEFINED", "OPEN_GL", "VULKAN", "OPEN_CL", "CUDA", "HIP"}

// context adds a graphics context and returns the pid of its process.
func (g *gpuEvents) context(id uint64, data []byte) int64 {
	if !g.contexts[id] {
		g.contexts[id] = true
		t := &g.Store.GPUContext
		row := t.Append()
		t.ContextID.Set(row, int64(id))
		if message.Has(data, pb.InternedGraphicsContext_PID) {
			t.PID.Set(row, int64(message.Uint32(data, pb.InternedGraphicsContext_PID)))
		}
		if message.Has(data, pb.InternedGraphicsContext_API) {
			api := message.Uint64(data, pb.InternedGraphicsContext_API)
			if api >= uint64(len(graphicsAPIs)) {
				api = 0
			}
			t.API.Set(row, g.word(graphicsAPIs[api]))
		}
	}
	return int64(message.Uint32(data, pb.InternedGraphicsContext_PID))
}

// renderStage is a GpuRenderStageEvent.
func (g *gpuEvents) renderStage(e *proto.Event) {
	data := e.Data
	gpu, pid := int64(message.Uint32(data, pb.GpuRenderStageEvent_GPUID)), int64(0)
	if specs, ok := wire.Find(data, pb.GpuRenderStageEvent_Specifications); ok {
		pid = g.specifications(gpu, specs.Bytes())
	}
	if context, ok := wire.Find(data, pb.GpuRenderStageEvent_Context); ok {
		if interned, ok := e.State.Interned(pb.InternedData_GraphicsContexts, context.Uint64()); ok {
			pid = g.context(context.Uint64(), interned)
		}
	}
	event, ok := wire.Find(data, pb.GpuRenderStageEvent_EventID)
	if !ok {
		return
	}
	track, queue, ok := g.queueTrack(e, gpu)
	if !ok {
		return
	}
	s := stage{gpuEvents: g, e: e, queue: queue, upid: g.Machine.Process(pid)}
	slice := g.Slices.Scoped(e.TS, message.Int64(data, pb.GpuRenderStageEvent_Duration), track, 0, s.name(), &s)
	if slice == model.None {
		return
	}
	s.store(track)
	gpulinks.Of(g.Reader).Stage(event.Uint64(), slice)
	for id := range message.Numbers(data, pb.GpuRenderStageEvent_EventWaitIDs) {
		gpulinks.Of(g.Reader).StageWaits(id, slice)
	}
}

// queueTrack returns a track for the hardware queue of the work, and the queue's id.
func (g *gpuEvents) queueTrack(e *proto.Event, gpu int64) (track model.TrackID, id int64, ok bool) {
	var queue gpuQueue
	source, dim := "id", model.StringID(0)
	if iid, interned := wire.Find(e.Data, pb.GpuRenderStageEvent_HwQueueIID); interned {
		description, ok := e.State.Interned(pb.InternedData_GPUSpecifications, iid.Uint64())
		if !ok {
			return 0, 0, false
		}
		source, id = "iid", iid.Int64()
		queue = gpuQueue{name: g.TextField(description, pb.InternedGpuRenderStageSpecification_Name)}
		if len(message.Bytes(description, pb.InternedGpuRenderStageSpecification_Description)) > 0 {
			queue.description = g.TextField(description, pb.InternedGpuRenderStageSpecification_Description)
		}
		dim = queue.name
	} else {
		id = int64(message.Uint32(e.Data, pb.GpuRenderStageEvent_HwQueueID))
		var known bool
		if queue, known = g.queues[id]; known {
			dim = queue.name
		} else {
			queue.name = g.word("Unknown GPU Queue " + strconv.FormatInt(id, 10))
			g.unnamed[id] = true
		}
	}
	o := model.TrackOptions{Name: queue.name}
	if queue.description != 0 {
		o.Args = model.ArgFunc(func(set *model.ArgSet) { set.Add(g.word("description"), model.StringArg(queue.description)) })
	}
	return g.Async.Scoped(renderStages, &o, e.TS, message.Int64(e.Data, pb.GpuRenderStageEvent_Duration),
		g.queueDims(gpu, source, id, dim)...), id, true
}

// stage is a GPU's work on one stage, and the source of its args.
type stage struct {
	*gpuEvents
	e     *proto.Event
	queue int64
	upid  model.UPID
}

func (s *stage) name() model.StringID {
	data := s.e.Data
	if iid, ok := wire.Find(data, pb.GpuRenderStageEvent_NameIID); ok {
		name, _ := s.e.State.InternedString(pb.InternedData_EventNames, iid.Uint64())
		return name
	}
	if message.Has(data, pb.GpuRenderStageEvent_Name) {
		return s.TextField(data, pb.GpuRenderStageEvent_Name)
	}
	if iid, ok := wire.Find(data, pb.GpuRenderStageEvent_StageIID); ok {
		name, _ := s.e.State.InternedString(pb.InternedData_GPUSpecifications, iid.Uint64())
		return name
	}
	id := uint64(int64(message.Int32(data, pb.GpuRenderStageEvent_StageID)))
	if id < uint64(len(s.stages)) {
		return s.stages[id].name
	}
	return s.word(fmt.Sprintf("render stage(%d)", id))
}

// AddArgs adds everything known about the work.
func (s *stage) AddArgs(set *model.ArgSet) {
	data := s.e.Data
	add := func(key string, v model.ArgValue) { set.Add(s.word(key), v) }
	handle := func(number uint32) model.ArgValue { return model.UintArg(message.Uint64(data, number)) }
	named := func(kind int32, number uint32) model.ArgValue {
		return model.StringArg(s.names[vulkanObject{kind, message.Uint64(data, number)}])
	}
	if iid, ok := wire.Find(data, pb.GpuRenderStageEvent_StageIID); ok {
		if description, ok := s.e.State.Interned(pb.InternedData_GPUSpecifications, iid.Uint64()); ok {
			add("render_stage_category", model.IntArg(message.Int64(description, pb.InternedGpuRenderStageSpecification_Category)))
			add("description", model.StringArg(s.TextField(description, pb.InternedGpuRenderStageSpecification_Description)))
		}
	} else if id, ok := wire.Find(data, pb.GpuRenderStageEvent_StageID); ok && id.Uint64() < uint64(len(s.stages)) &&
		s.stages[id.Uint64()].description != 0 {
		add("description", model.StringArg(s.stages[id.Uint64()].description))
	}
	if iid, ok := wire.Find(data, pb.GpuRenderStageEvent_KernelIID); ok {
		s.kernel(iid.Uint64(), set)
	}
	if launch, ok := wire.Find(data, pb.GpuRenderStageEvent_Launch); ok {
		s.launch(launch.Bytes(), set)
	}
	if instance := message.Uint64(data, pb.GpuRenderStageEvent_RenderPassInstanceID); instance != 0 {
		add("correlation_id", model.StringArg(s.word(fmt.Sprintf("rp:#%d", instance))))
	}
	for extra := range message.Messages(data, pb.GpuRenderStageEvent_ExtraData) {
		set.Add(s.TextField(extra, pb.GpuRenderStageEvent_ExtraData_Name),
			model.StringArg(s.TextField(extra, pb.GpuRenderStageEvent_ExtraData_Value)))
	}
	add("context_id", handle(pb.GpuRenderStageEvent_Context))
	add("render_target", handle(pb.GpuRenderStageEvent_RenderTargetHandle))
	add("render_target_name", named(vulkanFramebuffer, 8))
	add("render_pass", handle(pb.GpuRenderStageEvent_RenderPassHandle))
	add("render_pass_name", named(vulkanRenderPass, 9))
	add("render_subpasses", model.StringArg(s.subpasses()))
	add("command_buffer", handle(pb.GpuRenderStageEvent_CommandBufferHandle))
	add("command_buffer_name", named(vulkanCommandBuffer, 12))
	add("submission_id", model.IntArg(int64(message.Uint32(data, pb.GpuRenderStageEvent_SubmissionID))))
	add("hw_queue_id", model.UintArg(uint64(s.queue)))
	add("upid", model.IntArg(s.upid))
}

// store adds the work's row to gpu_slice.
func (s *stage) store(track model.TrackID) {
	data, t := s.e.Data, &s.Store.GPUSlice
	row := s.Slices.Child(track, &t.Table)
	named := func(kind int32, number uint32) model.StringID {
		return s.names[vulkanObject{kind, message.Uint64(data, number)}]
	}
	t.ContextID.Set(row, message.Int64(data, pb.GpuRenderStageEvent_Context))
	t.RenderTarget.Set(row, message.Int64(data, pb.GpuRenderStageEvent_RenderTargetHandle))
	t.RenderTargetName.Set(row, named(vulkanFramebuffer, 8))
	t.RenderPass.Set(row, message.Int64(data, pb.GpuRenderStageEvent_RenderPassHandle))
	t.RenderPassName.Set(row, named(vulkanRenderPass, 9))
	t.RenderSubpasses.Set(row, s.subpasses())
	t.CommandBuffer.Set(row, message.Int64(data, pb.GpuRenderStageEvent_CommandBufferHandle))
	t.CommandBufferName.Set(row, named(vulkanCommandBuffer, 12))
	t.SubmissionID.Set(row, int64(message.Uint32(data, pb.GpuRenderStageEvent_SubmissionID)))
	t.HWQueueID.Set(row, s.queue)
	t.UPID.Set(row, s.upid)
	if iid, ok := wire.Find(data, pb.GpuRenderStageEvent_StageIID); ok {
		if description, ok := s.e.State.Interned(pb.InternedData_GPUSpecifications, iid.Uint64()); ok {
			t.RenderStageCategory.Set(row, message.Int64(description, pb.InternedGpuRenderStageSpecification_Category))
		}
	}
}

// subpasses lists the numbers of the bits set in the 64-bit masks.
func (s *stage) subpasses() model.StringID {
	if !message.Has(s.e.Data, pb.GpuRenderStageEvent_RenderSubpassIndexMask) {
		return 0
	}
	var list []string
	first := 0
	for mask := range message.Numbers(s.e.Data, pb.GpuRenderStageEvent_RenderSubpassIndexMask) {
		for bit := range 64 {
			if mask>>bit&1 != 0 {
				list = append(list, strconv.Itoa(first+bit))
			}
		}
		first += 64
	}
	return s.word(strings.Join(list, ","))
}

// numberedKey is a field number with the arg key of the field.
type numberedKey struct {
	number uint32
	key    string
}

var (
	kernelTexts = []numberedKey{
		{pb.InternedComputeKernel_Name, "kernel_name"}, {pb.InternedComputeKernel_DemangledName, "kernel_demangled_name"},
		{pb.InternedComputeKernel_Arch, "arch"},
	}
	launchSizes = []numberedKey{
		{pb.GpuRenderStageEvent_ComputeKernelLaunch_GridSize, "grid_size"},
		{pb.GpuRenderStageEvent_ComputeKernelLaunch_WorkgroupSize, "workgroup_size"},
	}
	axes = []numberedKey{{pb.GpuRenderStageEvent_Dim3_X, "x"}, {pb.GpuRenderStageEvent_Dim3_Y, "y"}, {pb.GpuRenderStageEvent_Dim3_Z, "z"}}
)

func (s *stage) kernel(iid uint64, set *model.ArgSet) {
	kernel, ok := s.e.State.Interned(pb.GpuInternedData_ComputeKernels, iid)
	if !ok {
		return
	}
	for _, f := range kernelTexts {
		if message.Has(kernel, f.number) {
			set.Add(s.word(f.key), model.StringArg(s.TextField(kernel, f.number)))
		}
	}
	for arg := range message.Messages(kernel, pb.InternedComputeKernel_Args) {
		s.computeArg(arg, set)
	}
}

func (s *stage) launch(data []byte, set *model.ArgSet) {
	for _, size := range launchSizes {
		dim3 := message.Bytes(data, size.number)
		for _, axis := range axes {
			if message.Has(dim3, axis.number) {
				set.Add(s.word("launch."+size.key+"."+axis.key), model.UintArg(uint64(message.Uint32(dim3, axis.number))))
			}
		}
	}
	for arg := range message.Messages(data, pb.GpuRenderStageEvent_ComputeKernelLaunch_Args) {
		s.computeArg(arg, set)
	}
}

func (s *stage) computeArg(data []byte, set *model.ArgSet) {
	name := s.TextField(data, pb.GpuRenderStageEvent_ExtraComputeArg_Name)
	if iid, ok := wire.Find(data, pb.GpuRenderStageEvent_ExtraComputeArg_NameIID); ok {
		name, _ = s.e.State.InternedString(pb.GpuInternedData_ComputeArgNames, iid.Uint64())
	}
	if name == 0 {
		return
	}
	for f := wire.Read(data); f.Next(); {
		switch f.Number {
		case pb.GpuRenderStageEvent_ExtraComputeArg_IntValue:
			set.Add(name, model.IntArg(f.Int64()))
		case pb.GpuRenderStageEvent_ExtraComputeArg_UintValue:
			set.Add(name, model.UintArg(f.Uint64()))
		case pb.GpuRenderStageEvent_ExtraComputeArg_DoubleValue:
			set.Add(name, model.RealArg(f.Float64()))
		case pb.GpuRenderStageEvent_ExtraComputeArg_StringValue:
			set.Add(name, model.StringArg(s.TextID(f.Bytes())))
		case pb.GpuRenderStageEvent_ExtraComputeArg_StringValueIID:
			if text, ok := s.e.State.InternedString(pb.InternedData_DebugAnnotationStringValues, f.Uint64()); ok {
				set.Add(name, model.StringArg(text))
			}
		}
	}
}
