package lake

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/batch"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/task"
	"github.com/tpconvert/tpconvert/export"
)

// ledgerColumn is a column of the ledger. Its field is a *string, *task.Labels, *int, *int64, **int64 or, in seconds, a *float64; nil, and unless the
// column is required "" and 0 s, are NULL.
type ledgerColumn struct {
	name     string
	text     bool
	required bool
	doc      string
	field    func(*entry) any
}

// value returns the value of the column: a string, an int64, or nil for NULL.
func (c *ledgerColumn) value(e *entry) any {
	switch v := c.field(e).(type) {
	case *string:
		if *v != "" || c.required {
			return *v
		}
	case *task.Labels:
		if text := v.Text(); text != "" {
			return text
		}
	case *int:
		return int64(*v)
	case *int64:
		return *v
	case **int64:
		if *v != nil {
			return **v
		}
	case *float64:
		if *v != 0 {
			return int64(*v * 1e9)
		}
	}
	return nil
}

// entry is a row of the ledger.
type entry struct {
	task    string
	attempt string // that made the rows; "" if there are none, or nobody asks
	task.Outcome
	added, changed *int64 // ns since 1970
}

var ledgerColumns = []ledgerColumn{
	{"trace_id", true, false, "Id of the trace in all tables, NULL if it never had rows there.", func(e *entry) any { return &e.TraceID }},
	{"url", true, true, "Object that was read.", func(e *entry) any { return &e.URL }},
	{"etag", true, false, "ETag of the object, or the time of a file.", func(e *entry) any { return &e.ETag }},
	{"bytes", false, true, "Size of the object, bytes.", func(e *entry) any { return &e.Bytes }},
	{"status", true, true, "ok, bad if it cannot be read, large if that takes too much memory or time, copy if another trace has the same content, superseded by a newer version of the object, or forgotten.", func(e *entry) any { return &e.Status }},
	{"exit_code", false, true, "Exit code that tpconvert would have.", func(e *entry) any { return &e.ExitCode }},
	{"error", true, false, "Why it was not converted, or was forgotten.", func(e *entry) any { return &e.Error }},
	{"sha256", true, false, "SHA-256 of the object, hexadecimal.", func(e *entry) any { return &e.SHA256 }},
	{"format", true, false, "Formats of the trace and of the files in it, outermost first, separated by slashes.", func(e *entry) any { return &e.Format }},
	{"start_ts", false, false, "Earliest timestamp of any event, ns of the trace clock.", func(e *entry) any { return &e.Start }},
	{"end_ts", false, false, "Latest timestamp of any event, ns of the trace clock.", func(e *entry) any { return &e.End }},
	{"start_unix_ns", false, false, "Wall clock at start_ts, or when a profile without times began, ns since 1970-01-01 UTC.", func(e *entry) any { return &e.StartUnix }},
	{"machine_name", true, false, "Name that the machine reports.", func(e *entry) any { return &e.Machine.Name }},
	{"sysname", true, false, "Name of the operating system.", func(e *entry) any { return &e.Machine.Sysname }},
	{"release", true, false, "Release of the operating system.", func(e *entry) any { return &e.Machine.Release }},
	{"arch", true, false, "Architecture, such as x86_64.", func(e *entry) any { return &e.Machine.Arch }},
	{"num_cpus", false, false, "Number of CPUs.", func(e *entry) any { return &e.Machine.NumCPUs }},
	{"system_ram_bytes", false, false, "Memory of the machine, bytes.", func(e *entry) any { return &e.Machine.RAMBytes }},
	{"android_build_fingerprint", true, false, "Build of Android.", func(e *entry) any { return &e.Machine.AndroidBuildFingerprint }},
	{"android_device_manufacturer", true, false, "Manufacturer of the Android device.", func(e *entry) any { return &e.Machine.AndroidDeviceManufacturer }},
	{"android_sdk_version", false, false, "Android's SDK version.", func(e *entry) any { return &e.Machine.AndroidSDKVersion }},
	{"lost", false, true, "Sum of the counts in stats that mean missing data.", func(e *entry) any { return &e.Lost }},
	{"converter_version", true, true, "Version of the converter.", func(e *entry) any { return &e.Version }},
	{"schema_version", false, true, "Version of the tables' schema.", func(e *entry) any { return &e.Schema }},
	{"task", true, true, "Task that read it.", func(e *entry) any { return &e.task }},
	{"rank", false, false, "Rank of the traced process in its job, such as of distributed training.", func(e *entry) any { return &e.Rank }},
	{"world_size", false, false, "Number of ranks in the job.", func(e *entry) any { return &e.WorldSize }},
	{"convert_ns", false, false, "Time that its conversion took, ns.", func(e *entry) any { return &e.Seconds }},
	{"trace_day", true, false, "Day on which the trace began, UTC, such as 2026-11-23, as in the other tables; NULL if it was added by an older version.", func(e *entry) any { return &e.Day }},
	{"added_unix_ns", false, false, "When it was added to the ledger, ns since 1970-01-01 UTC.", func(e *entry) any { return &e.added }},
	{"changed_unix_ns", false, false, "When it was converted again, superseded or forgotten, ns since 1970-01-01 UTC.", func(e *entry) any { return &e.changed }},
	{"read_unix_ns", false, false, "When the object was read, ns since 1970-01-01 UTC: of two versions, the one that was read last counts.", func(e *entry) any { return &e.Read }},
	{"damaged", false, false, "Sum of the counts in stats that mean data read in part, and of gaps of unknown size.", func(e *entry) any { return &e.Damaged }},
	{"truncated", false, false, "1 if the trace, or a file in it, ends too early, else 0.", func(e *entry) any { return &e.Truncated }},
	{"labels", true, false, "Labels of the trace, a JSON object of texts, NULL if it has none.", func(e *entry) any { return &e.Labels }},
	{"metrics", true, false, "Specs whose metrics were computed, a JSON object of their digests by name; an error follows the digest of one that failed.", func(e *entry) any { return &e.Metrics }},
}

