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
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tpconvert/tpconvert"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/lake"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/task"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/telemetry"
	"github.com/tpconvert/tpconvert/export/staging"
)

func newRunCommand() *cobra.Command {
	var (
		o lakeOptions
		p planOptions
		r runOptions
		s specOptions
	)
	cmd := &cobra.Command{
		Use:   "run URL...",
		Short: "Plan, work in several processes, and commit, on this machine",
		Long: `Plan, work in several processes, and commit, on this machine. If a process is killed, the traces of its task are tried
again one by one; a trace whose own process is killed, too, has failed. If the folder of --lake is missing, it is created.

` + traceArguments,
		Example: `  tpfleet run --lake lake/ traces/
  tpfleet run --catalog http://catalog:19120/iceberg --warehouse lake s3://traces/2026-11-23/`,
		Args: arguments(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := r.check(); err != nil {
				return err
			}
			if err := o.makeFolder(cmd.Context(), r.redact); err != nil {
				return err
			}
			l, stores, urls, err := o.openTraces(cmd, args)
			if err != nil {
				return err
			}
			if err := s.add(cmd.Context(), l); err != nil {
				return err
			}
			p.jobs, p.redact = r.jobs, r.redact
			tasks, known, err := p.make(cmd.Context(), l, stores, urls)
			if err != nil {
				return err
			}
			return r.run(cmd, l, tasks, known)
		},
	}
	o.register(cmd.Flags())
	p.register(cmd.Flags())
	r.register(cmd.Flags())
	s.register(cmd.Flags())
	return cmd
}

// runOptions are the flags of the commands that carry out tasks and commit.
type runOptions struct {
	jobs        int
	limits      workLimits
	commitEvery time.Duration
	failed      func(task.Outcome)   // may be nil
	redact      *tpconvert.Redaction // as limits say, set by check
}

func (o *runOptions) register(flags *pflag.FlagSet) {
	flags.IntVarP(&o.jobs, "jobs", "j", runtime.GOMAXPROCS(0), "processes")
	o.limits.register(flags)
	flags.DurationVar(&o.commitEvery, "commit-every", cmp.Or(o.commitEvery, time.Minute), "time between two commits, which each make a snapshot of every table")
}

func (o *runOptions) check() (err error) {
	if o.jobs < 1 || o.commitEvery < 0 {
		return usageError{errors.New("--jobs must be at least 1, and --commit-every not negative")}
	}
	o.redact, err = o.limits.redact.read()
	return err
}

// run carries out tasks and commits their results. known is the number of traces that need none.
func (o *runOptions) run(cmd *cobra.Command, l *lake.Lake, tasks []task.Task, known int) error {
	begun := time.Now()
	account, err := o.carryOut(cmd, l, tasks)
	account.Known += known
	slog.Info("committed", "ok", account.OK, "replaced", account.Replaced, "copies", account.Copies, "bad", account.Bad, "large", account.Large,
		"failed", account.Failed, "known", account.Known, "left", account.Left, "lossy", account.Lossy, "unmeasured", account.Unmeasured, "truncated", account.Truncated, "superseded", account.Superseded, "seconds", time.Since(begun).Round(100*time.Millisecond).Seconds())
	if err := errors.Join(err, json.NewEncoder(cmd.OutOrStdout()).Encode(account)); err != nil {
		return err
	}
	if n := account.Failed + account.Again; n > 0 {
		return fmt.Errorf("%d traces are left: the same command tries them again", n)
	}
	return nil
}

func (o *runOptions) carryOut(cmd *cobra.Command, l *lake.Lake, tasks []task.Task) (account lake.Account, err error) {
	r := runner{limits: o.limits, redact: o.redact, cores: max(1, runtime.GOMAXPROCS(0)/o.jobs), messages: cmd.ErrOrStderr(), total: countTraces(tasks)}
	telemetry.Queue(cmd.Context(), r.total)
	defer func() {
		telemetry.Queue(cmd.Context(), r.done-r.total)
		account.Left = r.total - account.Traces()
	}()
	// Workers that are killed leave files there, and a run that is killed leaves the folder to the next one.
	dir, remove, err := staging.Temporary(".tpfleet-run-")
	if err != nil {
		return account, err
	}
	defer remove()
	r.tempDir = dir
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	results := make(chan task.Result)
	failed := make(chan error, 1)
	go func() {
		defer close(results)
		failed <- r.all(ctx, tasks, o.jobs, results)
	}()
	// What is done is committed, even if the process is interrupted.
	if account, err = o.commitAll(context.WithoutCancel(ctx), l, results); err != nil {
		cancel() // work that cannot be committed is in vain
		for range results {
		}
		<-failed
		return account, err
	}
	return account, <-failed
}

func countTraces(tasks []task.Task) (n int) {
	for _, t := range tasks {
		n += len(t.Traces)
	}
	return n
}

// commitAll commits results as they come, in batches.
func (o *runOptions) commitAll(ctx context.Context, l *lake.Lake, results <-chan task.Result) (total lake.Account, err error) {
	var batch []task.Result
	last := time.Now()
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		account, err := l.Commit(ctx, batch)
		if err != nil {
			return err
		}
		total.Add(account)
		batch, last = nil, time.Now()
		return nil
	}
	for r := range results {
		batch = append(batch, r)
		for _, outcome := range r.Traces {
			if o.failed != nil && outcome.Status == task.Failed {
				o.failed(outcome)
			}
		}
		if time.Since(last) > o.commitEvery {
			if err := flush(); err != nil {
				return total, err
			}
		}
	}
	return total, flush()
}

