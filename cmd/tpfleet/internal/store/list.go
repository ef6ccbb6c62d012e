package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"gocloud.dev/blob"
)

// List calls found with the objects that a URL names: one object, those that match a glob, or, if it ends with a
// slash, all below a prefix. * and ? match anything but a slash, ** matches slashes too. Hidden files and folders
// are left out. It is ErrNone if there are none.
func (s *Stores) List(ctx context.Context, text string, found func(Object)) error {
	n := 0
	count := func(o Object) { n++; found(o) }
	var err error
	prefix := text
	match := func(name string) bool { return true }
	if i := strings.IndexAny(text, "*?["); i >= 0 {
		prefix = text[:strings.LastIndex(text[:i], "/")+1]
		if match, err = glob(text); err != nil {
			return err
		}
	} else if !strings.HasSuffix(text, "/") {
		match = func(name string) bool { return name == text }
	}
	if strings.HasPrefix(text, "file://") {
		err = listFiles(ctx, prefix, match, count)
	} else {
		err = s.listBucket(ctx, prefix, match, count)
	}
	if err == nil && n == 0 {
		err = fmt.Errorf("%s: %w", text, ErrNone)
	}
	return err
}

// ErrNone is wrapped if a URL names no object.
var ErrNone = errors.New("there is no such object")

func (s *Stores) listBucket(ctx context.Context, prefix string, match func(string) bool, found func(Object)) error {
	b, key, err := s.bucket(ctx, prefix)
	if err != nil {
		return err
	}
	name := strings.TrimSuffix(prefix, key)
	if key == "" {
		name = strings.TrimSuffix(prefix, "/") + "/"
	}
	token := blob.FirstPageToken
	for {
		var page []*blob.ListObject
		err := s.retry(ctx, prefix, func() (err error) {
			var next []byte
			if page, next, err = b.ListPage(ctx, token, 1000, &blob.ListOptions{Prefix: key}); err == nil {
				token = next
			}
			return err
		})
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("%s: %w", prefix, err)
		}
		for _, o := range page {
			if !o.IsDir && !hidden(o.Key[len(key):]) && match(name+o.Key) {
				found(object(name+o.Key, o.Size, etagOf(o), o.ModTime))
			}
		}
		if token == nil || err != nil {
			return nil
		}
	}
}

// hidden reports whether a part of the path begins with a dot.
func hidden(key string) bool { return strings.HasPrefix(key, ".") || strings.Contains(key, "/.") }

// listFiles walks through a folder.
func listFiles(ctx context.Context, prefix string, match func(string) bool, found func(Object)) error {
	root := strings.TrimPrefix(prefix, "file://")
	if !filepath.IsAbs(root) {
		return fmt.Errorf("%s: a file URL has three slashes and an absolute path", prefix)
	}
	root = path.Clean(root)
	info, err := os.Stat(root)
	if err != nil {
		return err
	}
	return walk(ctx, root, info, nil, func(name string, info fs.FileInfo) {
		if match("file://" + name) {
			found(object("file://"+name, info.Size(), "", info.ModTime()))
		}
	})
}

// walk calls found with a file or those in a folder. It follows links, but not into a folder that it is in.
func walk(ctx context.Context, name string, info fs.FileInfo, above []fs.FileInfo, found func(string, fs.FileInfo)) error {
	if !info.IsDir() {
		if info.Mode().IsRegular() {
			found(name, info)
		}
		return ctx.Err()
	}
	if slices.ContainsFunc(above, func(a fs.FileInfo) bool { return os.SameFile(a, info) }) {
		slog.WarnContext(ctx, "left out: a link to a folder that it is in", "path", name)
		return nil
	}
	entries, err := os.ReadDir(name)
	if err != nil {
		return err
	}
	above = append(slices.Clip(above), info)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		below := path.Join(name, e.Name())
		info, err := os.Stat(below)
		switch {
		case err == nil:
			if err := walk(ctx, below, info, above, found); err != nil {
				return err
			}
		case !errors.Is(err, fs.ErrNotExist):
			return err
		case e.Type()&fs.ModeSymlink != 0:
			slog.WarnContext(ctx, "left out: a link to nothing", "path", below)
		}
	}
	return nil
}
