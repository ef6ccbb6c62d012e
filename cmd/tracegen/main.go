// Tracegen writes traces of any size for benchmarks, and traces of very many things. Each time, it writes the same bytes.
package main

import (
	"bufio"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tpconvert/tpconvert/cmd/tracegen/many"
	"github.com/tpconvert/tpconvert/cmd/tracegen/template"
)

// A format is a trace of any size: parts for i from 0, and a tail that follows so many.
type format struct{ head, each, tail template.Shape }

var formats = map[string]func() format{
	"json":         func() format { return jsonFormat(",\n") },
	"ndjson":       func() format { return jsonFormat(" \n") },
	"track-event":  trackEvents,
	"fuchsia":      fuchsia,
	"ftrace":       ftraceText,
	"ftrace-proto": ftraceProto,
}

func main() {
	if err := command().Execute(); err != nil {
		os.Exit(1)
	}
}

func command() *cobra.Command {
	var (
		name, size, repeated string
		count                int
	)
	cmd := &cobra.Command{
		Use:          "tracegen [FILE]",
		Short:        "Write a trace for benchmarks; without FILE, list the traces of many things",
		Args:         cobra.MaximumNArgs(1),
		SilenceUsage: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				for _, f := range many.Formats {
					fmt.Fprintln(cmd.OutOrStdout(), f.Name)
				}
				return nil
			}
			bytes, err := parseSize(size)
			if err != nil {
				return err
			}
			var write func(w *bufio.Writer) error
			thing := slices.IndexFunc(many.Formats, func(f many.Format) bool { return f.Name == name })
			switch build := formats[name]; {
			case repeated != "":
				write = func(w *bufio.Writer) error { return repeat(w, repeated, bytes) }
			case build != nil:
				write = func(w *bufio.Writer) error { return build().write(w, bytes) }
			case thing >= 0:
				write = func(w *bufio.Writer) error { return many.Formats[thing].Write(w, count) }
			default:
				return fmt.Errorf("unknown format %q", name)
			}
			return writeFile(args[0], write)
		},
	}
	cmd.Flags().StringVar(&name, "format", "json", "one of "+strings.Join(slices.Sorted(maps.Keys(formats)), ", ")+"; or, with --count, a trace of many things")
	cmd.Flags().StringVar(&size, "size", "1GB", "size of the trace in bytes, kB, MB or GB (powers of 1000)")
	cmd.Flags().IntVar(&count, "count", 1e6, "how many a trace of many has")
	cmd.Flags().StringVar(&repeated, "repeat", "", "a trace in Chrome's JSON, whose events are repeated up to --size, each time later")
	return cmd
}

func writeFile(path string, write func(*bufio.Writer) error) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	w := bufio.NewWriterSize(file, 1<<20)
	if err := write(w); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return file.Close()
}

// write writes a trace of about a size.
func (f format) write(w *bufio.Writer, size int64) error {
	w.Write(f.head(nil, 0, 0))
	var b []byte
	i := 0
	for ; size > 0; i++ {
		b = f.each(b[:0], i, 0)
		if _, err := w.Write(b); err != nil {
			return err
		}
		size -= int64(len(b))
	}
	_, err := w.Write(f.tail(nil, i, 0))
	return err
}

// parseSize reads sizes such as 1GB, 500MB, 64kB and 100, in bytes.
func parseSize(s string) (int64, error) {
	digits := strings.TrimRight(s, "kMGB")
	unit := map[string]int64{"": 1, "B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9}[s[len(digits):]]
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || unit == 0 || n < 1 || n > 1e15/unit {
		return 0, fmt.Errorf("bad size %q: want a number such as 500MB", s)
	}
	return n * unit, nil
}
