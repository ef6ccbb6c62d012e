package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tpconvert/tpconvert/cmd/tpconvert/console"
	"github.com/tpconvert/tpconvert/cmd/tpconvert/inputs"
	"github.com/tpconvert/tpconvert/export"
	"github.com/tpconvert/tpconvert/internal/human"
	"github.com/tpconvert/tpconvert/model/schema"
	"github.com/tpconvert/tpconvert/sqlfuncs/derive"
	"github.com/tpconvert/tpconvert/sqlfuncs/session"
)

// deriveOptions are the flags of the derive command.
type deriveOptions struct {
	remove bool
	stdlib string
}

func newDeriveCommand(ui *console.UI) *cobra.Command {
	var o deriveOptions
	cmd := &cobra.Command{
		Use:   "derive [flags] FILE... OUT",
		Short: "Add events, annotations and alerts from queries to a dataset",
		Long: `Run the queries that each FILE defines on the dataset OUT, and add their rows to
the tables slice, counter, track, annotation and alert, beside those of the trace.
FILE is YAML, or "` + derive.BuiltinName + `", tpconvert's own definitions. For example:

    events:
      long_tasks:
        query: SELECT ts, dur, name, utid FROM thread_slice WHERE dur > 50000000
    annotations:
      requests:
        query: |
          SELECT id AS slice_id, extract_arg(arg_set_id, 'args.data.url') AS url
          FROM slice WHERE name = 'ResourceSendRequest'
        text: requests {url}
        link: "{url}"
    alerts:
      slow_task:
        query: SELECT id AS slice_id, ts, dur, name FROM slice WHERE dur > 1000000000
        level: error
        text: "{name} took {dur} ns"

Queries are DuckDB's SQL or, in a file with the line "dialect: perfetto",
PerfettoSQL. They see the trace as it was converted, without derived rows. Those go
into files of their own: query and register show them with --derived, and serve
always does. A definition replaces an earlier one with the same name.
--remove NAME... OUT removes derived rows again; without NAME, all of them. OUT
changes completely or not at all; in a dataset of many traces, each trace does.`,
		Example: `  tpconvert derive definitions.yaml out/
  tpconvert derive builtin definitions.yaml out/
  tpconvert derive --remove long_tasks out/
  tpconvert derive --remove out/`,
		Args: console.Arguments(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			last := len(args) - 1
			all, err := o.run(cmd.Context(), args[:last], args[last])
			if err == nil {
				ui.Printer(cmd).Result(all)
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&o.remove, "remove", false, "remove derived rows, by the names of their definitions")
	cmd.Flags().StringVar(&o.stdlib, "stdlib", "", inputs.StdlibHelp)
	return cmd
}

func (o *deriveOptions) run(ctx context.Context, args []string, out string) (derivations, error) {
	if !export.IsDataset(out) {
		return nil, fmt.Errorf("%s is not a dataset of tpconvert", out)
	}
	manifests, many, err := export.ReadManifests(out)
	if err != nil {
		return nil, err
	}
	var edit func([]derive.Definition) []derive.Definition
	if o.remove {
		edit, err = removal(args, manifests)
	} else {
		edit, err = addition(args)
	}
	if err != nil {
		return nil, err
	}
	var all derivations
	for _, m := range manifests {
		id := ""
		if many {
			id = m.TraceID
		}
		if err := o.trace(ctx, out, id, edit, &all); err != nil {
			if many {
				err = fmt.Errorf("trace %s: %w", id, err)
			}
			return nil, err
		}
	}
	return all, nil
}

// removal returns a function that removes the definitions of these names, or all if there are none.
func removal(names []string, from []*export.Manifest) (func([]derive.Definition) []derive.Definition, error) {
	var known []string
	for _, m := range from {
		for _, d := range m.Derived {
			known = append(known, d.Name)
		}
	}
	slices.Sort(known)
	known = slices.Compact(known)
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, console.Usage(fmt.Errorf("nothing named %s was derived, but: %s", name, strings.Join(known, ", ")))
		}
	}
	return func(all []derive.Definition) []derive.Definition {
		return slices.DeleteFunc(all, func(d derive.Definition) bool { return len(names) == 0 || slices.Contains(names, d.Name) })
	}, nil
}

