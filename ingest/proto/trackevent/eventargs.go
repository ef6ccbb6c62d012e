package trackevent

import (
	"bytes"
	"encoding/base64"
	"strconv"

	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/ingest/proto/args"
	"github.com/tpconvert/tpconvert/ingest/proto/message"
	"github.com/tpconvert/tpconvert/internal/perfetto/androidpb"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
)

// sourceLocation is an interned SourceLocation.
type sourceLocation struct {
	file, function []byte
	line           int64
	hasLine        bool
}

func locationOf(s *proto.State, iid uint64) (l sourceLocation, ok bool) {
	data, ok := s.Interned(pb.InternedData_SourceLocations, iid)
	for f := wire.Read(data); f.Next(); {
		switch f.Number {
		case pb.SourceLocation_FileName:
			l.file = f.Bytes()
		case pb.SourceLocation_FunctionName:
			l.function = f.Bytes()
		case pb.SourceLocation_LineNumber:
			l.line, l.hasLine = int64(f.Uint32()), true
		}
	}
	return l, ok
}

// slashes replaces the backslashes of Windows paths by slashes.
func slashes(path []byte) []byte { return bytes.ReplaceAll(path, []byte{'\\'}, []byte{'/'}) }

func (p *eventParser) addLocation(iid uint64, file, function, line *args.Path) error {
	w := p.args
	if iid == 0 {
		return errNoLocation
	}
	l, ok := locationOf(p.state, iid)
	if !ok {
		return errNoLocation
	}
	w.Add(file, w.TextOf(slashes(l.file)))
	w.Add(function, w.TextOf(l.function))
	w.Add(line, model.UintArg(uint64(l.line)))
	return nil
}

// Priorities of log messages, as in Android.
const (
	logInfo    = 4 // the default
	maxLogPrio = 7
)

// logMessage is a LogMessage, or why it cannot be read.
type logMessage struct {
	text, tag   model.StringID
	location    sourceLocation
	hasLocation bool
	priority    int32
	hasPriority bool
	err         error
}

func (p *eventParser) readLog(data []byte) (l logMessage) {
	if l.priority = logInfo; p.utid == model.None {
		l.err = errNoThread
		return l
	}
	var location, body uint64
	for f := wire.Read(data); f.Next(); {
		switch f.Number {
		case pb.LogMessage_SourceLocationIID:
			location, l.hasLocation = f.Uint64(), true
		case pb.LogMessage_BodyIID:
			body = f.Uint64()
		case pb.LogMessage_Prio:
			l.priority, l.hasPriority = f.Int32(), true
		}
	}
	if l.priority < 0 || l.priority > maxLogPrio {
		l.priority = 0
	}
	var ok bool
	if l.text, ok = p.state.InternedString(pb.InternedData_LogMessageBody, body); !ok {
		l.err = args.ErrNoInterned
		return l
	}
	if l.hasLocation {
		if l.location, ok = locationOf(p.state, location); !ok {
			l.err = errNoLocation
			return l
		}
		l.tag = p.Store.Strings.Intern(string(l.location.file) + ":" + strconv.FormatInt(l.location.line, 10))
	}
	return l
}

// addLogArgs adds a log message to the args of its event.
func (p *eventParser) addLogArgs() error {
	w, k, l := p.args, &p.keys, &p.log
	if l.text != 0 {
		w.Add(k.logBody, model.StringArg(l.text))
	}
	if l.err != nil {
		return l.err
	}
	if l.hasLocation {
		w.Add(k.logFile, w.TextOf(l.location.file))
		w.Add(k.logFunction, w.TextOf(l.location.function))
		w.Add(k.logLine, model.IntArg(l.location.line))
	}
	if l.hasPriority {
		w.Add(k.logPriority, model.IntArg(int64(l.priority)))
	}
	return nil
}

// addLogRow adds a log message to android_logs.
func (p *eventParser) addLogRow() {
	l := &p.log
	if p.e.log == nil || l.err != nil {
		return
	}
	t := &p.Store.AndroidLogs
	row := t.Append()
	t.TS.Set(row, p.ts)
	t.UTID.Set(row, p.utid)
	t.Prio.Set(row, l.priority)
	t.Tag.Set(row, l.tag)
	t.Msg.Set(row, l.text)
	t.LogSource.Set(row, p.Store.Strings.Intern("android_logcat"))
}

// addScreenshot adds images, in base64.
func (p *eventParser) addScreenshot(data []byte) {
	names := [...]string{1: "jpg_image", 2: "pam_image", 3: "ppm_image"}
	for f := wire.Read(data); f.Next(); {
		if f.Number < uint32(len(names)) {
			at := p.args.Named(p.keys.screenshot, names[f.Number])
			p.args.Add(at, p.args.Text(base64.StdEncoding.EncodeToString(f.Bytes())))
		}
	}
}

func (p *eventParser) addHistogram(data []byte) error {
	iid, ok := wire.Find(data, pb.ChromeHistogramSample_NameIID)
	if !ok {
		return nil
	}
	if _, both := wire.Find(data, pb.ChromeHistogramSample_Name); both {
		return errTwoNames
	}
	name, ok := p.state.InternedString(pb.InternedData_HistogramNames, iid.Uint64())
	if !ok {
		return args.ErrNoInterned
	}
	p.args.Add(p.keys.histogram, model.StringArg(name))
	return nil
}

// addProcesses adds the processes that Chrome lists as alive.
func (p *eventParser) addProcesses(data []byte) {
	for pid := range message.Numbers(data, pb.ChromeActiveProcesses_PID) {
		p.processes.list(p.ts, p.Machine.Process(int64(uint32(pid))))
	}
}

// addOverrides registers the event fields that are written in a special way.
func (p *eventParser) addOverrides() {
	w := p.args
	for _, prefix := range []string{
		"begin_impl_frame_args.current_args", "begin_impl_frame_args.last_args",
		"begin_frame_observer_state.last_begin_frame_args",
	} {
		w.Override(prefix+".source_location_iid", locationIn(prefix))
	}
	w.Override("chrome_memory_pressure_notification.creation_location_iid", locationIn("chrome_memory_pressure_notification"))
	w.Override("chrome_mojo_event_info.mojo_interface_method_iid", p.mojoMethod)
	w.Override("job_scheduler_job.job_name_iid", func(w *args.Writer, _ *args.Path, f *wire.Field) bool {
		name, ok := w.State().InternedString(androidpb.FrameworksBaseInternedData_AndroidJobName, f.Uint64())
		if ok {
			w.Add(w.Named(w.Root(), "job_scheduler_job.job_name"), model.StringArg(name))
		}
		return ok
	})
	w.Override("android_view_dump.activity.view.class_name", func(w *args.Writer, at *args.Path, f *wire.Field) bool {
		name, ok := p.translations.Classes[w.TextOf(f.Bytes()).String()]
		if ok {
			w.Add(at, model.StringArg(name))
		}
		return ok
	})
}

// locationIn writes an interned source location in place of its iid.
func locationIn(prefix string) args.Override {
	return func(w *args.Writer, _ *args.Path, f *wire.Field) bool {
		l, ok := locationOf(w.State(), f.Uint64())
		if !ok {
			return false
		}
		at := w.Named(w.Root(), prefix)
		w.Add(w.Named(at, "file_name"), w.TextOf(slashes(l.file)))
		w.Add(w.Named(at, "function_name"), w.TextOf(l.function))
		if l.hasLine {
			w.Add(w.Named(at, "line_number"), model.IntArg(l.line))
		}
		return true
	}
}
