package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tpconvert/tpconvert/cmd/tracegen/template"
)

// jsonFormat is a Chrome JSON trace of a browser and of a PyTorch job, or the same events on a line each. 60 threads of 10 processes take
// turns to flush the events of a task, so a thread's events are in order, but those of the trace are not.
func jsonFormat(separator string) format {
	browser := chrome.tasks(separator, browserKinds...)
	torch, gpu := pytorch.tasks(separator, slices.Concat(torchKinds, torchOthers)...), pytorch.tasks(separator, slices.Concat(gpuKinds, torchOthers)...)
	each := func(b []byte, i, n int) []byte {
		switch thread := i % 60; {
		case thread < 48:
			return browser(b, i, n)
		case thread < 57:
			return torch(b, i, n)
		}
		return gpu(b, i, n)
	}
	process := `{"args":{"name":"Renderer $i"},"cat":"__metadata","name":"process_name","ph":"M","pid":$(1000+i*40),"tid":0,"ts":0}`
	thread := `{"args":{"name":"ThreadPoolForegroundWorker $i"},"cat":"__metadata","name":"thread_name","ph":"M",` + jsonThread + `,"ts":0}`
	head := template.Join(template.Times(10, template.Text(process+separator)), template.Times(60, template.Text(thread+separator)))
	tail := template.Times(1, template.Text(process+"\n"))
	if separator[0] == ',' {
		head = template.Join(template.Text(`{"displayTimeUnit":"ms","traceEvents":[`+"\n"), head)
		tail = template.Join(tail, template.Text(`],"otherData":{"clock-domain":"LINUX_CLOCK_MONOTONIC","cpu-num-cores":8,"os-name":"Linux","highres-ticks":true}}`+"\n"))
	}
	return format{head, each, tail}
}

const jsonThread = `"pid":$(1000+i%60/6*40),"tid":$(1000+i%60/6*40+i%6)`

// jsonStyle is how a program writes its events: members in their order, for some phases or all.
type jsonStyle []struct{ phases, member string }

var (
	chrome = jsonStyle{
		{"", `{"args":{ARGS}`}, {"f", `,"bp":"e"`}, {"", `,"cat":"CAT"`}, {"X", `,"dur":DUR`}, {"sf", `,"id":$i`}, {"bne", `,"id2":{"local":"0x$(i:x)"}`},
		{"", `,"name":"NAME","ph":"PH"`}, {"I", `,"s":"t"`}, {"X", `,"tdur":DUR`}, {"", "," + jsonThread + `,"ts":$(122411211067+AT)`},
		{"XBEIC", `,"tts":$(1000+AT)`}, {"", "}"},
	}
	pytorch = jsonStyle{
		{"", `{"ph":"PH"`}, {"sf", `,"id":$i`}, {"bne", `,"id":"0x$(i:x)"`}, {"I", `,"s":"t"`},
		{"", `,"cat":"CAT","name":"NAME",` + jsonThread + `,"ts":$(122411211067+AT).$(i%1000:03d)`}, {"X", `,"dur":DUR`}, {"f", `,"bp":"e"`}, {"", `,"args":{ARGS}}`},
	}
)

// jsonKind is a kind of event. Its category and name need no escaping.
type jsonKind struct {
	phases          string
	weight          int
	cat, name, args string
}

// tasks are tasks of a program, with events of some kinds.
func (s jsonStyle) tasks(separator string, kinds ...jsonKind) template.Shape {
	return tasks(func(ph string, begin, end int) template.Shape {
		return template.Join(s.event(ph, begin, end, kinds), template.Text(separator))
	})
}