// attemptColumn is one more column, of a ledger that says which rows of the other tables count.
var attemptColumn = ledgerColumn{export.TraceAttemptColumn, true, false, "Attempt whose rows of this trace count, NULL if there are none.", func(e *entry) any { return &e.attempt }}

// columnsOf returns the columns of the ledger, with that for attempts or without.
func columnsOf(attempts bool) []ledgerColumn {
	if attempts {
		return allColumns
	}
	return ledgerColumns
}

// columnNames returns the names of the columns of a ledger.
func columnNames(ledger *table.Table) (names []string) {
	for _, c := range columnsOf(byLedger(ledger)) {
		names = append(names, c.name)
	}
	return names
}

var allColumns = append(slices.Clone(ledgerColumns), attemptColumn)

// ledgerSchema returns the Iceberg schema of the ledger.
func ledgerSchema(attempts bool) *iceberg.Schema {
	columns := columnsOf(attempts)
	fields := make([]iceberg.NestedField, len(columns))
	for i, c := range columns {
		fields[i] = iceberg.NestedField{ID: i + 1, Name: c.name, Type: iceberg.PrimitiveTypes.Int64, Required: c.required, Doc: c.doc}
		if c.text {
			fields[i].Type = iceberg.PrimitiveTypes.String
		}
	}
	return iceberg.NewSchema(0, fields...)
}

