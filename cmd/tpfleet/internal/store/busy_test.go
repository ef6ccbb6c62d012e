package store

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// busy is a store in the manner of S3 with one object per bucket. It refuses some requests of each bucket, as S3 does when
// there are too many.
type busy struct {
	refuse  int
	mu      sync.Mutex
	refused map[string]int    // by bucket
	objects map[string]string // by path
}

func (b *busy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	bucket := r.URL.Path[:2]
	if b.refused[bucket] < b.refuse {
		b.refused[bucket]++
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprint(w, "<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>")
		return
	}
	content, there := b.objects[r.URL.Path]
	w.Header().Set("ETag", `"1"`)
	switch {
	case r.Method == http.MethodPut:
		text, _ := io.ReadAll(r.Body)
		b.objects[r.URL.Path] = string(text)
	case r.URL.Query().Get("list-type") == "2":
		fmt.Fprint(w, `<ListBucketResult><Contents><Key>a.json</Key><ETag>"1"</ETag><Size>3</Size><LastModified>2026-01-01T00:00:00Z</LastModified></Contents></ListBucketResult>`)
	case !there:
		w.WriteHeader(http.StatusNotFound)
	default:
		w.Header().Set("Content-Length", fmt.Sprint(len(content)))
		w.Header().Set("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT")
		io.WriteString(w, content)
	}
}

// A store that asks for fewer requests gets them later, and every operation succeeds.
func TestBusyStore(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	b := &busy{refuse: 5, refused: map[string]int{}, objects: map[string]string{}}
	server := httptest.NewServer(b)
	defer server.Close()
	operations := map[string]func(s *Stores, url string) error{
		"f": func(s *Stores, url string) error {
			file, err := os.Create(filepath.Join(t.TempDir(), "fetched"))
			if err != nil {
				return err
			}
			defer file.Close()
			if o, err := s.Fetch(t.Context(), url, file); err != nil || o.Bytes != 3 {
				return fmt.Errorf("%+v, %w", o, err)
			}
			return nil
		},
		"l": func(s *Stores, url string) error { return s.List(t.Context(), url, func(Object) {}) },
		"w": func(s *Stores, url string) error { return s.Write(t.Context(), url, []byte("new")) },
		"e": func(s *Stores, url string) error { _, err := s.Exists(t.Context(), url); return err },
	}
	var all sync.WaitGroup
	for bucket, operation := range operations {
		b.objects["/"+bucket+"/a.json"] = "[1]"
		all.Go(func() {
			s, err := New([]string{"s3://" + bucket + "?endpoint=" + server.URL + "&use_path_style=true&region=us-east-1"})
			if err == nil {
				err = operation(s, "s3://"+bucket+"/a.json")
			}
			if err != nil {
				t.Errorf("%s: %v", bucket, err)
			}
		})
	}
	all.Wait()
	for bucket := range operations {
		if b.refused["/"+bucket] != b.refuse {
			t.Errorf("%s: %d requests were refused", bucket, b.refused["/"+bucket])
		}
	}
	if b.objects["/w/a.json"] != "new" {
		t.Errorf("written: %q", b.objects["/w/a.json"])
	}
}
