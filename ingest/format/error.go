package format

import (
	"errors"
	"fmt"
)

// The kinds of bad input, to test for with errors.Is.
var (
	ErrEmpty       = errors.New("the input is empty")
	ErrUnknown     = errors.New("unknown format")
	ErrCorrupt     = errors.New("corrupt")
	ErrUnsupported = errors.New("not supported")
	ErrNoEvents    = errors.New("no trace events")
	ErrManifest    = errors.New("invalid manifest")
)

// Error is a fault in an input that stops the reading.
type Error struct {
	File   string
	Format string
	Offset int64 // bytes from the start of the uncompressed file, -1 if not known
	Err    error
}

// Errorf returns an Error with a message that wraps one of the sentinels.
func Errorf(kind error, offset int64, message string, args ...any) *Error {
	return &Error{Offset: offset, Err: fmt.Errorf("%s: %w", fmt.Sprintf(message, args...), kind)}
}

func (e *Error) Error() string {
	s := e.File
	if e.Format != "" {
		s += " (" + e.Format + ")"
	}
	if e.Offset >= 0 {
		s += fmt.Sprintf(" at byte %d", e.Offset)
	}
	return s + ": " + e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// BadInput reports whether err means that the input is at fault, so that trying
// again will not help.
func BadInput(err error) bool {
	var e *Error
	return errors.As(err, &e)
}
