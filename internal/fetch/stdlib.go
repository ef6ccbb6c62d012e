package fetch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// stdlibDigest is the SHA-256 of the output of sha256sum for the files that forStdlib selects, in order of their paths. Unlike the
// bytes of GitHub's archives, it never changes:
//
//	(find src/trace_processor/perfetto_sql/stdlib src/trace_processor/metrics/sql -name '*.sql'
//	 find src/trace_processor/plugins/wattson/data -name '*.csv'
//	 echo python/perfetto/trace_processor/metrics.descriptor) | LC_ALL=C sort | xargs sha256sum | sha256sum
var stdlibDigest = "3f7df0da55092f8686dfe93435d6807d3091e62c62d5065631d0bd7a77e61476"

// Limits on an archive of Perfetto's source, in bytes. Its files for stdlib have 3 MB in all.
const (
	maxSource = 4 << 30
	maxStdlib = 64 << 20
)

// forStdlib reports whether a file of Perfetto's source belongs to the SQL modules and metrics.
func forStdlib(file string) bool {
	switch path.Ext(file) {
	case ".sql":
		return strings.HasPrefix(file, "src/trace_processor/perfetto_sql/stdlib/") || strings.HasPrefix(file, "src/trace_processor/metrics/sql/")
	case ".csv":
		return strings.HasPrefix(file, "src/trace_processor/plugins/wattson/data/")
	}
	return file == "python/perfetto/trace_processor/metrics.descriptor"
}

// readStdlib reads the modules and metrics in an archive of Perfetto's source.
func readStdlib(ctx context.Context, from string) (files, error) {
	archive, err := open(ctx, from)
	if err != nil {
		return nil, err
	}
	defer archive.Close()
	withoutTop := func(name string) string {
		_, name, _ = strings.Cut(name, "/")
		return name
	}
	all, err := unpack(archive, maxSource, maxStdlib, withoutTop, forStdlib)
	if err != nil {
		return nil, err
	}
	if got := all.digest(); got != stdlibDigest {
		return nil, fmt.Errorf("it has other files than Perfetto %s: %d files with the digest %s, not %s", Version, len(all), got, stdlibDigest)
	}
	return all, nil
}

func (all files) digest() string {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(h, "%x  %s\n", sum(all[name]), name)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func sum(content []byte) []byte {
	s := sha256.Sum256(content)
	return s[:]
}
