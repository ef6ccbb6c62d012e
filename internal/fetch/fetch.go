// Package fetch brings files that Perfetto published to this machine, and checks them by their digests.
package fetch

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/tpconvert/tpconvert/internal/perfetto"
)

// Version is the version of Perfetto whose files can be fetched.
const Version = perfetto.Version

// Kind is what can be fetched, into a folder of its own.
type Kind struct {
	name    string
	Address string // where it is published
	read    func(ctx context.Context, from string) (files, error)
}

// Kinds are what can be fetched.
var (
	UI     = Kind{"ui", uiAddress, readUI}
	Stdlib = Kind{"stdlib", "https://codeload.github.com/google/perfetto/tar.gz/refs/tags/" + Version, readStdlib}
)

// files are contents of files by their paths.
type files map[string][]byte

// Done reports a download.
type Done struct {
	Version  string `json:"version"`
	Folder   string `json:"folder"`
	Files    int    `json:"files"`
	Bytes    int64  `json:"bytes"`
	Manifest string `json:"manifest_sha256,omitempty"` // of the UI
}

// Folder is the folder of the files, whether or not they are there.
func (k *Kind) Folder() (string, error) {
	cache, err := os.UserCacheDir()
	return filepath.Join(cache, "tpconvert", k.name, Version), err
}

// Fetched returns the folder of the files if they were fetched, or "".
func (k *Kind) Fetched() string {
	folder, err := k.Folder()
	if info, missing := os.Stat(folder); err != nil || missing != nil || !info.IsDir() {
		return ""
	}
	return folder
}

// Fetch downloads the files, or takes them from elsewhere. The folder appears complete or not at all, or replaces the one that exists.
func (k *Kind) Fetch(ctx context.Context, from string) (Done, error) {
	if from == "" {
		from = k.Address
	}
	folder, err := k.Folder()
	if err != nil {
		return Done{}, err
	}
	all, err := k.read(ctx, from)
	if path := (*fs.PathError)(nil); errors.As(err, &path) && path.Path == from {
		return Done{}, err
	}
	if err != nil {
		return Done{}, fmt.Errorf("%s: %w", from, err)
	}
	done := Done{Version: Version, Folder: folder, Files: len(all)}
	for _, content := range all {
		done.Bytes += int64(len(content))
	}
	if manifest, ok := all[uiManifest]; ok {
		done.Manifest = fmt.Sprintf("%x", sum(manifest))
	}
	return done, all.publish(folder)
}

func (all files) publish(folder string) error {
	if err := os.MkdirAll(filepath.Dir(folder), 0o777); err != nil {
		return err
	}
	draft, err := os.MkdirTemp(filepath.Dir(folder), ".draft-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(draft)
	for name, content := range all {
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

func isAddress(from string) bool {
	return strings.HasPrefix(from, "http://") || strings.HasPrefix(from, "https://")
}

// open opens a file or a download.
func open(ctx context.Context, from string) (io.ReadCloser, error) {
	if !isAddress(from) {
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
		return nil, errors.Join(errors.New(response.Status), response.Body.Close())
	}
	return response.Body, nil
}

// budget is how many bytes of files may still come.
type budget int64

func (b *budget) take(n int64) error {
	if *b -= budget(n); *b < 0 {
		return errors.New("the files are larger than those of any release")
	}
	return nil
}

// unpack reads the files of a compressed tar archive of at most so many bytes that keep accepts, by the paths that cut makes of theirs.
func unpack(r io.Reader, most int64, left budget, cut func(string) string, keep func(string) bool) (files, error) {
	plain, err := gzip.NewReader(r)
	if err != nil {
		return nil, fmt.Errorf("no compressed tar archive: %w", err)
	}
	all := files{}
	limited := &io.LimitedReader{R: plain, N: most}
	for entries := tar.NewReader(limited); ; {
		head, err := entries.Next()
		if err == nil && head.Typeflag == tar.TypeReg {
			if name := cut(head.Name); fs.ValidPath(name) && keep(name) {
				if err := left.take(head.Size); err != nil {
					return nil, err
				}
				all[name], err = io.ReadAll(entries)
			}
		}
		ends := err == io.EOF
		if ends { // the checksum of gzip follows the last entry
			_, err = io.Copy(io.Discard, limited)
		}
		switch {
		case limited.N <= 0:
			return nil, fmt.Errorf("the archive has more than %d bytes", most)
		case err != nil:
			return nil, fmt.Errorf("the archive is damaged or incomplete: %w", err)
		case ends:
			return all, nil
		}
	}
}