// records returns the entries in the columns of the ledger.
func records(entries []entry, attempts bool) array.RecordReader {
	columns := columnsOf(attempts)
	fields := make([]arrow.Field, len(columns))
	for i, c := range columns {
		fields[i] = arrow.Field{Name: c.name, Type: arrow.PrimitiveTypes.Int64, Nullable: !c.required}
		if c.text {
			fields[i].Type = arrow.BinaryTypes.String
		}
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema(fields, nil))
	defer b.Release()
	for i, c := range columns {
		for k := range entries {
			switch v := c.value(&entries[k]).(type) {
			case string:
				b.Field(i).(*array.StringBuilder).Append(v)
			case int64:
				b.Field(i).(*array.Int64Builder).Append(v)
			default:
				b.Field(i).AppendNull()
			}
		}
	}
	var batches []arrow.RecordBatch
	if len(entries) > 0 {
		batches = append(batches, b.NewRecordBatch())
		defer batches[0].Release()
	}
	r, err := array.NewRecordReader(b.Schema(), batches)
	if err != nil {
		panic(err) // the columns are of the schema
	}
	return r
}

// Known is what the ledger says of an object.
type Known struct {
	Done bool   // its content is in the tables
	Bad  string // version of the last converter that could not read it, or ""

	Large      bool // it took more than a worker may use
	Superseded bool // a newer version came
}

// Ledger is what commits and plans have to know of some traces that were tried.
type Ledger struct {
	objects   map[task.Trace]Known
	content   map[string]content      // traces with rows, or that were forgotten, by id
	abandoned map[string]bool         // results that cannot be committed any more, by name
	versions  map[string][]entry      // that were not superseded or forgotten, by URL
	copies    map[string][]task.Trace // other objects with the content of a trace, by id, where a commit has to know them
	gone      map[string]bool         // traces with entries that were superseded, by id
}

// content is what the ledger says of a trace.
type content struct {
	object    task.Trace
	task      string // that made its rows
	sha256    string
	added     *int64
	forgotten bool
}

// takes reports whether the rows that a result has of a trace belong in the tables: these have none, or those that the
// result replaces, and none of a newer version of the object.
func (g *Ledger) takes(r *task.Result, o *task.Outcome) bool {
	known, there := g.content[o.TraceID]
	return (!there || known.task == r.Replaces[o.TraceID] && !known.forgotten && known.is(o.SHA256)) && !g.isOld(r, o)
}

// is reports whether a content is that of the trace, and not another with an equal id.
func (c content) is(sha256 string) bool { return c.sha256 == "" || c.sha256 == sha256 }

// isOld reports whether a newer version of an object was read than that of a result.
func (g *Ledger) isOld(r *task.Result, o *task.Outcome) bool {
	return r.Supersedes() && slices.ContainsFunc(g.versions[o.URL], func(e entry) bool {
		return (e.Status == task.OK || e.Status == task.Copy) && e.Trace != o.Trace && e.Read != nil && o.Read != nil && *e.Read > *o.Read
	})
}

// wanted are the traces of which a Ledger tells. It takes memory for them, not for all in the table.
type wanted struct{ urls, ids, attempts map[string]bool }

func newWanted() wanted {
	return wanted{map[string]bool{}, map[string]bool{}, map[string]bool{}}
}

// wantedBy returns what choose asks about results.
func wantedBy(results []task.Result) wanted {
	w := newWanted()
	for _, r := range results {
		w.attempts[r.Name()] = true
		for _, o := range r.Traces {
			w.urls[o.URL] = true
			if o.TraceID != "" {
				w.ids[o.TraceID] = true
			}
			if o.Status == task.Copy {
				w.ids[export.TraceID(o.SHA256)] = true
			}
		}
	}
	return w
}

// Object returns what is known of an object.
func (g *Ledger) Object(t task.Trace) Known { return g.objects[t] }

func newLedger() *Ledger {
	return &Ledger{map[task.Trace]Known{}, map[string]content{}, map[string]bool{}, map[string][]entry{}, map[string][]task.Trace{}, map[string]bool{}}
}

