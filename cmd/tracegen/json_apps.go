package main

import (
	"fmt"
	"math/rand/v2"
	"strconv"
)

// app is a program that records a trace.
type app struct {
	render       func(g *eventWriter, b []byte, t *thread, e event) []byte
	resolution   int64 // of timestamps, in ns
	instantPhase byte

	spans, ends, instants, counters, asyncs, flows kinds

	openFlows *links
}

func (a *app) round(ns int64) int64 { return ns - ns%a.resolution }

type processSpec struct {
	app     *app
	name    string
	count   int
	threads []string
}

func processSpecs() []processSpec {
	browser := &app{
		render: renderChrome, resolution: 1000, instantPhase: 'I',
		spans: browserSpans, ends: browserEnds, instants: browserInstants,
		counters: browserCounters, asyncs: browserAsyncs, flows: browserFlows,
		openFlows: new(links),
	}
	torch := &app{
		render: renderKineto, resolution: 1, instantPhase: 'i',
		spans: torchSpans, ends: torchEnds, instants: torchInstants,
		counters: torchCounters, asyncs: torchAsyncs, flows: torchFlows,
		openFlows: new(links),
	}
	gpu := *torch
	gpu.spans = gpuSpans
	return []processSpec{
		{browser, "Browser", 1, []string{
			"CrBrowserMain", "Chrome_IOThread", "ThreadPoolServiceThread",
			"ThreadPoolForegroundWorker", "ThreadPoolForegroundWorker", "CacheThread_BlockFile",
		}},
		{browser, "GPU Process", 1, []string{
			"CrGpuMain", "VizCompositorThread", "Chrome_ChildIOThread",
		}},
		{browser, "Service: network.mojom.NetworkService", 1, []string{
			"NetworkService", "Chrome_ChildIOThread", "ThreadPoolForegroundWorker", "ThreadPoolForegroundWorker",
		}},
		{browser, "Renderer", 6, []string{
			"CrRendererMain", "Compositor", "Chrome_ChildIOThread",
			"ThreadPoolForegroundWorker", "ThreadPoolForegroundWorker", "CompositorTileWorker1",
		}},
		{torch, "python", 2, []string{
			"python", "pt_autograd_0", "pt_data_pin", "pt_data_worker",
		}},
		{&gpu, "GPU 0", 1, []string{
			"stream 7", "stream 20", "stream 24",
		}},
	}
}

// kind is a kind of event. Its category and name need no escaping; args, if
// there are any, appends an object.
type kind struct {
	weight    int
	cat, name string
	args      args
}

// kinds holds each kind as many times as its weight.
type kinds []*kind

func weighted(all ...kind) kinds {
	var ks kinds
	for i := range all {
		for range all[i].weight {
			ks = append(ks, &all[i])
		}
	}
	return ks
}

func (ks kinds) pick(rng *rand.Rand) *kind { return ks[rng.IntN(len(ks))] }

