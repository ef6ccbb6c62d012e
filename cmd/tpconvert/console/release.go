package console

import "runtime/debug"

// release is the version of a distributed build, which the linker sets.
var release string

// Version returns the version of the release or the module, or "(devel)" if unknown.
func Version() string {
	if release != "" {
		return release
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
