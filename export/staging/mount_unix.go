//go:build unix

package staging

import (
	"os"
	"path/filepath"
	"syscall"
)

// IsMount reports whether the folder is a mount point.
func IsMount(path string) bool {
	device := func(path string) (uint64, bool) {
		info, err := os.Stat(path)
		if err != nil {
			return 0, false
		}
		stat, ok := info.Sys().(*syscall.Stat_t)
		return uint64(stat.Dev), ok
	}
	here, ok := device(path)
	above, known := device(filepath.Dir(path))
	return ok && known && here != above
}
