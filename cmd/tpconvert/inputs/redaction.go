package inputs

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/pflag"

	api "github.com/tpconvert/tpconvert"
)

// Redaction is the flags that say what is redacted.
type Redaction struct {
	Patterns []string
	Columns  []string
	Key      string // file
}

// Register adds the flags. Values that the options have are the defaults.
func (o *Redaction) Register(flags *pflag.FlagSet) {
	flags.StringArrayVar(&o.Patterns, "redact", o.Patterns, "regular expression; what it matches in any text is replaced by a keyed hash")
	flags.StringSliceVar(&o.Columns, "redact-columns", o.Columns, "columns whose texts are replaced as a whole: TABLE.COLUMN, or args:KEY for values of args, with * and ?")
	flags.StringVar(&o.Key, "redact-key", o.Key, "file with the secret key of the hashes, at least 16 bytes")
}

// Library reads the key. The redaction is nil if nothing is redacted.
func (o *Redaction) Library() (*api.Redaction, error) {
	if len(o.Patterns)+len(o.Columns) == 0 && o.Key == "" {
		return nil, nil
	}
	if o.Key == "" {
		return nil, errors.New("--redact and --redact-columns need --redact-key")
	}
	key, err := os.ReadFile(o.Key)
	if err != nil {
		return nil, fmt.Errorf("--redact-key: %w", err)
	}
	return api.NewRedaction(key, o.Patterns, o.Columns)
}
