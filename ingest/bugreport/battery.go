package bugreport

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/token"
	"github.com/tpconvert/tpconvert/ingest/internal/tracks"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/sort"
)

var statBatteryParseErrors = model.NewStat(1019, model.StatInfo{
	Name: "battery_stats_parse_errors", Severity: model.DataLoss, Effect: model.Lost,
	Description: "Lines and items of a bug report's battery history that cannot be read.",
})

// battery reads the output of "dumpsys batterystats -c": lines of comma-separated values.
// Lines with an h are the history: the time in ms since the previous line, and what changed:
//
//	9,0,i,vers,36,214,AP1A.240305.019.A1,AP2A.240805.005.S4
//	9,hsp,1,1001,"*telephony-radio*"
//	9,h,0:RESET:TIME:1732816430344
//	9,h,10,Bl=100,+r,+w=1
//
// Timestamps are wall-clock time in UTC. Items refer to texts by their number in the hsp
// lines, which may come later.
type battery struct {
	in      *format.Input
	items   *sort.Stream
	event   *token.Writer
	history *history
	ms      int64 // time of the last line, ms since the Unix epoch
	timed   bool  // ms is known
}

func newBattery(in *format.Input) *battery {
	h := &history{Context: in.Context, texts: map[int64]text{}}
	return &battery{in: in, items: in.Sorter.NewStream(h), event: token.NewWriter(in.Store), history: h}
}

// line reads a line. ok is false if the line is malformed.
func (b *battery) line(offset int64, line []byte) (ok bool, err error) {
	if string(next(&line, ',')) != "9" {
		return false, nil
	}
	switch string(next(&line, ',')) {
	case "0":
		if string(next(&line, ',')) != "i" || string(next(&line, ',')) != "vers" {
			return true, nil
		}
		b.history.version, ok = integer(next(&line, ','))
		return ok, nil
	case "hsp":
		index, ok := integer(next(&line, ','))
		if !ok {
			return false, nil
		}
		uid, err := strconv.ParseInt(string(next(&line, ',')), 10, 32)
		if err != nil || index < 0 {
			b.in.File.LogAt(statBatteryParseErrors, offset, nil) // redacted reports have such lines
			return true, nil
		}
		b.history.texts[index] = text{int32(uid), string(unquote(line))}
		b.history.last = max(b.history.last, index)
	case "h":
		return b.changes(offset, line)
	}
	return true, nil
}

// systemTimes begins the times that the system spent in each state, which have commas between them: Dpst=130230,93510,-3060,Empty.
var systemTimes = []byte("Dpst=")

// changes reads a history line.
func (b *battery) changes(offset int64, line []byte) (ok bool, err error) {
	at := next(&line, ',')
	if _, wall, ok := bytes.Cut(at, []byte(":TIME:")); ok {
		b.ms, b.timed = integer(wall)
		return b.timed, nil
	}
	at, _, _ = bytes.Cut(at, []byte(":")) // START, SHUTDOWN and *OVERFLOW* take time, too
	passed, ok := integer(at)
	const most = math.MaxInt64 / int64(time.Millisecond) / 2
	if !ok || max(passed, b.ms) > most || min(passed, b.ms) < -most {
		return false, nil
	}
	b.ms += passed
	for item := next(&line, ','); len(item) > 0; item = next(&line, ',') {
		if bytes.HasPrefix(item, systemTimes) {
			line = nil
		}
		if !b.timed {
			b.in.File.LogAt(statBatteryParseErrors, offset, nil)
			continue
		}
		ts, ok := b.in.TraceTime(b.ms*int64(time.Millisecond), offset)
		if !ok {
			continue
		}
		b.event.Reset()
		b.event.Rest(item)
		if err := b.items.Push(ts, b.event.Bytes()); err != nil {
			return false, err
		}
	}
	return true, nil
}

// next cuts the next word from a line, skipping separators before it.
func next(line *[]byte, separator byte) []byte {
	word, rest, _ := bytes.Cut(bytes.TrimLeft(*line, string(separator)), []byte{separator})
	*line = rest
	return word
}

func integer(word []byte) (int64, bool) {
	n, err := strconv.ParseInt(string(word), 10, 64)
	return n, err == nil
}

// unquote returns the text between the first and the last quote.
func unquote(line []byte) []byte {
	line = line[bytes.IndexByte(line, '"')+1:]
	if end := bytes.LastIndexByte(line, '"'); end >= 0 {
		line = line[:end]
	}
	return line
}

// history turns items, in timestamp order, into rows.
type history struct {
	*model.Context
	version int64
	texts   map[int64]text
	last    int64 // highest index in texts
}

// text is a text that items refer to, and the user it belongs to.
type text struct {
	uid  int32
	text string
}

// lookUp returns the text with a number. A missing number below the highest one stands for an
// empty text without a user.
func (h *history) lookUp(number []byte) (t text, index int64, ok bool) {
	index, ok = integer(number)
	if !ok || index > h.last {
		return t, 0, false
	}
	t, ok = h.texts[index]
	if !ok {
		t.uid = -1
	}
	return t, index, true
}

