package trackevent

import (
	"bytes"
	"encoding/base64"
	"strconv"

	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/ingest/proto/args"
	"github.com/tpconvert/tpconvert/ingest/wire"
	"github.com/tpconvert/tpconvert/model"
)

// sourceLocation is an interned SourceLocation.
type sourceLocation struct {
	file, function []byte
	line           int64
	hasLine        bool
}

func locationOf(s *proto.State, iid uint64) (l sourceLocation, ok bool) {
	data, ok := s.Interned(internedSourceLocations, iid)
	for f := wire.Read(data); f.Next(); {
		switch f.Number {
		case 2:
			l.file = f.Bytes()
		case 3:
			l.function = f.Bytes()
		case 4:
			l.line, l.hasLine = int64(f.Uint32()), true
		}
	}
	return l, ok
}

// slashes makes paths of Windows look like those of others.
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

// Priorities of log messages, those of Android.
const (
	logInfo    = 4 // of messages that have none
	maxLogPrio = 7
)

// addLog adds a log message to the event and to android_logs.
func (p *eventParser) addLog(data []byte) error {
	w, k, strs := p.args, &p.keys, p.Store.Strings
	if p.utid == model.None {
		return errNoThread
	}
	var location, body uint64
	var hasLocation bool
	priority, hasPriority := int32(logInfo), false
	for f := wire.Read(data); f.Next(); {
		switch f.Number {
		case 1:
			location, hasLocation = f.Uint64(), true
		case 2:
			body = f.Uint64()
		case 3:
			priority, hasPriority = f.Int32(), true
		}
	}
	text, ok := p.state.InternedString(internedLogBodies, body)
	if !ok {
		return args.ErrNoInterned
	}
	w.Add(k.logBody, model.StringArg(text))
	var tag model.StringID
	if hasLocation {
		l, ok := locationOf(p.state, location)
		if !ok {
			return errNoLocation
		}
		tag = strs.Intern(string(l.file) + ":" + strconv.FormatInt(l.line, 10))
		w.Add(k.logFile, w.TextOf(l.file))
		w.Add(k.logFunction, w.TextOf(l.function))
		w.Add(k.logLine, model.IntArg(l.line))
	}
	if hasPriority {
		if priority < 0 || priority > maxLogPrio {
			priority = 0
		}
		w.Add(k.logPriority, model.IntArg(int64(priority)))
	}
	t := &p.Store.AndroidLogs
	row := t.Append()
	t.TS.Set(row, p.ts)
	t.UTID.Set(row, p.utid)
	t.Prio.Set(row, priority)
	t.Tag.Set(row, tag)
	t.Msg.Set(row, text)
	t.LogSource.Set(row, strs.Intern("android_logcat"))
	return nil
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
	iid, ok := wire.Find(data, 4)
	if !ok {
		return nil
	}
	if _, both := wire.Find(data, 2); both {
		return errTwoNames
	}
	name, ok := p.state.InternedString(internedHistograms, iid.Uint64())
	if !ok {
		return args.ErrNoInterned
	}
	p.args.Add(p.keys.histogram, model.StringArg(name))
	return nil
}

// addProcesses makes the processes known that Chrome says are alive.
func (p *eventParser) addProcesses(data []byte) {
	for f := wire.Read(data); f.Next(); {
		if f.Number == 1 {
			for pid := range f.Varints {
				p.listProcess(int64(uint32(pid)))
			}
		}
	}
}

func (p *eventParser) listProcess(pid int64) { p.processes.list(p.ts, p.Machine.Process(pid)) }

// addOverrides sets which fields of events are written in a way of their own.
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
		name, ok := w.State().InternedString(internedAndroidJobs, f.Uint64())
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
	w.Override("active_processes.pid", func(_ *args.Writer, _ *args.Path, f *wire.Field) bool {
		p.listProcess(int64(f.Uint32()))
		return false
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
