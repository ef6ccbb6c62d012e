package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tpconvert/tpconvert/internal/count"
	"github.com/tpconvert/tpconvert/rpc"
)

// uiVersion is the version of Perfetto's UI that can be fetched, the one whose calls the server answers.
const uiVersion = "v58.2"

// uiAddress is where Perfetto publishes its UI, each release in a folder of its own.
var uiAddress = "https://ui.perfetto.dev/"

// uiIndex is the page of a release, which is not in its manifest, and its SHA-256: that of ui/src/assets/index.html in the source.
const uiIndex = "index.html"

var uiIndexDigest = "33ae569b0cfd7ed66b2be9f649de4aaadae0dd42177643a552460a6225d2da99"

// maxUI is the maximum size of a release in bytes.
const maxUI = 256 << 20

func newUICommand(ui *uiOptions) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ui",
		Short: "Download Perfetto's UI, to see traces without a network",
		Long: `Perfetto's UI is not part of this program. "ui fetch" downloads a release, which
"serve" then serves together with the trace.`,
		Example: "  tpconvert ui fetch " + uiVersion,
		Args:    arguments(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	from := ""
	fetch := &cobra.Command{
		Use:   "fetch [flags] VERSION",
		Short: "Download a release of Perfetto's UI",
		Long: `Download the release VERSION of Perfetto's UI, which is ` + uiVersion + `, from
` + uiAddress + rpc.Release + ` into the user's folder for caches. "serve" then serves it
at its own address, where it needs no network.

Each file is checked against the SHA-256 in the release's manifest, and the page
against one that this program knows. The manifest itself is only as good as where
it comes from; its SHA-256 is shown.

On a machine without a network, --from takes a copy of that folder, or an archive
of it.`,
		Example: `  tpconvert ui fetch ` + uiVersion + `
  tpconvert ui fetch --from ` + rpc.Release + `.tar.gz ` + uiVersion,
		Args: arguments(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			done, err := fetchUI(cmd.Context(), args[0], from)
			if err != nil {
				return err
			}
			ui.printer(cmd).Result(done)
			return nil
		},
	}
	fetch.Flags().StringVar(&from, "from", "", "folder, archive (.zip, .tar.gz) or address of the release, instead of Perfetto's site")
	cmd.AddCommand(fetch)
	return cmd
}

// fetchedUI reports a download of the UI.
type fetchedUI struct {
	fetched
	Bytes    int64  `json:"bytes"`
	Manifest string `json:"manifest_sha256"`
}

func (f fetchedUI) text(w io.Writer) {
	fmt.Fprintf(w, "Perfetto's UI %s is in %s: %d files, %s, as its manifest says, which has the SHA-256 %s\n", f.Version, printable(f.Folder), f.Files,
		count.Bytes(f.Bytes), f.Manifest)
}

// uiFolder is the folder of the UI that "ui fetch" has downloaded.
func uiFolder() (string, error) {
	cache, err := os.UserCacheDir()
	return filepath.Join(cache, "tpconvert", "ui", uiVersion), err
}

// fetchedUIFiles returns the files of the UI that "ui fetch" has downloaded, or nil.
func fetchedUIFiles() fs.FS {
	folder, err := uiFolder()
	if err != nil {
		return nil
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil
	}
	return root.FS()
}

// fetchUI downloads a release. The folder appears complete or not at all.
func fetchUI(ctx context.Context, version, from string) (done fetchedUI, err error) {
	if version != uiVersion {
		return done, usageError{fmt.Errorf("version %q: want %s", version, uiVersion)}
	}
	folder, err := uiFolder()
	if err != nil {
		return done, err
	}
	if from == "" {
		from = uiAddress + rpc.Release
	}
	release, end, err := openRelease(ctx, from)
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, end()) }()
	files, err := uiFiles(release)
	if err != nil {
		return done, fmt.Errorf("%s: %w", from, err)
	}
	for _, content := range files {
		done.Bytes += int64(len(content))
	}
	sum := sha256.Sum256(files[uiManifest])
	done.fetched, done.Manifest = fetched{version, folder, len(files)}, hex.EncodeToString(sum[:])
	return done, publishFiles(files, folder)
}

// uiManifest is the file of a release that lists the others.
const uiManifest = "manifest.json"

