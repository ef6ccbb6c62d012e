// Package store reads, writes and lists objects by URL: file or s3, and with the build tag allstores also gs or azblob,
// whose libraries are a fifth of all packages.
package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"path"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"gocloud.dev/blob"
	_ "gocloud.dev/blob/fileblob"
	_ "gocloud.dev/blob/s3blob"
	"gocloud.dev/gcerrors"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/telemetry"
	"github.com/tpconvert/tpconvert/export/staging"
)

// Stores opens each bucket once. It is safe for concurrent use.
type Stores struct {
	mu      sync.Mutex
	options map[string]string // query of a bucket's URL, by the URL without it
	buckets map[string]*blob.Bucket
	retries atomic.Int64
}

// fileOptions leave out files beside the objects, and write temporary files where the object will be.
const fileOptions = "metadata=skip&no_tmp_dir=true"

// New returns stores in which some buckets have options, such as
// s3://bucket?endpoint=http://127.0.0.1:7070&use_path_style=true&region=us-east-1.
func New(options []string) (*Stores, error) {
	s := &Stores{options: map[string]string{"file://": fileOptions}, buckets: map[string]*blob.Bucket{}}
	for _, o := range options {
		if _, err := s.Take(o); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// optionsIn finds the question mark before options. Others are in names and globs.
var optionsIn = regexp.MustCompile(`\?[a-zA-Z_]+=`)

// Take remembers the options in a URL, if there are any, and returns the URL without them.
func (s *Stores) Take(text string) (string, error) {
	bare, query := text, ""
	if at := optionsIn.FindStringIndex(text); at != nil {
		bare, query = text[:at[0]], text[at[0]+1:]
	}
	bucket, _, err := split(bare)
	if err != nil || query == "" {
		return bare, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.options[bucket] != query && s.buckets[bucket] != nil {
		return bare, fmt.Errorf("%s: other options for %s were used before", text, bucket)
	}
	s.options[bucket] = query
	return bare, nil
}

// Options returns the options of all buckets, for New.
func (s *Stores) Options() (all []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for bucket, query := range s.options {
		if bucket != "file://" {
			all = append(all, bucket+"?"+query)
		}
	}
	return all
}

// split returns the bucket and the key of a URL.
func split(text string) (bucket, key string, err error) {
	scheme, rest, found := strings.Cut(text, "://")
	if !found || scheme == "" {
		return "", "", fmt.Errorf("%s is not a URL such as s3://bucket/key or file:///folder/file", text)
	}
	if scheme == "file" {
		if !strings.HasPrefix(rest, "/") {
			return "", "", fmt.Errorf("%s: a file URL has three slashes and an absolute path", text)
		}
		return "file://", strings.TrimPrefix(path.Clean(rest), "/"), nil
	}
	host, key, _ := strings.Cut(rest, "/")
	return scheme + "://" + host, key, nil
}

// bucket opens the bucket of a URL.
func (s *Stores) bucket(ctx context.Context, text string) (*blob.Bucket, string, error) {
	name, key, err := split(text)
	if err != nil {
		return nil, "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.buckets[name]; b != nil {
		return b, key, nil
	}
	full := name
	if name == "file://" {
		full += "/"
	}
	if query := s.options[name]; query != "" {
		full += "?" + query
	}
	if _, err := url.Parse(full); err != nil {
		return nil, "", err
	}
	if err := linked(name); err != nil {
		return nil, "", err
	}
	b, err := blob.OpenBucket(ctx, full)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", name, err)
	}
	s.buckets[name] = b
	return b, key, nil
}

// linked returns an error if no linked library opens a bucket.
func linked(bucket string) error {
	scheme, _, _ := strings.Cut(bucket, "://")
	switch {
	case blob.DefaultURLMux().ValidBucketScheme(scheme):
		return nil
	case scheme == "gs", scheme == "azblob":
		return fmt.Errorf("%s: this tpfleet is built without %s: build it with -tags=allstores,disable_grpc_modules (make fleet-allstores)", bucket, scheme)
	}
	return fmt.Errorf("%s: %s is not a store: file, s3, gs or azblob", bucket, scheme)
}

// waits are the pauses before an operation is tried again.
var waits = []time.Duration{200 * time.Millisecond, time.Second, 4 * time.Second}

// with calls f with the bucket and the key of a URL until it succeeds or trying again makes no sense. Errors name the URL.
func (s *Stores) with(ctx context.Context, text string, f func(b *blob.Bucket, key string) error) error {
	b, key, err := s.bucket(ctx, text)
	if err != nil {
		return err
	}
	if err := s.retry(ctx, text, func() error { return f(b, key) }); err != nil {
		return fmt.Errorf("%s: %w", text, err)
	}
	return nil
}

// retry calls f until it succeeds or trying again makes no sense.
func (s *Stores) retry(ctx context.Context, url string, f func() error) error {
	for _, wait := range waits {
		err := f()
		switch gcerrors.Code(err) {
		case gcerrors.OK, gcerrors.NotFound, gcerrors.PermissionDenied, gcerrors.InvalidArgument, gcerrors.Unimplemented, gcerrors.Canceled:
			return err
		}
		if ctx.Err() != nil {
			return errors.Join(ctx.Err(), err)
		}
		s.retries.Add(1)
		telemetry.Retries(ctx, 1)
		slog.WarnContext(ctx, "asking the store again", "url", url, "after", wait, "error", err)
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(wait):
		}
	}
	return f()
}

// Retries returns the number of requests that were made again.
func (s *Stores) Retries() int64 { return s.retries.Load() }

// Object describes an object.
type Object struct {
	URL   string
	Bytes int64
	ETag  string
}

// Modified returns the time of a file, and 0 for other objects, which appear whole.
func (o Object) Modified() (t time.Time) {
	if ns, err := strconv.ParseInt(o.ETag, 16, 64); err == nil && strings.HasPrefix(o.URL, "file:") {
		t = time.Unix(0, ns)
	}
	return t
}

// unfinished is how a file is named while it is written.
var unfinished = regexp.MustCompile(`\.[0-9a-f]{14,16}\.tmp$`)

// Unfinished reports whether an object is a file that Write or Put did not complete: it is being written, or the process was killed.
func (o Object) Unfinished() bool {
	return strings.HasPrefix(o.URL, "file:") && unfinished.MatchString(o.URL)
}

// Fetch copies an object to a file, which then is at its start. It returns the object that was copied.
func (s *Stores) Fetch(ctx context.Context, text string, to *os.File) (o Object, err error) {
	err = s.with(ctx, text, func(b *blob.Bucket, key string) error {
		if _, err := to.Seek(0, io.SeekStart); err != nil {
			return err
		}
		if err := to.Truncate(0); err != nil {
			return err
		}
		// The object may be replaced while it is read, so both looks at it have to agree.
		before, err := b.Attributes(ctx, key)
		if err != nil {
			return err
		}
		r, err := b.NewReader(ctx, key, nil)
		if err != nil {
			return err
		}
		defer r.Close()
		// The reader's own WriteTo takes 1 MiB for the smallest object.
		n, err := io.Copy(to, struct{ io.Reader }{r})
		if err != nil {
			return err
		}
		after, err := b.Attributes(ctx, key)
		if err != nil {
			return err
		}
		o = object(text, after.Size, after.ETag, after.ModTime)
		if n != after.Size || o != object(text, before.Size, before.ETag, before.ModTime) {
			return errors.New("the object changes while it is read")
		}
		return nil
	})
	if err != nil {
		return o, err
	}
	_, err = to.Seek(0, io.SeekStart)
	return o, err
}

// object describes an object. Files are told apart by their time.
func object(text string, bytes int64, etag string, modified time.Time) Object {
	if strings.HasPrefix(text, "file:") {
		etag = fmt.Sprintf("%x", modified.UnixNano())
	}
	return Object{text, bytes, strings.Trim(etag, `"`)}
}

// Exists reports whether there is an object.
func (s *Stores) Exists(ctx context.Context, text string) (there bool, err error) {
	err = s.with(ctx, text, func(b *blob.Bucket, key string) (err error) {
		there, err = b.Exists(ctx, key)
		return err
	})
	return there, err
}

// Put writes an object from a file.
func (s *Stores) Put(ctx context.Context, text, file string) error {
	return s.with(ctx, text, func(b *blob.Bucket, key string) error {
		f, err := os.Open(file)
		if err != nil {
			return err
		}
		defer f.Close()
		return b.Upload(ctx, key, f, &blob.WriterOptions{ContentType: "application/octet-stream"})
	})
}

// Write writes an object, which lasts also if the machine stops.
func (s *Stores) Write(ctx context.Context, text string, content []byte) error {
	err := s.with(ctx, text, func(b *blob.Bucket, key string) error { return b.WriteAll(ctx, key, content, nil) })
	if file, local := strings.CutPrefix(text, "file://"); local && err == nil {
		err = cmp.Or(staging.Sync(file), staging.Sync(path.Dir(file)))
	}
	return err
}

// Delete deletes an object. It may be gone.
func (s *Stores) Delete(ctx context.Context, text string) error {
	err := s.with(ctx, text, func(b *blob.Bucket, key string) error { return b.Delete(ctx, key) })
	if gcerrors.Code(err) == gcerrors.NotFound {
		return nil
	}
	return err
}

// Read returns the content of an object.
func (s *Stores) Read(ctx context.Context, text string) (content []byte, err error) {
	err = s.with(ctx, text, func(b *blob.Bucket, key string) (err error) {
		content, err = b.ReadAll(ctx, key)
		return err
	})
	return content, err
}
