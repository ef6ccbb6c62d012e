package linux

import (
	_ "embed"
	"fmt"
	"strings"
)

// syscallList has a line for each architecture: its name and its system calls
// by number, - for unused numbers.
//
//go:embed syscalls.txt
var syscallList string

// maxSyscalls is more than the number of system calls of any architecture.
const maxSyscalls = 550

// architectures maps uname's names of architectures to those in syscallList.
var architectures = map[string]string{"aarch64": "arm64", "armv7l": "arm32", "armv8l": "arm32", "i686": "x86", "x86_64": "x86_64"}

// Syscalls returns the names of the system calls by number, such as sys_write, on an architecture as
// uname calls it. Those that are not known have their number as name.
func Syscalls(arch string) []string {
	var known []string
	for line := range strings.Lines(syscallList) {
		if names := strings.Fields(line); names[0] == architectures[arch] {
			known = names[1:]
		}
	}
	all := make([]string, maxSyscalls)
	for i := range all {
		all[i] = fmt.Sprintf("sys_%d", i)
		if i < len(known) && known[i] != "-" {
			all[i] = "sys_" + known[i]
		}
	}
	return all
}
