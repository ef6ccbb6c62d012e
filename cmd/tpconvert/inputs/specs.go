package inputs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/tpconvert/tpconvert/cmd/tpconvert/console"
	"github.com/tpconvert/tpconvert/sqlfuncs/metrics"
)

// ReadSpecs reads the specs, which are files or names.
func ReadSpecs(names []string) (*metrics.Summarizer, error) {
	if len(names) == 0 {
		names = metrics.Builtin()
	}
	var s metrics.Summarizer
	for _, name := range names {
		text, ok := metrics.Spec(name)
		if !ok {
			var err error
			text, err = os.ReadFile(name)
			if errors.Is(err, fs.ErrNotExist) {
				return nil, console.Usage(fmt.Errorf("%s is neither a file nor one of the specs %s", name, strings.Join(metrics.Builtin(), ", ")))
			}
			if err != nil {
				return nil, err
			}
		}
		if err := s.Add(text); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return &s, nil
}
