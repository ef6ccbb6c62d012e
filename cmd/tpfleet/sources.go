package main

import (
	"cmp"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"
)

// dbtSources is a file of dbt with sources.
type dbtSources struct {
	Version int         `yaml:"version"`
	Sources []dbtSource `yaml:"sources"`
}

type dbtSource struct {
	Name        string     `yaml:"name"`
	Description string     `yaml:"description"`
	Database    string     `yaml:"database,omitempty"`
	Schema      string     `yaml:"schema"`
	Tables      []dbtTable `yaml:"tables"`
}

type dbtTable struct {
	Name        string      `yaml:"name"`
	Description string      `yaml:"description,omitempty"`
	Columns     []dbtColumn `yaml:"columns"`
}

type dbtColumn struct {
	Name        string `yaml:"name"`
	Description string `yaml:"description,omitempty"`
	Type        string `yaml:"data_type"`
}

func newSourcesCommand() *cobra.Command {
	var (
		o              lakeOptions
		name, database string
	)
	cmd := &cobra.Command{
		Use:   "sources",
		Short: "Describe the tables and their columns as sources of dbt",
		Long: `Print sources.yml for dbt: all tables with their columns, types and comments, as the catalog has them. Types have names that
Spark, Databricks and DuckDB know.`,
		Example: `  tpfleet sources --lake lake/ >models/sources.yml
  tpfleet sources --name fleet --database lake >models/sources.yml`,
		Args: arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, _, _, err := o.open(cmd.Context(), nil)
			if err != nil {
				return err
			}
			all, err := l.Describe(cmd.Context())
			if err != nil {
				return err
			}
			s := dbtSource{Name: cmp.Or(name, o.namespace), Description: "Traces of a fleet in the tables of tpconvert, by tpfleet.", Database: database, Schema: o.namespace}
			for _, t := range all {
				table := dbtTable{Name: t.Name, Description: t.Comment}
				for _, c := range t.Columns {
					table.Columns = append(table.Columns, dbtColumn{c.Name, c.Comment, c.Type})
				}
				s.Tables = append(s.Tables, table)
			}
			w := yaml.NewEncoder(cmd.OutOrStdout())
			w.SetIndent(2)
			if err := w.Encode(dbtSources{2, []dbtSource{s}}); err != nil {
				return err
			}
			return w.Close()
		},
	}
	o.register(cmd.Flags())
	cmd.Flags().StringVar(&name, "name", "", "name of the source; by default the namespace")
	cmd.Flags().StringVar(&database, "database", "", "database of the source, such as the catalog's name in Spark or DuckDB")
	return cmd
}
