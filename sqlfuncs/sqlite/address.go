package sqlite

import "unsafe"

// pointer returns an address as a pointer. The memory is SQLite's, or a Go value that is kept alive.
func pointer(address uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&address)) }

// bytesAt returns the n bytes at an address.
func bytesAt(address uintptr, n int) []byte {
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(pointer(address)), n)
}

// viewAt returns the text of n bytes at an address.
func viewAt(address uintptr, n int) string {
	if n == 0 {
		return ""
	}
	return unsafe.String((*byte)(pointer(address)), n)
}

// stringAt returns a copy of the text at an address that ends with a zero byte.
func stringAt(address uintptr) string {
	if address == 0 {
		return ""
	}
	n := 0
	for p := pointer(address); *(*byte)(unsafe.Add(p, n)) != 0; {
		n++
	}
	return string(bytesAt(address, n))
}

// copyTo copies a text to an address, and a zero byte after it.
func copyTo(address uintptr, s string) {
	to := bytesAt(address, len(s)+1)
	copy(to, s)
	to[len(s)] = 0
}
