package session

// DuckDB's static library asks for all of its symbols to be exported. Nothing uses them, not even
// extensions, and the dynamic loader would search them in every process.
//
// The static C++ library of current systems draws random numbers with arc4random, which needs
// glibc 2.36. With the one below, distributed builds need 2.34.

/*
#cgo LDFLAGS: -Wl,--no-export-dynamic

#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

uint32_t arc4random(void) {
	uint32_t r;
	if (getentropy(&r, sizeof r) != 0) abort();
	return r;
}
*/
import "C"
