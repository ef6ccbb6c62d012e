package tpconvert

import (
	"errors"
	"fmt"
	"slices"

	"github.com/tpconvert/tpconvert/export"
	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/internal/convert"
	"github.com/tpconvert/tpconvert/internal/human"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqltext"
)

// InputError is a fault in an input that stops its reading: its file, its format if that is known, and the offset of the fault
// in the uncompressed file, in bytes, or -1. It wraps one of ErrEmpty to ErrManifest. Trying again will not help.
type InputError = format.Error

// SQLError is a fault in PerfettoSQL, with its position in the text in bytes.
type SQLError = sqltext.Error

// The kinds of InputError, to test for with errors.Is.
var (
	ErrEmpty       = format.ErrEmpty       // there are no bytes
	ErrUnknown     = format.ErrUnknown     // no format accepts the first bytes
	ErrCorrupt     = format.ErrCorrupt     // the rest cannot be read
	ErrUnsupported = format.ErrUnsupported // the format, or a version of it
	ErrNoEvents    = format.ErrNoEvents    // nothing in it is an event
	ErrManifest    = format.ErrManifest    // the manifest of merged traces is invalid
)

// Errors to test for with errors.Is.
var (
	ErrOption  = export.ErrOption  // an option is invalid, or does not suit the inputs
	ErrExists  = export.ErrExists  // the dataset exists, and Options.Force is not set
	ErrForeign = export.ErrForeign // the target exists and is not such a dataset; it is never changed
	ErrTarget  = export.ErrTarget  // the target cannot be written: no permission, no space

	// ErrDataLost is returned with Options.Strict. The dataset is written.
	ErrDataLost = errors.New("data was lost or damaged")
	// ErrIncomplete is returned if the input ends too early. The dataset is written.
	ErrIncomplete = errors.New("the dataset is written, but incomplete: the input ends too early")
	// ErrMemory is returned for a trace that needs more than Options.MaxMemory.
	ErrMemory = convert.ErrMemory
)

// FailedError reports that some of many traces could not be converted. The others are in the dataset.
type FailedError struct {
	Errs []error
	Of   int // traces
}

func (e *FailedError) Error() string {
	return fmt.Sprintf("%s of %s traces could not be converted", human.Count(len(e.Errs)), human.Count(e.Of))
}

// Unwrap returns the error of each trace.
func (e *FailedError) Unwrap() []error { return e.Errs }

// BadInput reports whether inputs caused all failures, so that trying again will not help.
func (e *FailedError) BadInput() bool {
	return !slices.ContainsFunc(e.Errs, func(err error) bool { return !format.BadInput(err) })
}

// InterruptedError reports what was finished when the context was done. It wraps the context's error.
type InterruptedError struct {
	Out           string
	Committed, Of int // traces; Committed is 0 for a dataset of one trace

	err error
}

func (e *InterruptedError) Error() string {
	if e.Committed == 0 {
		return "interrupted: nothing was written to " + e.Out
	}
	return fmt.Sprintf("interrupted: %s of %s traces are in %s; the same command continues with the others",
		human.Count(e.Committed), human.Count(e.Of), e.Out)
}

func (e *InterruptedError) Unwrap() error { return e.err }

// Failure returns the text of an error for a dataset. With Options.Redact, it says where the fault is and of which kind, but not more:
// messages quote traces.
func (o *Options) Failure(err error) string { return convert.Failure(err, o.Redact) }
