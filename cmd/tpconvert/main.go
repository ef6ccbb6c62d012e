// Tpconvert turns traces into datasets of Parquet or Arrow files with the
// tables of Perfetto's Trace Processor.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	api "github.com/tpconvert/tpconvert"
	"github.com/tpconvert/tpconvert/cmd/tpconvert/console"
	"github.com/tpconvert/tpconvert/cmd/tpconvert/serve"
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

// exitCode returns the exit code for an error.
func exitCode(err error) int {
	var usage console.UsageError
	var failed *api.FailedError
	var alerts alertError
	var different compareError
	var bad *api.InputError
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.As(err, &failed) && len(failed.Errs) < failed.Of:
		return exitSomeFailed
	case errors.As(err, &usage), errors.Is(err, api.ErrOption):
		return exitUsage
	case errors.As(err, &alerts), errors.As(err, &different):
		return exitAlert
	case errors.Is(err, api.ErrIncomplete):
		return exitIncomplete
	case failed != nil && failed.BadInput(), failed == nil && errors.As(err, &bad):
		return exitBadInput
	default:
		return exitFailure
	}
}

func main() {
	prepareConsole()
	// Ignored signals stay ignored: nohup ignores SIGHUP, and a shell ignores SIGINT for background jobs
	// of a script.
	signals := slices.DeleteFunc([]os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}, signal.Ignored)
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	context.AfterFunc(ctx, stop) // a second signal ends the process immediately
	os.Exit(execute(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// execute runs the command and returns its exit code.
func execute(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	var ui console.UI
	root := newRootCommand(&ui)
	root.SetArgs(guardComments(serve.AsTraceProcessor(args)))
	root.SetIn(stdin)
	out := console.NewOutput(stdout)
	root.SetOut(out)
	root.SetErr(stderr)
	err := cmp.Or(root.ExecuteContext(ctx), out.Err())
	code := exitCode(err)
	if err != nil {
		ui.Printer(root).Failed(explained(err), code)
	}
	return code
}

// explained rewords an error for the user.
func explained(err error) error {
	var interrupted *api.InterruptedError
	var failed *api.FailedError
	var path *fs.PathError
	switch {
	case errors.As(err, &interrupted), errors.As(err, &failed):
	case errors.Is(err, context.Canceled):
		return errors.New("interrupted")
	case errors.Is(err, api.ErrExists):
		return fmt.Errorf("%w; --force replaces it", err)
	case errors.As(err, &path):
		return errors.New(strings.Replace(err.Error(), path.Error(), pathProblem(path), 1))
	case errors.Is(err, syscall.ENOENT):
		return errors.New(strings.Replace(err.Error(), syscall.ENOENT.Error(), "no such file or folder", 1))
	}
	return err
}

// pathProblem says what is wrong with a path, without the system call that found out.
func pathProblem(err *fs.PathError) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return err.Path + ": no such file or folder"
	case errors.Is(err, syscall.EISDIR):
		return err.Path + " is a folder, not a file"
	}
	return fmt.Sprintf("%s: %v", err.Path, err.Err)
}

// unknownFlag adds the flags of a command that are like an unknown one to its error. Other errors of flags are flagError's.
func unknownFlag(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) || unknown.GetSpecifiedShortnames() != "" {
		return flagError(err)
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return console.Usage(fmt.Errorf("%w%s", err, suggested(unknown.GetSpecifiedName(), "--", names)))
}

// flagError rewords an error of a flag's value, which has the name of the function that parses it.
func flagError(err error) error {
	var number *strconv.NumError
	if !errors.As(err, &number) {
		return console.Usage(err)
	}
	text := strings.Replace(err.Error(), number.Error(), "want a whole number", 1)
	if errors.Is(err, strconv.ErrRange) {
		text = strings.Replace(err.Error(), number.Error(), "the number is out of range", 1)
	}
	return console.Usage(errors.New(text))
}
