package export

import (
	"encoding/json"
	"os"
)

// manifestName is the manifest of a dataset of one trace and, without the
// extension, the folder for those of many.
const manifestName = "_tpconvert.json"

// Manifest is `_tpconvert.json`: what a dataset, or one trace of it, is made
// of. Commit fills in the tables and the schema version.
type Manifest struct {
	SchemaVersion    int      `json:"schema_version"`
	ConverterVersion string   `json:"converter_version"`
	TraceID          string   `json:"trace_id"`
	Input            Input    `json:"input"`
	Tables           []Table  `json:"tables"`
	Stats            []Stat   `json:"stats"`
	Warnings         []string `json:"warnings"`
	WallSeconds      float64  `json:"wall_seconds"`
	PeakMemoryBytes  int64    `json:"peak_memory_bytes"`
}

// Input is a trace file, or a file in an archive that is one.
type Input struct {
	Name    string  `json:"name"`
	Bytes   int64   `json:"bytes"`
	SHA256  string  `json:"sha256,omitempty"` // hexadecimal; of the outermost only
	Format  string  `json:"format"`           // as detected
	Members []Input `json:"members,omitempty"`
}

// Table is a file of the dataset.
type Table struct {
	Name  string `json:"name"`
	Rows  int64  `json:"rows"`
	Bytes int64  `json:"bytes"`
	File  string `json:"file"` // relative to the dataset, with slashes
}

// Stat is a row of the stats table that is not zero.
type Stat struct {
	Name     string `json:"name"`
	Idx      *int64 `json:"idx,omitempty"`
	Severity string `json:"severity"`
	Source   string `json:"source"`
	Value    int64  `json:"value"`
	// Description goes on after the value where the name does not say it all.
	Description string `json:"description,omitempty"`
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

// write writes the manifest, whole or not at all.
func (m *Manifest) write(path string) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	draft := path + ".draft"
	f, err := os.Create(draft)
	if err != nil {
		return err
	}
	if _, err := f.Write(append(text, '\n')); err != nil {
		f.Close()
		return err
	}
	if err := closeSynced(f); err != nil {
		return err
	}
	return os.Rename(draft, path)
}
