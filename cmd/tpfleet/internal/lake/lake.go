// Package lake keeps the tables of a fleet in an Iceberg catalog.
package lake

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"strings"
	"sync"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/catalog/rest"
	_ "github.com/apache/iceberg-go/io/gocloud/s3" // stores of the tables
	"github.com/apache/iceberg-go/table"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/folder"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/store"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/task"
)

// Options say where a lake is.
type Options struct {
	Folder     string            // of a lake with its own catalog, "" for the catalog at a URL
	Create     bool              // the folder, if it is missing
	Catalog    string            // URL of the REST catalog
	Warehouse  string            // "" is the catalog's default
	Namespace  string            // parts separated by dots
	Properties map[string]string // of the client, such as token or s3.region
	Stores     *store.Stores     // of the traces and tables
	Version    string            // of the converter
}

// Lake is an open catalog. It is safe for concurrent use.
type Lake struct {
	catalog   tables
	namespace table.Identifier
	stores    *store.Stores
	version   string

	mu   sync.Mutex
	seen *view // of the ledger, the last one
}

// tables is what a lake needs of its catalog.
type tables interface {
	CreateNamespace(ctx context.Context, namespace table.Identifier, properties iceberg.Properties) error
	CreateTable(ctx context.Context, name table.Identifier, schema *iceberg.Schema, options ...catalog.CreateTableOpt) (*table.Table, error)
	LoadTable(ctx context.Context, name table.Identifier) (*table.Table, error)
	CommitTable(ctx context.Context, name table.Identifier, requirements []table.Requirement, updates []table.Update) (table.Metadata, string, error)
	CommitTransaction(ctx context.Context, commits []table.TableCommit) error
}

// Open opens the folder, or connects to the catalog.
func Open(ctx context.Context, o Options) (*Lake, error) {
	if o.Folder != "" {
		c, err := folder.Open(ctx, o.Folder, o.Create)
		if err != nil {
			return nil, err
		}
		return &Lake{catalog: c, namespace: strings.Split(o.Namespace, "."), stores: o.Stores, version: o.Version}, nil
	}
	properties := storeProperties(o.Stores)
	maps.Copy(properties, o.Properties)
	options := []rest.Option{rest.WithAdditionalProps(properties)}
	if o.Warehouse != "" {
		options = append(options, rest.WithWarehouseLocation(o.Warehouse))
	}
	if token := o.Properties["token"]; token != "" {
		options = append(options, rest.WithOAuthToken(token))
	}
	if credential := o.Properties["credential"]; credential != "" {
		options = append(options, rest.WithCredential(credential))
	}
	c, err := rest.NewCatalog(ctx, "tpfleet", o.Catalog, options...)
	if err != nil {
		name := o.Catalog
		if u, err := url.Parse(name); err == nil {
			name = u.Redacted()
		}
		return nil, fmt.Errorf("catalog %s: %w", name, err)
	}
	return &Lake{catalog: c, namespace: strings.Split(o.Namespace, "."), stores: o.Stores, version: o.Version}, nil
}

// storeProperties returns the properties with which iceberg-go finds the same stores. It knows one endpoint only.
func storeProperties(stores *store.Stores) iceberg.Properties {
	p := iceberg.Properties{}
	for _, o := range stores.Options() {
		bucket, query, _ := strings.Cut(o, "?")
		values, err := url.ParseQuery(query)
		if err != nil || !strings.HasPrefix(bucket, "s3://") {
			continue
		}
		for key, property := range map[string]string{"endpoint": "s3.endpoint", "region": "s3.region"} {
			if v := values.Get(key); v != "" {
				p[property] = v
			}
		}
		if values.Get("use_path_style") == "true" {
			p["s3.force-virtual-addressing"] = "false"
		}
	}
	return p
}

func (l *Lake) identifier(name string) table.Identifier {
	return append(append(table.Identifier{}, l.namespace...), name)
}

// load reads the current state of a table.
func (l *Lake) load(ctx context.Context, name string) (*table.Table, error) {
	t, err := l.catalog.LoadTable(ctx, l.identifier(name))
	if errors.Is(err, catalog.ErrNoSuchTable) {
		return nil, fmt.Errorf("there is no table %s: run \"tpfleet init\" first", strings.Join(l.identifier(name), "."))
	}
	if err == nil {
		note(ctx, name, t.MetadataLocation())
	}
	return t, err
}

// layoutProperty is the property of the ledger with the URL of the layout.
const layoutProperty = "tpfleet.layout"

// Layout returns the URL of the layout for tasks whose rows are redacted by the rules with this digest, or task.ErrRedaction if the lake has
// others.
func (l *Lake) Layout(ctx context.Context, redaction string) (string, error) {
	ledger, err := l.load(ctx, task.Ledger)
	if err != nil {
		return "", err
	}
	url := ledger.Properties()[layoutProperty]
	if url == "" {
		return "", errIncomplete
	}
	layout, err := l.readLayout(ctx, ledger)
	if err == nil {
		err = layout.CheckRedaction(redaction)
	}
	if err == nil {
		err = complete(ledger)
	}
	return url, err
}

// complete returns an error if the ledger is of an older version, and lacks columns.
func complete(ledger *table.Table) error {
	for _, name := range columnNames(ledger) {
		if _, there := ledger.Schema().FindFieldByName(name); !there {
			return errIncomplete
		}
	}
	return nil
}

var errIncomplete = errors.New("the tables are incomplete: run \"tpfleet init\" again")