// uiFiles reads and checks the files of a release.
func uiFiles(release fs.FS) (map[string][]byte, error) {
	files, room := map[string][]byte{}, int64(maxUI)
	read := func(name string) ([]byte, error) {
		f, err := release.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		content, err := io.ReadAll(io.LimitReader(f, room+1))
		if room -= int64(len(content)); room < 0 {
			return nil, fmt.Errorf("the files have more than %s", count.Bytes(maxUI))
		}
		files[name] = content
		return content, err
	}
	list, err := read(uiManifest)
	if err != nil {
		return nil, err
	}
	var manifest struct {
		Resources map[string]string `json:"resources"`
	}
	if err := json.Unmarshal(list, &manifest); err != nil {
		return nil, fmt.Errorf("%s: %w", uiManifest, err)
	}
	if manifest.Resources["frontend_bundle.js"] == "" {
		return nil, fmt.Errorf("%s is no manifest of Perfetto's UI: it does not list frontend_bundle.js", uiManifest)
	}
	index, err := hex.DecodeString(uiIndexDigest)
	if err != nil {
		return nil, err
	}
	manifest.Resources[uiIndex] = "sha256-" + base64.StdEncoding.EncodeToString(index)
	for _, name := range slices.Sorted(maps.Keys(manifest.Resources)) {
		if !filepath.IsLocal(filepath.FromSlash(name)) || !fs.ValidPath(name) || strings.ContainsAny(name, `\:`) {
			return nil, fmt.Errorf("%s lists %q, which is no path of a file in the release", uiManifest, name)
		}
		content, err := read(name)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(content)
		if got, want := "sha256-"+base64.StdEncoding.EncodeToString(sum[:]), manifest.Resources[name]; got != want {
			return nil, fmt.Errorf("%s is another file than that of the release: its digest is %s, not %s", name, got, want)
		}
	}
	return files, nil
}

// openRelease opens a release at an address, in a folder or in an archive.
func openRelease(ctx context.Context, from string) (release fs.FS, end func() error, err error) {
	nothing := func() error { return nil }
	if strings.HasPrefix(from, "http://") || strings.HasPrefix(from, "https://") {
		return site{ctx, strings.TrimSuffix(from, "/") + "/"}, nothing, nil
	}
	info, err := os.Stat(from)
	if err != nil {
		return nil, nil, err
	}
	if info.IsDir() {
		root, err := os.OpenRoot(from)
		if err != nil {
			return nil, nil, err
		}
		return below(root.FS(), root.Close, from)
	}
	f, err := os.Open(from)
	if err != nil {
		return nil, nil, err
	}
	if archive, err := zip.NewReader(f, info.Size()); err == nil {
		return below(archive, f.Close, from)
	}
	defer f.Close()
	archive, err := asZip(f)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", from, err)
	}
	return below(archive, nothing, from)
}

// below returns the folder of a release with the shortest path: all, its folder in all, or either in the top folder of an archive.
func below(all fs.FS, end func() error, from string) (fs.FS, func() error, error) {
	for _, pattern := range []string{uiManifest, rpc.Release + "/" + uiManifest, "*/" + uiManifest, "*/" + rpc.Release + "/" + uiManifest} {
		if found, _ := fs.Glob(all, pattern); len(found) == 1 {
			release, err := fs.Sub(all, path.Dir(found[0]))
			return release, end, err
		}
	}
	return nil, nil, errors.Join(fmt.Errorf("%s has no release of Perfetto's UI: there is no %s", from, uiManifest), end())
}

// asZip returns the files of a compressed tar archive as those of a ZIP file in memory.
func asZip(r io.Reader) (*zip.Reader, error) {
	plain, err := gzip.NewReader(r)
	if err != nil {
		return nil, fmt.Errorf("neither a ZIP file nor a compressed tar archive: %w", err)
	}
	var all bytes.Buffer
	w := zip.NewWriter(&all)
	limited := &io.LimitedReader{R: plain, N: maxUI}
	for entries := tar.NewReader(limited); ; {
		head, err := entries.Next()
		switch {
		case limited.N <= 0:
			return nil, fmt.Errorf("the archive has more than %s", count.Bytes(maxUI))
		case err == io.EOF:
			// The checksum of gzip follows the last entry.
			if _, err = io.Copy(io.Discard, limited); err == nil {
				err = w.Close()
			}
			if err != nil {
				return nil, fmt.Errorf("the archive is damaged or incomplete: %w", err)
			}
			return zip.NewReader(bytes.NewReader(all.Bytes()), int64(all.Len()))
		case err != nil:
			return nil, fmt.Errorf("the archive is damaged or incomplete: %w", err)
		case head.Typeflag != tar.TypeReg:
			continue
		}
		file, err := w.CreateHeader(&zip.FileHeader{Name: strings.TrimPrefix(head.Name, "./"), Method: zip.Store})
		if err == nil {
			_, err = io.Copy(file, entries)
		}
		if err != nil {
			return nil, fmt.Errorf("the archive is damaged or incomplete: %w", err)
		}
	}
}

// site is the files at an address.
type site struct {
	ctx     context.Context
	address string
}

// Open implements fs.FS.
func (s site) Open(name string) (fs.File, error) {
	body, err := openArchive(s.ctx, s.address+name)
	return download{body}, err
}

type download struct{ io.ReadCloser }

// Stat implements fs.File.
func (download) Stat() (fs.FileInfo, error) { return nil, errors.ErrUnsupported }
