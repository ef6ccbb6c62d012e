//go:build amd64 || arm64

package prefetch

import "unsafe"

// Line brings the cache line at p nearer. It does not wait for it.
//
//go:noescape
func Line(p unsafe.Pointer)
