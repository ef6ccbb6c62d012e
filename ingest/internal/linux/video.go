package linux

import (
	"cmp"
	"strings"
)

// Constants from include/uapi/linux/videodev2.h.
var (
	v4l2Types = []string{"", "VIDEO_CAPTURE", "VIDEO_OUTPUT", "VIDEO_OVERLAY", "VBI_CAPTURE", "VBI_OUTPUT",
		"SLICED_VBI_CAPTURE", "SLICED_VBI_OUTPUT", "VIDEO_OUTPUT_OVERLAY", "VIDEO_CAPTURE_MPLANE", "VIDEO_OUTPUT_MPLANE",
		"SDR_CAPTURE", "SDR_OUTPUT", "META_CAPTURE", "META_OUTPUT"}
	v4l2Fields    = []string{"ANY", "NONE", "TOP", "BOTTOM", "INTERLACED", "SEQ_TB", "SEQ_BT", "ALTERNATE", "INTERLACED_TB", "INTERLACED_BT"}
	v4l2Timecodes = []string{"", "24FPS", "25FPS", "30FPS", "50FPS", "60FPS"}
)

const v4l2Private = 0x80

// bitName is a name for numbers. Without exact, it applies if a bit of mask is
// set; with exact, if the masked bits equal value.
type bitName struct {
	mask  int64
	exact bool
	value int64
	name  string
}

var v4l2FlagBits = []bitName{
	{mask: 0x1, name: "MAPPED"}, {mask: 0x2, name: "QUEUED"}, {mask: 0x4, name: "DONE"}, {mask: 0x8, name: "KEYFRAME"},
	{mask: 0x10, name: "PFRAME"}, {mask: 0x20, name: "BFRAME"}, {mask: 0x40, name: "ERROR"}, {mask: 0x80, name: "IN_REQUEST"},
	{mask: 0x100, name: "TIMECODE"}, {mask: 0x200, name: "M2M_HOLD_CAPTURE_BUF"}, {mask: 0x400, name: "PREPARED"},
	{mask: 0x800, name: "NO_CACHE_INVALIDATE"}, {mask: 0x1000, name: "NO_CACHE_CLEAN"}, {mask: 0xe000, name: "TIMESTAMP_MASK"},
	{mask: -1, exact: true, name: "TIMESTAMP_UNKNOWN"}, {mask: 0x2000, name: "TIMESTAMP_MONOTONIC"}, {mask: 0x4000, name: "TIMESTAMP_COPY"},
	{mask: 0x70000, name: "TSTAMP_SRC_MASK"}, {mask: -1, exact: true, name: "TSTAMP_SRC_EOF"}, {mask: 0x10000, name: "TSTAMP_SRC_SOE"},
	{mask: 0x100000, name: "LAST"}, {mask: 0x800000, name: "REQUEST_FD"},
}

var timecodeBits = []bitName{
	{mask: -1, exact: true, name: "USERBITS_USERDEFINED"}, {mask: 0x1, name: "FLAG_DROPFRAME"}, {mask: 0x2, name: "FLAG_COLORFRAME"},
	{mask: 0xc, exact: true, value: 0x4, name: "USERBITS_field(01)"}, {mask: 0xc, exact: true, value: 0x8, name: "USERBITS_field(10)"},
	{mask: 0xc, exact: true, value: 0xc, name: "USERBITS_field(11)"}, {mask: 0x8, name: "USERBITS_8BITCHARS"},
}

// bitNames returns the names that apply to a number.
func bitNames(list []bitName, v int64) string {
	var names []string
	for _, b := range list {
		if masked := v & b.mask; b.exact && masked == b.value || !b.exact && masked != 0 {
			names = append(names, b.name)
		}
	}
	return strings.Join(names, "|")
}

// V4L2BufferType returns the name of a v4l2_buf_type, or "".
func V4L2BufferType(kind int64) string {
	if kind == v4l2Private {
		return "PRIVATE"
	}
	return at(v4l2Types, kind)
}

// V4L2Field returns the name of a v4l2_field, or "".
func V4L2Field(field int64) string { return at(v4l2Fields, field) }

// V4L2Timecode returns the name of a type of timecodes, or "".
func V4L2Timecode(kind int64) string { return at(v4l2Timecodes, kind) }

// V4L2Flags returns the names of a buffer's flags.
func V4L2Flags(flags int64) string { return bitNames(v4l2FlagBits, flags) }

// V4L2TimecodeFlags returns the names of a timecode's flags.
func V4L2TimecodeFlags(flags int64) string { return bitNames(timecodeBits, flags) }

// virtioVideoNames are the commands of include/uapi/linux/virtio_video.h, starting at 0x100.
var virtioVideoNames = []string{"QUERY_CAPABILITY", "STREAM_CREATE", "STREAM_DESTROY", "STREAM_DRAIN", "RESOURCE_CREATE",
	"RESOURCE_QUEUE", "RESOURCE_DESTROY_ALL", "QUEUE_CLEAR", "GET_PARAMS", "SET_PARAMS", "QUERY_CONTROL", "GET_CONTROL",
	"SET_CONTROL", "GET_PARAMS_EXT", "SET_PARAMS_EXT"}

// VirtioVideoCommand returns the name of a virtio_video_cmd_type, or Unknown.
func VirtioVideoCommand(kind int64) string {
	return cmp.Or(at(virtioVideoNames, kind-0x100), "Unknown")
}

// VirtioVideoQueue returns the name of a virtio_video_queue_type, or Unknown.
func VirtioVideoQueue(kind int64) string {
	return cmp.Or(at([]string{"INPUT", "OUTPUT"}, kind-0x100), "Unknown")
}
