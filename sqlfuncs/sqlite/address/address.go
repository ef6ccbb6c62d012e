// Package address reads and writes memory of SQLite, or of Go for SQLite, at an address.
package address

import "unsafe"

// Pointer returns an address as a pointer. The memory is SQLite's, or a Go value that is kept alive.
func Pointer(address uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&address)) }

// Bytes returns the n bytes at an address.
func Bytes(address uintptr, n int) []byte {
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(Pointer(address)), n)
}

// View returns the text of n bytes at an address.
func View(address uintptr, n int) string {
	if n == 0 {
		return ""
	}
	return unsafe.String((*byte)(Pointer(address)), n)
}

// String returns a copy of the text at an address that ends with a zero byte.
func String(address uintptr) string {
	if address == 0 {
		return ""
	}
	n := 0
	for p := Pointer(address); *(*byte)(unsafe.Add(p, n)) != 0; {
		n++
	}
	return string(Bytes(address, n))
}

// Copy copies a text to an address, and a zero byte after it.
func Copy(address uintptr, s string) {
	to := Bytes(address, len(s)+1)
	copy(to, s)
	to[len(s)] = 0
}
