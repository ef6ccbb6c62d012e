package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/lake"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/task"
	"github.com/tpconvert/tpconvert/sqlfuncs/metrics"
)

// specOptions is the flag for specs.
type specOptions struct{ names []string }

func (o *specOptions) register(flags *pflag.FlagSet) {
	flags.StringArrayVar(&o.names, "spec", nil, "also compute the metrics of this spec, a file or one of "+strings.Join(metrics.Builtin(), ", ")+", for these traces and later ones")
}

// read reads the specs. The name of one from a file is that of the file without its extension.
func (o *specOptions) read() (specs []task.Spec, err error) {
	for _, name := range o.names {
		text, builtin := metrics.Spec(name)
		if !builtin {
			if text, err = os.ReadFile(name); errors.Is(err, fs.ErrNotExist) {
				return nil, usageError{fmt.Errorf("%s is neither a file nor one of the specs %s", name, strings.Join(metrics.Builtin(), ", "))}
			} else if err != nil {
				return nil, err
			}
			name = strings.TrimSuffix(filepath.Base(name), filepath.Ext(name))
		}
		specs = append(specs, task.Spec{Name: name, Spec: text})
	}
	return specs, nil
}

// add adds the specs to a lake.
func (o *specOptions) add(ctx context.Context, l *lake.Lake) error {
	specs, err := o.read()
	if err != nil || len(specs) == 0 {
		return err
	}
	if _, _, err = l.Init(ctx, false, "", specs...); errors.Is(err, lake.ErrSpec) {
		err = usageError{err}
	}
	return err
}
