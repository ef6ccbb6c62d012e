package lake

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/catalog/rest"
	"github.com/apache/iceberg-go/table"
	"golang.org/x/sync/errgroup"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/task"
	"github.com/tpconvert/tpconvert/export"
	model "github.com/tpconvert/tpconvert/model/table"
)

// atOnce is the number of tables that are worked on at the same time.
const atOnce = 8

// ErrCatalog is wrapped if the catalog cannot commit to several tables at once, but the tables need that.
var ErrCatalog = errors.New("the catalog has no transactions over several tables (POST /v1/{prefix}/transactions/commit), for which these were made: \"tpfleet init\" makes others in a new namespace")

var icebergTypes = [...]iceberg.Type{
	model.TypeInt64:   iceberg.PrimitiveTypes.Int64,
	model.TypeInt32:   iceberg.PrimitiveTypes.Int32,
	model.TypeFloat64: iceberg.PrimitiveTypes.Float64,
	model.TypeBool:    iceberg.PrimitiveTypes.Bool,
	model.TypeString:  iceberg.PrimitiveTypes.String,
	model.TypeBytes:   iceberg.PrimitiveTypes.Binary,
}

// urlBounds is the property of the ledger for bounds of whole URLs, in whose first characters they do not differ. It is set when the
// column is there, because some catalogs refuse it before.
const urlBounds = table.MetricsModeColumnConfPrefix + ".url"

// ledgerProperties are the properties of the ledger.
var ledgerProperties = iceberg.Properties{
	table.PropertyFormatVersion:                  "2",
	"comment":                                    "A row for each trace that was tried.",
	"write.parquet.compression-codec":            "zstd",
	"write.metadata.delete-after-commit.enabled": "true",
	"write.metadata.previous-versions-max":       "20",
}

// tableProperties are the properties of the other tables. The bloom filters are for engines that rewrite files.
func tableProperties(s *model.Schema) iceberg.Properties {
	p := maps.Clone(ledgerProperties)
	if s.Doc != "" {
		p["comment"] = s.Doc // as Spark and Trino show it
	}
	p["write.parquet.bloom-filter-enabled.column.trace_id"] = "true"
	p["write.parquet.bloom-filter-enabled.column.name"] = "true"
	return p
}

// Init creates the ledger and all tables that are missing, adds missing columns, and records the layout. It returns
// the number of tables, and whether they are committed to one at a time, as they are if single is set or the catalog can do no
// more. Tables for the metrics of specs come in addition to those that there are; a spec replaces that of its name. redaction is the digest of
// the rules for all rows from then on, "" for those that there are. Init can be repeated. In a folder, all of it is one transaction.
func (l *Lake) Init(ctx context.Context, single bool, redaction string, specs ...task.Spec) (tables int, oneByOne bool, err error) {
	c, there := l.catalog.(interface {
		turns
		Together(ctx context.Context, do func() error) error
	})
	if !there {
		return l.makeTables(ctx, single, redaction, specs)
	}
	defer c.Turn(ctx)()
	ctx = context.WithValue(ctx, turnKey{}, true)
	err = c.Together(ctx, func() (err error) {
		tables, oneByOne, err = l.makeTables(ctx, single, redaction, specs)
		return err
	})
	return tables, oneByOne, err
}

func (l *Lake) makeTables(ctx context.Context, single bool, redaction string, specs []task.Spec) (tables int, oneByOne bool, err error) {
	if err := l.catalog.CreateNamespace(ctx, l.namespace, nil); err != nil && !errors.Is(err, catalog.ErrNamespaceAlreadyExists) {
		return 0, false, fmt.Errorf("namespace %s: %w", strings.Join(l.namespace, "."), err)
	}
	_, err = l.repeat(ctx, "init", func(ctx context.Context) error {
		tables, oneByOne, err = l.tryInit(ctx, single, redaction, specs)
		return err
	})
	return tables, oneByOne, err
}

