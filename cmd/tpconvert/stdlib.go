package main

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// stdlibVersion is the version of Perfetto whose modules are used if --stdlib names no folder.
const stdlibVersion = "v58.2"

// sessionMemoryHelp describes --session-memory.
const sessionMemoryHelp = "memory that the statements and tables of a session may take besides the dataset's columns; a statement that needs more fails"

// stdlibHelp describes --stdlib.
const stdlibHelp = "folder of the modules for INCLUDE PERFETTO MODULE, or a checkout of Perfetto; by default what \"stdlib fetch\" has downloaded"

// stdlibDigests are the versions that can be fetched. A digest is the SHA-256 of the output of sha256sum for the files that
// fetchable selects, in order of their paths. Unlike the bytes of GitHub's archives, it never changes:
//
//	(find src/trace_processor/perfetto_sql/stdlib src/trace_processor/metrics/sql -name '*.sql'
//	 find src/trace_processor/plugins/wattson/data -name '*.csv'
//	 echo python/perfetto/trace_processor/metrics.descriptor) | LC_ALL=C sort | xargs sha256sum | sha256sum
var stdlibDigests = map[string]string{
	stdlibVersion: "3f7df0da55092f8686dfe93435d6807d3091e62c62d5065631d0bd7a77e61476",
}

// stdlibArchive is the address of a version's source.
const stdlibArchive = "https://codeload.github.com/google/perfetto/tar.gz/refs/tags/"

// fetchable reports whether a file of Perfetto's source belongs to the modules and metrics.
func fetchable(file string) bool {
	switch path.Ext(file) {
	case ".sql":
		return strings.HasPrefix(file, "src/trace_processor/perfetto_sql/stdlib/") || strings.HasPrefix(file, "src/trace_processor/metrics/sql/")
	case ".csv":
		return strings.HasPrefix(file, "src/trace_processor/plugins/wattson/data/")
	}
	return file == "python/perfetto/trace_processor/metrics.descriptor"
}

func newStdlibCommand(ui *uiOptions) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "stdlib",
		Short: "Download Perfetto's SQL modules and metrics",
		Long: `Perfetto's SQL modules and metrics are not part of this program. "stdlib fetch"
downloads those of a version.`,
		Example: "  tpconvert stdlib fetch " + stdlibVersion,
		Args:    arguments(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	from := ""
	fetch := &cobra.Command{
		Use:   "fetch [flags] VERSION",
		Short: "Download Perfetto's SQL modules and metrics of a version",
		Long: `Download the SQL modules and metrics of Perfetto VERSION, which is ` + strings.Join(slices.Sorted(maps.Keys(stdlibDigests)), " or ") + `, into
the user's folder for caches. Commands with the flag --stdlib then use them
if the flag is not given. The files are checked against a digest that this
program knows, wherever they come from.`,
		Example: `  tpconvert stdlib fetch ` + stdlibVersion + `
  tpconvert stdlib fetch --from perfetto-58.2.tar.gz ` + stdlibVersion,
		Args: arguments(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			done, err := fetchStdlib(cmd.Context(), args[0], from)
			if err != nil {
				return err
			}
			ui.printer(cmd).Result(done)
			return nil
		},
	}
	fetch.Flags().StringVar(&from, "from", "", "address or file of an archive of Perfetto's source (.tar.gz), instead of GitHub's")
	cmd.AddCommand(fetch)
	return cmd
}

// fetched reports a download.
type fetched struct {
	Version string `json:"version"`
	Folder  string `json:"folder"`
	Files   int    `json:"files"`
}

func (f fetched) text(w io.Writer) {
	fmt.Fprintf(w, "%d files of Perfetto %s are in %s\n", f.Files, f.Version, printable(f.Folder))
}

// stdlibFolder is the folder of a version's files.
func stdlibFolder(version string) (string, error) {
	cache, err := os.UserCacheDir()
	return filepath.Join(cache, "tpconvert", "stdlib", version), err
}

