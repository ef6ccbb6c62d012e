package bugreport

import (
	"bytes"
	"strings"
	"time"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/androidlog"
	"github.com/tpconvert/tpconvert/ingest/internal/lines"
	"github.com/tpconvert/tpconvert/model"
)

// Dumpstate is the text of a bug report, or only the battery statistics that "dumpsys
// batterystats -c" writes.
var Dumpstate = &format.Format{Name: "android_dumpstate", Sniff: sniff, Read: func(in *format.Input) error {
	return readDumpstate(in, dateOf(in.File.Name), nil)
}}

const (
	ruler        = "========================================================"
	titleStart   = "== dumpstate: "
	batteryStart = "9,0,i,vers,"
)

func sniff(head []byte) bool {
	first, rest, _ := bytes.Cut(head, []byte("\n"))
	return string(withoutCR(first)) == ruler && bytes.HasPrefix(rest, []byte(titleStart)) || bytes.HasPrefix(head, []byte(batteryStart))
}

// withoutCR returns a line without the carriage return that adb on Windows writes.
func withoutCR(line []byte) []byte { return bytes.TrimSuffix(line, []byte("\r")) }

// dumpstate reads the text of a bug report. The text has sections, and dumpsys sections
// have services:
//
//	------ DUMPSYS CRITICAL (/system/bin/dumpsys) ------
//	-------------------------------------------------------------------------------
//	DUMP OF SERVICE CRITICAL SurfaceFlinger:
//	...
//	--------- 0.005s was the duration of dumpsys SurfaceFlinger, ending at: 2021-08-24 23:38:00
//	------ 0.356s was the duration of 'DUMPSYS CRITICAL' ------
type dumpstate struct {
	in               *format.Input
	log              *androidlog.Log
	battery          *battery
	contents         contents
	section, service model.StringID
	alarms           bool // the current service is the alarm service
}

// contents is the kind of the current section's lines.
type contents uint8

const (
	otherLines contents = iota
	dumpsysLines
	logLines
	batteryLines
)

// readDumpstate reads the text of a report written on a date, and collects its log
// messages in remember.
func readDumpstate(in *format.Input, written androidlog.Date, remember androidlog.Messages) error {
	in.UseClock(model.ClockRealtime)
	d := &dumpstate{in: in, battery: newBattery(in), log: androidlog.New(in, written)}
	d.log.AwaitZone, d.log.Remember = true, remember
	if err := lines.Each(in, d.line); err != nil {
		return err
	}
	return d.log.Flush()
}

func (d *dumpstate) line(offset int64, line []byte) error {
	line = withoutCR(line)
	if title, ok := cut(line, "------ ", " ------"); ok {
		d.begin(title)
		return nil
	}
	if d.contents == dumpsysLines {
		switch {
		case bytes.HasPrefix(line, []byte("--------- ")) && bytes.Contains(line, []byte("was the duration of dumpsys")):
			d.service, d.alarms = 0, false
			return nil
		case d.service == 0 && bytes.HasPrefix(line, []byte("----------------------------------------------")):
			return nil
		}
	}
	if bytes.HasPrefix(line, []byte(batteryStart)) {
		d.contents = batteryLines
	}
	switch {
	case d.log.Written.Year == 0 && bytes.HasPrefix(line, []byte(titleStart)):
		d.log.Written = dateIn(string(line[len(titleStart):]))
	case d.contents == dumpsysLines && bytes.HasPrefix(line, []byte("DUMP OF SERVICE")):
		name := bytes.TrimSuffix(line[bytes.LastIndexByte(line, ' ')+1:], []byte(":"))
		d.service, d.alarms = d.in.Store.Strings.InternBytes(name), string(name) == "alarm"
	case d.contents == dumpsysLines && d.alarms:
		if zone, ok := zoneIn(line); ok {
			d.in.Clocks.SetZone(zone)
		}
	case d.contents == logLines:
		if err := d.log.Line(offset, line); err != nil {
			return err
		}
	case d.contents == batteryLines:
		if ok, err := d.battery.line(offset, line); err != nil || !ok {
			d.in.File.LogAt(statBatteryParseErrors, offset, nil)
			return err
		}
	}
	t := &d.in.Store.AndroidDumpstate
	row := t.Append()
	t.Section.Set(row, d.section)
	t.Service.Set(row, d.service)
	t.Line.Set(row, d.in.Store.Strings.InternBytes(line))
	return nil
}

// begin handles the title of a section, or the line that ends one. Lines after the end
// still count as its kind.
func (d *dumpstate) begin(title []byte) {
	d.section, d.service, d.alarms = 0, 0, false
	if bytes.Contains(title, []byte("was the duration of")) {
		return
	}
	d.contents = otherLines
	starts := func(s string) bool { return bytes.HasPrefix(title, []byte(s)) }
	switch {
	case starts("DUMPSYS"):
		d.contents = dumpsysLines
	case starts("EVENT LOG TAGS"): // the names of events
	case starts("SYSTEM LOG"), starts("EVENT LOG"), starts("RADIO LOG"): // SYSTEM LOG has kernel messages too
		d.contents = logLines
	case starts("BLOCK STAT"): // there is one section per device
		title = []byte("BLOCK STAT")
	case starts("CHECKIN BATTERYSTATS"):
		d.contents = batteryLines
	}
	d.section = d.in.Store.Strings.InternBytes(title)
}

// cut returns the text between two marks at the start and the end of a line.
func cut(line []byte, before, after string) (between []byte, ok bool) {
	if len(line) < len(before)+len(after) || !bytes.HasPrefix(line, []byte(before)) || !bytes.HasSuffix(line, []byte(after)) {
		return nil, false
	}
	return line[len(before) : len(line)-len(after)], true
}

// dateIn reads the year at the start of a text, and the month if it follows: 2021-08.
func dateIn(text string) (d androidlog.Date) {
	const year, month = len("2021"), len("2021-08")
	if t, err := time.Parse("2006", text[:min(len(text), year)]); err == nil {
		d.Year = t.Year()
	}
	if t, err := time.Parse("2006-01", text[:min(len(text), month)]); err == nil {
		d.Month = t.Month()
	}
	return d
}

// mostZone is the largest accepted offset between the shown time and UTC. It exceeds
// every real time zone.
const mostZone = 24 * time.Hour

// zoneIn reads how far the device's wall clock is ahead of UTC, in ns. It needs the alarm
// service's line that gives the time both in UTC and as the device shows it:
//
//	nowRTC=1629844744041=2021-08-24 23:39:04.041 nowELAPSED=403532
func zoneIn(line []byte) (int64, bool) {
	times, ok := strings.CutPrefix(string(line), "  nowRTC=")
	if !ok {
		return 0, false
	}
	times, _, ok = strings.Cut(times, " nowELAPSED=")
	utc, shown, _ := strings.Cut(times, "=")
	ms, isTime := integer([]byte(utc))
	local, err := time.Parse("2006-01-02 15:04:05.000", shown)
	if !ok || !isTime || err != nil {
		return 0, false
	}
	zone := local.Sub(time.UnixMilli(ms))
	return int64(zone), zone.Abs() <= mostZone
}