var (
	browserSpans = weighted(
		kind{30, "disabled-by-default-devtools.timeline", "RunTask", nil},
		kind{26, "toplevel", "ThreadControllerImpl::RunTask", postedFrom},
		kind{12, "toplevel", "SimpleWatcher::OnHandleReady", nil},
		kind{10, "toplevel,mojom", "Receive mojo message", mojoMessage},
		kind{3, "toplevel,mojom", "Receive mojo reply", mojoMessage},
		kind{8, "toplevel", "ThreadPool_RunTask", postedFrom},
		kind{6, "toplevel", "EpollEvent", nil},
		kind{5, "toplevel", "BlinkScheduler_PerformMicrotaskCheckpoint", nil},
		kind{10, "devtools.timeline", "FunctionCall", functionCall},
		kind{3, "devtools.timeline", "EvaluateScript", functionCall},
		kind{4, "devtools.timeline", "TimerFire", frame},
		kind{4, "devtools.timeline", "FireAnimationFrame", frame},
		kind{3, "devtools.timeline", "EventDispatch", domEvent},
		kind{4, "devtools.timeline", "HitTest", domNode},
		kind{5, "devtools.timeline,rail", "Paint", domNode},
		kind{4, "devtools.timeline", "PrePaint", frame},
		kind{4, "devtools.timeline", "Layerize", frame},
		kind{4, "devtools.timeline", "Commit", frame},
		kind{3, "devtools.timeline", "ParseHTML", resource},
		kind{3, "devtools.timeline", "XHRReadyStateChange", resource},
		kind{4, "disabled-by-default-devtools.timeline", "GPUTask", gpuTask},
		kind{8, "disabled-by-default-v8.compile", "V8.CompileCode", nil},
		kind{4, "disabled-by-default-v8.compile", "V8.ParseFunction", nil},
		kind{4, "disabled-by-default-v8.compile", "V8.PreParse", nil},
		kind{3, "v8,devtools.timeline,disabled-by-default-v8.compile", "v8.compile", functionCall},
		kind{5, "v8", "V8.Execute", nil},
		kind{4, "devtools.timeline,disabled-by-default-v8.gc", "V8.GC_MC_INCREMENTAL", nil},
		kind{3, "devtools.timeline,disabled-by-default-v8.gc", "V8.GC_SCAVENGER_SCAVENGE_PARALLEL", nil},
		kind{6, "loading", "URLLoader::Context::Start", nil},
		kind{5, "loading", "ThrottlingURLLoader::OnReceiveResponse", nil},
		kind{4, "loading", "ResourceRequestSender::OnRequestComplete", nil},
		kind{4, "blink,blink_style", "Document::updateStyle", domNode},
		kind{3, "blink", "InlineNode::ShapeTextIncludingFirstLine", nil},
		kind{4, "blink", "LocalFrameView::performLayout", frame},
		kind{5, "cc", "LayerTreeHostImpl::NotifyTileStateChanged", nil},
		kind{4, "cc", "ProxyImpl::ScheduledActionDraw", nil},
		kind{4, "cc,benchmark", "AnimationHost::TickAnimations", nil},
		kind{3, "cc,disabled-by-default-devtools.timeline", "RasterTask", tile},
		kind{3, "gpu,benchmark", "SkiaRenderer::SwapBuffers", nil},
		kind{2, "viz", "DisplayScheduler::DrawAndSwap", nil},
		kind{2, "net", "HttpCache::Transaction::DoLoop", resource},
		kind{2, "ipc,toplevel", "ChannelMojo::OnMessageReceived", ipcMessage},
	)
	browserEnds = weighted(
		kind{1, "devtools.timeline,v8", "MinorGC", heapAfter},
		kind{2, "devtools.timeline", "UpdateLayoutTree", elementCount},
		kind{2, "devtools.timeline", "Layout", nil},
	)
	browserInstants = weighted(
		kind{8, "disabled-by-default-devtools.timeline", "UpdateLayer", layer},
		kind{4, "disabled-by-default-devtools.timeline.frame", "BeginMainThreadFrame", layer},
		kind{4, "disabled-by-default-devtools.timeline.invalidationTracking", "LayoutInvalidationTracking", domNode},
		kind{4, "disabled-by-default-v8.compile", "V8.CompileIgnitionFinalization", nil},
		kind{2, "devtools.timeline", "ResourceReceivedData", resource},
		kind{2, "devtools.timeline", "ResourceSendRequest", resource},
		kind{3, "devtools.timeline", "ScheduleStyleRecalculation", frame},
		kind{1, "devtools.timeline", "MarkDOMContent", frame},
	)
	browserCounters = weighted(
		kind{3, "disabled-by-default-devtools.timeline", "UpdateCounters", counters},
		kind{1, "renderer.scheduler", "RendererScheduler.PendingTasks", value},
		kind{1, "gpu", "GPUMemoryUsage", value},
	)
	browserAsyncs = weighted(
		kind{3, "cc,benchmark,disabled-by-default-devtools.timeline.frame", "PipelineReporter", frameReport},
		kind{4, "cc,benchmark,disabled-by-default-devtools.timeline.frame", "EndCommitToActivation", nil},
		kind{4, "cc,benchmark,disabled-by-default-devtools.timeline.frame", "Activation", nil},
		kind{4, "cc,benchmark,disabled-by-default-devtools.timeline.frame", "SubmitCompositorFrameToPresentationCompositorFrame", nil},
		kind{2, "blink.animations,devtools.timeline,benchmark,rail", "Animation", nil},
		kind{2, "netlog", "URL_REQUEST", resource},
		kind{1, "blink.user_timing", "hydrate", nil},
	)
	browserFlows = weighted(
		kind{3, "loading", "URLLoader::Context::OnReceivedResponse", nil},
		kind{3, "toplevel.flow", "SimpleWatcher::Notify", nil},
		kind{2, "disabled-by-default-v8.compile", "V8.MaglevBackground", nil},
		kind{2, "devtools.timeline.async", "AsyncTask Scheduled", nil},
	)

	torchSpans = weighted(
		kind{8, "cpu_op", "aten::empty", nil},
		kind{8, "cpu_op", "aten::empty_strided", nil},
		kind{10, "cpu_op", "aten::as_strided", nil},
		kind{8, "cpu_op", "aten::view", inputs},
		kind{8, "cpu_op", "aten::reshape", inputs},
		kind{8, "cpu_op", "aten::transpose", inputs},
		kind{6, "cpu_op", "aten::add_", inputs},
		kind{6, "cpu_op", "aten::mul", inputs},
		kind{5, "cpu_op", "aten::copy_", inputs},
		kind{5, "cpu_op", "aten::to", inputs},
		kind{5, "cpu_op", "aten::linear", inputs},
		kind{5, "cpu_op", "aten::addmm", inputs},
		kind{4, "cpu_op", "aten::matmul", inputs},
		kind{4, "cpu_op", "aten::native_layer_norm", inputs},
		kind{3, "cpu_op", "aten::softmax", inputs},
		kind{3, "cpu_op", "aten::embedding_dense_backward", inputs},
		kind{3, "cpu_op", "autograd::engine::evaluate_function: AddmmBackward0", operator},
		kind{3, "cpu_op", "torch::autograd::AccumulateGrad", operator},
		kind{2, "cpu_op", "record_param_comms", operator},
		kind{16, "cuda_runtime", "cudaLaunchKernel", correlation},
		kind{3, "cuda_runtime", "cudaMemcpyAsync", correlation},
		kind{12, "python_function", "torch/nn/modules/module.py(1501): _call_impl", nil},
		kind{6, "python_function", "torch/optim/optimizer.py(265): wrapper", nil},
		kind{5, "python_function", "<built-in method linear of type object at 0x7f11f1e3c4e0>", nil},
		kind{5, "python_function", "train.py(88): step", nil},
		kind{3, "user_annotation", "ProfilerStep#10", nil},
		kind{2, "user_annotation", "Optimizer.step#AdamW.step", nil},
	)
	torchEnds = weighted(
		kind{1, "user_annotation", "forward", nil},
		kind{1, "user_annotation", "backward", loss},
	)
	torchInstants = weighted(
		kind{3, "cpu_instant_event", "[memory]", memory},
		kind{2, "Trace", "Iteration Start: PyTorch Profiler", nil},
	)
	torchCounters = weighted(
		kind{2, "gpu", "GPU memory", value},
		kind{1, "data", "Queue length", value},
	)
	torchAsyncs = weighted(
		kind{2, "data", "DataLoader batch", nil},
		kind{1, "nccl", "nccl:all_reduce", inputs},
	)
	torchFlows = weighted(
		kind{3, "ac2g", "ac2g", nil},
		kind{1, "fwdbwd", "fwdbwd", nil},
	)

	gpuSpans = weighted(
		kind{3, "kernel", "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl<at::native::BinaryFunctor<float, float, float, at::native::MulFunctor<float> > >(at::TensorIteratorBase&)::{lambda(int)#1}>(int, at::native::{lambda(int)#1})", launch},
		kind{3, "kernel", "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, at::detail::Array<char*, 1> >(int, at::native::FillFunctor<float>, at::detail::Array<char*, 1>)", nil},
		kind{3, "kernel", "ampere_sgemm_128x64_tn", launch},
		kind{2, "kernel", "ampere_fp16_s16816gemm_fp16_64x64_sliced1x2_ldg8_f2f_stages_64x6_nn", launch},
		kind{2, "kernel", "ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)", launch},
		kind{2, "gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", transfer},
		kind{2, "gpu_memset", "Memset (Device)", transfer},
	)
)