func (g *Ledger) add(e *entry) {
	k := g.objects[e.Trace]
	switch e.Status {
	case task.Bad:
		k.Bad = e.Version
	case task.Large:
		k.Large = true
	case task.Superseded:
		k = Known{Superseded: true}
		g.gone[e.TraceID] = true
	default:
		k.Done = true
	}
	g.objects[e.Trace] = k
	if e.TraceID != "" && e.Status != task.Superseded {
		g.content[e.TraceID] = content{e.Trace, e.task, e.SHA256, e.added, e.Status == task.Forgotten}
	}
	if e.Status != task.Superseded && e.Status != task.Forgotten {
		g.versions[e.URL] = append(g.versions[e.URL], *e)
	}
}

// Ledger reads what the ledger knows of the objects of traces.
func (l *Lake) Ledger(ctx context.Context, traces []task.Trace) (ledger *Ledger, err error) {
	w := newWanted()
	for _, trace := range traces {
		w.urls[trace.URL] = true
	}
	err = l.read(ctx, "plan", func(ctx context.Context) error {
		t, err := l.load(ctx, task.Ledger)
		if err == nil {
			ledger, err = readLedger(ctx, t, w)
		}
		return err
	})
	return ledger, err
}

// ledgerRead are the columns that are read.
var ledgerRead = []string{"trace_id", "url", "etag", "bytes", "status", "sha256", "converter_version", "schema_version", "task", "added_unix_ns", "read_unix_ns"}

// readLedger reads what the ledger says of the wanted traces.
func readLedger(ctx context.Context, t *table.Table, w wanted) (*Ledger, error) {
	g, columns := newLedger(), ledgerRead
	read := func(b batch.Batch) error {
		g.read(b, w)
		return nil
	}
	if len(w.attempts) > 0 && byLedger(t) { // an attempt can be in any file
		return g, eachBatch(ctx, t, append(slices.Clone(columns), export.TraceAttemptColumn), read)
	}
	files, err := planFiles(ctx, t, w.between())
	if err == nil && len(w.ids) > 0 {
		files, err = withIDs(ctx, t, files, w.ids)
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", strings.Join(t.Identifier(), "."), err)
	}
	return g, eachBatchOf(ctx, t, files, columns, read)
}

// between is true for the URLs from the least to the greatest wanted one. The traces of a day have neighbouring URLs in most
// stores, and so have those of a file of the ledger.
func (w wanted) between() iceberg.BooleanExpression {
	least, greatest, first := "", "", true
	for url := range w.urls {
		if first || url < least {
			least = url
		}
		greatest, first = max(greatest, url), false
	}
	url := iceberg.Reference("url")
	return iceberg.NewAnd(iceberg.GreaterThanEqual(url, least), iceberg.LessThanEqual(url, greatest))
}

// smallFile is the size of a file of the ledger, in bytes, that is read at once instead of its column of ids first.
const smallFile = 1 << 20

// withIDs adds the files to some of the ledger's that have traces with these ids: the same content may be anywhere.
func withIDs(ctx context.Context, t *table.Table, some []table.FileScanTask, ids map[string]bool) ([]table.FileScanTask, error) {
	known := map[string]bool{}
	for _, f := range some {
		known[f.File.FilePath()] = true
	}
	all, err := planFiles(ctx, t)
	if err != nil {
		return nil, err
	}
	for _, f := range all {
		if known[f.File.FilePath()] {
			continue
		}
		there := f.File.FileSizeBytes() < smallFile
		if !there {
			err = eachBatchOf(ctx, t, []table.FileScanTask{f}, []string{"trace_id"}, func(b batch.Batch) error {
				for row := 0; row < b.Rows && !there; row++ {
					there = ids[b.Text("trace_id", row)]
				}
				return nil
			})
		}
		if err != nil {
			return nil, err
		}
		if there {
			some = append(some, f)
		}
	}
	return some, nil
}

