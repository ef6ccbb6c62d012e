// Package linux has the names of what the Linux kernel numbers, from its headers.
package linux

import "cmp"

// at returns the name of a number, or "".
func at(names []string, n int64) string {
	if n < 0 || n >= int64(len(names)) {
		return ""
	}
	return names[n]
}

// virtioCommands are the command types of include/uapi/linux/virtio_gpu.h.
var virtioCommands = map[int64][]string{
	0x100: {"GET_DISPLAY_INFO", "RESOURCE_CREATE_2D", "RESOURCE_UNREF", "SET_SCANOUT", "RESOURCE_FLUSH",
		"TRANSFER_TO_HOST_2D", "RESOURCE_ATTACH_BACKING", "RESOURCE_DETACH_BACKING", "GET_CAPSET_INFO", "GET_CAPSET",
		"GET_EDID", "RESOURCE_ASSIGN_UUID", "RESOURCE_CREATE_BLOB", "SET_SCANOUT_BLOB"},
	0x200: {"CTX_CREATE", "CTX_DESTROY", "CTX_ATTACH_RESOURCE", "CTX_DETACH_RESOURCE", "RESOURCE_CREATE_3D",
		"TRANSFER_TO_HOST_3D", "TRANSFER_FROM_HOST_3D", "SUBMIT_3D", "RESOURCE_MAP_BLOB", "RESOURCE_UNMAP_BLOB"},
	0x300: {"UPDATE_CURSOR", "MOVE_CURSOR"},
}

// VirtioGPUCommand returns the name of a virtio_gpu_ctrl_type, or "".
func VirtioGPUCommand(kind int64) string { return at(virtioCommands[kind&^0xff], kind&0xff) }

// scsiCommands are the operation codes of UFS devices.
var scsiCommands = map[int64]string{
	0: "TEST UNIT READY", 3: "REQUEST SENSE", 4: "FORMAT UNIT", 8: "READ (6)", 10: "WRITE (6)", 18: "INQUIRY",
	27: "START STOP UNIT", 29: "SEND DIAGNOSTIC", 37: "READ CAPACITY (10)", 40: "READ (10)", 42: "WRITE (10)",
	47: "VERIFY", 52: "PRE-FETCH (10)", 53: "SYNCHRONIZE CACHE (10)", 59: "WRITE BUFFER", 60: "READ BUFFER",
	66: "UNMAP", 85: "MODE SELECT (10)", 90: "MODE SENSE (10)", 136: "READ (16)", 138: "WRITE (16)",
	144: "PRE-FETCH (16)", 145: "SYNCHRONIZE CACHE (16)", 158: "READ CAPACITY (16)", 160: "REPORT LUNS",
	162: "SECURITY PROTOCOL IN", 181: "SECURITY PROTOCOL OUT",
}

// SCSICommand returns the name of an operation code, or UNDEFINED.
func SCSICommand(code int64) string { return cmp.Or(scsiCommands[code], "UNDEFINED") }

// CheckpointReasons are the reasons for an f2fs checkpoint, by bit.
var CheckpointReasons = [...]string{"Umount", "Fastboot", "Sync", "Recovery", "Discard", "Trimmed", "Pause", "Resize"}

// Constants from include/uapi/linux and include/net.
const (
	ProtocolTCP    = 6
	FamilyIPv4     = 2
	FamilyIPv6     = 10
	EtherIPv4      = 0x800
	EtherIPv6      = 0x86dd
	TCPEstablished = 1
	TCPSynSent     = 2
)

// tcpStates are the states of sockets.
var tcpStates = []string{"TCP_UNKNOWN", "TCP_ESTABLISHED", "TCP_SYN_SENT", "TCP_SYN_RECV", "TCP_FIN_WAIT1", "TCP_FIN_WAIT2",
	"TCP_TIME_WAIT", "TCP_CLOSE", "TCP_CLOSE_WAIT", "TCP_LAST_ACK", "TCP_LISTEN", "TCP_CLOSING", "TCP_NEW_SYN_RECV"}

// TCPState returns the name of a socket's state, or "".
func TCPState(state int64) string { return at(tcpStates, state) }

// deviceEvents are the PM_EVENT_ codes of include/linux/pm.h.
var deviceEvents = map[int64]string{
	0x1: "freeze", 0x2: "suspend", 0x4: "hibernate", 0x8: "quiesce",
	0x10: "resume", 0x20: "thaw", 0x40: "restore", 0x80: "recover",
}

// DevicePMEvent returns the name of a PM_EVENT_ code, or "".
func DevicePMEvent(code int64) string { return deviceEvents[code] }

// softirqs are the soft interrupts, by number.
var softirqs = []string{"HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "BLOCK_IOPOLL", "TASKLET", "SCHED", "HRTIMER", "RCU"}

// SoftIRQ returns the name of a soft interrupt, or "".
func SoftIRQ(vector int64) string { return at(softirqs, vector) }

// IRQResult says what the number that an interrupt's handler returned means.
func IRQResult(ret int64) string {
	if ret == 1 {
		return "handled"
	}
	return "unhandled"
}

// rssMembers are the members of mm_rss_stat.
var rssMembers = []string{"rss.file", "rss.anon", "swap", "rss.shmem", "unreclaimable"}

// RSSMember returns the kind of memory that a member of mm_rss_stat counts, or unknown.
func RSSMember(member int64) string { return cmp.Or(at(rssMembers, member), "unknown") }
