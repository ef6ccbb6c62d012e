package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tpconvert/tpconvert/cmd/tpconvert/console"
	"github.com/tpconvert/tpconvert/cmd/tpconvert/inputs"
	"github.com/tpconvert/tpconvert/export"
	"github.com/tpconvert/tpconvert/export/staging"
	"github.com/tpconvert/tpconvert/sqlfuncs"
	"github.com/tpconvert/tpconvert/sqlfuncs/session"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqltext"
)

// registerOptions are the flags of the register command.
type registerOptions struct {
	paths       string
	materialize bool
	derived     bool
	replace     bool // replace the file if it exists
}

func (o *registerOptions) register(flags *pflag.FlagSet) {
	flags.StringVar(&o.paths, "paths", "absolute", "how the DuckDB file names Parquet files: absolute, or relative to its folder")
	flags.BoolVar(&o.materialize, "materialize", false, "copy the rows into the DuckDB file")
}

func newRegisterCommand() *cobra.Command {
	var o registerOptions
	cmd := &cobra.Command{
		Use:   "register [flags] OUT FILE",
		Short: "Make a DuckDB file with the tables of a dataset and the functions of Trace Processor",
		Long: `Make a DuckDB file with every table of the dataset OUT and the functions and
operators of Trace Processor. Any DuckDB client can open it. The tables are
views of the Parquet files unless --materialize is given.

DuckDB resolves relative paths against the working folder of the process that
queries, or its setting file_search_path. With --paths relative, change to the
folder of FILE before you open it. FILE is written completely or not at all.`,
		Example: `  tpconvert register out/ trace.duckdb
  duckdb trace.duckdb "SELECT name, dur FROM slice ORDER BY dur DESC LIMIT 10"`,
		Args: console.Arguments(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.registerFile(cmd.Context(), args[0], args[1])
		},
	}
	o.register(cmd.Flags())
	cmd.Flags().BoolVar(&o.derived, "derived", false, inputs.DerivedHelp)
	cmd.Flags().BoolVarP(&o.replace, "force", "f", false, "replace FILE if it was made by tpconvert")
	return cmd
}

// registerFile registers the dataset at out in a DuckDB file.
func (o *registerOptions) registerFile(ctx context.Context, out, file string) error {
	if err := o.admit(ctx, file); err != nil {
		return err
	}
	dataset, err := sqlfuncs.ReadDataset(out, o.derived)
	if err != nil {
		return err
	}
	if file, err = filepath.Abs(file); err != nil {
		return err
	}
	folder := filepath.Dir(file)
	if o.paths == "relative" {
		path, err := filepath.Rel(folder, dataset.Path)
		if err != nil {
			return err
		}
		dataset.Path = filepath.ToSlash(path)
	}
	// Several processes may register at once: each writes its own draft, and the last one to finish wins.
	prefix := "." + filepath.Base(file) + ".tpconvert-"
	if err := staging.Sweep(folder, prefix, nil); err != nil {
		return err
	}
	stage, err := staging.New(folder, prefix)
	if err != nil {
		return err
	}
	draft := filepath.Join(stage.Path, filepath.Base(file))
	if err := writeDatabase(ctx, draft, folder, *dataset, o.materialize); err != nil {
		return errors.Join(fmt.Errorf("%s: %w", file, err), stage.Remove())
	}
	return errors.Join(os.Rename(draft, file), stage.Remove())
}

// writeDatabase writes a DuckDB file of the dataset, whose path may be relative to the folder.
func writeDatabase(ctx context.Context, file, folder string, dataset sqlfuncs.Dataset, materialize bool) error {
	d, err := session.OpenDatabase(ctx)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Attach(ctx, file, ""); err != nil {
		return err
	}
	if err := d.Exec(ctx, "SET file_search_path = "+sqltext.QuoteText(folder)); err != nil {
		return err
	}
	if err := sqlfuncs.Register(ctx, d.Conn, dataset, materialize); err != nil {
		return err
	}
	if err := sqlfuncs.CommentColumns(ctx, d.Conn); err != nil {
		return err
	}
	if err := sqlfuncs.DemangleNames(ctx, d.Conn); err != nil {
		return err
	}
	return d.Detach(ctx)
}

// admit checks the options, and that the DuckDB file does not exist or may be replaced.
func (o *registerOptions) admit(ctx context.Context, file string) error {
	if o.paths != "absolute" && o.paths != "relative" {
		return console.Usage(fmt.Errorf("--paths %q: want absolute or relative", o.paths))
	}
	d, err := session.OpenDatabase(ctx)
	if err != nil {
		return err
	}
	defer d.Close()
	if info, err := os.Stat(filepath.Dir(file)); err != nil || !info.IsDir() {
		return fmt.Errorf("%w %s: there is no folder %s", export.ErrTarget, file, filepath.Dir(file))
	}
	if info, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err == nil && info.IsDir() {
		return fmt.Errorf("%s is a folder, not a DuckDB file", file)
	}
	// DuckDB reports a lock while another registration checks the file.
	lock, err := staging.WaitLock(filepath.Dir(file))
	if err != nil {
		return staging.Error(filepath.Dir(file), err)
	}
	defer lock.Close()
	if err := d.Attach(ctx, file, ""); err != nil {
		return err
	}
	_, err = sqlfuncs.Registered(ctx, d.Conn)
	if err := d.Detach(ctx); err != nil {
		return err
	}
	if errors.Is(err, sqlfuncs.ErrForeign) {
		return fmt.Errorf("%s exists and is %w", file, err)
	}
	if !o.replace {
		return fmt.Errorf("%s %w", file, export.ErrExists)
	}
	return nil
}
