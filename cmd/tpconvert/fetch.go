package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/tpconvert/tpconvert/cmd/tpconvert/console"
	"github.com/tpconvert/tpconvert/internal/fetch"
	"github.com/tpconvert/tpconvert/internal/human"
	"github.com/tpconvert/tpconvert/internal/perfetto"
	"github.com/tpconvert/tpconvert/internal/terminal"
)

func newUICommand(ui *console.UI) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ui",
		Short: "Download Perfetto's UI, to see traces without a network",
		Long: `Perfetto's UI is not part of this program. "ui fetch" downloads a release, which
"serve" then serves together with the trace.`,
		Example: "  tpconvert ui fetch " + fetch.Version,
	}
	return withFetch(ui, cmd, &fetch.UI, "folder, archive (.zip, .tar.gz) or address of the release, instead of Perfetto's site", &cobra.Command{
		Short: "Download a release of Perfetto's UI",
		Long: `Download the release VERSION of Perfetto's UI, which is ` + fetch.Version + `, from
` + fetch.UI.Address + ` into the user's cache folder. "serve" then
serves it at its own address, where it needs no network.

Each file is checked against the SHA-256 in the release's manifest, and the page
against one that this program knows. The manifest itself cannot be verified, so use
a source you trust; its SHA-256 is shown.

On a machine without a network, --from takes a copy of that folder, or an archive
of it.`,
		Example: `  tpconvert ui fetch ` + fetch.Version + `
  tpconvert ui fetch --from ` + perfetto.Release + `.tar.gz ` + fetch.Version,
	})
}

func newStdlibCommand(ui *console.UI) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "stdlib",
		Short: "Download Perfetto's SQL modules and metrics",
		Long: `Perfetto's SQL modules and metrics are not part of this program. "stdlib fetch"
downloads one version of them.`,
		Example: "  tpconvert stdlib fetch " + fetch.Version,
	}
	return withFetch(ui, cmd, &fetch.Stdlib, "address or file of an archive of Perfetto's source (.tar.gz), instead of GitHub's", &cobra.Command{
		Short: "Download a version of Perfetto's SQL modules and metrics",
		Long: `Download the SQL modules and metrics of Perfetto VERSION, which is ` + fetch.Version + `, into
the user's cache folder. Commands with the flag --stdlib then use them unless the
flag is given. The files are always checked against a digest that this program
knows.`,
		Example: `  tpconvert stdlib fetch ` + fetch.Version + `
  tpconvert stdlib fetch --from perfetto-58.2.tar.gz ` + fetch.Version,
	})
}

// withFetch adds the command that downloads something.
func withFetch(ui *console.UI, cmd *cobra.Command, kind *fetch.Kind, fromHelp string, download *cobra.Command) *cobra.Command {
	cmd.Args = console.Arguments(cobra.NoArgs)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	from := ""
	download.Use = "fetch [flags] VERSION"
	download.Args = console.Arguments(cobra.ExactArgs(1))
	download.RunE = func(cmd *cobra.Command, args []string) error {
		if args[0] != fetch.Version {
			return console.Usage(fmt.Errorf("version %q: want %s", args[0], fetch.Version))
		}
		done, err := kind.Fetch(cmd.Context(), from)
		if err != nil {
			return err
		}
		ui.Printer(cmd).Result(fetched{done})
		return nil
	}
	download.Flags().StringVar(&from, "from", "", fromHelp)
	cmd.AddCommand(download)
	return cmd
}

// fetched reports a download.
type fetched struct{ fetch.Done }

func (f fetched) Text(w io.Writer) {
	if f.Manifest == "" {
		fmt.Fprintf(w, "%d files of Perfetto %s are in %s\n", f.Files, f.Version, terminal.Printable(f.Folder))
		return
	}
	fmt.Fprintf(w, "Perfetto's UI %s is in %s: %d files, %s, as its manifest says, which has the SHA-256 %s\n", f.Version, terminal.Printable(f.Folder), f.Files,
		human.Bytes(f.Bytes), f.Manifest)
}
