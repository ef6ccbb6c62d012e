//go:build !unix

package export

// isMount returns false, as this system has no mount points.
func isMount(string) bool { return false }
