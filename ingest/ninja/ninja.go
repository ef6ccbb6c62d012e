// Package ninja reads the build logs of ninja.
//
// A log is a header with a version, and a line for each output file with fields
// separated by tabs: start and end of the job in ms since the start of the
// build, a modification time, the file, and the command or its hash. See ninja's
// build_log.cc.
package ninja

import (
	"bytes"
	"math"
	"strconv"

	"github.com/zeebo/xxh3"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/lines"
	"github.com/tpconvert/tpconvert/ingest/internal/token"
	"github.com/tpconvert/tpconvert/model"
)

// Format is the .ninja_log format, versions 4 to 7. The last field is the
// command in version 4, its MurmurHash in versions 5 and 6, and its rapidhash in
// version 7. Version 6 changed the meaning of the modification time, which does
// not matter here.
var Format = &format.Format{
	Name:  "ninja_log",
	Sniff: func(head []byte) bool { return bytes.HasPrefix(head, []byte("# ninja log")) },
	Read:  read,
}

const (
	signature   = "# ninja log v"
	nsPerMs     = 1_000_000
	versionHash = 5 // first version with the command's hash
)

// job is one execution of a command.
type job struct {
	start, end int64  // ns since the start of the build
	command    uint64 // a hash of it
}

func read(in *format.Input) error {
	// A command with several output files has a line for each. ninja writes them one after the other, but in any order when it
	// compacts the log.
	var jobs []job
	outputs := map[job][]byte{} // separated by spaces
	version := 0                // before the header
	err := lines.Each(in, func(offset int64, line []byte) (err error) {
		line = bytes.TrimSuffix(line, []byte("\r"))
		if version == 0 {
			version, err = parseHeader(line)
			return err
		}
		if len(line) == 0 {
			return nil
		}
		j, output, ok := parse(line, version)
		if !ok {
			in.File.LogAt(model.StatNinjaParseErrors, offset, nil)
			return nil
		}
		if others, ok := outputs[j]; ok {
			outputs[j] = append(append(others, ' '), output...)
			return nil
		}
		jobs = append(jobs, j)
		outputs[j] = bytes.Clone(output)
		return nil
	})
	builds := in.Sorter.NewStream(newLayout(in.Context))
	event := token.NewWriter(in.Store)
	for _, j := range jobs {
		event.Reset()
		event.Int(j.end)
		event.Text(outputs[j])
		if err := builds.Push(j.start, event.Bytes()); err != nil {
			return err
		}
	}
	return err
}

// parseHeader returns the version of the log.
func parseHeader(line []byte) (int, error) {
	version, err := strconv.Atoi(string(bytes.TrimPrefix(line, []byte(signature))))
	if err != nil {
		return 0, format.Errorf(format.ErrCorrupt, 0, "no version in the header %q", line[:min(len(line), 40)])
	}
	if version < 4 || version > 7 {
		return 0, format.Errorf(format.ErrUnsupported, 0, "version %d; supported versions are 4 to 7", version)
	}
	return version, nil
}

// parse reads a line into a job and its output, which points into the line.
func parse(line []byte, version int) (j job, output []byte, ok bool) {
	start, rest, _ := bytes.Cut(line, []byte("\t"))
	end, rest, _ := bytes.Cut(rest, []byte("\t"))
	_, rest, _ = bytes.Cut(rest, []byte("\t"))
	output, command, ok := bytes.Cut(rest, []byte("\t"))
	if !ok || len(output) == 0 || len(command) == 0 {
		return j, nil, false
	}
	if version < versionHash {
		j.command = xxh3.Hash(command)
	} else if hash, err := strconv.ParseUint(string(command), 16, 64); err == nil {
		j.command = hash
	} else {
		return j, nil, false
	}
	if j.start, ok = parseMs(start); !ok {
		return j, nil, false
	}
	j.end, ok = parseMs(end)
	return j, output, ok
}

// parseMs converts a number of ms to ns.
func parseMs(text []byte) (int64, bool) {
	const limit = math.MaxInt64 / nsPerMs
	ms, err := strconv.ParseInt(string(text), 10, 64)
	return ms * nsPerMs, err == nil && -limit <= ms && ms <= limit
}
