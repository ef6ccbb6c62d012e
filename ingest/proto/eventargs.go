package proto

import (
	"bytes"
	"encoding/base64"
	"strconv"

	"github.com/tpconvert/tpconvert/ingest/wire"
	"github.com/tpconvert/tpconvert/model"
)

// sourceLocation is an interned SourceLocation.
type sourceLocation struct {
	file, function []byte
	line           int64
	hasLine        bool
}

func (w *argWriter) location(iid uint64) (l sourceLocation, ok bool) {
	data, ok := w.state.Interned(internedSourceLocations, iid)
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

func (p *eventParser) addLocation(iid uint64, file, function, line *argPath) error {
	w := p.args
	if iid == 0 {
		return errNoLocation
	}
	l, ok := w.location(iid)
	if !ok {
		return errNoLocation
	}
	w.add(file, w.textOf(slashes(l.file)))
	w.add(function, w.textOf(l.function))
	w.add(line, model.UintArg(uint64(l.line)))
	return nil
}

// maxLogPrio is the highest priority of log messages, those of Android.
const maxLogPrio = 7

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
		return errNoInterned
	}
	w.add(k.logBody, model.StringArg(text))
	var tag model.StringID
	if hasLocation {
		l, ok := w.location(location)
		if !ok {
			return errNoLocation
		}
		tag = strs.Intern(string(l.file) + ":" + strconv.FormatInt(l.line, 10))
		w.add(k.logFile, w.textOf(l.file))
		w.add(k.logFunction, w.textOf(l.function))
		w.add(k.logLine, model.IntArg(l.line))
	}
	if hasPriority {
		if priority < 0 || priority > maxLogPrio {
			priority = 0
		}
		w.add(k.logPriority, model.IntArg(int64(priority)))
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
			at := p.args.named(p.keys.screenshot, names[f.Number])
			p.args.add(at, p.args.text(base64.StdEncoding.EncodeToString(f.Bytes())))
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
		return errNoInterned
	}
	p.args.add(p.keys.histogram, model.StringArg(name))
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
		w.overrides[prefix+".source_location_iid"] = locationIn(prefix)
	}
	w.overrides["chrome_memory_pressure_notification.creation_location_iid"] = locationIn("chrome_memory_pressure_notification")
	w.overrides["chrome_mojo_event_info.mojo_interface_method_iid"] = (*argWriter).mojoMethod
	w.overrides["job_scheduler_job.job_name_iid"] = func(w *argWriter, _ *argPath, f *wire.Field) bool {
		name, ok := w.state.InternedString(internedAndroidJobs, f.Uint64())
		if ok {
			w.add(w.named(&w.root, "job_scheduler_job.job_name"), model.StringArg(name))
		}
		return ok
	}
	w.overrides["android_view_dump.activity.view.class_name"] = func(w *argWriter, at *argPath, f *wire.Field) bool {
		name, ok := w.reader.translations.classes[w.textOf(f.Bytes()).String()]
		if ok {
			w.add(at, model.StringArg(name))
		}
		return ok
	}
	w.overrides["active_processes.pid"] = func(_ *argWriter, _ *argPath, f *wire.Field) bool {
		p.listProcess(int64(f.Uint32()))
		return false
	}
}

// locationIn writes an interned source location in place of its iid.
func locationIn(prefix string) func(*argWriter, *argPath, *wire.Field) bool {
	return func(w *argWriter, _ *argPath, f *wire.Field) bool {
		l, ok := w.location(f.Uint64())
		if !ok {
			return false
		}
		at := w.named(&w.root, prefix)
		w.add(w.named(at, "file_name"), w.textOf(slashes(l.file)))
		w.add(w.named(at, "function_name"), w.textOf(l.function))
		if l.hasLine {
			w.add(w.named(at, "line_number"), model.IntArg(l.line))
		}
		return true
	}
}
