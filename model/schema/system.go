package schema

import "github.com/tpconvert/tpconvert/model/table"

// Machine holds the machines that the traces come from.
type Machine struct {
	table.Table               `tp:"machine,held" doc:"A machine that events were recorded on."`
	RawID                     table.Int64  `tp:"2,raw_id" doc:"Machine id in the trace, 0 for the machine that recorded it."`
	Name                      table.String `tp:"3,name" doc:"Name that the machine reports."`
	Sysname                   table.String `tp:"4,sysname" doc:"Name of the operating system, as uname gives it."`
	Release                   table.String `tp:"5,release" doc:"Release of the operating system."`
	Version                   table.String `tp:"6,version" doc:"Version of the operating system."`
	Arch                      table.String `tp:"7,arch" doc:"Architecture, such as x86_64."`
	NumCpus                   table.Int64  `tp:"8,num_cpus,null" doc:"Number of CPUs."`
	AndroidBuildFingerprint   table.String `tp:"9,android_build_fingerprint" doc:"Build of Android."`
	AndroidDeviceManufacturer table.String `tp:"10,android_device_manufacturer" doc:"Manufacturer of the Android device."`
	AndroidSDKVersion         table.Int64  `tp:"11,android_sdk_version,null" doc:"Android's SDK version."`
	SystemRAMBytes            table.Int64  `tp:"12,system_ram_bytes,null" doc:"Memory of the machine, bytes."`
	SystemRAMGB               table.Int64  `tp:"13,system_ram_gb,null" doc:"Memory of the machine, rounded to gigabytes."`
}

// Process holds the processes. Rows are held because any later event may name or end one.
type Process struct {
	table.Table   `tp:"process,core,held" doc:"A process, from its start to its end."`
	UPID          table.RowID        `tp:"2,upid" doc:"Number of the process, unique in the dataset, the same as id."`
	PID           table.Int64        `tp:"3,pid" doc:"Process id of the operating system, which may reuse it."`
	Name          table.String       `tp:"4,name" doc:"Name, from whichever source knew it."`
	StartTS       table.Int64        `tp:"5,start_ts,null" doc:"When it began, ns of the trace clock, if that was recorded."`
	EndTS         table.Int64        `tp:"6,end_ts,null" doc:"When it ended, ns of the trace clock, if that was recorded."`
	ParentUPID    table.Ref[Process] `tp:"7,parent_upid,null" doc:"Process that started it."`
	UID           table.Int64        `tp:"8,uid,null" doc:"User id of the operating system."`
	AndroidAppID  table.Int64        `tp:"9,android_appid,null" doc:"Android app id: uid without the Android user."`
	AndroidUserID table.Int64        `tp:"10,android_user_id,null" doc:"Android user that it runs for."`
	Cmdline       table.String       `tp:"11,cmdline" doc:"Command line, arguments separated by spaces."`
	ArgSetID      table.SetRef[Args] `tp:"12,arg_set_id,null" doc:"Arguments: the rows of args with this arg_set_id."`
	MachineID     table.Ref[Machine] `tp:"13,machine_id" doc:"Machine that it ran on."`
}

// Thread holds the threads. Rows are held because any later event may name or end one.
type Thread struct {
	table.Table  `tp:"thread,core,held" doc:"A thread, from its start to its end."`
	UTID         table.RowID        `tp:"2,utid" doc:"Number of the thread, unique in the dataset, the same as id."`
	TID          table.Int64        `tp:"3,tid" doc:"Thread id of the operating system, which may reuse it."`
	Name         table.String       `tp:"4,name" doc:"Name, from the source that ranks highest."`
	StartTS      table.Int64        `tp:"5,start_ts,null" doc:"When it began, ns of the trace clock, if that was recorded."`
	EndTS        table.Int64        `tp:"6,end_ts,null" doc:"When it ended, ns of the trace clock, if that was recorded."`
	UPID         table.Ref[Process] `tp:"7,upid,null" doc:"Process that it belongs to, if known."`
	IsMainThread table.Bool         `tp:"8,is_main_thread,null" doc:"Whether it is the main thread of its process, NULL if the process is not known."`
	IsIdle       table.Bool         `tp:"9,is_idle" doc:"Whether it is the idle thread of a CPU."`
	MachineID    table.Ref[Machine] `tp:"10,machine_id" doc:"Machine that it ran on."`
	ArgSetID     table.SetRef[Args] `tp:"11,arg_set_id,null" doc:"Arguments: the rows of args with this arg_set_id."`
}

// CPU holds the CPUs. Their ids are 4096 * machine_id + cpu, as in Trace Processor, or above those for CPUs with larger
// numbers.
type CPU struct {
	table.Table `tp:"cpu,core,sparse" doc:"A CPU that the trace names."`
	UCPU        table.Ref[CPU]     `tp:"2,ucpu,asc" doc:"Number of the CPU, unique across machines, the same as id: 4096 * machine_id + cpu."`
	CPU         table.Int32        `tp:"3,cpu" doc:"CPU number on its machine, from 0."`
	ClusterID   table.Int64        `tp:"4,cluster_id" doc:"Cluster: CPUs with the same number are of one kind."`
	Processor   table.String       `tp:"5,processor" doc:"Description of the core."`
	MachineID   table.Ref[Machine] `tp:"6,machine_id" doc:"Machine that it belongs to."`
	Capacity    table.Int64        `tp:"7,capacity,null" doc:"Computing power relative to the strongest CPU of the machine, which has 1024."`
	ArgSetID    table.SetRef[Args] `tp:"8,arg_set_id,null" doc:"Arguments: the rows of args with this arg_set_id."`
}

