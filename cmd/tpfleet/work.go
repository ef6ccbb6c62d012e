package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tpconvert/tpconvert/cmd/tpconvert/inputs"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/store"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/task"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/telemetry"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/work"
	"github.com/tpconvert/tpconvert/internal/memory"
)

func newWorkCommand() *cobra.Command {
	var (
		index   int
		results string
		stores  []string
		limits  workLimits
		steps   bool
	)
	cmd := &cobra.Command{
		Use:   "work [--index N TASKS]",
		Short: "Run tasks: one JSON object per line in, one result per line out",
		Long: `Run tasks that "tpfleet plan" wrote. Tasks come from standard input, one per line; results go to standard output. Any
number of processes may work, even on the same task.

A trace that cannot be read is a result, too. The exit code is 0 unless tpfleet cannot work at all.`,
		Example: `  tpfleet work <tasks.jsonl >results.jsonl
  tpfleet work --index $JOB_COMPLETION_INDEX --results s3://lake/results/ s3://lake/tasks.jsonl`,
		Args: arguments(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if (len(args) == 1) != cmd.Flags().Changed("index") {
				return usageError{errors.New("--index and TASKS need each other")}
			}
			rules, err := limits.redact.read()
			if err != nil {
				return err
			}
			all, err := store.New(stores)
			if err != nil {
				return usageError{err}
			}
			in := cmd.InOrStdin()
			if len(args) == 1 {
				line, err := taskAt(cmd.Context(), all, args[0], index)
				if err != nil {
					return err
				}
				in = bytes.NewReader(line)
			}
			out := func(r task.Result) error { return json.NewEncoder(cmd.OutOrStdout()).Encode(r) }
			if results != "" {
				if results, err = all.Take(results); err != nil {
					return usageError{err}
				}
				out = func(r task.Result) error {
					text, err := json.Marshal(r)
					if err != nil {
						return err
					}
					name := strings.TrimSuffix(results, "/") + "/" + r.Name() + ".json"
					return all.Write(cmd.Context(), name, append(text, '\n'))
				}
			}
			memory.Limit(cmd.Context(), memory.Limits{Sorting: limits.sorting << 20, Most: limits.memory << 20, Small: smallHeap})
			w := work.Worker{Memory: limits.sorting << 20, MaxMemory: limits.memory << 20, MaxTime: limits.time, Version: version(), Modules: inputs.Modules(limits.stdlib), Redact: rules}
			if steps {
				w.Tried = func() { fmt.Fprintln(cmd.OutOrStdout(), "{}") }
			}
			return carryOut(cmd.Context(), &w, in, out)
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&index, "index", 0, "run only this line of TASKS, a URL or file; the first is 0")
	flags.StringVar(&results, "results", "", "URL of a folder for results, instead of the standard output")
	flags.StringArrayVar(&stores, "store", nil, "options of a bucket, such as s3://bucket?region=us-east-1")
	flags.BoolVar(&steps, "progress", false, "print {} after each trace")
	_ = flags.MarkHidden("progress")
	limits.register(flags)
	return cmd
}

// workLimits are the flags that limit a process for one trace.
type workLimits struct {
	sorting, memory int64 // MiB
	time            time.Duration
	stdlib          string
	redact          redactOptions
}

func (l *workLimits) register(flags *pflag.FlagSet) {
	flags.Int64Var(&l.sorting, "memory", 128, "memory of a process for sorting, MiB; events beyond it go to temporary files")
	flags.Int64Var(&l.memory, "max-memory", 0, "memory that a process may use, MiB; a trace that needs more is \"large\"; 0 is no limit")
	flags.DurationVar(&l.time, "max-time", 0, "time that the conversion of a trace may take; one that takes more is \"large\"; 0 is no limit")
	flags.StringVar(&l.stdlib, "stdlib", "", stdlibHelp)
	l.redact.register(flags)
}

const stdlibHelp = `checkout of Perfetto with PerfettoSQL's modules; by default those of "tpconvert stdlib fetch"`

// args returns the flags with these values.
func (l *workLimits) args() []string {
	return append(l.redact.args(), "--memory", fmt.Sprint(l.sorting), "--max-memory", fmt.Sprint(l.memory), "--max-time", l.time.String(), "--stdlib", l.stdlib)
}

// smallHeap is the size in bytes below which the heap is not collected. A worker touches its memory once for many traces,
// and the libraries of the stores and catalogs keep half a million objects, which each collection visits.
const smallHeap = 64 << 20

// carryOut carries out tasks one by one.
func carryOut(ctx context.Context, w *work.Worker, in io.Reader, out func(task.Result) error) error {
	lines := bufio.NewReader(in)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if err != nil && err != io.EOF {
			return err
		}
		if len(bytes.TrimSpace(line)) > 0 {
			var t task.Task
			if err := json.Unmarshal(line, &t); err != nil || t.ID == "" || t.Layout == "" {
				return usageError{fmt.Errorf("line %d is not a task: %w", n, errors.Join(err, errNoTask))}
			}
			if err := w.CheckRedaction(ctx, t); err != nil {
				return usageError{err}
			}
			r := w.Do(ctx, t)
			if err := ctx.Err(); err != nil {
				return err
			}
			telemetry.Result(ctx, &r)
			if err := out(r); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
	}
}

// errNoTask says what a task needs at least.
var errNoTask = errors.New("it must be a JSON object with id, layout and traces")

// taskAt returns a line of a file of tasks.
func taskAt(ctx context.Context, stores *store.Stores, file string, index int) ([]byte, error) {
	url, err := stores.Take(fileURL(file))
	if err != nil {
		return nil, usageError{err}
	}
	text, err := stores.Read(ctx, url)
	if err != nil {
		return nil, err
	}
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	if index < 0 || index >= len(lines) {
		return nil, usageError{fmt.Errorf("%s has %d tasks, there is no task %d", file, len(lines), index)}
	}
	return lines[index], nil
}
