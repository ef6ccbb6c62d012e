// Tpconvert turns traces into datasets of Parquet or Arrow files with the
// tables of Perfetto's Trace Processor.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/tpconvert/tpconvert/export"
	"github.com/tpconvert/tpconvert/ingest/format"
)

// Exit codes, as documented in the help and the README.
const (
	exitDone        = 0
	exitFailure     = 1
	exitUsage       = 2
	exitSomeFailed  = 3
	exitAlert       = 3
	exitBadInput    = 4
	exitIncomplete  = 5
	exitInterrupted = 130
)

// usageError is an error in the use of the command line.
type usageError struct{ error }

// exitCode returns the exit code for an error.
func exitCode(err error) int {
	var usage usageError
	var failed *failedError
	var alerts alertError
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.As(err, &usage), errors.Is(err, export.ErrOption):
		return exitUsage
	case errors.As(err, &failed) && len(failed.errs) < failed.of:
		return exitSomeFailed
	case errors.As(err, &alerts):
		return exitAlert
	case errors.Is(err, errIncomplete):
		return exitIncomplete
	case format.BadInput(err), failed != nil && failed.badInput():
		return exitBadInput
	default:
		return exitFailure
	}
}

func main() {
	// Ignored signals stay ignored: nohup ignores SIGHUP, and a shell ignores SIGINT for background jobs
	// of a script.
	signals := slices.DeleteFunc([]os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}, signal.Ignored)
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	context.AfterFunc(ctx, stop) // a second signal ends the process immediately
	os.Exit(execute(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// execute runs the command and returns its exit code.
func execute(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	var ui uiOptions
	root := newRootCommand(&ui)
	root.SetArgs(guardComments(asTraceProcessor(args)))
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	code := exitCode(err)
	if err != nil {
		ui.printer(root).Failed(explained(err), code)
	}
	return code
}

// explained rewords an error for the user.
func explained(err error) error {
	switch {
	case err == context.Canceled:
		return errors.New("interrupted")
	case errors.Is(err, export.ErrExists):
		return fmt.Errorf("%w; --force replaces it", err)
	}
	return err
}
