package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/lake"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/store"
)

// lakeOptions are the flags that say where the tables are.
type lakeOptions struct {
	catalog, warehouse, namespace string
	properties                    map[string]string
	stores                        []string
}

func (o *lakeOptions) register(flags *pflag.FlagSet) {
	flags.StringVar(&o.catalog, "catalog", os.Getenv("TPFLEET_CATALOG"), "URL of the Iceberg REST catalog ($TPFLEET_CATALOG)")
	flags.StringVar(&o.warehouse, "warehouse", os.Getenv("TPFLEET_WAREHOUSE"), "warehouse in the catalog ($TPFLEET_WAREHOUSE)")
	flags.StringVar(&o.namespace, "namespace", "traces", "namespace of the tables, parts separated by dots")
	flags.StringToStringVar(&o.properties, "catalog-property", nil, "property of the catalog's client, such as scope=...; $TPFLEET_TOKEN and $TPFLEET_CREDENTIAL log in")
	flags.StringArrayVar(&o.stores, "store", nil, "options of a bucket, such as s3://bucket?region=us-east-1")
}

// open opens the tables, and the stores with the options of those and of the URLs.
func (o *lakeOptions) open(ctx context.Context, urls []string) (*lake.Lake, *store.Stores, []string, error) {
	if o.catalog == "" {
		return nil, nil, nil, usageError{errors.New("--catalog is missing, the URL of the catalog")}
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
	// Other users of the machine see arguments, but not the environment.
	properties := map[string]string{}
	for name, property := range map[string]string{"TPFLEET_TOKEN": "token", "TPFLEET_CREDENTIAL": "credential"} {
		if value := os.Getenv(name); value != "" {
			properties[property] = value
		}
	}
	maps.Copy(properties, o.properties)
	l, err := lake.Open(ctx, lake.Options{Catalog: o.catalog, Warehouse: o.warehouse, Namespace: o.namespace, Properties: properties, Stores: stores})
	return l, stores, bare, err
}

func newInitCommand() *cobra.Command {
	var o lakeOptions
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Create the tables, or add what a new version of tpfleet has",
		Args:  arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, _, _, err := o.open(cmd.Context(), nil)
			if err != nil {
				return err
			}
			n, err := l.Init(cmd.Context())
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%d tables in %s\n", n, o.namespace)
			return nil
		},
	}
	o.register(cmd.Flags())
	return cmd
}