// CPUFreq holds the available frequencies. The frequencies in use are counters.
type CPUFreq struct {
	table.Table `tp:"cpu_freq" doc:"A frequency that a CPU can run at."`
	CPU         table.Int32    `tp:"2,cpu" doc:"CPU number on its machine."`
	Freq        table.Int64    `tp:"3,freq" doc:"Frequency, kHz."`
	UCPU        table.Ref[CPU] `tp:"4,ucpu" doc:"CPU, unique across machines."`
}

// GPU holds the GPUs. Rows are held because their descriptions come separately from their events.
type GPU struct {
	table.Table  `tp:"gpu,held" doc:"A GPU that the trace names."`
	UGPU         table.RowID        `tp:"2,ugpu" doc:"Number of the GPU, unique across machines, the same as id."`
	GPU          table.Int64        `tp:"3,gpu" doc:"GPU number on its machine, from 0."`
	Name         table.String       `tp:"4,name" doc:"Name of the product."`
	Vendor       table.String       `tp:"5,vendor" doc:"Manufacturer."`
	Model        table.String       `tp:"6,model" doc:"Model."`
	Architecture table.String       `tp:"7,architecture" doc:"Architecture."`
	UUID         table.String       `tp:"8,uuid" doc:"UUID of the device, 32 hexadecimal digits."`
	PCIBDF       table.String       `tp:"9,pci_bdf" doc:"Address on the PCI bus: domain, bus, device and function."`
	MachineID    table.Ref[Machine] `tp:"10,machine_id" doc:"Machine that it belongs to."`
	ArgSetID     table.SetRef[Args] `tp:"11,arg_set_id,null" doc:"Arguments: the rows of args with this arg_set_id."`
}

// GPUContext is filled from the contexts that GPU render stages intern.
type GPUContext struct {
	table.Table `tp:"gpu_context" doc:"A graphics context, the API it belongs to and its process."`
	ContextID   table.Int64  `tp:"2,context_id" doc:"Handle of the context."`
	PID         table.Int64  `tp:"3,pid,null" doc:"Process id of the operating system."`
	API         table.String `tp:"4,api" doc:"Graphics API, such as VULKAN."`
}

// GPUCounterGroup is filled from the counter descriptors of GPU producers.
type GPUCounterGroup struct {
	table.Table `tp:"gpu_counter_group" doc:"A counter's membership in a group of GPU counters."`
	GroupID     table.Int64      `tp:"2,group_id" doc:"Number of the group."`
	TrackID     table.Ref[Track] `tp:"3,track_id" doc:"Counter that belongs to it."`
	Name        table.String     `tp:"4,name" doc:"Name of the group, NULL for the groups of the old enum."`
	Description table.String     `tp:"5,description" doc:"What the group counts, NULL for the groups of the old enum."`
}

// LinuxInterruptMapping is filled from the interrupts that Linux lists.
type LinuxInterruptMapping struct {
	table.Table `tp:"linux_interrupt_mapping" doc:"An interrupt number and what it belongs to."`
	IRQID       table.Int64        `tp:"2,irq_id" doc:"Number of the interrupt."`
	Name        table.String       `tp:"3,name" doc:"Device or purpose."`
	MachineID   table.Ref[Machine] `tp:"4,machine_id" doc:"Machine of the interrupt."`
}

// Filedescriptor is filled from /proc/PID/fd as process stats polls it.
type Filedescriptor struct {
	table.Table `tp:"filedescriptor" doc:"A file that a process had open."`
	UFD         table.Int64        `tp:"2,ufd" doc:"Number of the open file, unique in the dataset."`
	FD          table.Int64        `tp:"3,fd" doc:"File descriptor in the process, which may reuse it."`
	TS          table.Int64        `tp:"4,ts,null" doc:"When it was seen, ns of the trace clock."`
	UPID        table.Ref[Process] `tp:"5,upid,null" doc:"Process that had it open."`
	Path        table.String       `tp:"6,path" doc:"Path of the file or device, or what the kernel shows in its place."`
}

// AndroidLogs holds log lines of every source.
type AndroidLogs struct {
	table.Table `tp:"android_logs,bounds=ts" doc:"A line of Android's log or of the system journal."`
	TS          table.Time         `tp:"2,ts,asc" doc:"Time of the line, ns of the trace clock."`
	UTID        table.Ref[Thread]  `tp:"3,utid,null" doc:"Thread that wrote it."`
	Prio        table.Int32        `tp:"4,prio" doc:"Priority: 2 verbose to 7 fatal for Android, 0 emergency to 7 debug for the journal."`
	Tag         table.String       `tp:"5,tag" doc:"Tag of the line, the identifier for the journal."`
	Msg         table.String       `tp:"6,msg" doc:"Text of the line."`
	LogSource   table.String       `tp:"7,log_source" doc:"Where it comes from: android_logcat or systemd_journald."`
	ArgSetID    table.SetRef[Args] `tp:"8,arg_set_id,null" doc:"What else the source recorded: the rows of args with this arg_set_id."`
}
