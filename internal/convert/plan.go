package convert

import (
	"context"

	"github.com/tpconvert/tpconvert/export"
	"github.com/tpconvert/tpconvert/internal/tracefile"
)

// job is a trace to convert, with other files of the same content.
type job struct {
	also   []export.Source
	copies []string // their paths
	Trace
}

// plan makes jobs of the traces to convert. It skips traces that the dataset has, by
// path, size and time or else by content, and inputs with the same content as an
// earlier one. It only reads files of equal size to compare them.
func (c *Conversion) plan(ctx context.Context, paths []string) (jobs []*job, known []Trace, err error) {
	if c.dataset == nil {
		return []*job{{Trace: Trace{Path: paths[0]}}}, nil, nil
	}
	ids := map[export.Source]string{}
	hashes := map[string]string{}
	sizes := map[int64]int{}
	if !c.options.Dataset.Force {
		manifests, err := c.dataset.Manifests()
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
		if s, ok := tracefile.SourceOf(path); ok {
			s.Path = c.options.Redact.Path(s.Path)
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
		next := &job{Trace: Trace{Path: path}}
		if s.Path != "" && sizes[s.Bytes] > 1 {
			hash := tracefile.Hash(ctx, path) // "" if the file cannot be read; its conversion reports the error
			if id, ok := hashes[hash]; ok {
				if err := c.dataset.AddSource(id, s); err != nil {
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

// Size adds up the sizes of the traces to convert, in bytes. It is 0 if one has no size.
func (c *Conversion) Size() int64 {
	var total int64
	for _, j := range c.jobs {
		s, ok := tracefile.SourceOf(j.Path)
		if !ok {
			return 0
		}
		total += s.Bytes
	}
	return total
}
