package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tpconvert/tpconvert"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/lake"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/plan"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/store"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/task"
)

// planOptions are the flags of planning.
type planOptions struct {
	plan.Options
	mebibytes int64
	jobs      int                     // that a small plan is divided among, 0 for none
	accept    func(store.Object) bool // nil accepts all; otherwise it is no error if there are none
	labels    labelOptions
	redact    *tpconvert.Redaction // as the ledger has URLs
}

// labelOptions are the flags that say where the labels of traces are.
type labelOptions struct {
	given   map[string]string
	pattern string
	task.LabelSources

	compiled *regexp.Regexp
}

func (o *labelOptions) register(flags *pflag.FlagSet) {
	flags.StringToStringVar(&o.given, "label", nil, "label of all traces, such as team=x")
	flags.StringVar(&o.pattern, "label-pattern", "", "regular expression whose named groups are labels in the URL of a trace, such as '/(?P<device>[^/]+)/build-(?P<build>[0-9]+)/'")
	flags.StringVar(&o.Sidecar, "label-sidecar", "", "what follows the URL of a trace in that of a JSON object with its labels, such as .labels.json")
	flags.BoolVar(&o.Object, "label-object", false, "labels are also the metadata of objects and, in S3, their tags")
}

// check compiles the pattern.
func (o *labelOptions) check() (err error) {
	if o.pattern != "" {
		o.compiled, err = regexp.Compile(o.pattern)
	}
	if err == nil && o.compiled != nil && strings.Join(o.compiled.SubexpNames(), "") == "" {
		err = errors.New("it has no named group such as (?P<build>[0-9]+)")
	}
	if err != nil {
		return usageError{fmt.Errorf("--label-pattern: %w", err)}
	}
	if err := task.Labels(o.given).Check(); err != nil {
		return usageError{fmt.Errorf("--label: %w", err)}
	}
	return nil
}

// labelsOf returns the labels that the flags give a trace. Those of --label count first.
func (o *labelOptions) labelsOf(t task.Trace) task.Labels {
	l := task.Labels{}
	if o.compiled != nil {
		l = task.LabelsIn(o.compiled, t.URL)
	}
	maps.Copy(l, o.given)
	return l
}

// isSidecar reports whether an object is beside a trace, and none itself.
func (o *labelOptions) isSidecar(url string) bool {
	return o.Sidecar != "" && strings.HasSuffix(url, o.Sidecar)
}

func (o *planOptions) register(flags *pflag.FlagSet) {
	o.registerSizes(flags)
	o.labels.register(flags)
	flags.BoolVar(&o.RetryBad, "retry-bad", false, "also plan the traces that could not be read before")
	flags.BoolVar(&o.KeepVersions, "keep-versions", false, "keep the rows of older versions of a file or object that was written again")
	flags.BoolVar(&o.Large, "large", false, "also plan the traces that took more than --max-memory or --max-time before")
}

func (o *planOptions) registerSizes(flags *pflag.FlagSet) {
	flags.Int64Var(&o.mebibytes, "task-size", 256, "size of the traces of a task, MiB")
	flags.IntVar(&o.Traces, "task-traces", 1000, "largest number of traces in a task")
}

// traceArguments explains the arguments for traces.
const traceArguments = `A URL names one object, all that match a glob (* ? [a-z] **), or all under a prefix that ends with a slash. Schemes are
file, s3 and, if tpfleet is built for all stores, gs and azblob; a path is a file or a folder. Options follow a question mark:
s3://bucket/2026/?region=eu-west-1. @FILE is a list of URLs, one per line; @- is the standard input.`

func newPlanCommand() *cobra.Command {
	var (
		o      lakeOptions
		p      planOptions
		redact redactOptions
	)
	cmd := &cobra.Command{
		Use:   "plan URL...",
		Short: "Divide the traces that are not in the ledger into tasks, one JSON object per line",
		Long:  "Divide the traces that are not in the ledger into tasks, one JSON object per line.\n\n" + traceArguments,
		Example: `  tpfleet plan s3://traces/2026-11-23/ >tasks.jsonl
  tpfleet plan 's3://traces/*/*.pftrace?region=eu-west-1' @more.txt >tasks.jsonl`,
		Args: arguments(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			l, stores, urls, err := o.openTraces(cmd, args)
			if err == nil {
				p.redact, err = redact.read()
			}
			if err != nil {
				return err
			}
			tasks, known, err := p.make(cmd.Context(), l, stores, urls)
			if err != nil {
				return err
			}
			slog.Info("planned", "traces", countTraces(tasks), "tasks", len(tasks), "known", known)
			return printTasks(cmd.OutOrStdout(), tasks)
		},
	}
	o.register(cmd.Flags())
	p.register(cmd.Flags())
	redact.register(cmd.Flags())
	return cmd
}