// stdlib returns the folder of --stdlib or, failing that, of the modules that "stdlib fetch" has downloaded, or "".
func stdlib(flag string) string {
	if flag != "" {
		return flag
	}
	folder, err := stdlibFolder(stdlibVersion)
	if info, missing := os.Stat(folder); err != nil || missing != nil || !info.IsDir() {
		return ""
	}
	return folder
}

// fetchStdlib downloads a version's files. The folder appears complete or not at all.
func fetchStdlib(ctx context.Context, version, from string) (done fetched, err error) {
	digest, ok := stdlibDigests[version]
	if !ok {
		return done, usageError{fmt.Errorf("version %q: want %s", version, strings.Join(slices.Sorted(maps.Keys(stdlibDigests)), " or "))}
	}
	folder, err := stdlibFolder(version)
	if err != nil {
		return done, err
	}
	if from == "" {
		from = stdlibArchive + version
	}
	archive, err := openArchive(ctx, from)
	if err != nil {
		return done, err
	}
	defer archive.Close()
	files, err := stdlibFiles(archive)
	if err != nil {
		return done, fmt.Errorf("%s: %w", from, err)
	}
	if got := digestOf(files); got != digest {
		return done, fmt.Errorf("%s has other files than Perfetto %s: %d files with the digest %s, not %s", from, version, len(files), got, digest)
	}
	return fetched{version, folder, len(files)}, publishFiles(files, folder)
}

// openArchive opens a file or a download.
func openArchive(ctx context.Context, from string) (io.ReadCloser, error) {
	if !strings.HasPrefix(from, "http://") && !strings.HasPrefix(from, "https://") {
		return os.Open(from)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("%w; --from takes another address, or a file", err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, errors.Join(fmt.Errorf("%s: %s", from, response.Status), response.Body.Close())
	}
	return response.Body, nil
}

// Limits on an archive of Perfetto's source. Its files for stdlib have 3 MB in all.
const (
	maxArchive     = 4 << 30 // bytes, decompressed
	maxStdlibBytes = 64 << 20
)

// stdlibFiles reads the fetchable files of an archive, by path without the archive's top folder.
func stdlibFiles(archive io.Reader) (map[string][]byte, error) {
	plain, err := gzip.NewReader(archive)
	if err != nil {
		return nil, err
	}
	limited := &io.LimitedReader{R: plain, N: maxArchive}
	files, room := map[string][]byte{}, int64(maxStdlibBytes)
	for entries := tar.NewReader(limited); ; {
		head, err := entries.Next()
		switch {
		case limited.N <= 0:
			return nil, fmt.Errorf("the archive has more than %d bytes", int64(maxArchive))
		case err == io.EOF:
			// The checksum of gzip follows the last entry.
			if _, err := io.Copy(io.Discard, limited); err != nil {
				return nil, fmt.Errorf("the archive is damaged or incomplete: %w", err)
			}
			return files, nil
		case err != nil:
			return nil, fmt.Errorf("the archive is damaged or incomplete: %w", err)
		}
		_, name, _ := strings.Cut(head.Name, "/")
		if head.Typeflag != tar.TypeReg || !fs.ValidPath(name) || !fetchable(name) {
			continue
		}
		if room -= head.Size; room < 0 {
			return nil, fmt.Errorf("the modules and metrics have more than %d bytes", maxStdlibBytes)
		}
		if files[name], err = io.ReadAll(entries); err != nil {
			return nil, fmt.Errorf("the archive is damaged or incomplete: %w", err)
		}
	}
}

func digestOf(files map[string][]byte) string {
	all := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(all, "%x  %s\n", sha256.Sum256(files[name]), name)
	}
	return hex.EncodeToString(all.Sum(nil))
}

// publishFiles writes files into a new folder, or replaces the one that exists.
func publishFiles(files map[string][]byte, folder string) error {
	if err := os.MkdirAll(filepath.Dir(folder), 0o777); err != nil {
		return err
	}
	draft, err := os.MkdirTemp(filepath.Dir(folder), ".draft-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(draft)
	for name, content := range files {
		file := filepath.Join(draft, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(file, content, 0o666); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	return os.Rename(draft, folder)
}
