// Tracegen writes traces of any size for benchmarks. The same format, size and
// seed always give the same bytes.
package main

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tpconvert/tpconvert/cmd/tracegen/many"
)

// A format writes a trace of about size bytes. All variation in the trace comes from
// rng.
type format struct {
	name  string
	write func(w *bufio.Writer, size int64, rng *rand.Rand) error
}

var formats = []format{
	{"json", writeJSON},
	{"ndjson", writeNDJSON},
	{"track-event", writeTrackEvents},
	{"fuchsia", writeFuchsia},
	{"ftrace", writeFtrace},
	{"ftrace-proto", writeTraced},
}

func main() {
	if err := command().Execute(); err != nil {
		os.Exit(1)
	}
}

func command() *cobra.Command {
	var names []string
	for _, f := range formats {
		names = append(names, f.name)
	}
	var manyNames []string
	for _, f := range many.Formats {
		manyNames = append(manyNames, f.Name)
	}
	var (
		name     string
		size     string
		count    int
		seed     uint64
		list     bool
		repeated string
	)
	cmd := &cobra.Command{
		Use:   "tracegen FILE",
		Short: "Write a trace for benchmarks",
		Args: func(cmd *cobra.Command, args []string) error {
			if list {
				return cobra.NoArgs(cmd, args)
			}
			return cobra.ExactArgs(1)(cmd, args)
		},
		SilenceUsage: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if list {
				fmt.Fprintln(cmd.OutOrStdout(), strings.Join(manyNames, "\n"))
				return nil
			}
			n, err := parseSize(size)
			if err != nil {
				return err
			}
			if repeated != "" {
				return writeFile(args[0], func(w *bufio.Writer) error { return repeat(w, repeated, n) })
			}
			for _, f := range formats {
				if f.name == name {
					return writeFile(args[0], func(w *bufio.Writer) error { return f.write(w, n, newRand(seed)) })
				}
			}
			for _, f := range many.Formats {
				if f.Name == name {
					return writeFile(args[0], func(w *bufio.Writer) error { return f.Write(w, count) })
				}
			}
			return fmt.Errorf("unknown format %q: want one of %s", name, strings.Join(slices.Concat(names, manyNames), ", "))
		},
	}
	cmd.Flags().StringVar(&name, "format", "json", "one of "+strings.Join(names, ", ")+"; or, with --count, one of --list")
	cmd.Flags().BoolVar(&list, "list", false, "list the traces of many things")
	cmd.Flags().StringVar(&size, "size", "1GB", "size of the trace in bytes, kB, MB or GB (powers of 1000)")
	cmd.Flags().IntVar(&count, "count", 1e6, "how many a trace of many has")
	cmd.Flags().Uint64Var(&seed, "seed", 1, "seed of the random numbers")
	cmd.Flags().StringVar(&repeated, "repeat", "", "a trace in Chrome's JSON, whose events are repeated up to --size, each time later")
	return cmd
}

func writeFile(path string, write func(*bufio.Writer) error) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := file.Close(); err == nil {
			err = closeErr
		}
	}()
	w := bufio.NewWriterSize(file, 1<<20)
	if err := write(w); err != nil {
		return err
	}
	return w.Flush()
}

func newRand(seed uint64) *rand.Rand {
	return rand.New(rand.NewPCG(seed, 0))
}

// parseSize reads sizes such as 1GB, 500MB, 64kB, 100B and 100, in bytes.
func parseSize(s string) (int64, error) {
	number, unit := strings.TrimSuffix(s, "B"), 1.0
	for suffix, factor := range map[string]float64{"k": 1e3, "M": 1e6, "G": 1e9} {
		if n, ok := strings.CutSuffix(number, suffix); ok {
			number, unit = n, factor
			break
		}
	}
	n, err := strconv.ParseFloat(number, 64)
	if size := n * unit; err == nil && size >= 1 && size <= 1e15 {
		return int64(size), nil
	}
	return 0, fmt.Errorf("bad size %q: want a number such as 500MB", s)
}
