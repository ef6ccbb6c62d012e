package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tpconvert/tpconvert/model/schema"
	"github.com/tpconvert/tpconvert/model/table"
)

func newTablesCommand(ui *uiOptions) *cobra.Command {
	var planned bool
	cmd := &cobra.Command{
		Use:   "tables [TABLE...]",
		Short: "Describe the tables of a dataset and their columns",
		Long: `Describe the tables of a dataset: their columns, of what type, and what they
mean. A type with a question mark can be NULL. Tables that nothing fills yet are
described where they are named, or with --planned.`,
		Example: `  tpconvert tables slice thread
  tpconvert tables --json | jq -r .name`,
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			return tableCompletions(args), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			schemas := schema.All()
			for _, name := range args {
				if !slices.ContainsFunc(schemas, func(s *table.Schema) bool { return s.Name == name }) {
					return usageError{fmt.Errorf("there is no table %q; see tpconvert tables", name)}
				}
			}
			printer := ui.printer(cmd)
			for _, s := range schemas {
				if len(args) == 0 && (planned || !s.Planned) || slices.Contains(args, s.Name) {
					printer.Result(describe(s))
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&planned, "planned", false, "describe tables that nothing fills yet too")
	return cmd
}

// description is what is declared of a table.
type description struct {
	Name    string              `json:"name"`
	Parent  string              `json:"parent,omitempty"`
	Doc     string              `json:"doc"`
	Core    bool                `json:"core"`    // in every dataset
	Planned bool                `json:"planned"` // not filled yet
	Columns []columnDescription `json:"columns"`
}

type columnDescription struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	Nullable bool   `json:"nullable"`
	Ref      string `json:"ref,omitempty"` // table whose ids these are
	Doc      string `json:"doc"`
}

func describe(s *table.Schema) description {
	d := description{Name: s.Name, Parent: s.Parent, Doc: s.Doc, Core: s.Core, Planned: s.Planned}
	for _, c := range s.Columns {
		d.Columns = append(d.Columns, columnDescription{c.Name, c.Type.String(), c.Nullable, c.Ref, c.Doc})
	}
	return d
}

func (d description) text(w io.Writer) {
	name := d.Name
	if d.Parent != "" {
		name += ", a " + d.Parent
	}
	if d.Planned {
		name += " (planned)"
	}
	fmt.Fprintf(w, "%s\n  %s\n", name, d.Doc)
	for _, c := range d.Columns {
		kind := c.Type
		if c.Nullable {
			kind += "?"
		}
		fmt.Fprintf(w, "    %-26s %-8s  %s\n", c.Name, kind, c.Doc)
	}
	fmt.Fprintln(w)
}

// tableCompletions lists the tables that can have a file and are not given yet.
func tableCompletions(given []string) []string {
	var all []string
	for _, s := range schema.All() {
		if !s.Abstract && !slices.Contains(given, s.Name) {
			all = append(all, cobra.CompletionWithDesc(s.Name, s.Doc))
		}
	}
	return all
}

// completeTableList completes the last of a list of tables.
func completeTableList(_ *cobra.Command, _ []string, list string) ([]string, cobra.ShellCompDirective) {
	given := strings.Split(list, ",")
	last := given[len(given)-1]
	var all []string
	for _, name := range tableCompletions(given[:len(given)-1]) {
		all = append(all, strings.TrimSuffix(list, last)+name)
	}
	return all, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}
