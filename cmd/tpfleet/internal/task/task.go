// Package task declares what the commands of tpfleet hand to each other as lines of JSON.
package task

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/tpconvert/tpconvert/export"
)

// Task is a unit of work: traces that are converted and packed together.
type Task struct {
	ID     string   `json:"id"`
	Layout string   `json:"layout"`           // URL of the Layout
	Stores []string `json:"stores,omitempty"` // options of buckets, such as s3://bucket?region=us-east-1
	Traces []Trace  `json:"traces"`
	// Replaces has the traces whose rows are replaced, by id, and the tasks that made those. Then the task has no others.
	Replaces map[string]string `json:"replaces,omitempty"`
	// Contents has the SHA-256 of traces in the tables that have the sizes of these, in bytes: they are not converted again.
	Contents map[string]int64 `json:"contents,omitempty"`
	// KeepVersions leaves the rows of older versions of the objects in the tables.
	KeepVersions bool `json:"keep_versions,omitempty"`
	// Labels has those of traces, by URL. They count before those of the sources.
	Labels       map[string]Labels `json:"labels,omitempty"`
	LabelSources LabelSources      `json:"label_sources,omitzero"`
}

// Trace is an object in a store, as it was when it was listed.
type Trace struct {
	URL   string `json:"url"`
	Bytes int64  `json:"bytes"`
	ETag  string `json:"etag,omitempty"`
}

