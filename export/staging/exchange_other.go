//go:build !linux

package staging

import "errors"

// exchange is not supported: only Linux can swap the names of two folders
// atomically.
func exchange(_, _ string) error { return errors.ErrUnsupported }
