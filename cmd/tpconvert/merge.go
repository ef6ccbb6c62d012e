package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	api "github.com/tpconvert/tpconvert"
	"github.com/tpconvert/tpconvert/cmd/tpconvert/console"
)

// mergeOptions are the flags for merging traces into one.
type mergeOptions struct {
	merge    bool
	manifest string
	machines []string // NAME=FILE
	offsets  []string // FILE=DURATION
}

func (o *mergeOptions) register(flags *pflag.FlagSet) {
	flags.BoolVar(&o.merge, "merge", false, "merge all traces into one, on one timeline")
	o.registerManifest(flags)
	flags.StringArrayVar(&o.offsets, "offset", nil, "FILE=DURATION: shift the times of the merged trace FILE, such as app.json=+1.5s")
}

// registerManifest registers the flags whose meaning a manifest of Trace Processor can express.
func (o *mergeOptions) registerManifest(flags *pflag.FlagSet) {
	flags.StringVar(&o.manifest, "manifest", "", "perfetto_manifest that says how the merged traces relate")
	flags.StringArrayVar(&o.machines, "machine", nil, "NAME=FILE: the merged trace FILE was recorded on the machine NAME")
}

// library returns how traces are merged, or nil if they are not.
func (o *mergeOptions) library() (*api.Merge, error) {
	if !o.merge {
		if o.manifest != "" || len(o.machines) > 0 || len(o.offsets) > 0 {
			return nil, console.Usage(errors.New("--manifest, --machine and --offset require --merge"))
		}
		return nil, nil
	}
	m := &api.Merge{Manifest: o.manifest}
	for _, value := range o.machines {
		name, path, ok := strings.Cut(value, "=")
		if !ok || name == "" {
			return nil, console.Usage(fmt.Errorf("--machine %s is not NAME=FILE", value))
		}
		m.Files = append(m.Files, api.MergedFile{Path: path, Machine: name})
	}
	for _, value := range o.offsets {
		i := strings.LastIndexByte(value, '=')
		if i < 0 {
			return nil, console.Usage(fmt.Errorf("--offset %s is not FILE=DURATION", value))
		}
		by, err := time.ParseDuration(value[i+1:])
		if err != nil {
			return nil, console.Usage(fmt.Errorf("--offset %s: %s is not a duration such as +1.5s or -20ms", value, value[i+1:]))
		}
		m.Files = append(m.Files, api.MergedFile{Path: value[:i], Offset: by})
	}
	return m, nil
}
