package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tpconvert/tpconvert/cmd/tpconvert/console"
	"github.com/tpconvert/tpconvert/model/schema"
	"github.com/tpconvert/tpconvert/model/table"
	"github.com/tpconvert/tpconvert/sqlfuncs"
)

func newTablesCommand(ui *console.UI) *cobra.Command {
	var planned bool
	cmd := &cobra.Command{
		Use:   "tables [TABLE...]",
		Short: "Describe the tables of a dataset, their columns, and the SQL views and functions",
		Long: `Describe the tables of a dataset, and the type and meaning of their columns. A
type with a question mark can be NULL. Without TABLE, list each table on one line,
followed by the views and functions that query and register add. --planned also
lists tables that are not filled yet.`,
		Example: `  tpconvert tables slice thread
  tpconvert tables --json | jq -r .name`,
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			return tableCompletions(args), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			all := descriptions()
			var names []string
			for _, d := range all {
				names = append(names, d.Name)
			}
			for _, name := range args {
				if !slices.ContainsFunc(all, func(d description) bool { return d.Name == name }) {
					if _, err := os.Stat(name); err == nil {
						return console.Usage(fmt.Errorf("there is no table %q; tpconvert inspect %s shows the tables of a trace or dataset", name, name))
					}
					return console.Usage(fmt.Errorf("there is no table %q%s; see tpconvert tables", name, suggested(name, "", names)))
				}
			}
			printer := ui.Printer(cmd)
			for _, d := range all {
				switch {
				case slices.Contains(args, d.Name):
					printer.Result(d)
				case len(args) == 0 && (planned || !d.Planned):
					printer.Result(listed{d})
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&planned, "planned", false, "also list tables that are not filled yet")
	return cmd
}

// description describes a table, view or function.
type description struct {
	Name    string              `json:"name"`
	Kind    string              `json:"kind"` // table, view or function
	Parent  string              `json:"parent,omitempty"`
	Doc     string              `json:"doc"`
	Core    bool                `json:"core"`              // in every dataset
	Planned bool                `json:"planned"`           // not filled yet
	Columns []columnDescription `json:"columns,omitempty"` // of a table
}

type columnDescription struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	Nullable bool   `json:"nullable"`
	Ref      string `json:"ref,omitempty"` // table that the ids refer to
	Doc      string `json:"doc"`
}

// descriptions returns descriptions of all tables, then of all views and functions.
func descriptions() []description {
	var all []description
	for _, s := range schema.All() {
		all = append(all, describe(s))
	}
	for _, m := range sqlfuncs.Macros(sqlfuncs.OneTrace) {
		declared := slices.ContainsFunc(all, func(d description) bool { return d.Name == m.Name })
		if m.IsHelper() || declared {
			continue
		}
		kind := "function"
		if m.Kind == "VIEW" {
			kind = "view"
		}
		all = append(all, description{Name: m.Name, Kind: kind, Doc: m.Doc})
	}
	return all
}

func describe(s *table.Schema) description {
	d := description{Name: s.Name, Kind: "table", Parent: s.Parent, Doc: s.Doc, Core: s.Core, Planned: s.Planned}
	for _, c := range s.Columns {
		d.Columns = append(d.Columns, columnDescription{c.Name, c.Type.String(), c.Nullable, c.Ref, c.Doc})
	}
	return d
}

func (d description) Text(w io.Writer) {
	name := d.Name
	if d.Parent != "" {
		name += ", a " + d.Parent
	}
	if d.Kind != "table" {
		name += ", a " + d.Kind
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

// mostListed are the characters of a line in a list.
const mostListed = 120

// listed is a description of which people see a line.
type listed struct{ description }

func (d listed) Text(w io.Writer) {
	name := d.Name
	if d.Kind != "table" {
		name += ", a " + d.Kind
	}
	doc, _, _ := strings.Cut(strings.TrimSuffix(d.Doc, "."), ". ")
	line := []rune(fmt.Sprintf("%-37s %s", name, doc))
	if len(line) > mostListed {
		line = append(line[:mostListed-1], '…')
	}
	fmt.Fprintln(w, string(line))
}

// tableCompletions lists the tables that can have a file, except those already given.
func tableCompletions(given []string) []string {
	var all []string
	for _, s := range schema.All() {
		if !s.Abstract && !slices.Contains(given, s.Name) {
			all = append(all, cobra.CompletionWithDesc(s.Name, s.Doc))
		}
	}
	return all
}

// completeTableList completes the last name in a list of tables.
func completeTableList(_ *cobra.Command, _ []string, list string) ([]string, cobra.ShellCompDirective) {
	given := strings.Split(list, ",")
	last := given[len(given)-1]
	var all []string
	for _, name := range tableCompletions(given[:len(given)-1]) {
		all = append(all, strings.TrimSuffix(list, last)+name)
	}
	return all, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}
