package console

import (
	"fmt"

	"github.com/spf13/cobra"
)

// UsageError is an error in the use of the command line.
type UsageError struct{ error }

// Usage returns an error as one in the use of the command line.
func Usage(err error) error { return UsageError{err} }

// Arguments turns the errors of an argument check into usage errors.
func Arguments(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return Usage(fmt.Errorf("%w; see %s --help", err, cmd.CommandPath()))
		}
		return nil
	}
}
