// Package ninja reads the build logs of ninja.
//
// A log is a header with a version and a line for each file that was built, with
// tabs between the fields: start and end of the job in milliseconds since the
// build began, a modification time, the file, and the command or its hash. See
// ninja's build_log.cc.
package ninja

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"strconv"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/model"
)

// Format is the .ninja_log, versions 4 to 7. Version 4 has the command in its
// last field, 5 and 6 have a MurmurHash of it, 7 has a rapidhash. 6 takes the
// modification time from elsewhere, which does not matter here.
var Format = &format.Format{
	Name: "ninja_log", Priority: 183,
	Sniff: func(head []byte) bool { return bytes.HasPrefix(head, []byte("# ninja log")) },
	Read:  read,
}

const (
	signature   = "# ninja log v"
	nsPerMs     = 1_000_000
	maxLine     = 64 << 20
	versionHash = 5 // first that has the command's hash
)

// job is one run of a command, which may build several files.
type job struct {
	start, end int64  // ns since the build began
	command    []byte // or its hash
	outputs    []byte // separated by spaces
}

// is reports whether two lines are of the same job.
func (j *job) is(other *job) bool {
	return j.start == other.start && j.end == other.end && bytes.Equal(j.command, other.command)
}

func read(in *format.Input) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	lines.Split(splitLines)
	if !lines.Scan() {
		return format.Errorf(format.ErrCorrupt, 0, "no header: %v", lines.Err())
	}
	header := lines.Bytes()
	offset := int64(len(header))
	version, err := strconv.Atoi(string(bytes.TrimRight(bytes.TrimPrefix(header, []byte(signature)), "\r\n")))
	if err != nil {
		return format.Errorf(format.ErrCorrupt, 0, "no version in the header %q", header[:min(len(header), 40)])
	}
	if version < 4 || version > 7 {
		return format.Errorf(format.ErrUnsupported, 0, "version %d; versions 4 to 7 can be read", version)
	}

	var jobs []job
	for ; lines.Scan(); offset += int64(len(lines.Bytes())) {
		line, whole := bytes.CutSuffix(lines.Bytes(), []byte("\n"))
		if !whole {
			in.File.LogAt(model.StatTruncatedInput, offset, nil)
			break
		}
		line = bytes.TrimSuffix(line, []byte("\r"))
		if len(line) == 0 {
			continue
		}
		j, ok := parse(line, version)
		if !ok {
			in.File.LogAt(model.StatNinjaParseErrors, offset, nil)
			continue
		}
		// A command that builds several files has a line for each.
		if n := len(jobs); n > 0 && jobs[n-1].is(&j) {
			jobs[n-1].outputs = append(append(jobs[n-1].outputs, ' '), j.outputs...)
			continue
		}
		j.command, j.outputs = bytes.Clone(j.command), bytes.Clone(j.outputs)
		jobs = append(jobs, j)
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return format.Errorf(format.ErrCorrupt, offset, "a line of more than %d bytes", maxLine)
	}
	sortJobs(jobs)
	events := in.Sorter.NewStream(newLayout(in.Context))
	for _, j := range jobs {
		if err := events.Push(j.start, append(binary.AppendVarint(nil, j.end), j.outputs...)); err != nil {
			return err
		}
	}
	return lines.Err()
}

// splitLines is bufio.ScanLines, but leaves the line's end on it: without one,
// the line was cut.
func splitLines(data []byte, atEOF bool) (int, []byte, error) {
	n := bytes.IndexByte(data, '\n') + 1
	if n == 0 && atEOF {
		n = len(data)
	}
	if n == 0 {
		return 0, nil, nil
	}
	return n, data[:n], nil
}

// parse reads a line into a job whose slices are the line's.
func parse(line []byte, version int) (j job, ok bool) {
	start, rest, _ := bytes.Cut(line, []byte("\t"))
	end, rest, _ := bytes.Cut(rest, []byte("\t"))
	_, rest, _ = bytes.Cut(rest, []byte("\t"))
	j.outputs, j.command, ok = bytes.Cut(rest, []byte("\t"))
	if !ok || len(j.outputs) == 0 || len(j.command) == 0 {
		return j, false
	}
	if version >= versionHash {
		if _, err := strconv.ParseUint(string(j.command), 16, 64); err != nil {
			return j, false
		}
	}
	j.start, ok = parseMs(start)
	if !ok {
		return j, false
	}
	j.end, ok = parseMs(end)
	return j, ok
}

// parseMs returns a number of milliseconds in ns.
func parseMs(text []byte) (int64, bool) {
	const limit = math.MaxInt64 / nsPerMs
	ms, err := strconv.ParseInt(string(text), 10, 64)
	return ms * nsPerMs, err == nil && -limit <= ms && ms <= limit
}
