package tpconvert

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"

	"github.com/tpconvert/tpconvert/export"
)

// job is a trace to convert, with other files of the same content.
type job struct {
	path   string
	also   []export.Source
	copies []string // their paths
	Trace
}

// SourceOf identifies the trace at a path as it is now, and returns false if it cannot be read more than once.
func SourceOf(path string) (Source, bool) {
	info, err := os.Stat(path)
	if err == nil && info.IsDir() && IsTraceFolder(path) {
		f, err := openFolder(path)
		if err != nil {
			return export.Source{}, false
		}
		return export.Source{Path: absolute(path), Bytes: f.Size(), Modified: f.modified}, true
	}
	if path == StandardInput || path == mergedTraces || err != nil || !info.Mode().IsRegular() {
		return export.Source{}, false
	}
	return export.Source{Path: absolute(path), Bytes: info.Size(), Modified: info.ModTime()}, true
}

// absolute returns the absolute path, or path itself if the working folder is unknown.
func absolute(path string) string {
	if from, err := filepath.Abs(path); err == nil && path != StandardInput && path != mergedTraces {
		return from
	}
	return path
}

// plan makes jobs of the traces to convert. It skips traces that the dataset has, by
// path, size and time or else by content, and inputs with the same content as an
// earlier one. It only reads files of equal size to compare them.
func (r *run) plan(ctx context.Context, paths []string) (jobs []*job, known []Trace, err error) {
	if r.dataset == nil {
		return []*job{{path: paths[0]}}, nil, nil
	}
	ids := map[export.Source]string{}
	hashes := map[string]string{}
	sizes := map[int64]int{}
	if !r.options.Force {
		manifests, err := r.dataset.Manifests()
		if err != nil {
			return nil, nil, err
		}
		for _, m := range manifests {
			hashes[m.Input.SHA256] = m.TraceID
			sizes[m.Input.Bytes]++
			for _, s := range m.Sources() {
				ids[canonical(s)] = m.TraceID
			}
		}
	}
	sources := make([]export.Source, len(paths))
	for i, path := range paths {
		if s, ok := SourceOf(path); ok {
			sources[i] = s
			sizes[s.Bytes]++
		}
	}
	byHash := map[string]*job{}
	for i, path := range paths {
		s := sources[i]
		if id, ok := ids[canonical(s)]; ok && s.Path != "" {
			known = append(known, Trace{Path: path, TraceID: id, Known: "is already in the dataset"})
			continue
		}
		next := &job{path: path}
		if s.Path != "" && sizes[s.Bytes] > 1 {
			hash := hashFile(ctx, path) // "" if the file cannot be read; its conversion reports the error
			if id, ok := hashes[hash]; ok {
				if err := r.dataset.AddSource(id, s); err != nil {
					return nil, nil, err
				}
				known = append(known, Trace{Path: path, TraceID: id, Known: "has the same content as a trace in the dataset"})
				continue
			}
			if first := byHash[hash]; first != nil {
				first.also, first.copies = append(first.also, s), append(first.copies, path)
				continue
			}
			if hash != "" {
				byHash[hash] = next
			}
		}
		jobs = append(jobs, next)
	}
	return jobs, known, ctx.Err()
}

// canonical returns the source with its time in a form that == can compare.
func canonical(s export.Source) export.Source {
	s.Modified = s.Modified.Round(0).UTC()
	return s
}

// hashedAtOnce is the number of bytes that hashFile reads between two checks of its context.
const hashedAtOnce = 1 << 20

// hashFile returns the SHA-256 of a file in hexadecimal, or "".
func hashFile(ctx context.Context, path string) string {
	f, err := openTrace(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	digest := sha256.New()
	for ctx.Err() == nil {
		switch _, err := io.CopyN(digest, f, hashedAtOnce); err {
		case nil:
		case io.EOF:
			return hex.EncodeToString(digest.Sum(nil))
		default:
			return ""
		}
	}
	return ""
}
