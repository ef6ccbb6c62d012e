package convert

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/tpconvert/tpconvert/export"
	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/internal/human"
	"github.com/tpconvert/tpconvert/model/redact"
)

// ErrMemory is the kind of the error for a trace that needs more than Options.MaxMemory.
var ErrMemory = errors.New("too much memory")

// kindError is an error in its own words that errors.Is takes for another.
type kindError struct {
	error
	kind error
}

func (e kindError) Is(target error) bool { return target == e.kind }

func (e kindError) Unwrap() error { return e.error }

// OptionError returns an export.ErrOption in its own words.
func OptionError(text string, args ...any) error {
	return kindError{fmt.Errorf(text, args...), export.ErrOption}
}

func memoryError(path string, most int64) error {
	return kindError{fmt.Errorf("%s: this needs more than --max-memory=%s", path, human.Bytes(most)), ErrMemory}
}

// Failure returns the text of an error for a dataset. If texts are redacted, it says where the fault is and of which kind, but not
// more: messages quote traces.
func Failure(err error, hidden *redact.Rules) string {
	var bad *format.Error
	var file *fs.PathError
	switch {
	case hidden == nil:
		return err.Error()
	case errors.As(err, &bad):
		place := *bad
		place.File, place.Err = hidden.Path(bad.File), errors.New("cannot be read")
		for _, kind := range []error{format.ErrEmpty, format.ErrUnknown, format.ErrCorrupt, format.ErrUnsupported, format.ErrNoEvents, format.ErrManifest} {
			if errors.Is(bad, kind) {
				place.Err = kind
			}
		}
		return place.Error()
	case errors.As(err, &file):
		return file.Op + ": " + file.Err.Error()
	}
	return hidden.Path(err.Error())
}