// runner carries out tasks in processes.
type runner struct {
	limits   workLimits
	redact   *tpconvert.Redaction
	cores    int // of a process
	tempDir  string
	messages io.Writer
	total    int // traces

	mu   sync.Mutex
	done int       // traces
	told time.Time // when the last message said so
}

// all carries out the tasks, several at a time.
func (r *runner) all(ctx context.Context, tasks []task.Task, jobs int, results chan<- task.Result) error {
	queue := make(chan task.Task)
	errs := make([]error, jobs)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var working sync.WaitGroup
	for i := range jobs {
		working.Go(func() {
			w := worker{runner: r}
			defer w.end()
			for t := range queue {
				if errs[i] = r.carryOut(ctx, &w, t, results); errs[i] != nil {
					cancel()
					return
				}
			}
		})
	}
feeding:
	for _, t := range tasks {
		select {
		case queue <- t:
		case <-ctx.Done():
			break feeding
		}
	}
	close(queue)
	working.Wait()
	return errors.Join(errors.Join(errs...), ctx.Err())
}

// carryOut carries out a task. If its process ends early, the traces are tried one by one.
func (r *runner) carryOut(ctx context.Context, w *worker, t task.Task, results chan<- task.Result) error {
	result, err := w.do(ctx, t)
	if err == nil {
		if result.Stuck {
			slog.Warn("a conversion did not end at its limit; its process is replaced", "error", w.end())
		}
		r.progress(ctx, &result)
		results <- result
		return nil
	}
	if ctx.Err() != nil || errors.Is(err, errNoWorker) {
		return errors.Join(ctx.Err(), err)
	}
	slog.Warn("a worker ended; its traces are tried one by one", "error", err, "traces", len(t.Traces))
	for i, trace := range t.Traces {
		alone := t
		alone.Traces = []task.Trace{trace}
		alone.ID = task.ID([]task.Trace{{URL: t.ID, ETag: fmt.Sprint(i)}}, t.Replaces) // names of files say nothing of the URL
		result, err := w.do(ctx, alone)
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, errNoWorker) {
				return errors.Join(ctx.Err(), err)
			}
			trace.URL = r.redact.Path(trace.URL)
			result = task.Result{Task: alone.ID, Attempt: "none", Traces: []task.Outcome{{
				Trace: trace, Status: task.Failed, ExitCode: exitFailure, Error: "its worker ended: " + err.Error(), Version: version(),
			}}}
		}
		r.progress(ctx, &result)
		results <- result
	}
	return nil
}

// progress tells of what a worker did.
func (r *runner) progress(ctx context.Context, result *task.Result) {
	telemetry.Result(ctx, result)
	telemetry.Retries(ctx, result.Retries)
	telemetry.Queue(ctx, -len(result.Traces))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done += len(result.Traces)
	r.tell()
}

func (r *runner) tell() {
	slog.Info("worked", "traces", r.done, "of", r.total)
	r.told = time.Now()
}

// step counts traces of a task that was begun, or takes them back, and tells of it from time to time.
func (r *runner) step(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.done += n; n > 0 && time.Since(r.told) > time.Second {
		r.tell()
	}
}

// worker is a process that works, begun when it is needed.
type worker struct {
	*runner
	process *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
}

// errNoWorker is wrapped if no process can be begun.
var errNoWorker = errors.New("no worker")

func (w *worker) begin(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return errors.Join(errNoWorker, err)
	}
	// A process is not told of an interruption by itself, so the context ends it.
	w.process = exec.CommandContext(ctx, self, append([]string{"work", "--progress"}, w.limits.args()...)...)
	w.process.Env = append(os.Environ(), "TMPDIR="+w.tempDir, "GOMAXPROCS="+fmt.Sprint(w.cores), metricsAddress+"=", "OTEL_SDK_DISABLED=true")
	w.process.Stderr = w.messages
	out, err := w.process.StdoutPipe()
	if err == nil {
		w.in, err = w.process.StdinPipe()
	}
	if err == nil {
		err = w.process.Start()
	}
	if err != nil {
		w.process = nil
		return errors.Join(errNoWorker, err)
	}
	w.out = bufio.NewReader(out)
	return nil
}

// do carries out a task. After an error the process is gone.
func (w *worker) do(ctx context.Context, t task.Task) (r task.Result, err error) {
	if w.process == nil {
		if err := w.begin(ctx); err != nil {
			return r, err
		}
	}
	text, err := json.Marshal(t)
	if err != nil {
		return r, err
	}
	steps := 0
	defer func() { w.step(-steps) }()
	_, err = w.in.Write(append(text, '\n'))
	for err == nil && r.Task == "" {
		if text, err = w.out.ReadBytes('\n'); err == nil {
			err = json.Unmarshal(text, &r)
		}
		if err == nil && r.Task == "" {
			steps++
			w.step(1)
		}
	}
	if err != nil {
		return r, errors.Join(w.end(), err)
	}
	return r, nil
}

// end ends the process and returns its error.
func (w *worker) end() error {
	if w.process == nil {
		return nil
	}
	w.in.Close()
	err := w.process.Wait()
	w.process = nil
	return err
}