// event is an event of one of the kinds.
func (s jsonStyle) event(ph string, begin, end int, kinds []jsonKind) template.Shape {
	format := ""
	for _, m := range s {
		if m.phases == "" || strings.Contains(m.phases, ph) {
			format += m.member
		}
	}
	const scale = "(i*7919%7*(i/60%3)/2)" // a task takes 64 to 64<<6 µs, most of them less
	at, dur := fmt.Sprintf("i/60*8000+(%d<<%s)", begin, scale), fmt.Sprintf("$(%d<<%s)", end-begin, scale)
	var shapes []template.Shape
	for _, k := range kinds {
		if strings.Contains(k.phases, ph) {
			values := strings.NewReplacer("ARGS", k.args, "CAT", k.cat, "NAME", k.name, "PH", ph, "AT", at, "DUR", dur)
			event := strings.Replace(values.Replace(format), `,"args":{}`, "", 1) // PyTorch leaves them out
			shapes = append(shapes, slices.Repeat([]template.Shape{template.Text(event)}, k.weight)...)
		}
	}
	return template.Pick(at, shapes)
}

// Args that repeat throughout the trace.
const (
	postedFrom   = `"src_file":"content/browser/file_$(i%90).cc","src_func":"Function$(i%300)"`
	mojoMessage  = `"chrome_mojo_event_info":{"ipc_hash":$(i%150*26544357),"mojo_interface_tag":"blink.mojom.Interface$(i%150)"}`
	functionCall = `"data":{"columnNumber":$(i%800),"frame":"` + frameToken + `","functionName":"f$(i%800)","lineNumber":$(i%400),"scriptId":"$(i%40)","url":"https://example.com/static/chunk-$(i%40).js"}`
	frame        = `"data":{"frame":"` + frameToken + `"}`
	domNode      = `"data":{"clip":[$(i%7),0,$(i%1000),0,$(i%1000),800,0,800],"frame":"` + frameToken + `","nodeId":$(i%1000)}`
	layer        = `"layerId":$(i%200),"layerTreeId":$(i%6)`
	inputs       = `"Input Dims":[[$(1<<(i%8)),$(64+i%24*64)],[$(64+i%24*64)]],"Input type":["float","float"],"Concrete Inputs":["","","$(i%3)"]`
	frameToken   = `8C5A7D3E9B1F2046A0D4$(i%24:012X)`
)

// Args that are rarely the same twice.
const (
	resource    = `"data":{"encodedDataLength":$(r%131072),"requestId":"14776.$i"}`
	gpuTask     = `"data":{"renderer_pid":14776,"used_bytes":$r}`
	heap        = `"documents":$(r%20),"jsEventListeners":$(r%500),"jsHeapSizeUsed":$r`
	number      = `"value":$r`
	operator    = `"External id":$i,"Record function id":0,"Sequence number":$(r%5000),"Fwd thread id":1`
	correlation = `"External id":$r,"cbid":211,"correlation":$i`
	launch      = `"device":0,"context":1,"stream":7,"grid":[256,1,1],"block":[128,1,1],"correlation":$r,"blocks per SM":$(r%100).25`
	transfer    = `"device":0,"stream":7,"correlation":$r,"bytes":$r,"memory bandwidth (GB/s)":12.625`
	memory      = `"Device Type":1,"Device Id":0,"Addr":$(139929266946048+r*512),"Bytes":$(r%65536*512)`
)

