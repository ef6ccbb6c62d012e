package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
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
	return filepath.WalkDir(path.Clean(root), func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if strings.HasPrefix(e.Name(), ".") && name != path.Clean(root) {
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if !e.Type().IsRegular() || !match("file://"+name) {
			return ctx.Err()
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		found(object("file://"+name, info.Size(), "", info.ModTime()))
		return ctx.Err()
	})
}
