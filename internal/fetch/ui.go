package fetch

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tpconvert/tpconvert/internal/perfetto"
)

// uiAddress is where Perfetto publishes its UI, each release in a folder of its own.
const uiAddress = "https://ui.perfetto.dev/" + perfetto.Release

// uiManifest is the file of a release that lists the others.
const uiManifest = "manifest.json"

// uiIndex is the page of a release, which is not in its manifest, and its SHA-256: that of ui/src/assets/index.html in the source.
const uiIndex = "index.html"

var uiIndexDigest = "33ae569b0cfd7ed66b2be9f649de4aaadae0dd42177643a552460a6225d2da99"

// maxUI is the maximum size of a release in bytes.
const maxUI = 256 << 20

// UIFiles returns the files of the UI if it was fetched, or nil.
func UIFiles() fs.FS {
	folder := UI.Fetched()
	if folder == "" {
		return nil
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil
	}
	return root.FS()
}

// readUI reads and checks the files of a release at an address, in a folder or in an archive.
func readUI(ctx context.Context, from string) (files, error) {
	openFile, end, err := openRelease(ctx, from)
	defer end()
	if err != nil {
		return nil, err
	}
	all, left := files{}, budget(maxUI)
	read := func(name string) ([]byte, error) {
		f, err := openFile(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		defer f.Close()
		content, err := io.ReadAll(io.LimitReader(f, int64(left)+1))
		if err == nil {
			err = left.take(int64(len(content)))
		}
		all[name] = content
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
	manifest.Resources[uiIndex] = digestIn(index)
	for _, name := range slices.Sorted(maps.Keys(manifest.Resources)) {
		if !filepath.IsLocal(filepath.FromSlash(name)) || !fs.ValidPath(name) || strings.ContainsAny(name, `\:`) {
			return nil, fmt.Errorf("%s lists %q, which is no path of a file in the release", uiManifest, name)
		}
		content, err := read(name)
		if err != nil {
			return nil, err
		}
		if got, want := digestIn(sum(content)), manifest.Resources[name]; got != want {
			return nil, fmt.Errorf("%s is another file than that of the release: its digest is %s, not %s", name, got, want)
		}
	}
	return all, nil
}

// digestIn is a SHA-256 as manifests have it.
func digestIn(digest []byte) string {
	return "sha256-" + base64.StdEncoding.EncodeToString(digest)
}

// opener opens a file of a release.
type opener func(name string) (io.ReadCloser, error)

// openRelease opens a release, until end is called.
func openRelease(ctx context.Context, from string) (file opener, end func() error, err error) {
	end = func() error { return nil }
	if isAddress(from) {
		return func(name string) (io.ReadCloser, error) { return open(ctx, strings.TrimSuffix(from, "/")+"/"+name) }, end, nil
	}
	info, err := os.Stat(from)
	if err != nil {
		return nil, end, err
	}
	if info.IsDir() {
		root, err := os.OpenRoot(from)
		if err != nil {
			return nil, end, err
		}
		file, err = below(root.FS())
		return file, root.Close, err
	}
	f, err := os.Open(from)
	if err != nil {
		return nil, end, err
	}
	if archive, err := zip.NewReader(f, info.Size()); err == nil {
		file, err = below(archive)
		return file, f.Close, err
	}
	defer f.Close()
	all, err := unpack(f, maxUI, maxUI, func(name string) string { return strings.TrimPrefix(name, "./") }, func(string) bool { return true })
	if err != nil {
		return nil, end, err
	}
	folder, err := releaseIn(func(pattern string) (found []string) {
		for name := range all {
			if ok, _ := path.Match(pattern, name); ok {
				found = append(found, name)
			}
		}
		return found
	})
	return func(name string) (io.ReadCloser, error) {
		content, ok := all[path.Join(folder, name)]
		if !ok {
			return nil, fs.ErrNotExist
		}
		return io.NopCloser(bytes.NewReader(content)), nil
	}, end, err
}

// below opens the release in a folder or archive.
func below(all fs.FS) (opener, error) {
	folder, err := releaseIn(func(pattern string) []string {
		found, _ := fs.Glob(all, pattern)
		return found
	})
	return func(name string) (io.ReadCloser, error) { return all.Open(path.Join(folder, name)) }, err
}

// releaseIn returns the folder of a release with the shortest path: all, its folder in all, or either in the top folder of an archive.
func releaseIn(glob func(pattern string) []string) (string, error) {
	for _, pattern := range []string{uiManifest, perfetto.Release + "/" + uiManifest, "*/" + uiManifest, "*/" + perfetto.Release + "/" + uiManifest} {
		if found := glob(pattern); len(found) == 1 {
			return path.Dir(found[0]), nil
		}
	}
	return "", fmt.Errorf("it has no release of Perfetto's UI: there is no %s", uiManifest)
}