// args appends an event's args, a JSON object.
type args func(g *eventWriter, b []byte) []byte

// pool returns args that repeat throughout the trace: one of n choices, with low indexes
// more frequent.
func pool(n int, render func(i int) string) args {
	rendered := make([]string, n)
	for i := range rendered {
		rendered[i] = render(i)
	}
	return func(g *eventWriter, b []byte) []byte {
		return append(b, rendered[g.rng.IntN(1+g.rng.IntN(n))]...)
	}
}

func frameToken(i int) string {
	rng := rand.New(rand.NewPCG(uint64(i%24), 0))
	return fmt.Sprintf("%016X%016X", rng.Uint64(), rng.Uint64())
}

var (
	postedFrom = pool(300, func(i int) string {
		folders := []string{"base/task", "cc/trees", "content/browser", "gpu/ipc/service", "net/http", "third_party/blink/renderer"}
		return fmt.Sprintf(`{"src_file":"%s/file_%d.cc","src_func":"Function%d"}`, folders[i%len(folders)], i%90, i)
	})
	mojoMessage = pool(150, func(i int) string {
		return fmt.Sprintf(`{"chrome_mojo_event_info":{"ipc_hash":%d,"mojo_interface_tag":"blink.mojom.Interface%d"}}`, uint32(i*2654435761), i)
	})
	functionCall = pool(800, func(i int) string {
		return fmt.Sprintf(`{"data":{"columnNumber":%d,"frame":"%s","functionName":"f%d","lineNumber":%d,"scriptId":"%d","url":"https://example.com/static/chunk-%d.js"}}`,
			i*7919%9000, frameToken(i), i, i%400, i%40, i%40)
	})
	frame = pool(24, func(i int) string {
		return fmt.Sprintf(`{"data":{"frame":"%s"}}`, frameToken(i))
	})
	domNode = pool(1000, func(i int) string {
		return fmt.Sprintf(`{"data":{"clip":[%d,0,%d,0,%d,800,0,800],"frame":"%s","nodeId":%d}}`, i%7, i, i, frameToken(i), i)
	})
	domEvent = pool(40, func(i int) string {
		return fmt.Sprintf(`{"data":{"type":"event%d"}}`, i)
	})
	layer = pool(200, func(i int) string {
		return fmt.Sprintf(`{"layerId":%d,"layerTreeId":%d}`, i, i%6)
	})
	tile = pool(200, func(i int) string {
		return fmt.Sprintf(`{"tileData":{"layerId":%d,"sourceFrameNumber":%d,"tileId":{"id_ref":"0x%x"},"tileResolution":"HIGH_RESOLUTION"}}`, i%30, i%60, 0x1a0000+i*64)
	})
	frameReport = pool(60, func(i int) string {
		return fmt.Sprintf(`{"chrome_frame_reporter":{"affects_smoothness":%t,"frame_type":"FORKED","scroll_state":"SCROLL_NONE","state":"STATE_PRESENTED_ALL","surface_frame_trace_id":%d}}`, i%3 == 0, i)
	})
	inputs = pool(500, func(i int) string {
		return fmt.Sprintf(`{"Input Dims":[[%d,%d],[%d]],"Input type":["float","float"],"Concrete Inputs":["","","%d"]}`, 1<<(i%8), 64*(1+i%24), 64*(1+i%24), i%3)
	})
)