var (
	batteryEvents   = &model.Blueprint{Classification: "battery_stats", Dims: []string{"bstats_item_name"}, NameOf: model.NameOf("battery_stats.%[1]s")}
	batteryCounters = &model.Blueprint{Classification: "battery_counter", Event: model.CounterTrack, Dims: []string{"battery_name", "counter_name"},
		NameOf: model.NameOf("batt.%[2]s")} // the battery has no name here
	batteryStatus = &model.Blueprint{Classification: "battery_status", Event: model.CounterTrack, Name: "BatteryStatus"}
	plugType      = &model.Blueprint{Classification: "battery_plugged_status", Event: model.CounterTrack, Name: "PlugType"}
	wakeLocks     = model.AsyncBlueprint(model.Blueprint{Classification: "dumpstate_wakelocks", Name: "WakeLocks"})
)

// wakeLocksNamed is the first history version in which the end of a wake lock names the lock.
const wakeLocksNamed = 36

// Event makes a row of an item: NAME=VALUE, or +NAME and -NAME for a state that begins or
// ends, optionally with a value.
func (h *history) Event(ts int64, item []byte) error {
	rest := item
	name, value := next(&rest, '='), next(&rest, '=')
	sign := ""
	if len(name) > 0 && (name[0] == '+' || name[0] == '-') {
		sign, name = string(name[:1]), name[1:]
	}
	known, ok := true, true
	switch {
	case len(name) > 0 && name[0] == 'E':
		known, ok = h.event(ts, sign, string(name), value)
	case string(name) == "w" && sign != "" && len(value) > 0 && h.version >= wakeLocksNamed:
		ok = h.wakeLock(ts, sign, value)
	case sign != "" && len(value) == 0 && string(name) != "w":
		known = h.begins(ts, sign == "+", string(name))
	case sign == "" && len(value) > 0 && string(name) != "w": // another lock while the CPU is awake
		known, ok = h.changes(ts, string(name), value)
	default:
		known = false
	}
	switch {
	case !ok:
		h.File.LogTime(statBatteryParseErrors, ts, nil)
	case !known:
		h.File.Unread(model.StatUnreadEvent, model.None, fmt.Sprintf("%q battery history item", sign+string(name))).Add(model.LogEntry{TS: ts, HasTS: true})
	}
	return nil
}

// event adds a slice without duration for an event.
func (h *history) event(ts int64, sign, name string, value []byte) (known, ok bool) {
	name, known = eventNames[name]
	if !known {
		return false, true
	}
	t, _, ok := h.lookUp(value)
	if !ok {
		return true, false
	}
	strs := h.Store.Strings
	track := h.Tracks.Intern(batteryEvents, nil, model.StringDim(strs.Intern(name)))
	what := fmt.Sprintf("%s%s=%d:\"%s\"", sign, name, t.uid, t.text)
	if len(what) > longestEvent {
		what = what[:longestEvent]
	}
	h.Slices.Scoped(ts, 0, track, 0, strs.Intern(what), nil)
	return true, true
}

// longestEvent is the length in bytes to which Trace Processor cuts event names.
const longestEvent = 254

// wakeLock begins or ends the slice of the wake lock that the text names.
func (h *history) wakeLock(ts int64, sign string, value []byte) bool {
	t, index, ok := h.lookUp(value)
	if !ok {
		return false
	}
	if sign == "+" {
		h.Slices.Begin(ts, h.Async.Begin(wakeLocks, nil, index), 0, h.Store.Strings.Intern(t.text), nil)
	} else {
		h.Slices.End(ts, h.Async.End(wakeLocks, nil, index), 0, 0, nil)
	}
	return true
}

// begins sets the counter of an on/off state.
func (h *history) begins(ts int64, on bool, name string) (known bool) {
	state, known := states[name]
	if !known {
		return false
	}
	value := 0.0
	if on {
		value = 1
	}
	h.push(ts, state.name, value)
	if state.name == "screen" { // its own counter is 1 while it is off, 2 while it is on
		h.Counters.Push(ts, value+1, h.Tracks.Intern(tracks.ScreenState, nil))
	}
	return true
}

// changes sets the counter of a state that has a value.
func (h *history) changes(ts int64, name string, value []byte) (known, ok bool) {
	n, isNumber := integer(value)
	if state, known := states[name]; known {
		if !isNumber {
			if n, isNumber = state.value(string(value)); !isNumber {
				return true, false
			}
		}
		h.push(ts, state.name, float64(n))
		return true, true
	}
	switch name {
	case "Bs":
		return true, h.constant(ts, batteryStatus, batteryStates, value)
	case "Bp":
		return true, h.constant(ts, plugType, plugs, value)
	}
	counter, known := charges[name]
	if !known || !isNumber {
		return known, !known
	}
	h.Counters.Push(ts, float64(n*counter.factor),
		h.Tracks.Intern(batteryCounters, nil, model.StringDim(h.Store.Strings.Intern("")), model.StringDim(h.Store.Strings.Intern(counter.name))))
	return true, true
}

// constant sets the counter of a constant, which is a letter or, if it has none, its number: 8 for a dock.
func (h *history) constant(ts int64, track *model.Blueprint, letters map[string]int64, value []byte) bool {
	n, ok := letters[string(value)]
	if !ok {
		n, ok = integer(value)
	}
	if ok {
		h.Counters.Push(ts, float64(n), h.Tracks.Intern(track, nil))
	}
	return ok
}

func (h *history) push(ts int64, state string, value float64) {
	h.Counters.Push(ts, value, h.Tracks.Intern(tracks.BatteryStats, nil, model.StringDim(h.Store.Strings.Intern("battery_stats."+state))))
}
