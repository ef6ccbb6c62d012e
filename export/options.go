// Package export writes sealed chunks of tables as a dataset of Parquet or
// Arrow files.
//
// A Writer is a table.Sink. It encodes chunks as they come, each into one row
// group or record batch, under a hidden folder beside the target, and moves
// the finished dataset into place at once. A Dataset holds many traces, one
// Writer each.
package export

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/tpconvert/tpconvert/model/table"
)

var (
	// ErrOption is wrapped by the errors of options that make no sense.
	ErrOption = errors.New("invalid option")
	// ErrExists is wrapped if the target holds a dataset, or the trace, and
	// Options.Force is not set.
	ErrExists = errors.New("already exists")
	// ErrForeign is wrapped if the target exists and is not a dataset of the
	// layout asked for. It is left alone, Options.Force or not.
	ErrForeign = errors.New("not a dataset of tpconvert")
	// ErrTarget is wrapped if the target cannot be written: no permission, no
	// space, no such folder.
	ErrTarget = errors.New("cannot write")
)

func targetError(path string, err error) error { return fmt.Errorf("%w %s: %w", ErrTarget, path, err) }

// The formats of Options.
const (
	Parquet = "parquet"
	Arrow   = "arrow" // Arrow IPC file
)

// Options of a dataset.
type Options struct {
	Schemas     []*table.Schema // tables that may come, in the order of the manifest
	Format      string          // Parquet, which "" means too, or Arrow
	Compression Compression     // the zero value is zstd; Arrow takes zstd without a level and none
	Tables      []string        // tables to write, whether they have rows or not; nil is all
	EmptyTables bool            // write tables without rows, even if they are not core ones
	Jobs        int             // encoders at work at one time; 0 means GOMAXPROCS
	Version     string          // version of the converter
	Force       bool            // replace a dataset, or a trace of it, that exists
}

// check fills in defaults and rejects what makes no sense.
func (o *Options) check() error {
	if o.Format == "" {
		o.Format = Parquet
	}
	if o.Format != Parquet && o.Format != Arrow {
		return fmt.Errorf("format %q: %w: want %s or %s", o.Format, ErrOption, Parquet, Arrow)
	}
	if o.Compression.codec == "" {
		o.Compression.codec = "zstd"
	}
	if c := o.Compression.String(); o.Format == Arrow && c != "zstd" && c != "none" {
		return fmt.Errorf("compression %q: %w: Arrow files have zstd without a level or none", c, ErrOption)
	}
	for _, name := range o.Tables {
		if !slices.ContainsFunc(o.Schemas, func(s *table.Schema) bool { return s.Name == name && !s.Abstract }) {
			return fmt.Errorf("table %q: %w: there is no such table", name, ErrOption)
		}
	}
	if o.Jobs <= 0 {
		o.Jobs = runtime.GOMAXPROCS(0)
	}
	return nil
}

// selects reports whether the table is to be written if it has rows.
func (o *Options) selects(name string) bool {
	return o.Tables == nil || slices.Contains(o.Tables, name)
}

// keepsEmpty reports whether the selected table is written without rows.
func (o *Options) keepsEmpty(s *table.Schema) bool {
	return o.EmptyTables || o.Tables != nil || s.Core
}

// Compression is a codec and its level.
type Compression struct {
	codec string
	level int // 0 is the default of the codec
}

// maxLevel has the codecs and their highest level, 0 if they have none.
var maxLevel = map[string]int{"zstd": 22, "gzip": 9, "snappy": 0, "none": 0}

// ParseCompression reads "zstd", "gzip", "snappy" or "none"; the first two may
// be followed by a colon and a level, 1 to 22 or 1 to 9.
func ParseCompression(s string) (Compression, error) {
	codec, level, leveled := strings.Cut(s, ":")
	highest, ok := maxLevel[codec]
	if !ok {
		return Compression{}, fmt.Errorf("compression %q: %w: want zstd[:level], snappy, gzip[:level] or none", s, ErrOption)
	}
	c := Compression{codec: codec}
	if leveled {
		n, err := strconv.Atoi(level)
		if err != nil || n < 1 || n > highest {
			return Compression{}, fmt.Errorf("compression %q: %w: the level is 1 to %d, if the codec has any", s, ErrOption, highest)
		}
		c.level = n
	}
	return c, nil
}

func (c Compression) String() string {
	if c.level == 0 {
		return c.codec
	}
	return c.codec + ":" + strconv.Itoa(c.level)
}