// planFiles returns the files of a table that may have rows for which all filters are true.
func planFiles(ctx context.Context, t *table.Table, filters ...iceberg.BooleanExpression) ([]table.FileScanTask, error) {
	var options []table.ScanOption
	for _, f := range filters {
		options = append(options, table.WithRowFilter(f))
	}
	files, err := t.Scan(options...).PlanFiles(ctx)
	for i := range files {
		files[i].Residual = nil // rows are not filtered
	}
	return files, err
}

// filesOn returns the files of a table that may have rows of some days, all if a day is "".
func filesOn(ctx context.Context, t *table.Table, days iter.Seq[string]) ([]table.FileScanTask, error) {
	some := slices.Compact(slices.Sorted(days))
	if _, there := t.Schema().FindFieldByName(export.TraceDayColumn); !there || len(some) == 0 || some[0] == "" {
		return planFiles(ctx, t)
	}
	day := iceberg.Reference(export.TraceDayColumn)
	return planFiles(ctx, t, iceberg.NewOr(iceberg.IsNull(day), iceberg.IsIn(day, some...)))
}

// eachBatch calls do with columns of the ledger or of another table.
func eachBatch(ctx context.Context, t *table.Table, columns []string, do func(batch.Batch) error) error {
	files, err := planFiles(ctx, t)
	if err != nil {
		return fmt.Errorf("reading %s: %w", strings.Join(t.Identifier(), "."), err)
	}
	return eachBatchOf(ctx, t, files, columns, do)
}

// eachBatchOf is eachBatch for some files.
func eachBatchOf(ctx context.Context, t *table.Table, files []table.FileScanTask, columns []string, do func(batch.Batch) error) error {
	for _, name := range columns {
		if _, there := t.Schema().FindFieldByName(name); !there {
			return errIncomplete
		}
	}
	// One file at a time: else there are as many in memory as the machine has cores.
	_, batches, err := t.Scan(table.WithSelectedFields(columns...), table.WithMaxConcurrency(1)).ReadTasks(ctx, files)
	if err != nil {
		return fmt.Errorf("reading %s: %w", strings.Join(t.Identifier(), "."), err)
	}
	for rows, err := range batches {
		if err != nil {
			return fmt.Errorf("reading %s: %w", strings.Join(t.Identifier(), "."), err)
		}
		err = do(batch.Of(rows))
		rows.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

// objectIn returns the object in a row.
func objectIn(b batch.Batch, row int) task.Trace {
	return task.Trace{URL: b.Text("url", row), ETag: b.Text("etag", row), Bytes: *b.Number("bytes", row)}
}

// kept returns a copy of an object that lasts.
func kept(t task.Trace) task.Trace {
	return task.Trace{URL: strings.Clone(t.URL), ETag: strings.Clone(t.ETag), Bytes: t.Bytes}
}

// read takes the entries of a batch that are wanted.
func (g *Ledger) read(b batch.Batch, w wanted) {
	for row := range b.Rows {
		if attempt := b.Text(export.TraceAttemptColumn, row); w.attempts[attempt] && b.Text("status", row) == task.Abandoned {
			g.abandoned[strings.Clone(attempt)] = true
		}
		if w.urls[b.Text("url", row)] || w.ids[b.Text("trace_id", row)] {
			e := entryIn(b, row)
			g.add(&e)
		}
	}
}

// entryIn returns the entry in a row, as far as its columns were read.
func entryIn(b batch.Batch, row int) (e entry) {
	for _, c := range columnsOf(true) {
		if b.IsNull(c.name, row) {
			continue
		}
		switch field := c.field(&e).(type) {
		case *string:
			*field = strings.Clone(b.Text(c.name, row))
		case *task.Labels:
			*field, _ = task.ReadLabels([]byte(b.Text(c.name, row))) // as Text wrote them
		case *int:
			*field = int(*b.Number(c.name, row))
		case *int64:
			*field = *b.Number(c.name, row)
		case **int64:
			*field = b.Number(c.name, row)
		case *float64:
			*field = float64(*b.Number(c.name, row)) / 1e9
		}
	}
	return e
}