// The args below are rarely the same twice.
var (
	resource     = fresh(`{"data":{"encodedDataLength":`, below(1<<17), `,"requestId":"14776.`, nextID, `"}}`)
	gpuTask      = fresh(`{"data":{"renderer_pid":14776,"used_bytes":`, below(1<<28), "}}")
	ipcMessage   = fresh(`{"class":107,"id":"0x7ffe0000","line":`, nextID, "}")
	heapAfter    = fresh(`{"usedHeapSizeAfter":`, below(1<<26), "}")
	elementCount = fresh(`{"elementCount":`, below(300), "}")
	counters     = fresh(`{"documents":`, below(20), `,"jsEventListeners":`, below(500), `,"jsHeapSizeUsed":`, below(1<<27), `}`)
	value        = fresh(`{"value":`, below(1<<33), "}")
	operator     = fresh(`{"External id":`, nextID, `,"Record function id":0,"Sequence number":`, below(5000), `,"Fwd thread id":1}`)
	correlation  = fresh(`{"External id":`, nextID, `,"cbid":211,"correlation":`, lastID, "}")
	launch       = fresh(`{"device":0,"context":1,"stream":7,"grid":[256,1,1],"block":[128,1,1],"correlation":`, nextID, `,"blocks per SM":`, below(100), ".25}")
	transfer     = fresh(`{"device":0,"stream":7,"correlation":`, nextID, `,"bytes":`, below(1<<24), `,"memory bandwidth (GB/s)":12.625}`)
	memory       = fresh(`{"Device Type":1,"Device Id":0,"Addr":`, address, `,"Bytes":`, allocated, "}")
	loss         = fresh(`{"loss":0.`, digits, "}")
)

// fresh returns args of texts and of numbers, which are functions.
func fresh(parts ...any) args {
	return func(g *eventWriter, b []byte) []byte {
		for _, part := range parts {
			switch part := part.(type) {
			case string:
				b = append(b, part...)
			case func(*eventWriter) uint64:
				b = strconv.AppendUint(b, part(g), 10)
			}
		}
		return b
	}
}

func below(n uint64) func(*eventWriter) uint64 {
	return func(g *eventWriter) uint64 { return g.rng.Uint64N(n) }
}

func nextID(g *eventWriter) uint64 {
	g.id++
	return g.id
}

func lastID(g *eventWriter) uint64    { return g.id }
func address(g *eventWriter) uint64   { return 139929266946048 + g.rng.Uint64N(1<<32)*512 }
func allocated(g *eventWriter) uint64 { return g.rng.Uint64N(1<<16) * 512 }
func digits(g *eventWriter) uint64    { return 1e6 + g.rng.Uint64N(9e6) }
