package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tpconvert/tpconvert"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/lake"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/store"
)

// lakeOptions are the flags that say where the tables are.
type lakeOptions struct {
	folder                        string
	catalog, warehouse, namespace string
	properties                    map[string]string
	stores                        []string
	create                        bool // the folder, if it is missing
}

func (o *lakeOptions) register(flags *pflag.FlagSet) {
	flags.StringVar(&o.folder, "lake", os.Getenv("TPFLEET_LAKE"), "folder of a lake that needs no server ($TPFLEET_LAKE)")
	flags.StringVar(&o.catalog, "catalog", os.Getenv("TPFLEET_CATALOG"), "URL of the Iceberg REST catalog ($TPFLEET_CATALOG)")
	flags.StringVar(&o.warehouse, "warehouse", os.Getenv("TPFLEET_WAREHOUSE"), "warehouse in the catalog ($TPFLEET_WAREHOUSE)")
	flags.StringVar(&o.namespace, "namespace", "traces", "namespace of the tables, parts separated by dots")
	flags.StringToStringVar(&o.properties, "catalog-property", nil, "property of the catalog's client, such as scope=...; $TPFLEET_TOKEN and $TPFLEET_CREDENTIAL log in")
	flags.StringArrayVar(&o.stores, "store", nil, "options of a bucket, such as s3://bucket?region=us-east-1")
}

// openTraces is open for the arguments of a command, which may name lists of URLs.
func (o *lakeOptions) openTraces(cmd *cobra.Command, args []string) (*lake.Lake, *store.Stores, []string, error) {
	urls, err := expandLists(args, cmd.InOrStdin())
	if err != nil {
		return nil, nil, nil, err
	}
	return o.open(cmd.Context(), urls)
}

// open opens the tables, and the stores with the options of those and of the URLs.
func (o *lakeOptions) open(ctx context.Context, urls []string) (*lake.Lake, *store.Stores, []string, error) {
	switch {
	case o.folder == "" && o.catalog == "":
		return nil, nil, nil, usageError{errors.New("--lake or --catalog is missing: the folder of the tables, or the URL of their catalog")}
	case o.folder != "" && o.catalog != "":
		return nil, nil, nil, usageError{errors.New("--lake and --catalog exclude each other")}
	}
	stores, err := store.New(o.stores)
	if err != nil {
		return nil, nil, nil, usageError{err}
	}
	bare := make([]string, len(urls))
	for i, url := range urls {
		if bare[i], err = stores.Take(fileURL(url)); err != nil {
			return nil, nil, nil, usageError{err}
		}
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(50) // much of a large ledger may be read at once
	}
	// Other users of the machine see arguments, but not the environment.
	properties := map[string]string{}
	for name, property := range map[string]string{"TPFLEET_TOKEN": "token", "TPFLEET_CREDENTIAL": "credential"} {
		if value := os.Getenv(name); value != "" {
			properties[property] = value
		}
	}
	maps.Copy(properties, o.properties)
	l, err := lake.Open(ctx, lake.Options{Folder: o.folder, Create: o.create, Catalog: o.catalog, Warehouse: o.warehouse, Namespace: o.namespace, Properties: properties, Stores: stores, Version: version()})
	return l, stores, bare, err
}

// makeFolder makes the tables in the folder of --lake, if it is missing. All rows are redacted by the rules.
func (o *lakeOptions) makeFolder(ctx context.Context, redact *tpconvert.Redaction) error {
	if o.folder == "" {
		return nil
	}
	if _, err := os.Stat(o.folder); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	o.create = true
	l, _, _, err := o.open(ctx, nil)
	if err != nil {
		return err
	}
	_, _, err = l.Init(ctx, false, redact.Digest())
	return err
}

func newInitCommand() *cobra.Command {
	var (
		o      lakeOptions
		single bool
		s      specOptions
		redact redactOptions
	)
	cmd := &cobra.Command{
		Use:   "init [FOLDER]",
		Short: "Create the tables, or add what a new version of tpfleet needs",
		Long: `Create the tables in FOLDER, or in a catalog. Existing tables get the columns that they lack. A folder needs no server:
its catalog is an SQLite file.

If the catalog has no transactions over several tables, each row names the attempt that made it, in trace_attempt, and
counts if the ledger names the same attempt for its trace. --single-table does so with any catalog.

With rules for redaction, commands that convert traces refuse to write other rows: they need the same rules and the same key.`,
		Example: `  tpfleet init lake/
  tpfleet init --redact '/home/[^/]+' --redact-key redact.key lake/
  tpfleet init --catalog http://catalog:19120/iceberg --warehouse lake`,
		Args: arguments(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				o.folder = args[0]
			}
			if single && o.folder != "" {
				return usageError{errors.New("--single-table is for catalogs that are servers")}
			}
			o.create = true
			l, _, _, err := o.open(cmd.Context(), nil)
			if err != nil {
				return err
			}
			specs, err := s.read()
			if err != nil {
				return err
			}
			rules, err := redact.read()
			if err != nil {
				return err
			}
			n, oneByOne, err := l.Init(cmd.Context(), single, rules.Digest(), specs...)
			if errors.Is(err, lake.ErrSpec) {
				return usageError{err}
			}
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%d tables in %s\n", n, cmp.Or(o.folder, o.namespace))
			if oneByOne {
				fmt.Fprintln(cmd.OutOrStdout(), "They are committed to one at a time: a row counts if the ledger has its trace_id and trace_attempt.")
			}
			return nil
		},
	}
	o.register(cmd.Flags())
	s.register(cmd.Flags())
	redact.register(cmd.Flags())
	cmd.Flags().BoolVar(&single, "single-table", false, "make tables for commits to one of them at a time, also if the catalog can do more")
	return cmd
}
