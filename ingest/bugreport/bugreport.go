// Package bugreport reads bug reports of Android: the text that dumpstate writes, with
// what the services of the system tell of themselves, the latest messages of the log
// and the history of the battery; and the archives that hold it, with more of the log
// and perhaps traces.
package bugreport

import (
	"path"
	"slices"
	"strings"

	"github.com/tpconvert/tpconvert/ingest/androidlog"
	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/lines"
	"github.com/tpconvert/tpconvert/model"
)

// Report is an archive that is a bug report.
type Report struct {
	// Members are all files of the report, in the order in which Trace Processor numbers
	// them: the text first, the archive's last one in its place.
	Members []format.Member
	// Parts are those that are read first, in their order.
	Parts []Part
	// Traces are traces among Members, to be read after that as in any archive.
	Traces []int
}

// Part is a member whose name tells the format.
type Part struct {
	Index  int // in Members
	Format *format.Format
}

// Arrange looks for the text of a bug report, bugreport-DEVICE-BUILD-DATE.txt, in an
// archive. It returns nil if there is none. The text is read first, as it tells the time
// zone; then the files of the log, the oldest first, without the messages that the text has
// too; then traces.
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

// dateOf is the date in the name of a report's text; its year is 0 if there is none.
func dateOf(name string) androidlog.Date {
	if len(name) < len(textName) || !strings.HasSuffix(name, ".txt") {
		return androidlog.Date{}
	}
	return dateIn(name[len(name)-len(textName):])
}

// isLog reports whether a member is a file of the log that Android keeps over reboots.
func isLog(name string) bool {
	return strings.HasPrefix(name, "FS/data/misc/logd/logcat") && !strings.HasSuffix(name, "logcat.id")
}

// isTrace reports whether a member is where Android and its tools put traces.
func isTrace(name string) bool {
	base := path.Base(name)
	return strings.HasPrefix(name, "FS/data/misc/perfetto-traces/") || strings.HasPrefix(base, "systrace") ||
		strings.HasSuffix(base, ".pftrace") || strings.HasSuffix(base, ".perfetto-trace")
}
