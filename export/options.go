// Package export writes sealed chunks of tables as a dataset of Parquet or
// Arrow files.
//
// A Writer is a table.Sink. It encodes each chunk as one row group or record
// batch, in a hidden folder next to the target, and moves the finished dataset
// into place in one step. A Dataset holds many traces, with one Writer each.
package export

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/tpconvert/tpconvert/export/arrow"
	"github.com/tpconvert/tpconvert/export/parquet"
	"github.com/tpconvert/tpconvert/export/staging"
	"github.com/tpconvert/tpconvert/model/table"
)

var (
	// ErrOption is wrapped by errors about invalid options.
	ErrOption = errors.New("invalid option")
	// ErrExists is wrapped if the dataset, or the trace in it, exists and
	// Options.Force is not set.
	ErrExists = errors.New("already exists")
	// ErrForeign is wrapped if the target exists and is not a dataset of the
	// requested layout. Such a target is never changed, even with
	// Options.Force.
	ErrForeign = errors.New("not a dataset of tpconvert")
	// ErrTarget is wrapped if the target cannot be written: no permission, no
	// space, no such folder.
	ErrTarget = staging.ErrTarget
)

// The formats of Options.
const (
	Parquet = "parquet"
	Arrow   = "arrow" // Arrow IPC file
)

// Options are the options of a dataset.
type Options struct {
	Schemas     []*table.Schema // all possible tables, in the order of the manifest
	Format      string          // Parquet (also ""), or Arrow
	Compression Compression     // the zero value is zstd; Arrow files use zstd without a level, or none
	Tables      []string        // tables to write, even without rows; nil means all
	EmptyTables bool            // also write tables without rows that are not core tables
	Jobs        int             // maximum number of encoders at a time; 0 means GOMAXPROCS
	Version     string          // version of the converter
	Force       bool            // replace an existing dataset, or a trace in it
	Temporary   bool            // the files need not reach the disk, because they end with the process
	Range       Range           // the part of the trace to write: Writer.Cut cuts it out of the whole

	filtered []string // columns with bloom filters
}

// check fills in defaults and rejects invalid options.
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
		return fmt.Errorf("compression %q: %w: Arrow files support only none and zstd without a level", c, ErrOption)
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

// selects reports whether the table is written if it has rows.
func (o *Options) selects(name string) bool {
	return o.Tables == nil || slices.Contains(o.Tables, name)
}

// keepsEmpty reports whether the selected table is written even without rows.
func (o *Options) keepsEmpty(s *table.Schema) bool {
	return o.EmptyTables || o.Tables != nil || s.Core
}

// Compression is a codec and its level.
type Compression struct {
	codec string
	level int // 0 is the default of the codec
}

// maxLevel has the highest level of each codec, 0 if it has no levels.
var maxLevel = map[string]int{"zstd": 22, "gzip": 9, "snappy": 0, "none": 0}

// ParseCompression parses "zstd", "gzip", "snappy" or "none". A colon and a
// level may follow the first two: 1 to 22 for zstd, 1 to 9 for gzip.
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
			return Compression{}, fmt.Errorf("compression %q: %w: the level must be 1 to %d, if the codec has levels", s, ErrOption, highest)
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

// parquet returns the options of a table's Parquet files.
func (o *Options) parquet(s *table.Schema) (parquet.Options, error) {
	codec, err := parquet.NewCodec(o.Compression.codec, o.Compression.level)
	return parquet.Options{CreatedBy: "tpconvert " + o.Version, Codec: codec, Metadata: fileMetadata(o, s), Filtered: o.filtered}, err
}

// fileMetadata returns the metadata of a table's files, except the trace id.
func fileMetadata(o *Options, s *table.Schema) [][2]string {
	return [][2]string{
		{SchemaVersionKey, strconv.Itoa(table.SchemaVersion)},
		{"tpconvert.version", o.Version},
		arrow.PandasMetadata(arrow.PlainSchema(s).Fields()),
	}
}

// SchemaVersionKey is the key of the schema version in the metadata of Parquet files.
const SchemaVersionKey = "tpconvert.schema_version"

const traceIDKey = "tpconvert.trace_id"
