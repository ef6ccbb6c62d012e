package session

// DuckDB's static library asks for all of its symbols to be exported. Nothing uses them, not even
// extensions, and the dynamic loader would search them in every process.

// #cgo LDFLAGS: -Wl,--no-export-dynamic
import "C"