// ID returns the id of a task with these traces. Equal tasks have equal ids.
func ID(traces []Trace, replaces map[string]string) string {
	h := sha256.New()
	for _, id := range slices.Sorted(maps.Keys(replaces)) {
		h.Write([]byte(id + "\x00" + replaces[id] + "\x00"))
	}
	for _, t := range traces {
		h.Write([]byte(t.URL + "\x00" + t.ETag + "\x00"))
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// The values of Outcome.Status.
const (
	OK     = "ok"     // its rows are in the files
	Bad    = "bad"    // damaged, or in an unknown format: trying again will not help
	Copy   = "copy"   // another trace of the task has the same content
	Large  = "large"  // it takes more memory or time than a worker may use for a trace
	Failed = "failed" // it may work another time; the ledger does not get it

	Superseded = "superseded" // by a newer version of the object; only in the ledger
	Forgotten  = "forgotten"  // its rows were removed; only in the ledger
	Abandoned  = "abandoned"  // no trace, but a result that cannot be committed any more; only in the ledger
)

// Result is what one attempt at a task made.
type Result struct {
	Task    string    `json:"task"`
	Attempt string    `json:"attempt"`
	Files   []File    `json:"files"`
	Traces  []Outcome `json:"traces"`

	Replaces     map[string]string `json:"replaces,omitempty"`      // as of the task
	KeepVersions bool              `json:"keep_versions,omitempty"` // as of the task
	Retries      int64             `json:"retries,omitempty"`       // of requests to the stores
	Stuck        bool              `json:"stuck,omitempty"`         // a conversion that did not end at its limit still takes time of the process
}

// Name returns the name that the result's files have, in the folder of each table.
func (r *Result) Name() string { return r.Task + "-" + r.Attempt }

// Supersedes reports whether older versions of the objects leave the tables.
func (r *Result) Supersedes() bool { return !r.KeepVersions && r.Replaces == nil }

// Check returns an error if the result is not complete.
func (r *Result) Check() error {
	if r.Task == "" || r.Attempt == "" {
		return errors.New("it has no task or attempt")
	}
	for _, o := range r.Traces {
		switch {
		case o.URL == "":
			return errors.New("a trace has no url")
		case !slices.Contains([]string{OK, Bad, Copy, Large, Failed}, o.Status):
			return fmt.Errorf("%s has the status %q", o.URL, o.Status)
		case o.Status != Failed && len(o.SHA256) != sha256.Size*2:
			return fmt.Errorf("%s has no sha256", o.URL)
		case o.Status == OK && o.TraceID == "":
			return fmt.Errorf("%s has no trace_id", o.URL)
		}
	}
	return nil
}

// File is a Parquet file with rows of one table of all traces of the task that are OK.
type File struct {
	Table   string   `json:"table"`
	URL     string   `json:"url"`
	Rows    int64    `json:"rows"`
	Bytes   int64    `json:"bytes"`
	Groups  []int64  `json:"groups"` // offsets of the row groups, bytes
	Columns []Column `json:"columns"`
}

// Column describes the values of a column in a file. Least and Greatest are bounds in Parquet's plain encoding,
// nil if unknown. Those of text are cut to a few bytes.
type Column struct {
	Field    int    `json:"field"`
	Bytes    int64  `json:"bytes"`
	Nulls    int64  `json:"nulls,omitempty"`
	Least    []byte `json:"least,omitempty"`
	Greatest []byte `json:"greatest,omitempty"`
}

// Outcome is what became of a trace. Bytes and ETag are those of the object that was read.
type Outcome struct {
	Trace
	Status    string         `json:"status"`
	ExitCode  int            `json:"exit_code"` // as tpconvert's
	Error     string         `json:"error,omitempty"`
	TraceID   string         `json:"trace_id,omitempty"` // if it is OK
	SHA256    string         `json:"sha256,omitempty"`
	Format    string         `json:"format,omitempty"`
	Start     *int64         `json:"start_ts,omitempty"`      // ns of the trace clock
	End       *int64         `json:"end_ts,omitempty"`        // ns of the trace clock
	StartUnix *int64         `json:"start_unix_ns,omitempty"` // wall clock at Start
	Day       string         `json:"trace_day,omitempty"`     // see Day
	Machine   export.Machine `json:"machine,omitzero"`
	Rank      *int64         `json:"rank,omitempty"`       // of the traced process in its job
	WorldSize *int64         `json:"world_size,omitempty"` // number of ranks in the job
	Lost      int64          `json:"lost,omitempty"`       // sum of the stats that mean missing data
	Damaged   *int64         `json:"damaged,omitempty"`    // sum of those that mean data read in part, and of gaps
	Truncated *int64         `json:"truncated,omitempty"`  // 1 if it ends too early
	Read      *int64         `json:"read_unix_ns,omitempty"`
	Version   string         `json:"converter_version"`
	Schema    int            `json:"schema_version"`
	Seconds   float64        `json:"seconds"`
	Labels    Labels         `json:"labels,omitempty"`
	Metrics   Labels         `json:"metrics,omitempty"` // digests of the specs that were computed, by name; the error of one that failed follows a colon
}

// Lacks reports whether a trace lacks data, as its stats say: something is lost, or was read in part.
func (o *Outcome) Lacks() bool { return o.Lost > 0 || o.Damaged != nil && *o.Damaged > 0 }

// Layout says where the tables are and which field ids their columns have.
type Layout struct {
	Tables map[string]Table `json:"tables"`
	Specs  []Spec           `json:"specs,omitempty"` // of which each trace gets the metrics

	Redaction string `json:"redaction,omitempty"` // digest of the rules by which all rows are redacted, "" if there are none
}

// ErrRedaction is returned if rows would be redacted otherwise than the lake says.
var ErrRedaction = errors.New("the lake has rows that are redacted, by other rules or another key than these: set --redact, --redact-columns and --redact-key as \"tpfleet init\" had them")

// CheckRedaction checks the digest of the rules of a process that writes.
func (l Layout) CheckRedaction(digest string) error {
	if l.Redaction != "" && l.Redaction != digest {
		return ErrRedaction
	}
	return nil
}

// Table is the place of a table.
type Table struct {
	Location string         `json:"location"` // URL
	Fields   map[string]int `json:"fields"`   // by name of the column
	Metric   []MetricColumn `json:"metric,omitempty"`
}