// tryInit creates the tables that are missing, one by one: they do not count before the ledger has the layout. It changes the others and
// records the layout in one transaction, or else one by one and the ledger last.
func (l *Lake) tryInit(ctx context.Context, single bool, redaction string, specs []task.Spec) (tables int, oneByOne bool, err error) {
	ledger, err := l.createLedger(ctx, single)
	if err != nil {
		return 0, false, err
	}
	if single && !byLedger(ledger) {
		return 0, false, errors.New("the tables were made for transactions over several of them: tables for commits to one at a time need a namespace of their own")
	}
	layout := task.Layout{Tables: map[string]task.Table{}, Redaction: redaction}
	metrics, err := l.withSpecs(ctx, ledger, &layout, specs)
	if err != nil {
		return 0, false, err
	}
	var mu sync.Mutex
	var changes []*table.Transaction
	group, creating := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, s := range append(task.Packed(), metrics...) {
		if byLedger(ledger) {
			s = export.WithAttempt(s)
		}
		group.Go(func() error {
			t, err := l.create(creating, s.Name, schemaOf(s), tableProperties(s))
			if err != nil {
				return err
			}
			change, columns, err := changeOf(t, schemaOf(s))
			if err != nil {
				return fmt.Errorf("table %s: %w", s.Name, err)
			}
			place := task.Table{Location: strings.TrimSuffix(t.Location(), "/"), Fields: map[string]int{}}
			for _, f := range columns.Fields() {
				place.Fields[f.Name] = f.ID
			}
			mu.Lock()
			defer mu.Unlock()
			place.Metric = layout.Tables[s.Name].Metric
			layout.Tables[s.Name] = place
			if change != nil {
				changes = append(changes, change)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return 0, false, err
	}
	change, err := l.record(ctx, ledger, layout)
	if err != nil {
		return 0, false, err
	}
	if change != nil {
		changes = append(changes, change)
	}
	return len(layout.Tables) + 1, byLedger(ledger), commitError(l.commitSchemas(ctx, changes, byLedger(ledger)))
}

// schemaOf returns the Iceberg schema of a packed table. The catalog replaces the ids.
func schemaOf(s *model.Schema) *iceberg.Schema {
	fields := make([]iceberg.NestedField, len(s.Columns))
	for i, c := range s.Columns {
		fields[i] = iceberg.NestedField{ID: i + 1, Name: c.Name, Type: icebergTypes[c.Type], Required: !c.Nullable, Doc: c.Doc}
	}
	return iceberg.NewSchema(0, fields...)
}

// changeOf returns the change that a table of an older version needs, nil if there is none, and its columns afterwards.
func changeOf(t *table.Table, schema *iceberg.Schema) (*table.Transaction, *iceberg.Schema, error) {
	tx := t.NewTransaction()
	// Older rows have no value in a new column, so it cannot be required.
	added, err := addColumns(tx, t, schema, false)
	if err != nil {
		return nil, nil, err
	}
	staged, err := tx.StagedTable()
	if err != nil {
		return nil, nil, err
	}
	columns, spec := staged.Schema(), t.Spec()
	if !added && !t.SortOrder().IsUnsorted() && !spec.IsUnpartitioned() {
		return nil, columns, nil
	}
	if t.SortOrder().IsUnsorted() {
		order, err := sortOrder(columns)
		if err == nil {
			err = tx.ReplaceSortOrder(order)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	if spec.IsUnpartitioned() {
		err = tx.UpdateSpec(true).AddIdentity(export.TraceDayColumn).Commit()
	}
	return tx, columns, err
}

// places is a catalog that has a place for each table.
type places interface {
	Place(name table.Identifier) string
}

// move makes a table of an older version write to its own place. Its files stay where they are, as the metadata name each.
func (l *Lake) move(ctx context.Context, t *table.Table) (*table.Table, error) {
	c, there := l.catalog.(places)
	if !there || c.Place(t.Identifier()) == t.Location() {
		return t, nil
	}
	_, _, err := l.catalog.CommitTable(ctx, t.Identifier(), []table.Requirement{table.AssertTableUUID(t.Metadata().TableUUID())},
		[]table.Update{table.NewSetLocationUpdate(c.Place(t.Identifier()))})
	if err != nil {
		return nil, err
	}
	return l.catalog.LoadTable(ctx, t.Identifier())
}

// partitionSpec returns the partitions of a new table: each file has rows of one day.
func partitionSpec(s *iceberg.Schema) iceberg.PartitionSpec {
	day, _ := s.FindFieldByName(export.TraceDayColumn)
	return iceberg.NewPartitionSpec(iceberg.PartitionField{
		SourceIDs: []int{day.ID}, FieldID: iceberg.PartitionDataIDStart, Name: export.TraceDayColumn, Transform: iceberg.IdentityTransform{},
	})
}

// sortOrder returns the order of rows in a table, for engines that write it. Files of ours have all rows of a trace together, in
// the order of trace_id.
func sortOrder(s *iceberg.Schema) (table.SortOrder, error) {
	var fields []table.SortField
	for _, name := range []string{export.TraceDayColumn, "trace_id"} {
		f, there := s.FindFieldByName(name)
		if !there {
			return table.SortOrder{}, errIncomplete
		}
		fields = append(fields, table.SortField{SourceIDs: []int{f.ID}, Transform: iceberg.IdentityTransform{}, Direction: table.SortASC, NullOrder: table.NullsFirst})
	}
	return table.NewSortOrder(1, fields)
}

// create returns a table, which it creates if it is missing.
func (l *Lake) create(ctx context.Context, name string, schema *iceberg.Schema, properties iceberg.Properties) (*table.Table, error) {
	t, err := l.catalog.LoadTable(ctx, l.identifier(name))
	if errors.Is(err, catalog.ErrNoSuchTable) {
		options := []catalog.CreateTableOpt{catalog.WithProperties(properties)}
		if name != task.Ledger {
			order, err := sortOrder(schema)
			if err != nil {
				return nil, err
			}
			spec := partitionSpec(schema)
			options = append(options, catalog.WithSortOrder(order), catalog.WithPartitionSpec(&spec))
		}
		t, err = l.catalog.CreateTable(ctx, l.identifier(name), schema, options...)
		if errors.Is(err, catalog.ErrTableAlreadyExists) { // another process created it
			t, err = l.catalog.LoadTable(ctx, l.identifier(name))
		}
	}
	if err == nil {
		t, err = l.move(ctx, t)
	}
	if err != nil {
		return nil, fmt.Errorf("table %s: %w", name, err)
	}
	return t, nil
}

// addColumns adds the columns that a table does not have, and reports whether there are any.
func addColumns(tx *table.Transaction, t *table.Table, schema *iceberg.Schema, required bool) (added bool, err error) {
	update := tx.UpdateSchema(true, required)
	for _, f := range schema.Fields() {
		if _, there := t.Schema().FindFieldByName(f.Name); !there {
			update, added = update.AddColumn([]string{f.Name}, f.Type, f.Doc, required && f.Required, nil), true
		}
	}
	return added, update.Commit()
}

// createLedger creates the ledger with an empty snapshot. Commits assert the snapshot that they read, but Nessie
// takes the assertion that there is none for no assertion. So the ledger is created with one column, and all others
// come with the first snapshot: of rival transactions that expect the first schema, one succeeds.
//
// If the catalog has no transactions over several tables, or single is set, the ledger notes that.
func (l *Lake) createLedger(ctx context.Context, single bool) (*table.Table, error) {
	for try := 1; ; try++ {
		t, err := l.create(ctx, task.Ledger, iceberg.NewSchema(0, ledgerSchema(false).Fields()[0]), ledgerProperties)
		if err != nil {
			return nil, err
		}
		if t.CurrentSnapshot() != nil {
			return t, nil
		}
		schema := ledgerSchema(single)
		tx := t.NewTransaction()
		if single {
			if err := tx.SetProperties(iceberg.Properties{commitProperty: commitByLedger}); err != nil {
				return nil, err
			}
		}
		if _, err := addColumns(tx, t, schema, true); err != nil {
			return nil, err
		}
		if err := appendNothing(ctx, tx, single); err != nil {
			return nil, err
		}
		err = l.commitSchemas(ctx, []*table.Transaction{tx}, single)
		if errors.Is(err, rest.ErrEndpointNotSupported) && !single {
			single = true
			continue
		}
		if err != nil && try == 5 {
			return nil, fmt.Errorf("table %s: %w", task.Ledger, err)
		}
	}
}

// appendNothing adds a snapshot to the ledger without rows, so that of rival transactions one succeeds.
func appendNothing(ctx context.Context, tx *table.Transaction, single bool) error {
	rows := records(nil, single)
	defer rows.Release()
	return tx.Append(ctx, rows, nil)
}

// commitSchemas commits changes of tables that may add columns, together unless the catalog can do no more than one, which single says.
func (l *Lake) commitSchemas(ctx context.Context, changes []*table.Transaction, single bool) error {
	commits := make([]table.TableCommit, len(changes))
	for n, tx := range changes {
		c, err := tx.TableCommit()
		if err != nil {
			return err
		}
		for i, u := range c.Updates {
			if u.Action() == table.UpdateAddSchema {
				c.Updates[i] = schemaUpdate{u}
			}
		}
		commits[n] = c
	}
	if !single && len(commits) > 0 {
		return l.catalog.CommitTransaction(ctx, commits)
	}
	for _, c := range commits {
		if err := l.commitOne(ctx, c, true); err != nil {
			return err
		}
	}
	return nil
}

// commitOne commits to one table; single says whether the catalog can do no more.
func (l *Lake) commitOne(ctx context.Context, c table.TableCommit, single bool) (err error) {
	if single {
		_, _, err = l.catalog.CommitTable(ctx, c.Identifier, c.Requirements, c.Updates)
		return err
	}
	return l.catalog.CommitTransaction(ctx, []table.TableCommit{c})
}

// schemaUpdate adds the field last-column-id, which Iceberg no longer needs, but Nessie 0.99 does.
type schemaUpdate struct{ table.Update }

func (u schemaUpdate) MarshalJSON() ([]byte, error) {
	text, err := json.Marshal(u.Update)
	if err != nil {
		return nil, err
	}
	var fields map[string]any
	var schema struct {
		Schema struct{ Fields []struct{ ID int } }
	}
	if err := errors.Join(json.Unmarshal(text, &fields), json.Unmarshal(text, &schema)); err != nil {
		return nil, err
	}
	last := 0
	for _, f := range schema.Schema.Fields {
		last = max(last, f.ID)
	}
	fields["last-column-id"] = last
	return json.Marshal(fields)
}

// record writes the layout beside the ledger's folder, and returns the change of the ledger that names it, nil if there is none. Layouts
// are never overwritten, because tasks may still use them. A requirement on properties does not exist, so the change has a snapshot: of
// two processes that add specs at once, the second begins again and keeps those of the first.
func (l *Lake) record(ctx context.Context, ledger *table.Table, layout task.Layout) (*table.Transaction, error) {
	text, err := json.Marshal(layout)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(text)
	location := strings.TrimSuffix(ledger.Location(), "/")
	url := location[:strings.LastIndex(location, "/")] + "/tpfleet/layout-" + hex.EncodeToString(sum[:8]) + ".json"
	tx := ledger.NewTransaction()
	added, err := addColumns(tx, ledger, ledgerSchema(byLedger(ledger)), false)
	if err != nil || !added && ledger.Properties()[layoutProperty] == url && ledger.Properties()[urlBounds] != "" {
		return nil, err
	}
	if err := l.stores.Write(ctx, url, text); err != nil {
		return nil, err
	}
	metrics := strings.Join(slices.Sorted(maps.Keys(layout.MetricSchemas())), ",")
	if err := tx.SetProperties(iceberg.Properties{layoutProperty: url, urlBounds: "full", metricsProperty: metrics}); err != nil {
		return nil, err
	}
	return tx, appendNothing(ctx, tx, byLedger(ledger))
}