// printTasks prints tasks for work.
func printTasks(w io.Writer, tasks []task.Task) error {
	out := bufio.NewWriter(w)
	lines := json.NewEncoder(out)
	for _, t := range tasks {
		if err := lines.Encode(t); err != nil {
			return err
		}
	}
	return out.Flush()
}

// make lists the traces at URLs and divides those that are left into tasks. known is the number of the others.
func (o *planOptions) make(ctx context.Context, l *lake.Lake, stores *store.Stores, urls []string) (tasks []task.Task, known int, err error) {
	if err := o.labels.check(); err != nil {
		return nil, 0, err
	}
	layout, err := layoutFor(ctx, l, o.redact)
	if err != nil {
		return nil, 0, err
	}
	o.Bytes = o.mebibytes << 20
	left, known, real, err := o.remaining(ctx, l, stores, urls)
	if err != nil {
		return nil, 0, err
	}
	if o.jobs > 0 {
		size := int64(0)
		for _, t := range left {
			size += t.Bytes
		}
		o.Bytes = min(o.Bytes, max(size/int64(o.jobs)+1, leastTask))
	}
	contents, err := l.Contents(ctx, left)
	if err != nil {
		return nil, 0, err
	}
	tasks = plan.Tasks(left, layout, stores.Options(), o.Options)
	for i := range tasks {
		for j := range tasks[i].Traces {
			t := &tasks[i].Traces[j]
			t.URL = cmp.Or(real[t.URL], t.URL)
		}
		tasks[i].LabelSources = o.labels.LabelSources
		tasks[i].Label(o.labels.labelsOf)
		tasks[i].Contents = map[string]int64{}
		for _, t := range tasks[i].Traces {
			for _, sum := range contents[t.Bytes] {
				tasks[i].Contents[sum] = t.Bytes
			}
		}
	}
	return tasks, known, nil
}

// leastTask is the size of a task, in bytes, that is not divided to use more cores.
const leastTask = 1 << 20

// remaining lists the traces at URLs that are not in the ledger. Their URLs are as in the ledger; real has the others by those.
func (o *planOptions) remaining(ctx context.Context, l *lake.Lake, stores *store.Stores, urls []string) (left []task.Trace, known int, real map[string]string, err error) {
	var traces []task.Trace
	real = map[string]string{}
	for _, url := range urls {
		err := stores.List(ctx, url, func(found store.Object) {
			if !o.labels.isSidecar(found.URL) && (o.accept == nil || o.accept(found)) {
				url := o.redact.Path(found.URL)
				if url != found.URL {
					real[url] = found.URL
				}
				traces = append(traces, task.Trace{URL: url, Bytes: found.Bytes, ETag: found.ETag})
			}
		})
		if err != nil && !(o.accept != nil && errors.Is(err, store.ErrNone)) {
			return nil, 0, nil, err
		}
	}
	ledger, err := l.Ledger(ctx, traces)
	if err != nil {
		return nil, 0, nil, err
	}
	left, known = plan.Left(traces, ledger, o.Options)
	return left, known, real, nil
}

// expandLists replaces @FILE by the lines of the file.
func expandLists(args []string, stdin io.Reader) (urls []string, err error) {
	for _, arg := range args {
		name, list := strings.CutPrefix(arg, "@")
		if !list {
			urls = append(urls, arg)
			continue
		}
		text, err := readFileOr(name, stdin)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(text)) {
			if line = strings.TrimSpace(line); line != "" {
				urls = append(urls, line)
			}
		}
	}
	if len(urls) == 0 {
		return nil, errors.New("the lists are empty")
	}
	return urls, nil
}
