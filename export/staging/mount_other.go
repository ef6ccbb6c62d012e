//go:build !unix

package staging

// IsMount returns false, as this system has no mount points.
func IsMount(string) bool { return false }
