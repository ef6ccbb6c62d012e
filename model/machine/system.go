package machine

import (
	"strconv"
	"strings"

	"github.com/tpconvert/tpconvert/model/schema"
	"github.com/tpconvert/tpconvert/model/table"
)

// kernelVersion is the version of a Linux kernel, zero if unknown.
type kernelVersion struct{ major, minor int }

// SetSystem records what uname reports for the machine.
func (m *Machine) SetSystem(sysname, version, release, arch string) {
	t, row, intern := &m.all.tables.Machine, int64(m.ID), m.all.strings.Intern
	t.Sysname.Set(row, intern(sysname))
	t.Version.Set(row, intern(version))
	t.Release.Set(row, intern(release))
	t.Arch.Set(row, intern(arch))
	m.arch, m.kernel = arch, kernelVersion{}
	if sysname == "Linux" {
		m.kernel = parseKernelVersion(release)
	}
}

// parseKernelVersion parses a release such as 5.10.107-android13.
func parseKernelVersion(release string) kernelVersion {
	parts := strings.SplitN(release, ".", 3)
	if len(parts) < 2 {
		return kernelVersion{}
	}
	major, err := strconv.Atoi(parts[0])
	minor, err2 := strconv.Atoi(parts[1])
	if err != nil || err2 != nil {
		return kernelVersion{}
	}
	return kernelVersion{major, minor}
}

// KernelAtLeast reports whether the machine is known to run this version of
// Linux or a later one.
func (m *Machine) KernelAtLeast(major, minor int) bool {
	k := m.kernel
	return k.major > major || k.major == major && k.minor >= minor
}

// Arch returns the machine's architecture as reported by uname, or "".
func (m *Machine) Arch() string { return m.arch }

// ThreadName returns the thread's name, or zero.
func (m *Machine) ThreadName(utid schema.UTID) table.StringID {
	name, _ := m.all.tables.Thread.Name.Get(int64(utid))
	return name
}

// ProcessName returns the process's name, or zero.
func (m *Machine) ProcessName(upid schema.UPID) table.StringID {
	name, _ := m.all.tables.Process.Name.Get(int64(upid))
	return name
}

// ThreadAlive reports whether the thread has not ended.
func (m *Machine) ThreadAlive(utid schema.UTID) bool { return m.alive(utid) }

// GPU returns the id (ugpu) of a GPU, which it adds if it is new.
func (m *Machine) GPU(gpu int64) schema.UGPU {
	if id, ok := m.gpus[gpu]; ok {
		return id
	}
	t := &m.all.tables.GPU
	row := t.Append()
	t.GPU.Set(row, gpu)
	t.MachineID.Set(row, m.ID)
	m.gpus[gpu] = schema.UGPU(row)
	return schema.UGPU(row)
}

// Name returns the machine's name, or its raw id if it has none.
func (m *Machine) Name() string {
	t, row := &m.all.tables.Machine, int64(m.ID)
	if name, ok := t.Name.Get(row); ok && name != 0 {
		return m.all.strings.Get(name)
	}
	raw, _ := t.RawID.Get(row)
	return strconv.FormatInt(raw, 10)
}