// addition returns a function that adds the definitions of files, in place of those with the same names.
func addition(files []string) (func([]derive.Definition) []derive.Definition, error) {
	added, err := readDefinitions(files)
	if err != nil {
		return nil, err
	}
	return func(all []derive.Definition) []derive.Definition {
		for _, d := range added {
			if i := slices.IndexFunc(all, func(old derive.Definition) bool { return old.Name == d.Name }); i >= 0 {
				all[i] = d
			} else {
				all = append(all, d)
			}
		}
		return all
	}, nil
}

// readDefinitions reads the definitions in files, or those that are built in.
func readDefinitions(files []string) ([]derive.Definition, error) {
	if len(files) == 0 {
		return nil, console.Usage(errors.New("FILE is missing, the definitions of what to derive; " + derive.BuiltinName + " are those of tpconvert"))
	}
	var all []derive.Definition
	from := map[string]string{}
	for _, file := range files {
		definitions, err := derive.Builtin()
		if file != derive.BuiltinName {
			var text []byte
			if text, err = os.ReadFile(file); err == nil {
				definitions, err = derive.Parse(file, text)
			}
		}
		if err != nil {
			return nil, err
		}
		for _, d := range definitions {
			if other, ok := from[d.Name]; ok {
				return nil, fmt.Errorf("both %s and %s define %s", other, file, d.Name)
			}
			from[d.Name] = file
			all = append(all, d)
		}
	}
	return all, nil
}

// trace changes what is derived from a trace.
func (o *deriveOptions) trace(ctx context.Context, out, id string, edit func([]derive.Definition) []derive.Definition, all *derivations) (err error) {
	e, err := export.Extend(out, id, export.Options{Schemas: schema.All(), Version: console.Version()})
	if err != nil {
		return err
	}
	defer e.Abort()
	var definitions []derive.Definition
	for _, d := range e.Earlier {
		definitions = append(definitions, derive.Stored(d))
	}
	evaluator := derive.Evaluator{Open: func(ctx context.Context, perfetto bool) (*session.Session, error) {
		s, err := session.New(ctx, session.Options{Perfetto: perfetto, Modules: inputs.Modules(o.stdlib), NoComments: true})
		if err != nil {
			return nil, err
		}
		if id == "" {
			err = s.OpenDataset(ctx, e.Folder)
		} else {
			err = s.OpenFolder(ctx, e.Folder, id)
		}
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		return s, nil
	}}
	defer func() { err = errors.Join(err, evaluator.Close()) }()
	if err := evaluator.Apply(ctx, e, edit(definitions)); err != nil {
		return err
	}
	*all = append(*all, derivationsOf(e.Manifest, id != "")...)
	return nil
}

// derivation tells what a definition gave.
type derivation struct {
	TraceID string `json:"trace_id,omitempty"`
	Kind    string `json:"kind"`
	Name    string `json:"name"`
	Rows    int64  `json:"rows"`
}

type derivations []derivation

// derivationsOf tells what is derived from a trace.
func derivationsOf(m *export.Manifest, many bool) (all derivations) {
	for _, d := range m.Derived {
		one := derivation{Kind: d.Kind, Name: d.Name, Rows: d.Rows}
		if many {
			one.TraceID = m.TraceID
		}
		all = append(all, one)
	}
	return all
}

func (all derivations) Text(w io.Writer) {
	for _, d := range all {
		if d.TraceID != "" {
			fmt.Fprintf(w, "%s  ", d.TraceID)
		}
		fmt.Fprintf(w, "%s %s: %s rows\n", d.Kind, d.Name, human.Count(d.Rows))
	}
}
