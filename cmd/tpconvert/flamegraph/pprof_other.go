//go:build !cgo

package flamegraph

import (
	"context"
	"errors"

	"github.com/google/pprof/profile"
)

// Without DuckDB no profile is read, so nothing is to show, and pprof's pages need not be linked.

// Top returns an error.
func Top(*profile.Profile, Log) (string, error) { return "", errors.ErrUnsupported }

// Serve returns an error.
func (*Server) Serve(context.Context, *profile.Profile) error { return errors.ErrUnsupported }
