//go:build !linux

package export

import "errors"

// exchange is for systems that let two folders change names at once.
func exchange(_, _ string) error { return errors.ErrUnsupported }
