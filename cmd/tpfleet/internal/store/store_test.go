package store

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gocloud.dev/blob"
)

func folder(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestList(t *testing.T) {
	dir := folder(t, "a.json", "b.gz", "sub/c.json", "sub/deep/d.json", ".hidden/e.json", "sub/.f.json", "[x].json", "odd #name?.json")
	s, err := New(nil)
	if err != nil {
		t.Fatal(err)
	}
	for pattern, want := range map[string]string{
		"/a.json":       "a.json",
		"/*.json":       "[x].json a.json odd #name?.json",
		"/**/*.json":    "[x].json a.json odd #name?.json sub/c.json sub/deep/d.json",
		"/sub/":         "sub/c.json sub/deep/d.json",
		"/sub/**":       "sub/c.json sub/deep/d.json",
		"/?.[!j]*":      "b.gz",
		"/missing.json": "",
		"/missing/":     "",
		"/*.pftrace":    "",
	} {
		var got []string
		err := s.List(t.Context(), "file://"+dir+pattern, func(o Object) {
			got = append(got, strings.TrimPrefix(o.URL, "file://"+dir+"/"))
			if o.Bytes == 0 || o.ETag == "" {
				t.Errorf("%+v", o)
			}
		})
		slices.Sort(got)
		if strings.Join(got, " ") != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v, want %q", pattern, got, err, want)
		}
	}
}

// A store that is not linked says how to get it.
func TestUnlinked(t *testing.T) {
	wants := map[string]string{"ftp://host/a.json": "ftp is not a store"}
	if !slices.Contains(blob.DefaultURLMux().BucketSchemes(), "gs") {
		wants["gs://bucket/"], wants["azblob://container/*.json"] = "-tags=allstores", "-tags=allstores"
	}
	for url, want := range wants {
		s, err := New(nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.List(t.Context(), url, func(Object) {}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", url, err, want)
		}
	}
}

// Links are followed, but not in circles.
func TestLinks(t *testing.T) {
	dir := folder(t, "real/a.json", "mixed/b.json")
	for link, to := range map[string]string{"link": "real", "mixed/c.json": "../real/a.json", "mixed/sub": "../real", "mixed/circle": "../mixed", "mixed/broken.json": "nothing"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Skip(err)
		}
	}
	s, err := New(nil)
	if err != nil {
		t.Fatal(err)
	}
	for prefix, want := range map[string]string{"/link/": "link/a.json", "/mixed/": "mixed/b.json mixed/c.json mixed/sub/a.json"} {
		var got []string
		if err := s.List(t.Context(), "file://"+dir+prefix, func(o Object) {
			got = append(got, strings.TrimPrefix(o.URL, "file://"+dir+"/"))
		}); err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s: %q, %v, want %q", prefix, got, err, want)
		}
	}
}

// What Fetch reads has the same description as what List found.
func TestFetch(t *testing.T) {
	dir := folder(t, "odd #name?.json")
	s, err := New(nil)
	if err != nil {
		t.Fatal(err)
	}
	var listed Object
	if err := s.List(t.Context(), "file://"+dir+"/", func(o Object) { listed = o }); err != nil {
		t.Fatal(err)
	}
	to, err := os.Create(filepath.Join(t.TempDir(), "copy"))
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	if got, err := s.Fetch(t.Context(), listed.URL, to); err != nil || got != listed {
		t.Errorf("%+v, %v, want %+v", got, err, listed)
	}
	if text, err := os.ReadFile(to.Name()); err != nil || string(text) != "odd #name?.json" {
		t.Errorf("%q, %v", text, err)
	}
}

func TestOptions(t *testing.T) {
	s, err := New([]string{"s3://one?region=a"})
	if err != nil {
		t.Fatal(err)
	}
	if bare, err := s.Take("s3://two/key/?region=b"); bare != "s3://two/key/" || err != nil {
		t.Errorf("%q, %v", bare, err)
	}
	for _, name := range []string{"s3://two/key?.json", "file:///folder/odd #name?.json"} {
		if bare, err := s.Take(name); bare != name || err != nil {
			t.Errorf("%q, %v, want %q", bare, err, name)
		}
	}
	got := s.Options()
	slices.Sort(got)
	if want := []string{"s3://one?region=a", "s3://two?region=b"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for _, bad := range []string{"bucket/key", "file://relative?x=y"} {
		if _, err := s.Take(bad); err == nil {
			t.Errorf("%q is taken for a URL", bad)
		}
	}
}
