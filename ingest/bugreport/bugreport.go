// Package bugreport reads Android bug reports: the text that dumpstate writes, with the
// system services' dumps, the latest log messages and the battery history; and the archives
// that hold this text together with more of the log and sometimes traces.
package bugreport

import (
	"path"
	"slices"
	"strings"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/androidlog"
	"github.com/tpconvert/tpconvert/ingest/internal/lines"
	"github.com/tpconvert/tpconvert/model"
)

// Report is an archive that is a bug report.
type Report struct {
	// Members are all files of the report, in the order in which Trace Processor numbers
	// them: the text comes first, and the archive's last member takes its place.
	Members []format.Member
	// Parts are the members to read first, in order.
	Parts []Part
	// Traces are the traces among Members, as indices. They are read after Parts, as in any
	// archive.
	Traces []int
}

// Part is a member whose format is known from its name.
type Part struct {
	Index  int // in Members
	Format *format.Format
}

// Arrange looks in an archive for the text of a bug report,
// bugreport-DEVICE-BUILD-DATE.txt. It returns nil if there is none. The text is read first,
// because it contains the time zone; then the log files, oldest first, without the messages
// that are also in the text; then the traces.
func Arrange(found []format.Member) *Report {
	text := slices.IndexFunc(found, func(m format.Member) bool {
		return strings.HasPrefix(m.Name, "bugreport-") && dateOf(m.Name).Year != 0
	})
	if text < 0 {
		return nil
	}
	members := slices.Clone(found)
	last := len(members) - 1
	members[text], members[last] = members[last], members[text]
	members = slices.Insert(members[:last], 0, members[last])

	written, shown := dateOf(members[0].Name), androidlog.Messages{}
	report := &Report{Members: members, Parts: []Part{{0, &format.Format{Name: Dumpstate.Name, Read: func(in *format.Input) error {
		return readDumpstate(in, written, shown)
	}}}}}
	log := &format.Format{Name: "android_logcat", Read: func(in *format.Input) error {
		in.UseClock(model.ClockRealtime)
		l := androidlog.New(in, written)
		l.Known = shown
		return lines.Each(in, l.Line)
	}}
	for i, m := range members[1:] {
		switch {
		case isLog(m.Name):
			report.Parts = append(report.Parts, Part{i + 1, log})
		case isTrace(m.Name):
			report.Traces = append(report.Traces, i+1)
		}
	}
	slices.SortStableFunc(report.Parts[1:], func(a, b Part) int { return members[a.Index].Modified.Compare(members[b.Index].Modified) })
	return report
}

const textName = "2021-08-24-23-35-40.txt"

// dateOf returns the date in the name of a report's text; its year is 0 if there is none.
func dateOf(name string) androidlog.Date {
	if len(name) < len(textName) || !strings.HasSuffix(name, ".txt") {
		return androidlog.Date{}
	}
	return dateIn(name[len(name)-len(textName):])
}

// isLog reports whether a member is a file of the log that Android keeps across reboots.
func isLog(name string) bool {
	return strings.HasPrefix(name, "FS/data/misc/logd/logcat") && !strings.HasSuffix(name, "logcat.id")
}

// isTrace reports whether a member has a path where Android and its tools put traces.
func isTrace(name string) bool {
	base := path.Base(name)
	return strings.HasPrefix(name, "FS/data/misc/perfetto-traces/") || strings.HasPrefix(base, "systrace") ||
		strings.HasSuffix(base, ".pftrace") || strings.HasSuffix(base, ".perfetto-trace")
}
