package linux

import (
	"bytes"
	"strconv"
)

// taskBit is a bit of the kernel's task state and its letter.
type taskBit struct {
	mask   uint16
	letter byte
}

// The kernel's state bits changed their meaning in Linux 4.14, see its include/linux/sched.h;
// the lowest bits did not.
var (
	lowTaskBits = []taskBit{{0x01, 'S'}, {0x02, 'D'}, {0x04, 'T'}, {0x08, 't'}, {0x10, 'X'}, {0x20, 'Z'}}
	newTaskBits = []taskBit{{0x40, 'P'}, {0x80, 'I'}}
	oldTaskBits = []taskBit{{0x200, 'P'}, {0x40, 'x'}, {0x80, 'K'}, {0x100, 'W'}, {0x400, 'N'}}
)

const (
	oldPreempted = 0x800
	midPreempted = 0x1000 // since Linux 4.8
	oldIdle      = 0x402  // uninterruptible, but no load
)

// invalidTaskState stands for a malformed state.
const invalidTaskState = 0xffff

// ParseTaskState reads a state from ftrace's text, either the letters of sched_switch or a
// number, and encodes it as kernels before 4.14 did. Only newer kernels write a number with 0x.
func ParseTaskState(text []byte) uint64 {
	if digits, hex := bytes.CutPrefix(text, []byte("0x")); hex {
		n, err := strconv.ParseUint(string(digits), 16, 16)
		if err != nil {
			return invalidTaskState
		}
		text = []byte(TaskState(uint16(n), func(int, int) bool { return true }))
	}
	switch {
	case len(text) == 0:
		return invalidTaskState
	case '0' <= text[0] && text[0] <= '9':
		n, err := strconv.ParseUint(string(text), 10, 16)
		if err != nil {
			return invalidTaskState
		}
		return n
	}
	state := uint64(0)
	for _, letter := range text {
		state |= taskLetters[letter]
	}
	return state
}

// taskLetters maps the letters of states to their bits, and all other bytes to invalidTaskState.
var taskLetters = func() (letters [256]uint64) {
	for i := range letters {
		letters[i] = invalidTaskState
	}
	letters['R'], letters['|'], letters['+'], letters['I'] = 0, 0, oldPreempted, oldIdle
	for _, list := range [][]taskBit{lowTaskBits, oldTaskBits} {
		for _, b := range list {
			letters[b.letter] = uint64(b.mask)
		}
	}
	return letters
}()

// TaskState returns the state of a thread after a switch in the letters of sched_switch, at
// most three, or R if it is runnable. It returns "" for an invalid state. atLeast reports whether the
// kernel is at least of a version.
func TaskState(raw uint16, atLeast func(major, minor int) bool) string {
	bits, preempted := oldTaskBits, uint16(oldPreempted)
	switch {
	case raw == invalidTaskState:
		return ""
	case raw == midPreempted && atLeast(4, 14) && !atLeast(4, 15):
		return "R+" // Linux 4.14 has new letters, but not yet a new bit for preemption
	case atLeast(4, 14):
		if raw&0xfe00 != 0 {
			return ""
		}
		bits, preempted = newTaskBits, 0x100
	case atLeast(4, 8):
		preempted = midPreempted
	}
	if !atLeast(4, 14) && raw&0x7ff == oldIdle {
		return "I"
	}
	var name []byte
	for _, list := range [][]taskBit{lowTaskBits, bits} {
		for _, b := range list {
			if raw&b.mask != 0 {
				name = append(name, b.letter)
			}
		}
	}
	switch {
	case len(name) > 0:
		return string(name[:min(len(name), 3)])
	case raw&preempted != 0:
		return "R+"
	}
	return "R"
}
