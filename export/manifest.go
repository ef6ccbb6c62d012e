package export

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/tpconvert/tpconvert/export/staging"
	"github.com/tpconvert/tpconvert/model"
)

// manifestName is the file name of a trace's manifest. Without the extension it
// is ownFolder.
const manifestName = "_tpconvert.json"

// Manifest is `_tpconvert.json`: the description of a dataset, or of one trace
// in it. Commit fills in the tables and the versions.
type Manifest struct {
	SchemaVersion    int          `json:"schema_version"`
	ConverterVersion string       `json:"converter_version"`
	TraceID          string       `json:"trace_id"`
	Input            Input        `json:"input"`
	Also             []Source     `json:"also,omitempty"`          // other files with the same content
	Start            *int64       `json:"start_ts,omitempty"`      // ns of the trace clock
	End              *int64       `json:"end_ts,omitempty"`        // ns of the trace clock
	StartUnix        *int64       `json:"start_unix_ns,omitempty"` // wall clock at the start
	Machine          Machine      `json:"machine"`
	Whole            *Span        `json:"whole,omitempty"` // of the trace, if Start and End are those of a part
	Rank             *int64       `json:"rank,omitempty"`  // of the traced process in its job
	WorldSize        *int64       `json:"world_size,omitempty"`
	Tables           []Table      `json:"tables"`
	Events           int64        `json:"events"` // rows of all tables that have a time of their own, in the whole trace
	Derived          []Derivation `json:"derived,omitempty"`
	DerivedTables    []Table      `json:"derived_tables,omitempty"` // files of the rows of Derived
	Stats            []Stat       `json:"stats"`
	Warnings         []string     `json:"warnings"`
	WallSeconds      float64      `json:"wall_seconds"`
	PeakMemoryBytes  int64        `json:"peak_memory_bytes"`
}

// Input is a trace file, or a file in an archive.
type Input struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256,omitempty"` // hexadecimal; set only for the outermost file, like Path and Modified
	Path   string `json:"path,omitempty"`   // absolute; "" for the standard input
	// Modified is the time of the last change.
	Modified time.Time `json:"modified,omitzero"`
	Format   string    `json:"format"` // as detected
	Members  []Input   `json:"members,omitempty"`
}

// Source is a file as it was when it was read.
type Source struct {
	Path     string    `json:"path"` // absolute
	Bytes    int64     `json:"bytes"`
	Modified time.Time `json:"modified"`
}

// Sources returns all files that had the content of the trace.
func (m *Manifest) Sources() []Source {
	return append([]Source{{m.Input.Path, m.Input.Bytes, m.Input.Modified}}, m.Also...)
}

// addSource adds a file, or updates its time, and reports whether anything
// changed.
func (m *Manifest) addSource(s Source) bool {
	if s.Path == "" {
		return false
	}
	if s.Path == m.Input.Path {
		news := !s.Modified.Equal(m.Input.Modified)
		m.Input.Modified = s.Modified
		return news
	}
	i := slices.IndexFunc(m.Also, func(o Source) bool { return o.Path == s.Path })
	if i < 0 {
		m.Also = append(m.Also, s)
		return true
	}
	news := !s.Modified.Equal(m.Also[i].Modified)
	m.Also[i] = s
	return news
}

// Machine describes the machine that recorded a trace, as far as known.
type Machine struct {
	Name                      string `json:"name,omitempty"`
	Sysname                   string `json:"sysname,omitempty"`
	Release                   string `json:"release,omitempty"`
	Arch                      string `json:"arch,omitempty"`
	NumCPUs                   *int64 `json:"num_cpus,omitempty"`
	RAMBytes                  *int64 `json:"system_ram_bytes,omitempty"`
	AndroidBuildFingerprint   string `json:"android_build_fingerprint,omitempty"`
	AndroidDeviceManufacturer string `json:"android_device_manufacturer,omitempty"`
	AndroidSDKVersion         *int64 `json:"android_sdk_version,omitempty"`
}

// Table is a file of the dataset.
type Table struct {
	Name  string `json:"name"`
	Rows  int64  `json:"rows"`
	Bytes int64  `json:"bytes"`
	File  string `json:"file"` // path in the manifest's folder, with slashes
	// ConvertedRows was written by versions that added derived rows to the file.
	ConvertedRows *int64 `json:"converted_rows,omitempty"`
}

// Stat is a nonzero row of the stats table.
type Stat struct {
	Name     string `json:"name"`
	Idx      *int64 `json:"idx,omitempty"`
	Severity string `json:"severity"`
	Effect   string `json:"effect"` // what it means for the dataset, as in the table
	Source   string `json:"source"`
	Value    int64  `json:"value"`
	// Gap is set if Value is not a number of events.
	Gap bool `json:"gap,omitempty"`
	// Description says what is counted.
	Description string `json:"description,omitempty"`
}

// Lost reports whether the stat counts events that are missing.
func (s Stat) Lost() bool { return s.Effect == model.Lost.String() && !s.Gap }

// Harmful reports whether the stat means that data is missing or damaged.
func (s Stat) Harmful() bool {
	return s.Effect == model.Lost.String() || s.Effect == model.Damaged.String()
}

// Text continues the text after the value. Parts that are not read have no name but that in their description, unless that is the sentence
// which describes the stat in every trace.
func (s Stat) Text() string {
	unread := s.Effect == model.NotRead.String() && !strings.HasSuffix(s.Description, ".")
	if s.Description != "" && (unread || s.Name == model.StatUnreadArchiveMember.String()) {
		return s.Description
	}
	return s.Name
}

// readManifest reads a manifest.
func readManifest(path string) (*Manifest, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	m := &Manifest{}
	return m, json.Unmarshal(text, m)
}

// check returns an error for a manifest whose files this version does not read.
func (m *Manifest) check() error {
	for _, t := range m.Tables {
		if t.ConvertedRows != nil {
			return fmt.Errorf("an older version of tpconvert added derived rows to %s: remove them with \"derive --remove\" of that version, or convert the trace again", t.File)
		}
	}
	return nil
}

// write writes the manifest completely or not at all.
func (m *Manifest) write(path string) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	return writeWhole(path, append(text, '\n'))
}

// writeWhole writes a file completely or not at all.
func writeWhole(path string, text []byte) error {
	draft := path + ".draft"
	f, err := os.Create(draft)
	if err != nil {
		return err
	}
	if _, err := f.Write(text); err != nil {
		f.Close()
		return err
	}
	if err := staging.CloseSynced(f); err != nil {
		return err
	}
	return staging.Rename(draft, path)
}
