package families

import "testing"

func TestGPUCorrelation(t *testing.T) {
	stage := func(ts, id int64, name string, waits ...uint64) message {
		m := message{}.num(1, id).num(2, 5).text(17, name)
		if len(waits) > 0 {
			m = m.msg(18, packedNumbers(waits...))
		}
		return packet(ts).msg(fieldRenderStage, m)
	}
	host := func(ts int64, name string, field int, id uint64) message {
		return packet(ts).msg(11, event(instant, 20).text(23, name).msg(fieldGPUCorrelation, message{}.msg(field, packedNumbers(id))))
	}
	res := readTrace(t, packets(
		packet(1).msg(60, threadTrack(20, 0, 1, 2, "t")),
		host(10, "submit", 1, 7), stage(20, 7, "first"), stage(30, 7, "second"), host(40, "wait", 2, 7),
		host(50, "wait early", 2, 8), stage(60, 8, "late", 7), host(70, "submitted late", 1, 8),
		stage(80, 9, "waits", 10), stage(90, 10, "source"),
	))
	want(t, "slices", res.rows("slice", "name"), "submit", "first", "second", "wait", "wait early", "late",
		"submitted late", "waits", "source")
	want(t, "flows", res.rows("flow", "slice_out", "slice_in"), "0 1", "0 2", "1 3", "2 3", "5 4", "1 5", "2 5", "6 5", "8 7")
}

func TestVulkanMemory(t *testing.T) {
	const driver, deviceMemory, buffer = 1, 3, 4
	const create, destroy, bind, destroyBound = 1, 2, 3, 4
	memory := func(ts, pid, source, operation, size int64, more message) message {
		m := message{}.num(1, source).num(2, operation).num(3, ts).num(4, pid).num(6, size)
		return packet(ts).msg(fieldVulkanMemory, append(m, more...))
	}
	keys := message{}.msg(internedVulkanKeys, intern(1, "key")).msg(internedVulkanKeys, intern(2, "text")).msg(internedFunctionNames, intern(3, "vkAllocate"))
	object := message{}.num(8, 2)
	memoryType := message{}.num(18, 6)
	res := readTrace(t, packets(
		fresh(1).msg(12, keys),
		memory(10, 7, driver, create, 100, object.num(7, 3).fixed64(16, 99).msg(9, message{}.num(1, 1).num(4, 2))),
		memory(20, 7, driver, create, 50, object), memory(30, 8, driver, create, 1, object), memory(40, 7, driver, destroy, 100, object),
		memory(50, 7, deviceMemory, create, 10, memoryType), memory(60, 7, buffer, bind, 5, memoryType), memory(70, 7, buffer, destroyBound, 5, memoryType),
		memory(80, 7, buffer, create, 5, memoryType), memory(90, 7, 77, 77, 5, nil),
	))
	want(t, "allocations", res.rows("vulkan_memory_allocations", "timestamp", "source", "operation", "upid", "memory_size", "scope", "memory_type", "device", "function_name"),
		"10 DRIVER CREATE 1 100 OBJECT  99 vkAllocate", "20 DRIVER CREATE 1 50 OBJECT   ", "30 DRIVER CREATE 2 1 OBJECT   ",
		"40 DRIVER DESTROY 1 100 OBJECT   ", "50 GPU_DEVICE_MEMORY CREATE 1 10  6  ", "60 GPU_BUFFER BIND 1 5  6  ",
		"70 GPU_BUFFER DESTROY_BOUND 1 5  6  ", "80 GPU_BUFFER CREATE 1 5  6  ", "90 UNSPECIFIED UNSPECIFIED 1 5    ")
	want(t, "counters", res.rows("counter", "ts", "value", "track_id"), "10 100 0", "20 150 0", "30 1 1", "40 50 0", "50 10 2", "60 5 3", "70 0 3")
	want(t, "tracks", res.rows("track", "name", "upid"), "vulkan.mem.driver.scope.OBJECT 1", "vulkan.mem.driver.scope.OBJECT 2",
		"vulkan.mem.device.memory.type.6.allocation 1", "vulkan.mem.device.memory.type.6.bind 1")
	want(t, "annotations", res.args(res.tables["vulkan_memory_allocations"][0]), "key=text")
}
