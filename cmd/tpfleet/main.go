// Tpfleet converts the traces of a fleet into Iceberg tables: it plans tasks, carries them out anywhere, and commits
// their results.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/telemetry"
)

// Exit codes, the same as those of tpconvert.
const (
	exitFailure     = 1
	exitUsage       = 2
	exitChanged     = 3
	exitInterrupted = 130
)

// Variables of the environment.
const (
	logFormat      = "TPFLEET_LOG_FORMAT"
	metricsAddress = "TPFLEET_METRICS"
)

// checksums is the variable by which the SDK of AWS knows which responses have to have a checksum.
const checksums = "AWS_RESPONSE_CHECKSUM_VALIDATION"

// usageError is an error in the use of the command line.
type usageError struct{ error }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process immediately
	telemetry.Log(os.Stderr, false)
	// Objects without a checksum of the SDK's kinds are common, and it would warn of each.
	if os.Getenv(checksums) == "" {
		_ = os.Setenv(checksums, "when_required")
	}
	stopMetrics := func(context.Context) error { return nil }
	err := newRootCommand(&stopMetrics).ExecuteContext(ctx)
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	if err := stopMetrics(last); err != nil {
		slog.Warn("the last metrics were not sent", "error", err)
	}
	cancel()
	if err != nil {
		code := exitCode(ctx, err)
		if code == exitInterrupted && errors.Is(err, context.Canceled) {
			err = errors.New("interrupted")
		}
		slog.Error(err.Error(), "exit_code", code)
		os.Exit(code)
	}
}

// exitCode returns the exit code for an error.
func exitCode(ctx context.Context, err error) int {
	var usage usageError
	var changed trendError
	switch {
	case ctx.Err() != nil:
		return exitInterrupted
	case errors.As(err, &usage):
		return exitUsage
	case errors.As(err, &changed):
		return exitChanged
	}
	return exitFailure
}

// newRootCommand returns the command. When it begins, it sets what ends the metrics.
func newRootCommand(stopMetrics *func(context.Context) error) *cobra.Command {
	var format, metrics string
	root := &cobra.Command{
		Use:           "tpfleet",
		Short:         "Convert the traces of a fleet into Iceberg tables",
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       version(),
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if format != "text" && format != "json" {
				return usageError{fmt.Errorf("--log-format is text or json, not %q", format)}
			}
			if err := os.Setenv(logFormat, format); err != nil { // for workers
				return err
			}
			telemetry.Log(cmd.ErrOrStderr(), format == "json")
			stop, err := telemetry.Start(cmd.Context(), metrics, version())
			if err == nil {
				*stopMetrics = stop
			}
			return err
		},
	}
	root.PersistentFlags().StringVar(&format, "log-format", cmp.Or(os.Getenv(logFormat), "text"), "messages on stderr as text, or json: an object per line ($"+logFormat+")")
	root.PersistentFlags().StringVar(&metrics, "metrics", os.Getenv(metricsAddress), "address at which Prometheus gets metrics, such as :9464 ($"+metricsAddress+"); $OTEL_EXPORTER_OTLP_ENDPOINT sends them by OTLP")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.AddCommand(newInitCommand(), newPlanCommand(), newWorkCommand(), newCommitCommand(), newRunCommand(), newStatusCommand(),
		newQueryCommand(), newTrendCommand(), newSourcesCommand(), newLabelCommand(), newForgetCommand(), newReworkCommand(), newWatchCommand(), newCompactCommand(), newExpireCommand(), newGCCommand())
	return root
}

// arguments makes a wrong number of arguments a wrong usage.
func arguments(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usageError{err}
		}
		return nil
	}
}

// version returns the version of the module, or "(devel)" if unknown.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
