package main

import (
	"context"
	"errors"
	"os"

	"github.com/spf13/pflag"

	"github.com/tpconvert/tpconvert"
	"github.com/tpconvert/tpconvert/cmd/tpconvert/inputs"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/lake"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/task"
)

// redactOptions are the flags that say what the tables must not show.
type redactOptions struct{ inputs.Redaction }

func (o *redactOptions) register(flags *pflag.FlagSet) {
	for name, value := range map[string]*[]string{"TPFLEET_REDACT": &o.Patterns, "TPFLEET_REDACT_COLUMNS": &o.Columns} {
		if text := os.Getenv(name); text != "" {
			*value = []string{text}
		}
	}
	o.Key = os.Getenv("TPFLEET_REDACT_KEY")
	o.Register(flags)
}

// read reads the rules, nil if there are none.
func (o *redactOptions) read() (*tpconvert.Redaction, error) {
	rules, err := o.Library()
	if err != nil {
		err = usageError{err}
	}
	return rules, err
}

// layoutFor returns the URL of the layout for tasks whose rows are redacted by these rules.
func layoutFor(ctx context.Context, l *lake.Lake, rules *tpconvert.Redaction) (string, error) {
	url, err := l.Layout(ctx, rules.Digest())
	if errors.Is(err, task.ErrRedaction) {
		err = usageError{err}
	}
	return url, err
}

// args returns the flags with these values.
func (o *redactOptions) args() (args []string) {
	for _, p := range o.Patterns {
		args = append(args, "--redact="+p)
	}
	for _, c := range o.Columns {
		args = append(args, "--redact-columns="+c)
	}
	return append(args, "--redact-key="+o.Key)
}