// Kinds of events of programs.
var (
	browserKinds = []jsonKind{
		{"X", 30, "disabled-by-default-devtools.timeline", "RunTask", ""},
		{"X", 26, "toplevel", "ThreadControllerImpl::RunTask", postedFrom},
		{"X", 12, "toplevel", "SimpleWatcher::OnHandleReady", ""},
		{"X", 13, "toplevel,mojom", "Receive mojo message", mojoMessage},
		{"X", 8, "toplevel", "ThreadPool_RunTask", postedFrom},
		{"X", 12, "toplevel", "BlinkScheduler_PerformMicrotaskCheckpoint", ""},
		{"X", 13, "devtools.timeline", "FunctionCall", functionCall},
		{"X", 11, "devtools.timeline", "FireAnimationFrame", frame},
		{"X", 9, "devtools.timeline", "HitTest", domNode},
		{"X", 5, "devtools.timeline,rail", "Paint", domNode},
		{"X", 16, "devtools.timeline", "Layerize", frame},
		{"X", 12, "devtools.timeline", "XHRReadyStateChange", resource},
		{"X", 8, "disabled-by-default-devtools.timeline", "GPUTask", gpuTask},
		{"X", 16, "disabled-by-default-v8.compile", "V8.CompileCode", ""},
		{"X", 3, "v8,devtools.timeline,disabled-by-default-v8.compile", "v8.compile", functionCall},
		{"X", 5, "v8", "V8.Execute", ""},
		{"X", 7, "devtools.timeline,disabled-by-default-v8.gc", "V8.GC_SCAVENGER_SCAVENGE_PARALLEL", ""},
		{"X", 15, "loading", "URLLoader::Context::Start", ""},
		{"X", 4, "blink,blink_style", "Document::updateStyle", domNode},
		{"X", 7, "blink", "LocalFrameView::performLayout", frame},
		{"X", 9, "cc", "LayerTreeHostImpl::NotifyTileStateChanged", ""},
		{"X", 9, "cc,benchmark", "AnimationHost::TickAnimations", ""},
		{"I", 12, "disabled-by-default-devtools.timeline", "UpdateLayer", layer},
		{"I", 8, "disabled-by-default-devtools.timeline.invalidationTracking", "LayoutInvalidationTracking", domNode},
		{"I", 4, "disabled-by-default-v8.compile", "V8.CompileIgnitionFinalization", ""},
		{"I", 8, "devtools.timeline", "ResourceReceivedData", resource},
		{"C", 3, "disabled-by-default-devtools.timeline", "UpdateCounters", heap},
		{"C", 2, "gpu", "GPUMemoryUsage", number},
		{"bne", 3, "cc,benchmark,disabled-by-default-devtools.timeline.frame", "EndCommitToActivation", ""},
		{"sf", 6, "loading", "URLLoader::Context::OnReceivedResponse", ""},
		{"BE", 1, "devtools.timeline", "UpdateLayoutTree", `"elementCount":$(r%300)`},
	}
	torchKinds = []jsonKind{
		{"X", 26, "cpu_op", "aten::as_strided", ""},
		{"X", 24, "cpu_op", "aten::transpose", inputs},
		{"X", 22, "cpu_op", "aten::mul", inputs},
		{"X", 10, "cpu_op", "aten::addmm", inputs},
		{"X", 14, "cpu_op", "aten::native_layer_norm", inputs},
		{"X", 8, "cpu_op", "autograd::engine::evaluate_function: AddmmBackward0", operator},
		{"X", 19, "cuda_runtime", "cudaLaunchKernel", correlation},
		{"X", 18, "python_function", "torch/nn/modules/module.py(1501): _call_impl", ""},
		{"X", 5, "python_function", "<built-in method linear of type object at 0x7f11f1e3c4e0>", ""},
		{"X", 10, "user_annotation", "ProfilerStep#10", ""},
	}
	gpuKinds = []jsonKind{
		{"X", 3, "kernel", "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl<at::native::BinaryFunctor<float, float, float, at::native::MulFunctor<float> > >(at::TensorIteratorBase&)::{lambda(int)#1}>(int, at::native::{lambda(int)#1})", launch},
		{"X", 3, "kernel", "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, at::detail::Array<char*, 1> >(int, at::native::FillFunctor<float>, at::detail::Array<char*, 1>)", ""},
		{"X", 7, "kernel", "ampere_fp16_s16816gemm_fp16_64x64_sliced1x2_ldg8_f2f_stages_64x6_nn", launch},
		{"X", 4, "gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", transfer},
	}
	// Other events of PyTorch, on the CPU and on GPUs.
	torchOthers = []jsonKind{
		{"I", 3, "cpu_instant_event", "[memory]", memory},
		{"I", 2, "Trace", "Iteration Start: PyTorch Profiler", ""},
		{"C", 1, "gpu", "GPU memory", number},
		{"bne", 2, "data", "DataLoader batch", ""},
		{"sf", 3, "ac2g", "ac2g", ""},
		{"BE", 1, "user_annotation", "backward", `"loss":0.$(1000000+r%9000000)`},
	}
)
